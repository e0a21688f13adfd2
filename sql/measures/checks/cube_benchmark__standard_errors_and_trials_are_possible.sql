select variant, decision, no_double_standard_error, double_take_standard_error, trials
from cube_benchmark
where not coalesce(no_double_standard_error >= 0 and double_take_standard_error >= 0 and trials >= 2, false)
    or (mwc_no_double is null) <> (score = 'money')
    or not coalesce(double_pass = 1, false);
