-- within the tolerance, or above what was published as "more than", is reproduced, and nothing else is; words must be
-- the same; what is answered is open only where words were published
with judged as (
    select *, our_value > try_cast(regexp_extract(published, '^more than (.+)$', 1) as double) as is_more
    from claims
)
select variant, claim, status, published, answer
from judged
where not coalesce(status in ('reproduced', 'corrected', 'disagrees', 'open', 'unreachable'), false)
   or (status in ('reproduced', 'corrected', 'disagrees') and answer is null)
   or (status = 'open' and our_value is not null and published_value is not null)
   or (status = 'reproduced'
       and not coalesce(abs(our_value - published_value) <= tolerance + 1e-8, is_more, published = answer))
   or (status <> 'reproduced'
       and coalesce(abs(our_value - published_value) < tolerance - 1e-8, is_more, published = answer));
