select variant, decision, rank, loss
from (select *, lag(loss, 1, 0) over (partition by dataset, variant, decision order by rank) as previous from benchmark_plays)
where not (loss >= previous and (rank > 0 or loss = 0));
