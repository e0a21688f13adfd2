"""The equities that a cube decision compares, the best action, and strategies (cube models with settings).

This module is for kernels: a strategy is a tuple of numbers, equities are returned as tuples, and no memory is
allocated. Other code uses `cube`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity import curves
from bgdata.equity.cube_models import (
    CUBE_MODELS,
    DEFAULT_INDEX,
    FREE_INDEX,
    JANOWSKI,
    JANOWSKI_FIRST,
    JUMP,
    MODEL_NAMES,
)
from bgdata.equity.curves import CENTERED, DEFAULT_VOLATILITY, OPPONENT, Curve, Points
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from bgdata.kernel import Array, kernel

NOT_ALLOWED = -np.inf  # the equity of a double that the rules forbid, or that cannot gain at the score


class Action(IntEnum):
    """The best cube actions of both sides, such as double and take; kernels use the numbers."""

    NO_DOUBLE = 0  # too early, or not allowed
    DOUBLE_TAKE = 1
    DOUBLE_PASS = 2
    TOO_GOOD = 3  # the opponent would pass, and playing on is better
    DOUBLE_BEAVER = 4


_NO_DOUBLE, _TAKE, _PASS, _TOO_GOOD, _BEAVER = map(int, Action)


class Strategy(NamedTuple):
    """A cube model with its settings. JANOWSKI and JANOWSKI_FIRST use the cube life indexes of the player on roll and
    of the opponent, JUMP the mean volatility and the volatility of the position. In matches, JANOWSKI uses at least
    `free_index` for a player to whom a higher cube costs nothing more, because losing with the present cube already
    loses the match."""

    model: int = JANOWSKI
    cube_life_index: float = DEFAULT_INDEX
    opponent_cube_life_index: float = DEFAULT_INDEX
    volatility: float = DEFAULT_VOLATILITY
    local_volatility: float = DEFAULT_VOLATILITY
    free_index: float = 0.0


CONSTANT_STRATEGY = Strategy()
DEFAULT_STRATEGY = Strategy(free_index=FREE_INDEX)


class CubeEquities(NamedTuple):
    """The equity of each cube action for the player on roll: points per unit cube, or mwc in a match. Forbidden actions
    are NOT_ALLOWED. If there are no beavers, `double_beaver` equals `double_take`."""

    no_double: float
    double_take: float
    double_beaver: float
    double_pass: float


class PointColumns(NamedTuple):
    """`Points` for many pairs of mean points: each field is float64[...]."""

    take_point: NDArray[np.float64]
    double_point: NDArray[np.float64]
    cash_point: NDArray[np.float64]
    too_good_point: NDArray[np.float64]


def janowski(cube_life_index: float = DEFAULT_INDEX, opponent_cube_life_index: float | None = None) -> Strategy:
    """Make the strategy of Janowski's model with one cube life index, or one for each player. Raises
    InvalidParameterError if an index is outside 0 to 1."""
    own, other = curves.both_indexes(cube_life_index, opponent_cube_life_index)
    return Strategy(JANOWSKI, own, other)


def janowski_first(cube_life_index: float = DEFAULT_INDEX) -> Strategy:
    """Make the strategy of Janowski's model in the version that was published first and withdrawn. Raises
    InvalidParameterError if the index is outside 0 to 1."""
    return janowski(cube_life_index)._replace(model=JANOWSKI_FIRST)


def jump(volatility: float = DEFAULT_VOLATILITY, local_volatility: float | None = None) -> Strategy:
    """Make the strategy of the jump model, with one volatility, or a separate local one for the present cube. Raises
    InvalidParameterError if a volatility is out of range."""
    local = volatility if local_volatility is None else local_volatility
    for given in (volatility, local):
        if not 0 <= given <= curves.MAX_VOLATILITY:
            raise InvalidParameterError(
                f"expected a jump volatility from 0 to {curves.MAX_VOLATILITY:g}, got {given:g}"
            )
    return Strategy(JUMP, volatility=float(volatility), local_volatility=float(local))


@kernel()
def turned_strategy(strategy: Strategy) -> Strategy:
    """Return the strategy as the opponent sees it: the settings of both players change places."""
    model, own, other, mean, local, free = strategy
    return Strategy(model, other, own, mean, local, free)


@kernel()
def later_strategy(strategy: Strategy) -> Strategy:
    """Return the strategy for the time after the present cube is turned: the local volatility becomes the mean
    volatility."""
    model, own, other, mean, _, free = strategy
    return Strategy(model, own, other, mean, mean, free)


@kernel()
def best_answer(equities: CubeEquities) -> float:
    """Return the equity of a double if the opponent gives its best answer, NOT_ALLOWED if the player may not double."""
    return min(equities.double_take, equities.double_beaver, equities.double_pass)


@kernel()
def best_equity(equities: CubeEquities) -> float:
    """Return the equity if both sides choose their best actions."""
    return max(equities.no_double, best_answer(equities))


@kernel()
def best_action(equities: CubeEquities) -> int:
    """Return the number of the best `Action`. If two actions have equal equities, the player doubles, and the opponent
    passes."""
    answer, passes = best_answer(equities), equities.double_pass <= best_answer(equities)
    if equities.no_double > answer:
        return _TOO_GOOD if passes and answer > NOT_ALLOWED else _NO_DOUBLE
    if passes:
        return _PASS
    return _BEAVER if equities.double_beaver < equities.double_take else _TAKE


@kernel(borrows=True)
def mean_points(chances: NDArray[np.floating]) -> tuple[float, float, float]:
    """Return the winning chance, and the mean points of a win and of a loss, from five cumulative chances."""
    win = min(max(float(chances[0]), 0.0), 1.0)
    mean_win = 1.0 + (chances[1] + chances[2]) / win if win > 0.0 else 1.0
    mean_loss = 1.0 + (chances[3] + chances[4]) / (1.0 - win) if win < 1.0 else 1.0
    return win, min(max(mean_win, 1.0), 3.0), min(max(mean_loss, 1.0), 3.0)


@kernel()
def money_curve(strategy: Strategy, mean_win: float, mean_loss: float, owner: int, is_jacoby: bool) -> Curve:
    """Return the equity curve in money play by the model JANOWSKI or JUMP, for the cube owner `owner` (CENTERED,
    ON_ROLL or OPPONENT). `mean_win` and `mean_loss` are the mean points of a win and of a loss."""
    if strategy.model == JUMP:
        return curves.jump_curve(mean_win, mean_loss, owner, strategy.volatility, strategy.local_volatility, is_jacoby)
    return curves.janowski_curve(
        mean_win, mean_loss, owner, strategy.cube_life_index, strategy.opponent_cube_life_index, is_jacoby
    )


@kernel()
def no_double_equity(
    strategy: Strategy, win: float, mean_win: float, mean_loss: float, owner: int, is_jacoby: bool
) -> float:
    """Return the equity of the player on roll without a double in money play, in points per unit cube, for the cube
    owner `owner` (CENTERED, ON_ROLL or OPPONENT). `mean_win` and `mean_loss` are the mean points of a win and of a
    loss."""
    if strategy.model == JANOWSKI_FIRST:
        index = curves.index_of(owner, strategy.cube_life_index, strategy.opponent_cube_life_index)
        return curves.first_equity(win, mean_win, mean_loss, owner, index)
    return curves.curve_equity(money_curve(strategy, mean_win, mean_loss, owner, is_jacoby), win)


@kernel(borrows=True)
def money_equities(
    strategy: Strategy, chances: NDArray[np.floating], owner: int, is_jacoby: bool, has_beavers: bool
) -> CubeEquities:
    """Return the equity of each cube action for the player on roll in money play, from five cumulative chances."""
    win, mean_win, mean_loss = mean_points(chances)
    now = no_double_equity(strategy, win, mean_win, mean_loss, owner, is_jacoby)
    if owner == OPPONENT:
        return CubeEquities(now, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
    taken = 2.0 * no_double_equity(later_strategy(strategy), win, mean_win, mean_loss, OPPONENT, False)
    return CubeEquities(now, taken, 2.0 * taken if has_beavers else taken, 1.0)


@kernel()
def money_points_of(
    strategy: Strategy, mean_win: float, mean_loss: float, owner: int, is_jacoby: bool, has_beavers: bool
) -> Points:
    """Return the winning chances at which decisions change in money play, for a centered cube or one that the player on
    roll owns. `mean_win` and `mean_loss` are the mean points of a win and of a loss."""
    if strategy.model == JANOWSKI_FIRST:
        index = curves.index_of(owner, strategy.cube_life_index, strategy.opponent_cube_life_index)
        return curves.first_points(mean_win, mean_loss, owner, index)
    now = money_curve(strategy, mean_win, mean_loss, owner, is_jacoby)
    taken = curves.scale(money_curve(later_strategy(strategy), mean_win, mean_loss, OPPONENT, False), 2.0)
    own = curves.scale(money_curve(later_strategy(strategy), mean_win, mean_loss, curves.ON_ROLL, False), 2.0)
    return Points(
        curves.first_reaching(own, -1.0),
        curves.double_point(now, taken, 1.0, 2.0 if has_beavers else 1.0),
        curves.first_reaching(taken, 1.0),
        curves.first_reaching(now, 1.0),
    )


@kernel()
def fill_money_equities(
    strategy: Strategy, chances: Array, owner: int, is_jacoby: bool, has_beavers: bool, equities: Array
) -> None:
    """Fill equities[row] with the equity in money play if both sides choose their best actions, from chances[row]."""
    for row in range(len(chances)):
        equities[row] = best_equity(money_equities(strategy, chances[row], owner, is_jacoby, has_beavers))


def money_points(
    strategy: Strategy,
    mean_win: Array | float = 1.0,
    mean_loss: Array | float = 1.0,
    *,
    owner: CubeOwner = CubeOwner.CENTERED,
    is_jacoby: bool = False,
    has_beavers: bool = False,
) -> PointColumns:
    """Compute the take, double (redouble if the player owns the cube), cash and too-good points in money play: the
    winning chances at which two actions have equal equities. Each is float64[...], from arrays of mean points of a win
    and of a loss that broadcast.

    Raises InvalidParameterError for mean points out of range, a cube that the player may not turn, and a model that
    does not support the Jacoby rule."""
    code = check_money(strategy, owner, is_jacoby=is_jacoby)
    if code == OPPONENT:
        raise InvalidParameterError("expected a cube that is centered or owned by the player on roll, got opponent")
    situations, shape = curves.situation_rows(0.5, mean_win, mean_loss)
    means = situations[:, 1:].tolist()
    points = np.array([money_points_of(strategy, won, lost, code, is_jacoby, has_beavers) for won, lost in means])
    return PointColumns(*(column.reshape(shape) for column in points.reshape(-1, 4).T))


def check_money(strategy: Strategy, owner: CubeOwner, *, is_jacoby: bool) -> int:
    """Check the cube owner and the rules for money play, and return the number of the owner in kernels. Raises
    InvalidParameterError for an unknown owner, or if the Jacoby rule matters and the model does not support it."""
    code = curves.owner_code(owner)
    if is_jacoby and not CUBE_MODELS[strategy.model].knows_jacoby and code == CENTERED:
        raise InvalidParameterError(f"expected a model that knows the jacoby rule, got {MODEL_NAMES[strategy.model]}")
    return code


def check_chances(chances: Array) -> NDArray[np.float64]:
    """Return five cumulative chances in each row as float64[n, 5]. Raises InvalidParameterError for another shape,
    values outside 0 to 1, or a chance that is larger (beyond rounding) than a chance that includes it."""
    rows = np.ascontiguousarray(chances, np.float64)
    if rows.ndim != 2 or rows.shape[1] != 5:
        raise InvalidParameterError(f"expected chances[n, 5], got {list(rows.shape)}")
    includes = np.stack([np.ones(len(rows)), rows[:, 0], rows[:, 1], 1 - rows[:, 0], rows[:, 3]], axis=1)
    wrong = ~((rows >= -1e-6) & (rows <= includes + 1e-6))
    if wrong.any():
        row = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise InvalidParameterError(
            "expected win >= win_gammon >= win_backgammon and 1 - win >= lose_gammon >= lose_backgammon from 0 to 1, "
            f"got {', '.join(f'{value:g}' for value in rows[row])}"
        )
    return rows
