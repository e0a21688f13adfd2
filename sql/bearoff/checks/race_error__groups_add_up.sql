-- every grouping has each pair once
select groups.*
from (
    select variant, grouping, sum(pairs) as pairs, sum(pairs * mean_difference) / sum(pairs) as mean_difference
    from race_error group by all
) as groups
join race_error everything on everything.variant = groups.variant and everything.grouping = 'all'
where groups.pairs <> everything.pairs or abs(groups.mean_difference - everything.mean_difference) > 1e-9;
