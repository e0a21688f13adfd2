select variant, dataset, game, winner, points_won, luck_0, hedged_points
from games
where (luck_0 is null) <> (hedged_points is null)
   or not coalesce(abs(if(winner = 0, points_won, -points_won) - luck_0 - hedged_points) < 1e-9, luck_0 is null);
