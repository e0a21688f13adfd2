select variant, player_name, ply, opponent, opponent_ply, mean_points, points_error, deviation
from ladder_pairings
where not coalesce(abs(deviation - (mean_points - expected)) < 1e-9 and points_error >= 0, false);
