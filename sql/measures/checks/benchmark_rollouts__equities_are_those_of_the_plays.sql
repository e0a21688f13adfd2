-- of sets made here; chances are the opponent's, and held to the rules, which moves them a little
select variant, line, decision, rank, equity
from benchmark_plays
left join benchmark_rollouts using (dataset, variant, decision, position_id)
where dataset = 'rollout_decisions'
  and not coalesce(abs(equity + (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon))
                   <= 0.00001 + 20 * standard_error, false);
