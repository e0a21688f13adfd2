select variant, dataset, game, winner, points_won
from games
where (winner is null) <> (points_won is null) or points_won < 1;
