-- What players chose on the current benchmarks. Scores of a set that is not the current one, or not here, have no rows.
create view benchmark_choices as
with series as (
    select manifest->>'variant' as scores,
           manifest->'parameters'->>'player' as player,
           (manifest->'parameters'->>'ply')::integer as ply,
           manifest->'parameters'->>'version' as player_version,
           manifest->'inputs'->>'benchmark' as source
    from manifests
    where manifest->>'dataset' = 'benchmark_scores' and is_current
),
benchmarks as (
    select manifest->>'dataset' as dataset, manifest->>'variant' as variant, version,
           (manifest->>'dataset') || '/' || (manifest->>'variant') || '@' || (manifest->>'digest') as source
    from manifests
    where is_current
)
select scores, series.player, series.ply, series.player_version, benchmarks.dataset, benchmarks.variant,
       benchmarks.dataset || '/' || benchmarks.variant as benchmark, benchmarks.version as benchmark_version,
       chosen.decision, chosen.next_position_id, chosen.rank, chosen.loss
from series
join benchmarks using (source)
join benchmark_scores as chosen on chosen.variant = series.scores;
comment on view benchmark_choices is 'What players chose on the current benchmarks: one row for each player and decision; benchmark_losses shows the positions too';
comment on column benchmark_choices.scores is 'Variant of benchmark_scores';
comment on column benchmark_choices.player is 'Player, as `bgdata benchmark` names it';
comment on column benchmark_choices.ply is 'Plies that it looks ahead, 0: static';
comment on column benchmark_choices.player_version is 'Version of the player, as it says it';
comment on column benchmark_choices.dataset is 'Kind of the benchmark';
comment on column benchmark_choices.variant is 'Variant of the benchmark';
comment on column benchmark_choices.benchmark is 'Benchmark, as dataset/variant';
comment on column benchmark_choices.benchmark_version is 'Version of the benchmark that the player was scored on';
comment on column benchmark_choices.decision is 'Number of the decision in benchmark_decisions of the benchmark';
comment on column benchmark_choices.next_position_id is 'Position after the chosen play, the opponent on roll';
comment on column benchmark_choices.rank is 'Place of the choice among the rolled-out plays, 0 for the best, null: unlisted';
comment on column benchmark_choices.loss is 'Equity lost against the best play; an unlisted play loses as the last listed [points]';
