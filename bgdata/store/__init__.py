"""A warehouse of immutable, proven dataset versions. It knows no backgammon."""
