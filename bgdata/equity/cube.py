"""The front door to cube decisions: chances and stakes in, equities of every way to go on and the best action out.

>>> from bgdata.game.match import Cube, CubeOwner, Money, Stakes
>>> decision = decide_cube((0.7, 0.2, 0.0, 0.1, 0.0), Stakes(Money(is_jacoby=False)))
>>> decision.action, round(decision.double_gain, 3), round(decision.take_gain, 3)
(<Action.DOUBLE_TAKE: 1>, 0.049, 0.167)

Equities are those of the player on roll, before the roll: points per unit cube in money play, mwc in a match. A table
that knows them exactly says so (`ExactCube`); elsewhere a model does, from five chances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from bgdata.equity.curves import OPPONENT, OWNER_CODES, Points
from bgdata.equity.doubling import (
    DEFAULT_STRATEGY,
    JUMP,
    NOT_ALLOWED,
    Action,
    CubeEquities,
    Strategy,
    best_action,
    best_answer,
    best_equity,
    check_chances,
    check_money,
    mean_points,
    money_equities,
    money_points_of,
)
from bgdata.equity.match_cube import MatchGame, match_equities, match_points
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position

TIE = 1e-9  # equities that are no further apart are equal


class Unit(StrEnum):
    """What equities are in."""

    POINTS = "points per unit cube"
    MWC = "mwc"


class Method(StrEnum):
    """Who says what the cube is worth."""

    EXACT = "exact"
    JANOWSKI = "janowski"
    JUMP = "jump"


@dataclass(frozen=True)
class CubeRules:
    """How cubes are valued where no table knows: the model, and in matches the match equity table.

    `has_beavers`: the taker may double at once and keep the cube, in money play. `as_money`: a match is valued like
    money play, for comparison; only its rules hold. `by_model`: the model decides even where a table knows.
    """

    strategy: Strategy = DEFAULT_STRATEGY
    met: MatchEquity | None = None
    has_beavers: bool = False
    as_money: bool = False
    by_model: bool = False


DEFAULT_RULES = CubeRules()


class ExactCube(Protocol):
    """Tables that know cube decisions exactly: money play at any cube, or a match at some scores and cubes."""

    @property
    def accuracy(self) -> str:
        """How far its equities can be off, in words."""

    def cube_equities(self, position: Position, stakes: Stakes, met: MatchEquity | None = None) -> CubeEquities | None:
        """Points per unit cube in money play, mwc by `met` in a match, of the player on roll before the roll; doubles
        NOT_ALLOWED where they are. `double_beaver` is that of `double_take`. None where it does not cover them."""


@dataclass(frozen=True)
class CubeDecision:
    """A cube decision of the player on roll; equities are its, in `unit`, before the roll.

    Those of doubling are None where it may not double, or could win nothing by it: then `why_not` says why.
    """

    no_double: float
    double_take: float | None
    double_beaver: float | None  # None without beavers
    double_pass: float | None
    unit: Unit
    method: Method
    best: tuple[Action, ...]  # more than one if they are worth the same
    points: Points  # winning chances at which decisions change, by the model
    accuracy: str  # how far to trust it, in words
    why_not: str = ""

    @property
    def action(self) -> Action:
        """The best action; of equal ones that of players who double, and pass, when indifferent."""
        return self.best[0]

    @property
    def may_double(self) -> bool:
        """Whether there is a decision."""
        return self.double_take is not None

    @property
    def equity(self) -> float:
        """What the position is worth when both sides do what is best."""
        return best_equity(self.equities)

    @property
    def double_gain(self) -> float:
        """What doubling gains, below 0 what it costs, if the opponent answers it best; 0 without a decision."""
        return best_answer(self.equities) - self.no_double if self.may_double else 0.0

    @property
    def take_gain(self) -> float:
        """What the opponent gains by not passing, below 0 what that costs it; 0 without a decision."""
        if self.double_pass is None:
            return 0.0
        return self.double_pass - min(self.equities.double_take, self.equities.double_beaver)

    @property
    def equities(self) -> CubeEquities:
        """As kernels have them."""
        if self.double_take is None or self.double_pass is None:
            return CubeEquities(self.no_double, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
        beaver = self.double_take if self.double_beaver is None else self.double_beaver
        return CubeEquities(self.no_double, self.double_take, beaver, self.double_pass)


def decide_cube(
    chances: Sequence[float],
    stakes: Stakes,
    rules: CubeRules = DEFAULT_RULES,
    exact: CubeEquities | None = None,
    accuracy: str = "",
) -> CubeDecision:
    """The cube decision of the player on roll from its five cumulative chances before the roll.

    `exact` equities take the place of the model's, and `accuracy` of its description. Raises InvalidParameterError for
    chances out of order, rules that do not fit the stakes, or a match without a table; InvalidScoreError for a score
    that the table does not have.
    """
    row = check_chances(np.array([chances], np.float64))[0]
    check_rules(stakes, rules)
    is_match = isinstance(stakes.score, MatchScore) and not rules.as_money
    found, points = match_model(row, stakes, rules) if is_match else money_model(row, stakes, rules)
    method = Method.JUMP if rules.strategy.model == JUMP else Method.JANOWSKI
    if exact is not None and not (rules.as_money and isinstance(stakes.score, MatchScore)):
        beaver = 2 * exact.double_take if rules.has_beavers else exact.double_take
        found, method = exact._replace(double_beaver=beaver), Method.EXACT
    why_not = why_no_double(stakes, rules)
    allowed = not why_not
    return CubeDecision(
        no_double=found.no_double,
        double_take=found.double_take if allowed else None,
        double_beaver=found.double_beaver if allowed and rules.has_beavers else None,
        double_pass=found.double_pass if allowed else None,
        unit=Unit.MWC if is_match else Unit.POINTS,
        method=method,
        best=best_actions(found if allowed else found._replace(**_NO_DOUBLES)),
        points=points,
        accuracy=accuracy if method == Method.EXACT else describe_model(rules),
        why_not=why_not,
    )


_NO_DOUBLES = {"double_take": NOT_ALLOWED, "double_beaver": NOT_ALLOWED, "double_pass": NOT_ALLOWED}


def money_model(chances: np.ndarray, stakes: Stakes, rules: CubeRules) -> tuple[CubeEquities, Points]:
    """Equities and decision points in money play by the model. For an opponent's cube the points are those of a
    centered one, of which only the take point is of use."""
    is_jacoby = isinstance(stakes.score, Money) and stakes.score.is_jacoby
    owner = check_money(rules.strategy, stakes.cube.owner, is_jacoby=is_jacoby)
    found = money_equities(rules.strategy, chances, owner, is_jacoby, rules.has_beavers)
    _, mean_win, mean_loss = mean_points(chances)
    turned = 0 if owner == OPPONENT else owner
    points = money_points_of(rules.strategy, mean_win, mean_loss, turned, is_jacoby, rules.has_beavers)
    return CubeEquities(*found), Points(*points)


def match_model(chances: np.ndarray, stakes: Stakes, rules: CubeRules) -> tuple[CubeEquities, Points]:
    """mwc and decision points at a match score by the model. Raises InvalidScoreError."""
    score, met = stakes.score, rules.met
    assert isinstance(score, MatchScore)
    assert met is not None
    value = stakes.cube.value
    while value < max(score.away, score.opponent_away):  # refuses what the table does not have
        met.game(score, value)
        value *= 2
    game, owner = MatchGame(score.away, score.opponent_away, score.is_crawford), OWNER_CODES[stakes.cube.owner]
    given = (rules.strategy, met.cells, game, stakes.cube.value, owner, chances)
    return CubeEquities(*match_equities(*given)), Points(*match_points(*given))


def check_rules(stakes: Stakes, rules: CubeRules) -> None:
    """Raise InvalidParameterError for a match without a table, or rules that are those of money play."""
    if isinstance(stakes.score, Money):
        return
    if rules.has_beavers:
        raise InvalidParameterError(f"expected beavers in money play only, got them at {stakes.score}")
    if rules.as_money:
        return
    if rules.strategy.model == JUMP:
        raise InvalidParameterError(f"expected the janowski model in a match, got jump at {stakes.score}")
    if rules.met is None:
        raise InvalidParameterError(f"expected a match equity table for a match, got none at {stakes.score}")


def why_no_double(stakes: Stakes, rules: CubeRules = DEFAULT_RULES) -> str:
    """Why the player on roll has no cube decision, in words; nothing if it has one."""
    if stakes.is_crawford:
        return "nobody doubles in the crawford game"
    if stakes.cube.owner == CubeOwner.OPPONENT:
        return "the opponent owns the cube"
    score = stakes.score
    if isinstance(score, MatchScore) and not rules.as_money and score.away <= stakes.cube.value:
        return f"at {score} the cube is high enough to win the match"
    return ""


def best_actions(equities: CubeEquities) -> tuple[Action, ...]:
    """Every best action, those first that players take who double, and pass, when indifferent."""
    answer, passed = best_answer(equities), equities.double_pass
    found = [Action(best_action(equities))]
    if answer == NOT_ALLOWED:
        return tuple(found)
    taken = min(equities.double_take, equities.double_beaver)
    if equities.no_double <= answer + TIE:
        taking = Action.DOUBLE_BEAVER if equities.double_beaver < equities.double_take - TIE else Action.DOUBLE_TAKE
        found += [
            action for action, equity in ((Action.DOUBLE_PASS, passed), (taking, taken)) if equity <= answer + TIE
        ]
    if equities.no_double >= answer - TIE:
        found.append(Action.TOO_GOOD if passed <= taken else Action.NO_DOUBLE)
    return tuple(dict.fromkeys(found))


def describe_model(rules: CubeRules) -> str:
    """The model in words."""
    strategy = rules.strategy
    if strategy.model == JUMP:
        return f"jump model, volatility {strategy.volatility:g}"
    own, other = strategy.cube_life_index, strategy.opponent_cube_life_index
    indexes = f"{own:g}" if own == other else f"{own:g} (opponent {other:g})"
    table = f", {rules.met.name}" if rules.met is not None and not rules.as_money else ""
    return f"janowski's model, cube life index {indexes}{table}"
