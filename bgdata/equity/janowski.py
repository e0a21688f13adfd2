"""Janowski's model of the cube in money play: between a dead cube and one that is always turned at the right moment.

A dead cube is never turned again: equity is linear in the winning chance P, P (W + L) - L, with W and L the mean points
of a win and of a loss. With a live cube, chances drift without jumps, and the cube is turned exactly where taking and
passing are equal: at the take and cash points, where the equity is -1 and 1. The model is the live equity times the
cube life index x, plus the dead equity times 1 - x, in points per unit cube of the player on roll if it does not double
now. Decisions follow by comparing equities.

Each player may have an index of its own: an owned cube has the index of its owner, a centered cube the mean of both.
Under the Jacoby rule, gammons count nothing while the cube is centered, so W = L = 1 until it is turned.

Source: R. Janowski, Take-Points in Money Games (1993).

The model *as first published* (Computational Backgammon, 20 March 2012) was withdrawn eight days later: equity is
straight in P between the take and the cash point, by the general formulas of Janowski's paper, with S = W + L + x/2:

    cube of the player on roll   S P - L
    cube of the opponent         S P - L - x/2
    cube in the middle           4 / (4 - x) (S P - L - x/4)

So the window from take to cash point depends on x, and outside of it equity is held at -1 and 1. Nobody is too good to
double but where the equity of a dead cube exceeds 1, which was the error: who plays on still has the cube. Nobody has
that program: these are its formulas by its printed figures, of which fewer come out with the other centered cubes that
we tried. It is for money play without the Jacoby rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.equity.cube_life_index import DEFAULT_INDEX, check_cube_life_index
from bgdata.equity.curves import CENTERED, ON_ROLL, OPPONENT, Curve, Points, curve_equity, mix, owner_code
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from bgdata.kernel import kernel


class LivePoints(NamedTuple):
    """Winning chances of the player on roll between which a live cube is not turned."""

    take_point: float
    cash_point: float


@kernel()
def live_points(mean_win: float, mean_loss: float) -> LivePoints:
    """The live cube's take and cash points, from mean points of a win and of a loss."""
    width = mean_win + mean_loss + 0.5
    return LivePoints((mean_loss - 0.5) / width, (mean_loss + 1.0) / width)


@kernel()
def live_curve(mean_win: float, mean_loss: float, owner: int, is_jacoby: bool) -> Curve:
    """The live cube's equity, by owner code; `is_jacoby` only matters for a centered cube."""
    points = live_points(mean_win, mean_loss)
    if owner == CENTERED:
        if is_jacoby:
            return Curve(points.take_point, points.cash_point, -1.0, -1.0, 1.0, 1.0)
        return Curve(points.take_point, points.cash_point, -mean_loss, -1.0, 1.0, mean_win)
    if owner == ON_ROLL:
        return Curve(0.0, points.cash_point, -mean_loss, -mean_loss, 1.0, mean_win)
    return Curve(points.take_point, 1.0, -mean_loss, -1.0, mean_win, mean_win)


@kernel()
def index_of(owner: int, own_index: float, opponent_index: float) -> float:
    """The cube life index of a cube by its owner, from the indexes of the player on roll and of the opponent."""
    if owner == CENTERED:
        return 0.5 * (own_index + opponent_index)
    return own_index if owner == ON_ROLL else opponent_index


@kernel()
def janowski_curve(
    mean_win: float, mean_loss: float, owner: int, own_index: float, opponent_index: float, is_jacoby: bool
) -> Curve:
    """The model's equity, by owner code."""
    return mix(live_curve(mean_win, mean_loss, owner, is_jacoby), index_of(owner, own_index, opponent_index))


@kernel()
def first_window(mean_win: float, mean_loss: float, index: float) -> LivePoints:
    """The take and cash points of the model as first published, from the cube life index."""
    width = mean_win + mean_loss + 0.5 * index
    return LivePoints((mean_loss - 0.5) / width, (mean_loss + 0.5 + 0.5 * index) / width)


