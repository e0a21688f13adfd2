-- What players lost, the greatest losses first: say whose by `where player = 'NAME'`.
create view my_errors as
select variant, match, game_number, turn_number, player_named(player_name) as player,
       player_named(other_name) as other_player, subject, error,
       xgid, position_id, theme, away, opponent_away, made, best, loss, loss_mwc, is_decision, counts_for_pr,
       rollout_best, rollout_loss, rollout_standard_error, rollout_level
from match_analysis left join (
    select xgid, subject, action as made, max_by(loss, trials) as rollout_loss,
           max_by(loss_standard_error, trials) as rollout_standard_error, max_by(level, trials) as rollout_level,
           max_by(best_action, trials) as rollout_best
    from (
        select *, first(action) over (partition by variant, decision order by choice) as best_action
        from match_rollouts
    )
    where is_made
    group by all
) using (xgid, subject, made)
where loss > 0
order by loss desc, variant, game, turn, subject;
comment on view my_errors is 'What players lost, the greatest losses first';
comment on column my_errors.variant is 'Analysis of an import';
comment on column my_errors.match is 'Number of the match in its version, from 0';
comment on column my_errors.game_number is 'Number of the game in its match, from 1';
comment on column my_errors.turn_number is 'Number of the turn in its game, from 1';
comment on column my_errors.player is 'Name of the player who decides';
comment on column my_errors.other_player is 'Name of the other player';
comment on column my_errors.subject is 'play, double (or not), or answer (to a double)';
comment on column my_errors.error is 'play, missed double, wrong double, wrong take or wrong pass';
comment on column my_errors.xgid is 'Position, score, cube and roll of the player on roll';
comment on column my_errors.position_id is 'Position of the player on roll';
comment on column my_errors.theme is 'Theme of the position, such as blitz';
comment on column my_errors.away is 'Points that the player on roll needs; null in money play [points]';
comment on column my_errors.opponent_away is 'Points that the opponent needs; null in money play [points]';
comment on column my_errors.made is 'Play or cube action that was made';
comment on column my_errors.best is 'Best play or cube action';
comment on column my_errors.loss is 'Loss in normalised equity [points]';
comment on column my_errors.loss_mwc is 'Loss in match winning chances; null in money play [mwc]';
comment on column my_errors.is_decision is 'Whether it counts for the performance rating';
comment on column my_errors.counts_for_pr is 'Whether it counts for PR by the rules of eXtreme Gammon';
comment on column my_errors.rollout_best is 'Best play or cube action by rollouts; null if not rolled out';
comment on column my_errors.rollout_loss is 'Loss by rollouts in normalised equity; null if not rolled out [points]';
comment on column my_errors.rollout_standard_error is 'Standard error of rollout_loss [points]';
comment on column my_errors.rollout_level is 'How it was rolled out: the number of games';
