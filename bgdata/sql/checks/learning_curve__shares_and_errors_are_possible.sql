select variant, games, gammon_share, backgammon_share, points_per_game, standard_error, bearoff_error
from learning_curve
where not coalesce(
    gammon_share >= 0 and backgammon_share >= 0 and gammon_share + backgammon_share <= 1
    and abs(points_per_game) <= 3 and standard_error >= 0 and bearoff_error between 0 and 4,
    false
);
