"""Equity as a function of winning chance. The curve of every cube model has three straight pieces, between the ends and
two knots.

The knots are the winning chances at which the live cube is turned. Models only differ in the knots. Mixing and
comparing curves, and finding the winning chances at which decisions change, are the same for all models, in money play
and in matches. Functions are about one position, and are called from kernels or from Python.

Janowski's model in money play is a mixture of a dead cube and a cube that is always turned at the right moment.

A dead cube is never turned again. Equity is then linear in the winning chance P: P (W + L) - L, where W and L are the
mean points of a win and of a loss. With a live cube, chances drift without jumps, and the cube is turned exactly where
taking and passing are equal: at the take and cash points, where the equity is -1 and 1. The model is the live equity
times the cube life index x, plus the dead equity times 1 - x, in points per unit cube of the player on roll if it does
not double now. Decisions follow by comparing equities.

Players may have different indexes: an owned cube has the index of its owner, a centered cube the mean of both. Under
the Jacoby rule, gammons count as single games while the cube is centered, so W = L = 1 until it is turned.

Source: R. Janowski, Take-Points in Money Games (1993).

The model *as first published* (Computational Backgammon, 20 March 2012) was withdrawn eight days later: equity is
straight in P between the take and the cash point, by the general formulas of Janowski's paper, with S = W + L + x/2:

    cube of the player on roll   S P - L
    cube of the opponent         S P - L - x/2
    cube in the middle           4 / (4 - x) (S P - L - x/4)

So the window from take to cash point depends on x; outside of it equity is -1 or 1. The player is too good to double
only if the equity of a dead cube exceeds 1. That was the error: a player who plays on can still turn the cube. The
program is not available, so its formulas were inferred from the published figures. Other formulas for the centered cube
match fewer of them. The model is for money play without the Jacoby rule.

The jump model is Janowski's model with winning chances that jump rather than drift.

Jumps are symmetric; their mean absolute size is `volatility`. In the approximation used here, equity stays linear
between the decision points, but the points move: players double before the opponent's take point, since a jump may
carry the chances past it. Equities are no-double equities of the player on roll, in points per unit cube.

All formulas follow one rule: at a bend of the live cube's equity, jumps cost half their mean size times the change of
slope. This is how far the mean after jumps to both sides is below the bend. For money this gives the published
formulas. At match scores it uses the live cube's mwc (`owned_jump_curve`, `centered_jump_curve`).

Volatility may be local: the equity of the present cube uses the jumps in this position (`local`), while take and cash
points of cubes turned in later positions use the mean volatility.

These are the corrected formulas (post "Jump model revisited" of 5 April 2012 and the last revision of arXiv 1203.5692);
the author withdrew those of March 2012. `numeric` solves the model without the approximation. The approximation is not
even exact in the limit of small jumps, because the overshoot depends on their distribution: double-exponential jumps
cost the owner of a cube half as much again. The model was published without the Jacoby rule. With it, the live curve of
a centered cube is flat beyond its knots, because gammons do not count, so jumps cost more there by the same formula.
Its equities then differ from the numeric solution by up to 0.08 points at the default volatility, twice as much as
without the rule, and its double points by up to 0.035.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.equity.cube_models import DEFAULT_INDEX, check_cube_life_index
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from bgdata.kernel import kernel

CENTERED, ON_ROLL, OPPONENT = 0, 1, 2
OWNER_CODES = {CubeOwner.CENTERED: CENTERED, CubeOwner.ON_ROLL: ON_ROLL, CubeOwner.OPPONENT: OPPONENT}
NEVER = 2.0  # a winning chance that is never reached
DEFAULT_VOLATILITY = 0.113  # implies a cube life index of 0.7 if wins and losses are worth 1.25 points
MAX_VOLATILITY = 0.25  # above it, equities can fall with the winning chance if mean points are far apart


class Curve(NamedTuple):
    """The equity of the player on roll without a double, as a function of its winning chance. The curve has straight
    pieces between the points (0, lose), (low, at_low), (high, at_high) and (1, win). It never falls, and `low` is at
    most `high`."""

    low: float
    high: float
    lose: float
    at_low: float
    at_high: float
    win: float


class Points(NamedTuple):
    """The winning chances of the player on roll, 0 to 1, at which cube decisions change; NEVER if they do not."""

    take_point: float  # from here on the player on roll takes a double
    double_point: float  # from here on the player on roll doubles, unless playing on is better
    cash_point: float  # from here on the opponent passes
    too_good_point: float  # from here on playing on is better than a pass


@kernel()
def height_on_line(win: float, start: float, end: float, at_start: float, at_end: float) -> float:
    """Return the height at `win` of the line through (start, at_start) and (end, at_end), or `at_end` if the points
    coincide."""
    width = end - start
    return at_end if width <= 0.0 else at_start + (at_end - at_start) * ((win - start) / width)


@kernel()
def curve_equity(curve: Curve, win: float) -> float:
    """Return the equity on a curve at a winning chance from 0 to 1."""
    if win < curve.low:
        return height_on_line(win, 0.0, curve.low, curve.lose, curve.at_low)
    if win < curve.high:
        return height_on_line(win, curve.low, curve.high, curve.at_low, curve.at_high)
    return height_on_line(win, curve.high, 1.0, curve.at_high, curve.win)


@kernel()
def mix(live: Curve, index: float) -> Curve:
    """Mix a live curve with that of a dead cube, as Janowski does: `index` times the live curve plus 1 - `index` times
    the dead cube's straight line."""
    rise = live.win - live.lose
    at_low = index * live.at_low + (1.0 - index) * (live.lose + rise * live.low)
    at_high = index * live.at_high + (1.0 - index) * (live.lose + rise * live.high)
    return Curve(live.low, live.high, live.lose, at_low, at_high, live.win)


