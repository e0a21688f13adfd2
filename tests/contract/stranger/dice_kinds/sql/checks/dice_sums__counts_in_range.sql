select variant, pip_count, rolls from dice_sums where rolls < 1 or rolls > pip_count - 1
