"""The rules of backgammon: positions in every notation, dice, plays, cube and score."""

from bgdata.game import identifiers as identifiers  # registers the reader of `Position(text)`