@kernel()
def first_reaching(curve: Curve, equity: float) -> float:
    """Return the lowest winning chance at which a curve reaches an equity: 0 if it starts above it, NEVER if it stays
    below."""
    if curve.lose >= equity:
        return 0.0
    if curve.at_low >= equity:
        return height_on_line(equity, curve.lose, curve.at_low, 0.0, curve.low)
    if curve.at_high >= equity:
        return height_on_line(equity, curve.at_low, curve.at_high, curve.low, curve.high)
    if curve.win >= equity:
        return height_on_line(equity, curve.at_high, curve.win, curve.high, 1.0)
    return NEVER


@kernel()
def scale(curve: Curve, factor: float) -> Curve:
    """Return the curve with all equities multiplied by `factor`, for example to convert them to another cube value."""
    return Curve(
        curve.low, curve.high, factor * curve.lose, factor * curve.at_low, factor * curve.at_high, factor * curve.win
    )


@kernel()
def mirror(curve: Curve) -> Curve:
    """Return the curve as the opponent sees it: with 1 minus the winning chances, and minus the equities."""
    return Curve(1.0 - curve.high, 1.0 - curve.low, -curve.win, -curve.at_high, -curve.at_low, -curve.lose)


@kernel()
def doubled_equity(taken: Curve, passed: float, beaver_factor: float, win: float) -> float:
    """Return the equity of a double if the opponent gives its best answer. `taken` is the curve after a take, `passed`
    the equity of a pass. A taken double with negative equity is beavered, which multiplies it by `beaver_factor`: 2 in
    money play with beavers, otherwise 1."""
    equity = curve_equity(taken, win)
    return min(passed, equity if equity >= 0.0 else beaver_factor * equity)


@kernel()
def double_point(now: Curve, taken: Curve, passed: float, beaver_factor: float) -> float:
    """Return the winning chance, up to the cash point, from which doubling is at least as good as not doubling (the
    curve `now`). Returns NEVER if playing on is better even at the cash point. `taken` is the curve after a take,
    `passed` the equity of a pass."""
    cash = min(first_reaching(taken, passed), 1.0)
    zero = first_reaching(taken, 0.0) if beaver_factor > 1.0 else 0.0
    above, gain_above = cash, doubled_equity(taken, passed, beaver_factor, cash) - curve_equity(now, cash)
    if gain_above < 0.0:
        return NEVER
    while above > 0.0:
        below = 0.0  # next lower winning chance at which a curve bends, or `taken` is 0
        for knot in (now.low, now.high, taken.low, taken.high, zero):
            if knot < above:
                below = max(below, knot)
        gain = doubled_equity(taken, passed, beaver_factor, below) - curve_equity(now, below)
        if gain < 0.0:
            return height_on_line(0.0, gain, gain_above, below, above)
        above, gain_above = below, gain
    return 0.0


