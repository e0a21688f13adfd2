-- each of n positions meets 0 to n - 1: their sum and sum of squares tell any two wrong ones
select variant, on_roll_index, count(*) as pairs
from bearoff_match
group by variant, on_roll_index
window positions as (partition by variant)
qualify count(*) <> count(*) over positions
     or min(on_roll_index) over positions <> 0 or max(on_roll_index) over positions <> count(*) - 1
     or sum(opponent_index) <> count(*) * (count(*) - 1) // 2
     or sum(opponent_index::bigint * opponent_index) <> count(*) * (count(*) - 1) * (2 * count(*) - 1) // 6;
