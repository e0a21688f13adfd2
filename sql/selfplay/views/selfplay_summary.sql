-- Self-play in one row for each corpus.
create view selfplay_summary as
select variant,
       any_value(player_0) as player,
       count(*) as games,
       avg((points_won = 1)::integer) as single_share,
       avg((points_won = 2)::integer) as gammon_share,
       avg((points_won = 3)::integer) as backgammon_share,
       avg(n_turns) as turns_per_game,
       avg(case when winner = 0 then points_won else -points_won end) as points_per_game,
       stddev_samp(case when winner = 0 then points_won else -points_won end) / sqrt(count(*)) as standard_error,
       avg(hedged_points) as hedged_points_per_game,
       stddev_samp(hedged_points) / sqrt(count(hedged_points)) as hedged_standard_error,
       standard_error / hedged_standard_error as hedging_factor
from games
where dataset = 'selfplay'
group by variant
order by variant;
comment on view selfplay_summary is 'Self-play in one row for each corpus: how games end, and how much noise luck adjustment removes';
comment on column selfplay_summary.variant is 'Player, games and seed';
comment on column selfplay_summary.player is 'Player and its version';
comment on column selfplay_summary.games is 'Games';
comment on column selfplay_summary.single_share is 'Share of games won as single games';
comment on column selfplay_summary.gammon_share is 'Share of games won as gammons, without backgammons';
comment on column selfplay_summary.backgammon_share is 'Share of games won as backgammons';
comment on column selfplay_summary.turns_per_game is 'Mean rolls of both sides [turns]';
comment on column selfplay_summary.points_per_game is 'Mean result of player 0, who is as good as player 1 [points]';
comment on column selfplay_summary.standard_error is 'Standard error of points_per_game [points]';
comment on column selfplay_summary.hedged_points_per_game is 'Mean of hedged_points, null where luck was not measured [points]';
comment on column selfplay_summary.hedged_standard_error is 'Standard error of hedged_points_per_game [points]';
comment on column selfplay_summary.hedging_factor is 'How many times smaller luck adjustment makes the standard error';
