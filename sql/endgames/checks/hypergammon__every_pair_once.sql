-- layouts that share no point, counted by combinations; what can be an opponent of a layout can have it as its opponent
with sums as (
    select variant, count(*) as pairs, sum(on_roll_index::bigint * on_roll_index) as on_roll_squares,
           sum(opponent_index::bigint * opponent_index) as opponent_squares,
           count(distinct on_roll_index::bigint * 100_000 + opponent_index) as different_pairs
    from hypergammon group by variant
)
from sums
where pairs <> case variant when '1' then 601 when '2' then 106_552 when '3' then 7_953_353 end
   or on_roll_squares <> opponent_squares or different_pairs <> pairs;
