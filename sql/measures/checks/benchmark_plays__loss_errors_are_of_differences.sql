-- errors of two means and of their difference are lengths of vectors: the third is at most the sum of two; as stored for
-- plays with as many games as the best
select variant, decision, play.rank, play.loss_standard_error
from benchmark_plays as play
join benchmark_plays as best using (dataset, variant, decision, trials)
where best.rank = 0
  and not play.loss_standard_error between abs(play.standard_error - best.standard_error) - 1e-9
                                       and play.standard_error + best.standard_error + 1e-9;
