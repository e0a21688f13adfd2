select variant, count(*) filter (where rating = 0 and rating_error = 0) as zeros
from ladder
group by variant
having zeros <> 1;
