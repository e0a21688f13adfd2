-- Scores of players on benchmarks, one row for each.
create view benchmark_summary as
with classes as (
    select variant, string_agg(distinct class, ', ' order by class) as classes from benchmark_scores group by variant
),
judges as (
    select concat_ws('/', dataset, variant) as benchmark, any_value(network) as judge from benchmark_decisions group by all
)
select manifest->'parameters'->>'player' as player,
       (manifest->'parameters'->>'ply')::integer as ply,
       manifest->'parameters'->>'version' as player_version,
       concat_ws('/', manifest->'parameters'->'benchmark'->>'kind', manifest->'parameters'->'benchmark'->>'variant') as benchmark,
       manifest->'parameters'->'benchmark'->>'version' as benchmark_version,
       judges.judge,
       classes.classes as class,
       (manifest->>'rows')::integer as decisions,
       (manifest->'statistics'->>'error_rate')::double as error_rate,
       (manifest->'statistics'->>'standard_error')::double as standard_error,
       (manifest->'statistics'->>'error_rate_low')::double as error_rate_low,
       (manifest->'statistics'->>'error_rate_high')::double as error_rate_high,
       (manifest->'statistics'->>'unlisted_share')::double as unlisted_share,
       (manifest->'statistics'->>'best_share')::double as best_share
from manifests
left join classes on (manifest->>'variant') = classes.variant
left join judges
  on judges.benchmark = concat_ws('/', manifest->'parameters'->'benchmark'->>'kind', manifest->'parameters'->'benchmark'->>'variant')
where manifest->>'dataset' = 'benchmark_scores' and is_current
      and coalesce(manifest->'parameters'->'benchmark'->>'version', '') <> '';  -- older scores do not name their set
comment on view benchmark_summary is 'Error rates of players on benchmarks, imported or made here: 1000 x mean loss over all decisions';
comment on column benchmark_summary.player is 'Player';
comment on column benchmark_summary.ply is 'Plies looked ahead, 0 for the static evaluation';
comment on column benchmark_summary.player_version is 'Version of the player as it says it';
comment on column benchmark_summary.benchmark is 'The set of decisions: kind/variant';
comment on column benchmark_summary.benchmark_version is 'The version of it that was scored on';
comment on column benchmark_summary.judge is 'Network or program that rolled out the current version of the set, null if imported';
comment on column benchmark_summary.class is 'Classes of its positions, such as contact';
comment on column benchmark_summary.decisions is 'Decisions';
comment on column benchmark_summary.error_rate is '1000 x mean loss [thousandths of a point per decision]';
comment on column benchmark_summary.standard_error is 'Standard error of error_rate, noise of the rollouts included, decisions being the observations [thousandths of a point per decision]';
comment on column benchmark_summary.error_rate_low is 'Lower end of the 95% confidence interval [thousandths of a point per decision]';
comment on column benchmark_summary.error_rate_high is 'Upper end of the 95% confidence interval [thousandths of a point per decision]';
comment on column benchmark_summary.unlisted_share is 'Share of choices that were not rolled out';
comment on column benchmark_summary.best_share is 'Share of choices that lose nothing';
