-- The cube life index by which Janowski's model fits rolled-out equities best, and the errors that are left.
create view cube_index as
with positions as (
    select variant, class, theme, cube_owner, standard_error, live - dead as width, measured - dead as gain,
           unnest(case
               when away is null then ['all', 'money']
               when least(away, opponent_away) <= 3 then ['all', 'match', 'match, 2-3 away']
               when least(away, opponent_away) <= 5 then ['all', 'match', 'match, 4-5 away']
               else ['all', 'match', 'match, 6-9 away']
           end) as score
    from cubeful_equities
),
sums as (
    select variant, score, class, theme, cube_owner,
           count(*) as n, avg(width) as w, avg(gain) as g, avg(width * gain) as wg, avg(width ** 2) as ww,
           avg(gain ** 2) as gg, avg(width ** 2 * gain ** 2) as wwgg, avg(width ** 3 * gain) as wwwg,
           avg(width ** 4) as wwww, sqrt(avg(standard_error ** 2)) as noise
    from positions
    group by grouping sets (
        (variant, score), (variant, score, class), (variant, score, theme), (variant, score, cube_owner),
        (variant, score, class, cube_owner)
    )
),
fitted as (
    select *, wg / nullif(ww, 0) as best from sums
)
select variant, score, coalesce(class, 'all') as class, coalesce(theme, 'all') as theme,
       coalesce(cube_owner, 'all') as cube_owner, n::integer as positions,
       best as best_index,
       sqrt(greatest(0, wwgg - 2 * best * wwwg + best ** 2 * wwww) / n) / nullif(ww, 0) as standard_error,
       best * w - g as mean_error,
       0.7 * w - g as mean_error_at_default,
       -g as mean_error_dead,
       w - g as mean_error_live,
       sqrt(greatest(0, gg - 2 * best * wg + best ** 2 * ww)) as rms,
       sqrt(greatest(0, gg - 1.4 * wg + 0.49 * ww)) as rms_at_default,
       sqrt(gg) as rms_dead,
       sqrt(greatest(0, gg - 2 * wg + ww)) as rms_live,
       noise
from fitted;
comment on view cube_index is 'The cube life index that fits rolled-out equities best, by least squares of measured - dead against live - dead, each position with the same weight: the standard error of one rollout is too uncertain to weight by';
comment on column cube_index.variant is 'Variant of cubeful_equities';
comment on column cube_index.score is 'all; money; match; or match and how many points the side needs that needs fewer';
comment on column cube_index.class is 'Class of the positions, or all';
comment on column cube_index.theme is 'Theme of the positions, or all';
comment on column cube_index.cube_owner is 'Owner of the cube, or all';
comment on column cube_index.positions is 'Positions';
comment on column cube_index.best_index is 'The cube life index of the least squares fit; null if the cube changes no value';
comment on column cube_index.standard_error is 'Standard error of best_index, whatever the errors of the positions';
comment on column cube_index.mean_error is 'Mean of model - measured at best_index [points]';
comment on column cube_index.mean_error_at_default is 'Mean of model - measured at the default index, 0.7 [points]';
comment on column cube_index.mean_error_dead is 'Mean of model - measured at index 0 [points]';
comment on column cube_index.mean_error_live is 'Mean of model - measured at index 1 [points]';
comment on column cube_index.rms is 'Root mean square of model - measured at best_index [points]';
comment on column cube_index.rms_at_default is 'Root mean square of model - measured at the default index, 0.7 [points]';
comment on column cube_index.rms_dead is 'Root mean square of model - measured at index 0 [points]';
comment on column cube_index.rms_live is 'Root mean square of model - measured at index 1 [points]';
comment on column cube_index.noise is 'Root mean square of the standard errors of the rollouts: the part of each rms that is noise [points]';
