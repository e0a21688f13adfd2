"""Cube decisions: the equity of every action and the best action, from chances and stakes.

>>> from bgdata.game.match import Cube, CubeOwner, Money, Stakes
>>> decision = decide_cube((0.7, 0.2, 0.0, 0.1, 0.0), Stakes(Money(is_jacoby=False)))
>>> decision.action, round(decision.double_gain, 3), round(decision.take_gain, 3)
(<Action.DOUBLE_TAKE: 1>, 0.049, 0.167)

Equities are for the player on roll, before the roll: points per unit cube in money play, mwc in a match. They come from
an exact table if one covers the position (`ExactCube`). Otherwise they come from a model and five chances, or from a
player that looks ahead with the cube.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgdata.equity import doubling
from bgdata.equity.cube_models import CUBE_MODELS, JANOWSKI, JANOWSKI_FIRST, JUMP, MODEL_NAMES
from bgdata.equity.curves import NEVER, OPPONENT, OWNER_CODES, Points
from bgdata.equity.doubling import DEFAULT_STRATEGY, NOT_ALLOWED, Action, CubeEquities, Strategy
from bgdata.equity.match_cube import MatchGame, fill_match_equities, match_equities, match_points
from bgdata.errors import InvalidParameterError, cite
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position

if TYPE_CHECKING:
    from bgdata.equity.match_equity import MatchEquity

TIE = 1e-9  # equities that differ by at most this are equal


class Unit(StrEnum):
    """The unit of the equities in a cube decision."""

    POINTS = "points per unit cube"
    MWC = "mwc"


class Method(StrEnum):
    """How the equities of a cube decision were computed."""

    EXACT = "exact"
    LOOKAHEAD = "lookahead"  # both sides may double during the next rolls; a model values the positions after them
    JANOWSKI, JUMP, JANOWSKI_FIRST = MODEL_NAMES


@dataclass(frozen=True)
class CubeRules:
    """The rules for cube decisions: the cube model (`strategy`), which is used if no exact table covers the position,
    and the match equity table for matches.

    If `has_beavers`, the player who takes may double at once and keep the cube (money play only). If `as_money`, a
    match is decided as money play, for comparison, but with the rules of the match. If `by_model`, the model decides
    from the chances of the position, even if an exact table covers it or the player looks ahead."""

    strategy: Strategy = DEFAULT_STRATEGY
    met: MatchEquity | None = None
    has_beavers: bool = False
    as_money: bool = False
    by_model: bool = False


DEFAULT_RULES = CubeRules()


class ExactCube(Protocol):
    """Looks up exact cube decisions in tables: for money play with any cube, or for a match at some scores and
    cubes."""

    @property
    def accuracy(self) -> str:
        """The error bound of the equities, in words."""

    def cube_equities(self, position: Position, stakes: Stakes, met: MatchEquity | None = None) -> CubeEquities | None:
        """Return the equities of the player on roll before the roll: points per unit cube in money play, mwc by `met`
        in a match. Returns None if the tables do not cover the position and the stakes. Doubling is NOT_ALLOWED if the
        rules forbid it. If there are no beavers, `double_beaver` equals `double_take`."""


@dataclass(frozen=True)
class CubeDecision:
    """A cube decision of the player on roll. The equities are those of this player before the roll, in `unit`. If the
    player may not double, or cannot gain by doubling, the equities of doubling are None, and `why_not` is the
    reason."""

    no_double: float
    double_take: float | None
    double_beaver: float | None  # None without beavers
    double_pass: float | None
    unit: Unit
    method: Method
    best: tuple[Action, ...]  # several if they are equally good
    points: Points  # winning chances at which decisions change, by the model
    accuracy: str  # the precision, in words
    why_not: str = ""

    @property
    def action(self) -> Action:
        """The best action. Among equally good actions, doubling comes first, and then passing."""
        return self.best[0]

    @property
    def may_double(self) -> bool:
        """Whether the player on roll may double."""
        return self.double_take is not None

    @property
    def equity(self) -> float:
        """The equity if both sides choose their best actions."""
        return doubling.best_equity(self.equities)

    @property
    def double_gain(self) -> float:
        """How much equity doubling gains (negative: loses) if the opponent gives its best answer; 0 if the player may
        not double."""
        return doubling.best_answer(self.equities) - self.no_double if self.may_double else 0.0

    @property
    def take_gain(self) -> float:
        """How much equity the opponent gains (negative: loses) by taking rather than passing; 0 if the player may not
        double."""
        if self.double_pass is None:
            return 0.0
        return self.double_pass - min(self.equities.double_take, self.equities.double_beaver)

    @property
    def equities(self) -> CubeEquities:
        """The equities of all actions in the form that kernels use."""
        if self.double_take is None or self.double_pass is None:
            return CubeEquities(self.no_double, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
        beaver = self.double_take if self.double_beaver is None else self.double_beaver
        return CubeEquities(self.no_double, self.double_take, beaver, self.double_pass)


def decide_cube(
    chances: Sequence[float],
    stakes: Stakes,
    rules: CubeRules = DEFAULT_RULES,
    better: CubeEquities | None = None,
    accuracy: str = "",
    method: Method = Method.EXACT,
) -> CubeDecision:
    """Make the cube decision of the player on roll, from its five cumulative chances before the roll.

    If `better` equities are given, they replace those of the model, `accuracy` replaces the description of the model,
    and `method` says where they come from. Raises InvalidParameterError if chances are out of order, rules do not fit
    the stakes, or a match has no match equity table; and InvalidScoreError if the table does not contain the score."""
    try:
        given = np.array([chances], np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"expected five chances, got {cite(str(chances))}") from None
    row = doubling.check_chances(given)[0]
    check_rules(stakes, rules)
    score, strategy, met = stakes.score, rules.strategy, rules.met
    is_match = isinstance(score, MatchScore) and not rules.as_money
    if is_match:
        assert isinstance(score, MatchScore)
        assert met is not None
        check_scores(met, score, stakes.cube.value)
        game, owner = MatchGame(score.away, score.opponent_away, score.is_crawford), OWNER_CODES[stakes.cube.owner]
        situation = (strategy, met.cells, game, stakes.cube.value, owner, row)
        found, points = CubeEquities(*match_equities(*situation)), Points(*match_points(*situation))
    else:
        is_jacoby = isinstance(score, Money) and score.is_jacoby
        owner = doubling.check_money(strategy, stakes.cube.owner, is_jacoby=is_jacoby)
        found = CubeEquities(*doubling.money_equities(strategy, row, owner, is_jacoby, rules.has_beavers))
        win, mean_win, mean_loss = doubling.mean_points(row)
        turned = 0 if owner == OPPONENT else owner  # if the opponent owns the cube, only the take point is meaningful
        points = Points(*doubling.money_points_of(strategy, mean_win, mean_loss, turned, is_jacoby, rules.has_beavers))
        if stakes.is_crawford:  # no cube in the Crawford game
            found = found._replace(no_double=win * mean_win - (1 - win) * mean_loss)
    if better is not None and not (rules.as_money and isinstance(score, MatchScore)):
        beaver = 2 * better.double_take if rules.has_beavers else better.double_take
        found = better._replace(double_beaver=beaver)
    else:
        method, accuracy = Method(MODEL_NAMES[strategy.model]), describe_model(rules)
    why_not = why_no_double(stakes, rules)
    allowed = not why_not
    if not allowed:
        points = points._replace(double_point=NEVER, cash_point=NEVER, too_good_point=NEVER)
    if stakes.is_crawford:
        points = points._replace(take_point=NEVER)
    return CubeDecision(
        no_double=found.no_double,
        double_take=found.double_take if allowed else None,
        double_beaver=found.double_beaver if allowed and rules.has_beavers else None,
        double_pass=found.double_pass if allowed else None,
        unit=Unit.MWC if is_match else Unit.POINTS,
        method=method,
        best=best_actions(found if allowed else found._replace(**_NO_DOUBLES)),
        points=points,
        accuracy=accuracy,
        why_not=why_not,
    )


_NO_DOUBLES = {"double_take": NOT_ALLOWED, "double_beaver": NOT_ALLOWED, "double_pass": NOT_ALLOWED}


def check_scores(met: MatchEquity, score: MatchScore, cube_value: int) -> None:
    """Raise InvalidScoreError unless the match equity table covers all scores that a game may lead to. Kernels do not
    check this."""
    while cube_value < max(score.away, score.opponent_away):
        met.game(score, cube_value)
        cube_value *= 2


def check_rules(stakes: Stakes, rules: CubeRules) -> None:
    """Raise InvalidParameterError if the stakes are a match and the rules lack a match equity table, or contain rules
    of money play."""
    if isinstance(stakes.score, Money):
        return
    if rules.has_beavers:
        raise InvalidParameterError(f"expected beavers in money play only, got them at {stakes.score}")
    if rules.as_money:
        return
    model = CUBE_MODELS[rules.strategy.model]
    if not model.knows_matches:
        raise InvalidParameterError(f"expected a model that knows match scores, got {model.name} at {stakes.score}")
    if rules.met is None:
        raise InvalidParameterError(f"expected a match equity table for a match, got none at {stakes.score}")


def why_no_double(stakes: Stakes, rules: CubeRules = DEFAULT_RULES) -> str:
    """Return the reason why the player on roll has no cube decision, empty if it has one."""
    if stakes.is_crawford:
        return "nobody doubles in the crawford game"
    if stakes.cube.owner == CubeOwner.OPPONENT:
        return "the opponent owns the cube"
    score = stakes.score
    if isinstance(score, MatchScore) and not rules.as_money and score.away <= stakes.cube.value:
        return f"at {score} the cube is high enough to win the match"
    return ""


def best_actions(equities: CubeEquities) -> tuple[Action, ...]:
    """Return all actions with the best equity. Among equally good actions, doubling comes first, and then passing."""
    answer, passed = doubling.best_answer(equities), equities.double_pass
    found = [Action(doubling.best_action(equities))]
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
    """Name the cube model and its settings in words."""
    strategy = rules.strategy
    by_score = rules.met is not None and not rules.as_money
    table = f", {rules.met.name}" if rules.met is not None and by_score else ""
    if strategy.model == JUMP:
        local = strategy.local_volatility
        here = "" if local == strategy.volatility else f", {local:.3f} here"
        return f"jump model, volatility {strategy.volatility:g}{here}{table}"
    own, other = strategy.cube_life_index, strategy.opponent_cube_life_index
    indexes = f"{own:g}" if own == other else f"{own:g} (opponent {other:g})"
    first = {JANOWSKI: "", JANOWSKI_FIRST: " as first published"}[strategy.model]
    free = f" (free doubles {strategy.free_index:g})" if by_score and strategy.free_index else ""
    return f"Janowski's model{first}, cube life index {indexes}{free}{table}"


Values = NDArray[np.float64]
Value = TypeVar("Value", float, Values)


def position_values(chances: NDArray[np.floating], stakes: Stakes, rules: CubeRules) -> Values:
    """Compute the values of positions for the player on roll before the roll, from float[n, 5] chances. Returns mwc in
    a match, or points, as float64[n]. Raises InvalidParameterError if chances are out of order, a match has no match
    equity table, or the model does not support the Jacoby rule of the stakes; and InvalidScoreError if the table does
    not contain the score."""
    rows, score, owner = doubling.check_chances(chances), stakes.score, OWNER_CODES[stakes.cube.owner]
    equities = np.empty(len(rows))
    if isinstance(score, MatchScore):
        met = met_of(rules)
        check_scores(met, score, stakes.cube.value)
        game = MatchGame(score.away, score.opponent_away, score.is_crawford)
        fill_match_equities(rules.strategy, met.cells, game, stakes.cube.value, owner, rows, equities)
        return equities
    doubling.check_money(rules.strategy, stakes.cube.owner, is_jacoby=score.is_jacoby)
    doubling.fill_money_equities(rules.strategy, rows, owner, score.is_jacoby, rules.has_beavers, equities)
    return np.asarray(stakes.cube.value * equities)


def for_other_side(value: Value, stakes: Stakes) -> Value:
    """Convert a value to the value for the other side. The mwc of both sides sum to 1, and their points to 0."""
    return -value if isinstance(stakes.score, Money) else 1 - value


def worth_of_game(stakes: Stakes, rules: CubeRules) -> float:
    """Return the value of the game before its first roll: mwc by the match equity table, or 0 points. Raises
    InvalidScoreError if the table does not contain the score."""
    return 0.0 if isinstance(stakes.score, Money) else met_of(rules).at(stakes.score)


def worth_of_result(points: int, stakes: Stakes, rules: CubeRules) -> float:
    """Return the value of winning `points`, which include the cube (negative: of losing them), in mwc or points. Raises
    InvalidScoreError if the match equity table does not contain the score."""
    return float(points) if isinstance(stakes.score, Money) else met_of(rules).after(stakes.score, points)


def normalised_point(stakes: Stakes, rules: CubeRules) -> float:
    """Return the value of one point of normalised equity: half the difference between winning and losing a single game
    with this cube. Errors divided by it can be compared across cubes and scores. Raises InvalidScoreError if the match
    equity table does not contain the score."""
    value = stakes.cube.value
    return (worth_of_result(value, stakes, rules) - worth_of_result(-value, stakes, rules)) / 2


def normalised_equity(worth: float, stakes: Stakes, rules: CubeRules) -> float:
    """Convert a value in mwc or points to normalised equity: -1 for losing and 1 for winning a single game with this
    cube. Raises InvalidScoreError if the match equity table does not contain the score."""
    value = stakes.cube.value
    lose, win = (worth_of_result(points, stakes, rules) for points in (-value, value))
    return 2 * (worth - lose) / (win - lose) - 1


def met_of(rules: CubeRules) -> MatchEquity:
    """Return the match equity table of the rules. Raises InvalidParameterError if they have none."""
    if rules.met is None:
        raise InvalidParameterError("expected a match equity table for a match, got none")
    return rules.met