@kernel()
def first_equity(win: float, mean_win: float, mean_loss: float, owner: int, index: float) -> float:
    """The no-double equity of the model as first published, by owner code."""
    window, dead = first_window(mean_win, mean_loss, index), win * (mean_win + mean_loss) - mean_loss
    if owner != ON_ROLL and win <= window.take_point:
        return min(-1.0, dead)
    if owner != OPPONENT and win >= window.cash_point:
        return max(1.0, dead)
    owned = win * (mean_win + mean_loss + 0.5 * index) - mean_loss
    if owner == CENTERED:
        return 4.0 / (4.0 - index) * (owned - 0.25 * index)
    return owned if owner == ON_ROLL else owned - 0.5 * index


@kernel()
def first_points(mean_win: float, mean_loss: float, owner: int, index: float) -> Points:
    """Where decisions change by the model as first published, for a centered cube or one that the player on roll owns:
    Janowski's formulas, but for the too-good point, which is that of a dead cube."""
    window, width = first_window(mean_win, mean_loss, index), mean_win + mean_loss + 0.5 * index
    above_loss = index if owner == ON_ROLL else 0.5 * index * (3.0 - index) / (2.0 - index)
    too_good_point = (mean_loss + 1.0) / (mean_win + mean_loss)
    return Points(window.take_point, (mean_loss + above_loss) / width, window.cash_point, too_good_point)


@kernel()
def fill_janowski(
    situations: NDArray[np.float64],
    owner: int,
    own_index: float,
    opponent_index: float,
    is_jacoby: bool,
    equities: NDArray[np.float64],
) -> None:
    """Fills equities[row] from situations[row, 0:3]: winning chance, mean points of a win and of a loss."""
    for row in range(len(situations)):
        win, mean_win, mean_loss = situations[row, 0], situations[row, 1], situations[row, 2]
        curve = janowski_curve(mean_win, mean_loss, owner, own_index, opponent_index, is_jacoby)
        equities[row] = curve_equity(curve, win)


def janowski_equities(
    win: ArrayLike,
    mean_win: ArrayLike = 1.0,
    mean_loss: ArrayLike = 1.0,
    *,
    owner: CubeOwner = CubeOwner.CENTERED,
    cube_life_index: float = DEFAULT_INDEX,
    opponent_cube_life_index: float | None = None,
    is_jacoby: bool = False,
) -> NDArray[np.float64]:
    """float64[...]: no-double equities of the player on roll, in points per unit cube, from arrays that broadcast:
    winning chances, and mean points of a win and of a loss (1 to 3).

    The opponent's cube life index is the same unless it is given; 0 means a dead cube and 1 a live one.

    >>> janowski_equities([0.25, 0.5, 0.7], 1.25, 1.25, owner=CubeOwner.ON_ROLL).round(4).tolist()
    [-0.5375, 0.175, 0.745]

    Raises InvalidParameterError for an index, a chance or mean points outside their ranges.
    """
    own, other = both_indexes(cube_life_index, opponent_cube_life_index)
    situations, shape = situation_rows(win, mean_win, mean_loss)
    equities = np.empty(len(situations))
    fill_janowski(situations, owner_code(owner), own, other, is_jacoby, equities)
    return equities.reshape(shape)


def situation_rows(
    win: ArrayLike, mean_win: ArrayLike, mean_loss: ArrayLike
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """float64[n, 3] rows of arrays that broadcast to a shape, and the shape. Raises InvalidParameterError."""
    try:
        columns = np.broadcast_arrays(*(np.asarray(column, float) for column in (win, mean_win, mean_loss)))
    except ValueError as error:
        raise InvalidParameterError(f"expected winning chances and mean points that broadcast, {error}") from error
    names = ("winning chances", "mean points of a win", "mean points of a loss")
    for name, column, least, most in zip(names, columns, (0, 1, 1), (1, 3, 3), strict=True):
        wrong = ~((column >= least) & (column <= most))
        if wrong.any():
            raise InvalidParameterError(f"expected {name} from {least} to {most}, got {column[wrong].flat[0]:g}")
    rows = np.stack([column.reshape(-1) for column in columns], axis=1)
    return np.ascontiguousarray(rows), columns[0].shape


def both_indexes(cube_life_index: float, opponent_cube_life_index: float | None) -> tuple[float, float]:
    """Both players' cube life indexes, equal unless the second is given. Raises InvalidParameterError."""
    other = cube_life_index if opponent_cube_life_index is None else opponent_cube_life_index
    for index in (cube_life_index, other):
        check_cube_life_index(index)
    return float(cube_life_index), float(other)
