-- only what is published twice names another claim, which is in the table where its part is, and restates none itself
select c.variant, c.claim, c.kind, c.restates
from claims c left join claims other on other.variant = c.variant and other.claim = c.restates
where not coalesce(c.kind in ('published', 'published_twice', 'statement'), false)
   or (c.kind = 'published_twice') <> (c.restates is not null)
   or (other.claim is null and exists (from claims where variant = c.variant and part = split_part(c.restates, '.', 1)))
   or other.restates is not null;
