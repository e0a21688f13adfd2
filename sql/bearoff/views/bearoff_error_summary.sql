-- What the one-sided approximation gets wrong, in one row per variant.
create view bearoff_error_summary as
select variant,
       count(*) as pairs,
       avg(difference) as mean_difference,
       stddev_pop(difference) as sd_difference,
       max(difference) as largest_difference,
       min(difference) as smallest_difference,
       avg(abs(difference)) as mean_absolute_difference
from bearoff_error
group by variant;
comment on view bearoff_error_summary is 'One-sided minus exact cubeless equity over all ordered pairs of non-empty layouts';
comment on column bearoff_error_summary.variant is 'Points x checkers';
comment on column bearoff_error_summary.pairs is 'Ordered pairs of non-empty layouts';
comment on column bearoff_error_summary.mean_difference is 'Mean of one-sided minus exact equity [points]';
comment on column bearoff_error_summary.sd_difference is 'Standard deviation of the difference [points]';
comment on column bearoff_error_summary.largest_difference is 'Largest difference [points]';
comment on column bearoff_error_summary.smallest_difference is 'Smallest difference [points]';
comment on column bearoff_error_summary.mean_absolute_difference is 'Mean size of the difference [points]';
