-- three standard errors of the difference of two samples, besides the rounding
select variant, claim, tolerance, our_value, our_error, published_error
from claims
where not coalesce(least(our_error, published_error) > 0, true)
   or (our_error is not null and our_value is null)
   or tolerance < 3 * sqrt(coalesce(our_error, 0) ^ 2 + coalesce(published_error, 0) ^ 2) - 1e-8;
