select variant, number, begins from game_scores where coalesce(begins <> (number % 2 = 0), true);
