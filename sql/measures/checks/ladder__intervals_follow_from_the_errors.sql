select variant, rank, rating, rating_error, rating_low, rating_high
from ladder
where not coalesce(rating_error >= 0
                   and abs(rating_low - (rating - 1.959964 * rating_error)) < 1e-9
                   and abs(rating_high - (rating + 1.959964 * rating_error)) < 1e-9, false);
