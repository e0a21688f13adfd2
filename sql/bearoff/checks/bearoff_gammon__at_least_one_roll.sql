select variant, position_index, chances from bearoff_gammon where chances[1] <> 0 or mean_rolls < 1;
