select variant, measure, against, source_version
from scores
where not coalesce(regexp_full_match(source_version, '[a-z_]+/[A-Za-z0-9-]+/r[0-9]+-[0-9a-f]{8}'), false);
