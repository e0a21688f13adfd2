-- Rows that the training feed leaves out: a score on their positions would say nothing about others.
-- benchmark_boards and labelled_boards are generated from what the kinds declare: see datasets/common/leakage.py.
create view leakage as
with both_sides as (
    select dataset, variant, board from benchmark_boards
    union all
    select dataset, variant, flip(board) from benchmark_boards
),
guarded as (
    select board, list(distinct dataset || '/' || variant order by dataset || '/' || variant) as benchmarks
    from both_sides
    group by board
)
select dataset, variant, key, position_id, benchmarks
from labelled_boards
join guarded using (board);
comment on view leakage is 'Labelled rows whose position a benchmark holds, as it is or seen by the other side: what the training feed leaves out';
comment on column leakage.dataset is 'Dataset kind of the labels';
comment on column leakage.variant is 'Variant of the labels';
comment on column leakage.key is 'The columns that name the row in the table of its kind, as JSON';
comment on column leakage.position_id is 'Position of the row';
comment on column leakage.benchmarks is 'Benchmarks that hold the position, as dataset/variant';
