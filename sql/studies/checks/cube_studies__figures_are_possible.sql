select variant, match_length, setting, measure, value, value_error, sample_size
from cube_studies
where not coalesce(isfinite(value) and isfinite(value_error) and value_error >= 0 and sample_size > 0, false)
   or (unit = 'share' and value not between 0 and 1)
   or (unit in ('cube', 'games') and value < 1);
