select variant, count(*) as states, sum(weight) as weights
from first_doubles
group by variant
having not coalesce(abs(sum(weight) - 1) < 1e-9, false);
