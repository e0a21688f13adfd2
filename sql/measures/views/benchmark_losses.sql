-- What players chose on benchmarks, decision by decision, beside the best play. Scores of a set that is not the current
-- one, or not here, have no rows. `play_text` puts the plays into words; here it would make every query slow to plan.
create view benchmark_losses as
select choices.player, choices.ply, choices.player_version, choices.benchmark,
       decisions.decision, decisions.class, decisions.position_id, decisions.board, decisions.die1, decisions.die2,
       choices.rank, choices.loss, listed.loss_standard_error,
       choices.next_position_id, best.position_id as best_next_position_id,
       listed.equity, best.equity as best_equity
from benchmark_choices as choices
join benchmark_decisions as decisions using (dataset, variant, decision)
join benchmark_plays as best
  on best.dataset = choices.dataset and best.variant = choices.variant
 and best.decision = choices.decision and best.rank = 0
left join benchmark_plays as listed
  on listed.dataset = choices.dataset and listed.variant = choices.variant
 and listed.decision = choices.decision and listed.rank = choices.rank;
comment on view benchmark_losses is 'One row for each player and decision of a benchmark: the positions after the play chosen and after the best one, and what that loses';
comment on column benchmark_losses.player is 'Player, as `bgdata benchmark` names it';
comment on column benchmark_losses.ply is 'Plies that it looks ahead, 0: static';
comment on column benchmark_losses.player_version is 'Version of the player, as it says it';
comment on column benchmark_losses.benchmark is 'Benchmark, as dataset/variant';
comment on column benchmark_losses.decision is 'Number of the decision in benchmark_decisions of the benchmark';
comment on column benchmark_losses.class is 'Class of the position: over, race, contact or crashed, as gnubg defines them';
comment on column benchmark_losses.position_id is 'Position before the play, of the player on roll';
comment on column benchmark_losses.board is 'Board before the play: 26 integers [checkers]';
comment on column benchmark_losses.die1 is 'First die as written';
comment on column benchmark_losses.die2 is 'Second die as written';
comment on column benchmark_losses.rank is 'Place of the choice among the rolled-out plays, 0 for the best, null: unlisted';
comment on column benchmark_losses.loss is 'Equity lost against the best play; an unlisted play loses as the last listed [points]';
comment on column benchmark_losses.loss_standard_error is 'Standard error of loss, null if unlisted or imported [points]';
comment on column benchmark_losses.next_position_id is 'Position after the chosen play, the opponent on roll';
comment on column benchmark_losses.best_next_position_id is 'Position after the best play, the opponent on roll';
comment on column benchmark_losses.equity is 'Rolled-out equity of the chosen play for the player who makes it, null if unlisted [points]';
comment on column benchmark_losses.best_equity is 'Rolled-out equity of the best play [points]';