def owner_code(owner: CubeOwner | str) -> int:
    """Return the number of a cube owner in kernels. Raises InvalidParameterError for an unknown owner."""
    if owner not in OWNER_CODES:
        raise InvalidParameterError(f"expected a cube owner in {{{', '.join(CubeOwner)}}}, got {owner}")
    return OWNER_CODES[CubeOwner(owner)]


class LivePoints(NamedTuple):
    """The winning chances of the player on roll between which a live cube is not turned."""

    take_point: float
    cash_point: float


@kernel()
def live_points(mean_win: float, mean_loss: float) -> LivePoints:
    """Return the take and cash points with a live cube, from the mean points of a win and of a loss."""
    width = mean_win + mean_loss + 0.5
    return LivePoints((mean_loss - 0.5) / width, (mean_loss + 1.0) / width)


@kernel()
def live_curve(mean_win: float, mean_loss: float, owner: int, is_jacoby: bool) -> Curve:
    """Return the equity curve with a live cube for the cube owner `owner` (CENTERED, ON_ROLL or OPPONENT). `mean_win`
    and `mean_loss` are the mean points of a win and of a loss; `is_jacoby` matters only for a centered cube."""
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
    """Return the cube life index for the cube owner `owner` (CENTERED, ON_ROLL or OPPONENT), from the indexes of the
    player on roll and of the opponent."""
    if owner == CENTERED:
        return 0.5 * (own_index + opponent_index)
    return own_index if owner == ON_ROLL else opponent_index


@kernel()
def janowski_curve(
    mean_win: float, mean_loss: float, owner: int, own_index: float, opponent_index: float, is_jacoby: bool
) -> Curve:
    """Return the equity curve by Janowski's model for the cube owner `owner` (CENTERED, ON_ROLL or OPPONENT).
    `mean_win` and `mean_loss` are the mean points of a win and of a loss, and the indexes are the players' cube life
    indexes."""
    return mix(live_curve(mean_win, mean_loss, owner, is_jacoby), index_of(owner, own_index, opponent_index))


@kernel()
def first_window(mean_win: float, mean_loss: float, index: float) -> LivePoints:
    """Return the take and cash points by Janowski's model as it was first published, from the cube life index."""
    width = mean_win + mean_loss + 0.5 * index
    return LivePoints((mean_loss - 0.5) / width, (mean_loss + 0.5 + 0.5 * index) / width)


@kernel()
def first_equity(win: float, mean_win: float, mean_loss: float, owner: int, index: float) -> float:
    """Return the equity without a double by Janowski's model as it was first published, for the cube owner `owner`
    (CENTERED, ON_ROLL or OPPONENT)."""
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
    """Return the winning chances at which decisions change by Janowski's model as it was first published, for a
    centered cube or one that the player on roll owns. The formulas are Janowski's, except that the too-good point is
    that of a dead cube."""
    window, width = first_window(mean_win, mean_loss, index), mean_win + mean_loss + 0.5 * index
    above_loss = index if owner == ON_ROLL else 0.5 * index * (3.0 - index) / (2.0 - index)
    too_good_point = (mean_loss + 1.0) / (mean_win + mean_loss)
    return Points(window.take_point, (mean_loss + above_loss) / width, window.cash_point, too_good_point)


