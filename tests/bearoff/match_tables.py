"""Match equity tables for tests of match bearoffs: one induced from a given row, and one for unequal players."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.met_induction import induced_table
from bgdata.game.match import MatchScore
from tests.reference.match_bearoff import MatchGame


@cache
def fair_table(length: int = 25) -> MatchEquity:
    """Equal players: about what is published for the first rows; chances of the trailer halve every four points."""
    row = [0.5, *(0.48 * 0.5 ** (away // 2 / 2) for away in range(1, length))]
    return induced_table("fair", row, 0.26)


@cache
def crooked_table(length: int = 5) -> MatchEquity:
    """The first player is the better one."""
    points = np.arange(1, length + 1)
    before = (points[None, :] / (points[None, :] + points[:, None])) ** 0.8
    return MatchEquity.of("crooked", before, before[:, 0] * 0.95, 1 - before[0] * 0.95, is_symmetric=False)


@cache
def exact_game(name: str) -> MatchGame:
    """The slow twin at one of the tables."""
    met = {"fair": fair_table(), "crooked": crooked_table()}[name]
    return MatchGame(lambda score: Fraction(met.at(score)))


def away(own: int, opponent: int, *, is_crawford: bool = False) -> MatchScore:
    """A score."""
    return MatchScore(own, opponent, is_crawford)
