-- imported plays say nothing of this
select variant, decision, rank, standard_error, loss_standard_error, trials
from benchmark_plays
where dataset in ('rollout_decisions', 'judged_decisions')
  and not coalesce(trials >= 72 and trials % 36 = 0 and standard_error between 0 and 3
                   and loss_standard_error between 0 and 3 and (rank > 0 or loss_standard_error = 0), false);