@kernel()
def fill_janowski(
    situations: NDArray[np.float64], owner: int, own_index: float, opponent_index: float, is_jacoby: bool,
    equities: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill equities[row] with the equities without a double by Janowski's model, from situations[row]: winning chance,
    mean points of a win and of a loss."""
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
    """Compute the equities of the player on roll without a double by Janowski's model, as float64[...] in points per
    unit cube. Winning chances, and mean points of a win and of a loss (1 to 3), are arrays that broadcast.

    A cube life index of 0 is a dead cube, 1 a live one. The opponent's index defaults to `cube_life_index`.

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
    """Combine arrays that broadcast into rows of winning chance, mean points of a win and of a loss, float64[n, 3].
    Returns the rows and the common shape of the arrays. Raises InvalidParameterError if a value is out of range."""
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
    """Return the cube life indexes of both players. The opponent's defaults to the player's. Raises
    InvalidParameterError if one is outside 0 to 1."""
    other = cube_life_index if opponent_cube_life_index is None else opponent_cube_life_index
    for index in (cube_life_index, other):
        check_cube_life_index(index)
    return float(cube_life_index), float(other)


@kernel()
def owned_slope(mean_win: float, mean_loss: float, volatility: float) -> float:
    """Return the slope of equity by winning chance for the owner of the cube, below the cash point. For the opponent's
    cube above the take point, swap the mean points."""
    width = mean_win + mean_loss + 0.5
    return width - volatility / 4.0 * width * width / ((mean_win - 0.5) * (mean_loss + 1.0))


@kernel()
def turning_equity(mean_win: float, mean_loss: float, volatility: float) -> float:
    """Return the equity of a centered cube at the live cube's cash point: 1 minus the cost of jumps beyond it."""
    return 1.0 - volatility / 6.0 * (mean_win + mean_loss + 0.5) * (mean_win + 1.0) / (mean_win - 0.5)


@kernel()
def jump_curve(
    mean_win: float, mean_loss: float, owner: int, volatility: float, local: float, is_jacoby: bool = False
) -> Curve:
    """Return the equity curve by the jump model for the cube owner `owner` (CENTERED, ON_ROLL or OPPONENT). `mean_win`
    and `mean_loss` are the mean points of a win and of a loss, `volatility` is the mean and `local` the local
    volatility. `is_jacoby` matters only for a centered cube."""
    if owner == CENTERED and is_jacoby:
        return centered_jump_curve(live_curve(mean_win, mean_loss, CENTERED, True), local)
    if owner == CENTERED:
        points = live_points(mean_win, mean_loss)
        at_low = -turning_equity(mean_loss, mean_win, local)
        at_high = turning_equity(mean_win, mean_loss, local)
        return Curve(points.take_point, points.cash_point, -mean_loss, at_low, at_high, mean_win)
    if owner == ON_ROLL:
        # where doubling and taking is worth 1 to the player who doubles
        cash_point = 1.0 - (mean_win - 0.5) / owned_slope(mean_loss, mean_win, volatility)
        own = owned_slope(mean_win, mean_loss, local)
        return Curve(0.0, cash_point, -mean_loss, -mean_loss, own * cash_point - mean_loss, mean_win)
    take_point = (mean_loss - 0.5) / owned_slope(mean_win, mean_loss, volatility)
    other = owned_slope(mean_loss, mean_win, local)
    return Curve(take_point, 1.0, -mean_loss, mean_win - other * (1.0 - take_point), mean_win, mean_win)


@kernel()
def jump_cost(live: Curve, jump_size: float) -> float:
    """Return how much jumps of this mean size cost at the upper bend of a live curve, 0 unless the curve bends down
    there."""
    if live.high >= 1.0 or live.high <= live.low:
        return 0.0
    below, above = (live.at_high - live.at_low) / (live.high - live.low), (live.win - live.at_high) / (1.0 - live.high)
    return max(0.0, 0.5 * jump_size * (below - above))


@kernel()
def owned_jump_curve(live: Curve, cash_point: float, local: float) -> Curve:
    """Return the curve by the jump model if the player on roll owns the cube, from the live curve (with `low` 0) and
    the model's cash point."""
    if live.high >= 1.0 or live.high <= 0.0:
        return live
    slope = (live.at_high - jump_cost(live, local) - live.lose) / live.high
    return Curve(0.0, cash_point, live.lose, live.lose, live.lose + slope * cash_point, live.win)


@kernel()
def centered_jump_curve(live: Curve, local: float) -> Curve:
    """Return the curve by the jump model for a centered cube, from the live curve. Jumps are limited to the distance
    between its knots."""
    size = min(local, live.high - live.low)
    at_low, at_high = live.at_low + jump_cost(mirror(live), size), live.at_high - jump_cost(live, size)
    return Curve(live.low, live.high, live.lose, at_low, at_high, live.win)
