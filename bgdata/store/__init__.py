"""A warehouse of immutable, proven dataset versions. Knows no backgammon."""
