-- nor is one of them another one seen by the other side
select variant, least(board, flip(board)) as either_side, count(*) as positions
from reference_positions
group by variant, either_side
having positions > 1;
