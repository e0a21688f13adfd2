"""The rules of backgammon: positions in every notation, dice, plays, cube and score."""

from bgdata.game import identifiers as identifiers  # `Position(text)` reads whatever it knows
