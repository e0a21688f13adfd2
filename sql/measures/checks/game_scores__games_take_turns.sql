select variant, number, turns from game_scores where not coalesce(turns >= 13, false);
