-- within the tolerance is reproduced, and nothing else is; words must be the same
select variant, claim, status, published, answer
from claims
where not coalesce(status in ('reproduced', 'corrected', 'open', 'unreachable'), false)
   or (status in ('reproduced', 'corrected') and answer is null)
   or (status = 'reproduced' and not coalesce(abs(our_value - published_value) <= tolerance + 1e-8, published = answer))
   or (status <> 'reproduced' and coalesce(abs(our_value - published_value) < tolerance - 1e-8, published = answer));
