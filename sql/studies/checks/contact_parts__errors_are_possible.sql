-- equities are within 3 points, and the mean is never further off than the root mean square
select variant, arm, grouping, group_name
from contact_parts
where not coalesce(tested >= 0 and (learned >= 0 or grouping not in ('all', 'part'))
                   and case when tested = 0 then rmse is null and rmse_standard_error is null and bias is null
                            else rmse between 0 and 6
                                 and (rmse_standard_error >= 0
                                      or rmse_standard_error is null and (tested = 1 or starts_with(grouping, 'reference')))
                                 and abs(bias) <= rmse + 1e-9 end, false);
