"""What positions are worth with the cube: mwc in a match, points in money play, many positions at once.

A worth is that of the player on roll, before its roll, if both sides handle the cube from there on as a model does. In
money play it counts the cube: a game at a cube of 4 is worth four times its equity.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import CubeRules, check_scores
from bgdata.equity.curves import OWNER_CODES
from bgdata.equity.doubling import check_chances, check_money, fill_money_equities
from bgdata.equity.match_cube import fill_match_equities
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import InvalidParameterError
from bgdata.game.match import MatchScore, Money, Stakes

Worths = NDArray[np.float64]
Value = TypeVar("Value", float, Worths)


def worths(chances: NDArray[np.floating], stakes: Stakes, rules: CubeRules) -> Worths:
    """float64[n] of float[n, 5] chances of the player on roll before the roll: mwc, or points.

    Raises InvalidParameterError for chances out of order, a match without a match equity table, and a model that
    does not know the Jacoby rule where it holds, and InvalidScoreError for a score that the table does not have.
    """
    rows, score, owner = check_chances(chances), stakes.score, OWNER_CODES[stakes.cube.owner]
    equities, actions = np.empty((len(rows), 4)), np.empty(len(rows), np.int8)
    if isinstance(score, MatchScore):
        games = np.full((len(rows), 3), (score.away, score.opponent_away, score.is_crawford), np.int64)
        met = met_of(rules)
        check_scores(met, score, stakes.cube.value)
        fill_match_equities(rules.strategy, met.cells, games, stakes.cube.value, owner, rows, equities, actions)
        unit = 1
    else:
        check_money(rules.strategy, stakes.cube.owner, is_jacoby=score.is_jacoby)
        fill_money_equities(rules.strategy, rows, owner, score.is_jacoby, rules.has_beavers, equities, actions)
        unit = stakes.cube.value
    return np.asarray(unit * np.maximum(equities[:, 0], equities[:, 1:].min(axis=1)))


def seen_by_other(value: Value, stakes: Stakes) -> Value:
    """A worth of one side as the other side sees it: mwc of both are 1 together, points 0."""
    return -value if isinstance(stakes.score, Money) else 1 - value


def worth_of_game(stakes: Stakes, rules: CubeRules) -> float:
    """What the game is worth before its first roll: mwc by the match equity table, or 0 points. Raises
    InvalidScoreError."""
    return 0.0 if isinstance(stakes.score, Money) else met_of(rules).at(stakes.score)


def worth_of_result(points: int, stakes: Stakes, rules: CubeRules) -> float:
    """What it is worth to win `points`, the cube included (negative: to lose them). Raises InvalidScoreError."""
    return float(points) if isinstance(stakes.score, Money) else met_of(rules).after(stakes.score, points)


def normalised_point(stakes: Stakes, rules: CubeRules) -> float:
    """How much is one point of normalised equity: half of what lies between winning and losing a single game at this
    cube. Worths divided by it compare errors at all cubes and scores. Raises InvalidScoreError."""
    value = stakes.cube.value
    return (worth_of_result(value, stakes, rules) - worth_of_result(-value, stakes, rules)) / 2


def met_of(rules: CubeRules) -> MatchEquity:
    """The match equity table of the rules. Raises InvalidParameterError where there is none."""
    if rules.met is None:
        raise InvalidParameterError("expected a match equity table for a match, got none")
    return rules.met
