"""The jump model of the cube: Janowski's, with winning chances that jump rather than drift.

Jumps are symmetric; their mean absolute size is `volatility`. In the approximation used here, equity stays linear
between the decision points, but the points move: players double before the opponent's take point, since a jump may
carry the chances past it. Equities are no-double equities of the player on roll, in points per unit cube.

All formulas are one: where the live cube's equity bends, a jump costs half its mean size times the change of the slope,
as the mean over jumps to either side of a bend is below it by that. For money this gives the formulas that were
published, and at match scores the same with the live cube's mwc (`owned_jump_curve`, `centered_jump_curve`).

Volatility may be local: the equity of the present cube goes by the jumps to come in this position (`local`), while take
and cash points, of cubes that will be turned in other positions, go by the mean volatility.

These are the corrected formulas (post "Jump model revisited" of 5 April 2012 and arXiv 1203.5692 as last revised); the
ones published in March 2012 were withdrawn by their author. `jump_numeric` solves the model without the approximation.
The approximation is not the limit for small jumps: how far jumps overshoot depends on their distribution, and
double-exponential jumps cost the owner of a cube half as much again. The model was published without the Jacoby rule:
under it the live curve of a centered cube is flat beyond its knots, as gammons do not count, and by the same formula
jumps cost more there. Its equities are then up to 0.08 points off the numeric solution at the default volatility,
twice as far as without the rule, and it doubles at winning chances within 0.035 of where that does.
"""

from __future__ import annotations

from bgdata.equity.curves import CENTERED, ON_ROLL, Curve, mirror
from bgdata.equity.janowski import live_curve, live_points
from bgdata.kernel import kernel

DEFAULT_VOLATILITY = 0.113  # implies a cube life index of 0.7 where wins and losses are worth 1.25 points
MOST_VOLATILITY = 0.25  # beyond, equities fall with the winning chance where mean points are far apart


@kernel()
def owned_slope(mean_win: float, mean_loss: float, volatility: float) -> float:
    """Points per winning chance of an owned cube below the cash point; that of an opponent's cube above the take point
    is the same with the two mean points swapped."""
    width = mean_win + mean_loss + 0.5
    return width - volatility / 4.0 * width * width / ((mean_win - 0.5) * (mean_loss + 1.0))


@kernel()
def turning_equity(mean_win: float, mean_loss: float, volatility: float) -> float:
    """The equity of a centered cube at the live cube's cash point: 1 minus the cost of jumps beyond it."""
    return 1.0 - volatility / 6.0 * (mean_win + mean_loss + 0.5) * (mean_win + 1.0) / (mean_win - 0.5)


@kernel()
def jump_curve(
    mean_win: float, mean_loss: float, owner: int, volatility: float, local: float, is_jacoby: bool = False
) -> Curve:
    """The model's equity, by owner code, from mean points of a win and of a loss, the mean and the local volatility;
    `is_jacoby` only matters for a centered cube."""
    if owner == CENTERED and is_jacoby:
        return centered_jump_curve(live_curve(mean_win, mean_loss, CENTERED, True), local)
    if owner == CENTERED:
        points = live_points(mean_win, mean_loss)
        at_low = -turning_equity(mean_loss, mean_win, local)
        at_high = turning_equity(mean_win, mean_loss, local)
        return Curve(points.take_point, points.cash_point, -mean_loss, at_low, at_high, mean_win)
    if owner == ON_ROLL:
        # where the doubled cube is worth 1 to the doubler
        cash_point = 1.0 - (mean_win - 0.5) / owned_slope(mean_loss, mean_win, volatility)
        own = owned_slope(mean_win, mean_loss, local)
        return Curve(0.0, cash_point, -mean_loss, -mean_loss, own * cash_point - mean_loss, mean_win)
    take_point = (mean_loss - 0.5) / owned_slope(mean_win, mean_loss, volatility)
    other = owned_slope(mean_loss, mean_win, local)
    return Curve(take_point, 1.0, -mean_loss, mean_win - other * (1.0 - take_point), mean_win, mean_win)


@kernel()
def jump_cost(live: Curve, jump_size: float) -> float:
    """What jumps of this mean size cost at the upper bend of a live curve; 0 if it does not bend down there."""
    if live.high >= 1.0 or live.high <= live.low:
        return 0.0
    below, above = (live.at_high - live.at_low) / (live.high - live.low), (live.win - live.at_high) / (1.0 - live.high)
    return max(0.0, 0.5 * jump_size * (below - above))


@kernel()
def owned_jump_curve(live: Curve, cash_point: float, local: float) -> Curve:
    """The curve of a cube that the player on roll owns, from the live one (with `low` 0) and the model's cash point."""
    if live.high >= 1.0 or live.high <= 0.0:
        return live
    slope = (live.at_high - jump_cost(live, local) - live.lose) / live.high
    return Curve(0.0, cash_point, live.lose, live.lose, live.lose + slope * cash_point, live.win)


@kernel()
def centered_jump_curve(live: Curve, local: float) -> Curve:
    """The curve of a centered cube from the live one. Jumps are no longer than its window is wide."""
    size = min(local, live.high - live.low)
    at_low, at_high = live.at_low + jump_cost(mirror(live), size), live.at_high - jump_cost(live, size)
    return Curve(live.low, live.high, live.lose, at_low, at_high, live.win)


def implied_index(mean_win: float, mean_loss: float, volatility: float) -> float:
    """The cube life index with which Janowski's model has the same take point."""
    take_point = (mean_loss - 0.5) / owned_slope(mean_win, mean_loss, volatility)
    return 2.0 * ((mean_loss - 0.5) / take_point - mean_win - mean_loss)
