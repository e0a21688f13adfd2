select variant, rank, rating
from (select *, lead(rating) over (partition by variant order by rank) as next_rating,
             row_number() over (partition by variant order by rank) as place from ladder)
where not coalesce(isfinite(rating) and rank = place and rating >= coalesce(next_rating, rating), false);
