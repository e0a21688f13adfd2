-- a game is worth three points at most; neither side of the bearoff positions can win a gammon
select variant, games, points_per_game, standard_error, bearoff_error
from learning_curve
where not coalesce(points_per_game between -3 and 3 and standard_error between 0 and 3 and bearoff_error between 0 and 2, false);
