-- within the tolerance, or above what was published as "more than", is reproduced, and nothing else is; words must be
-- the same
with judged as (
    select *, our_value > try_cast(regexp_extract(published, '^more than (.+)$', 1) as double) as is_more
    from claims
)
select variant, claim, status, published, answer
from judged
where not coalesce(status in ('reproduced', 'corrected', 'open', 'unreachable'), false)
   or (status in ('reproduced', 'corrected') and answer is null)
   or (status = 'reproduced'
       and not coalesce(abs(our_value - published_value) <= tolerance + 1e-8, is_more, published = answer))
   or (status <> 'reproduced'
       and coalesce(abs(our_value - published_value) < tolerance - 1e-8, is_more, published = answer));
