select variant, number, outcome from game_scores where coalesce(abs(outcome) not between 1 and 3, true);
