"""Who says how good: evaluators and the players that choose by them."""
