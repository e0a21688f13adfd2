-- Reference positions rolled out again by other players, theme by theme, and in all.
create view reference_check_summary as
with series as (
    select manifest->>'variant' as variant,
           manifest->'parameters'->>'player' as player,
           (manifest->'parameters'->>'ply')::integer as ply,
           manifest->'parameters'->>'version' as player_version,
           'reference_positions/' || (manifest->'parameters'->'reference'->>'variant') as reference,
           manifest->'parameters'->'reference'->>'version' as reference_version
    from manifests
    where manifest->>'dataset' = 'reference_checks' and is_current
),
grouped as (
    select * exclude (theme), unnest([theme, 'all']) as theme from reference_checks
)
select series.variant, series.player, series.ply, series.player_version, series.reference, series.reference_version,
       theme, count(*) as positions, sum(trials)::bigint as games,
       avg(equity_difference) as mean_difference,
       sqrt(sum(difference_standard_error ** 2)) / count(*) as mean_standard_error,
       sqrt(avg(equity_difference ** 2)) as rms_difference,
       sqrt(avg(difference_standard_error ** 2)) as rms_standard_error,
       sqrt(avg(z_score ** 2)) as rms_z_score,
       count(*) filter (where abs(z_score) > 3) as beyond_3
from series
join grouped using (variant)
group by all;
comment on view reference_check_summary is 'Reference positions rolled out again with another player on both sides: differences of equity and z-scores by theme';
comment on column reference_check_summary.variant is 'Variant of reference_checks';
comment on column reference_check_summary.player is 'Player on both sides';
comment on column reference_check_summary.ply is 'Plies that it looks ahead, 0 for the static evaluation';
comment on column reference_check_summary.player_version is 'Version of the player as it says it';
comment on column reference_check_summary.reference is 'The set of positions: reference_positions/variant';
comment on column reference_check_summary.reference_version is 'The version of it, empty for the smallest';
comment on column reference_check_summary.theme is 'Theme of the positions, or all';
comment on column reference_check_summary.positions is 'Positions rolled out again';
comment on column reference_check_summary.games is 'Games played';
comment on column reference_check_summary.mean_difference is 'Mean of the equity by this player less that of the reference [points]';
comment on column reference_check_summary.mean_standard_error is 'Standard error of mean_difference by the dice of both rollouts; which positions were taken is not part of it [points]';
comment on column reference_check_summary.rms_difference is 'Root of the mean squared difference [points]';
comment on column reference_check_summary.rms_standard_error is 'What it would be on average if only the dice made differences [points]';
comment on column reference_check_summary.rms_z_score is 'Root of the mean squared z-score, about 1 where only the dice make differences; null where no rollout has an error [standard errors]';
comment on column reference_check_summary.beyond_3 is 'Positions that differ by more than three standard errors';
