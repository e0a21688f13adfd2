select variant, game, theme, count(*) as positions
from reference_positions
group by all
having count(*) > 1 or game is null or game < 0;
