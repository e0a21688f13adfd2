select variant, games, rate
from (select *, lag(rate, 1, 1) over (partition by variant order by games) as rate_before from learning_curve)
where not coalesce(rate > 0 and rate <= rate_before, false);
