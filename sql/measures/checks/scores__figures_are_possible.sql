select variant, measure, against, value, value_error, sample_size
from scores
where not coalesce(isfinite(value) and isfinite(value_error) and value_error >= 0 and sample_size > 0, false)
   or (unit = 'share of games' and value not between 0 and 1)
   or (measure = 'points_per_game' and value not between -3 and 3)
   or ((measure = 'error_rate' or measure like '%_loss%' or measure like 'equity_rmse%') and value < 0);
