-- Benchmark positions that are also training positions: a score on them says nothing about others.
create view leakage as
with benchmark as (
    select variant, decision, position_id, false as is_flipped from benchmark_decisions
    union all
    select variant, decision, position_id(flip(board)), true from benchmark_decisions
),
training as (
    select 'gnubg_training' as dataset, variant, source, line, position_id from gnubg_training
    union all
    select 'wildbg_training', variant, source, line, position_id from wildbg_training
    union all
    select 'bgsage_rollouts', variant, source, line, position_id from bgsage_rollouts
)
select benchmark.variant as benchmark, benchmark.decision, benchmark.is_flipped,
       training.dataset, training.variant, training.source, training.line, training.position_id
from benchmark
join training using (position_id);
comment on view leakage is 'Positions of benchmarks, as they are or seen by the other side, that occur in imported training data';
comment on column leakage.benchmark is 'Variant of the benchmark: its class, or the name of a set made here';
comment on column leakage.decision is 'Decision in benchmark_decisions';
comment on column leakage.is_flipped is 'Whether the training data has the position with the other player on roll';
comment on column leakage.dataset is 'Dataset kind of the training data';
comment on column leakage.variant is 'Variant of the training data';
comment on column leakage.source is 'File of the training data';
comment on column leakage.line is 'Line of that file';
comment on column leakage.position_id is 'Position as the training data has it';
