-- three standard errors of the difference of two samples, and what ours is rounded by, besides the last printed digit
select variant, claim, tolerance, our_value, our_error, our_bound, published_error
from claims
where not coalesce(least(our_error, our_bound, published_error) > 0, true)
   or (our_error is not null and our_value is null)
   or tolerance < coalesce(our_bound, 0) + 3 * sqrt(coalesce(our_error, 0) ^ 2 + coalesce(published_error, 0) ^ 2) - 1e-8;
