select variant, games, rate
from learning_curve
window run as (partition by variant order by games)
qualify not coalesce(rate > 0 and rate <= coalesce(lag(rate) over run, 1), false);
