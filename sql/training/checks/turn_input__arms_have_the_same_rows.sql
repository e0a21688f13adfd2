select variant, games
from turn_input
group by variant, games
having list(arm order by arm) <> ['dice kept', 'dice passed', 'no input'];
