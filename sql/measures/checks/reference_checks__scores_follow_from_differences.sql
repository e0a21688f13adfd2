-- a difference has no smaller error than the rollout itself, but for errors of rounding, which count as none
select variant, row, equity_difference, difference_standard_error, z_score
from reference_checks
where not coalesce(
    equity_difference between -6 and 6 and standard_error between 0 and 3
    and (difference_standard_error >= standard_error or (difference_standard_error = 0 and standard_error <= 1e-6))
    and (case when difference_standard_error = 0 then z_score is null
         else abs(z_score * difference_standard_error - equity_difference) <= 1e-9 end), false);
