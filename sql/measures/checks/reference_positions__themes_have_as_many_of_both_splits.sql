select variant, theme, count(*) filter (split = 'validation') as validation, count(*) filter (split = 'test') as test
from reference_positions
group by all
having not coalesce(validation = test and validation + test = count(*), false);
