select variant, position_index, points from bearoff_gammon where list_sum(points) <> 15;
