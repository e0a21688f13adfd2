-- a loss is what the equity is below that of the best play
select variant, decision, rank, equity, loss
from (select *, lag(loss, 1, 0) over decisions as previous, first_value(equity) over decisions as best
      from openings
      window decisions as (partition by variant, decision order by rank))
where not coalesce(loss >= previous and (rank > 0 or loss = 0) and abs(best - equity - loss) <= 1e-9
                   and equity between -3 and 3, false);
