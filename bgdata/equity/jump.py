"""The jump model of the cube in money play: Janowski's, with winning chances that jump rather than drift.

Jumps are symmetric; their mean absolute size is `volatility`. In the approximation used here, equity stays linear
between the decision points, but the points move: players double before the opponent's take point, since a jump may
carry the chances past it. Equities are no-double equities of the player on roll, in points per unit cube.

These are the corrected formulas (post "Jump model revisited" of 5 April 2012 and arXiv 1203.5692 as last revised); the
ones published in March 2012 were withdrawn by their author. `jump_numeric` solves the model without the approximation.
The approximation is not the limit for small jumps: how far jumps overshoot depends on their distribution, and
double-exponential jumps cost the owner of a cube half as much again. The model does not know the Jacoby rule.
"""

from __future__ import annotations

from bgdata.equity.curves import CENTERED, ON_ROLL, Curve
from bgdata.equity.janowski import live_points
from bgdata.errors import InvalidParameterError
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
def jump_curve(mean_win: float, mean_loss: float, owner: int, volatility: float) -> Curve:
    """The model's equity, by owner code, from mean points of a win and of a loss."""
    if owner == CENTERED:
        points = live_points(mean_win, mean_loss)
        at_low = -turning_equity(mean_loss, mean_win, volatility)
        at_high = turning_equity(mean_win, mean_loss, volatility)
        return Curve(points.take_point, points.cash_point, -mean_loss, at_low, at_high, mean_win)
    own, other = owned_slope(mean_win, mean_loss, volatility), owned_slope(mean_loss, mean_win, volatility)
    if owner == ON_ROLL:
        cash_point = 1.0 - (mean_win - 0.5) / other  # where the doubled cube is worth 1 to the doubler
        return Curve(0.0, cash_point, -mean_loss, -mean_loss, own * cash_point - mean_loss, mean_win)
    take_point = (mean_loss - 0.5) / own
    return Curve(take_point, 1.0, -mean_loss, mean_win - other * (1.0 - take_point), mean_win, mean_win)


def implied_index(mean_win: float, mean_loss: float, volatility: float) -> float:
    """The cube life index with which Janowski's model has the same take point."""
    take_point = (mean_loss - 0.5) / owned_slope(mean_win, mean_loss, volatility)
    return 2.0 * ((mean_loss - 0.5) / take_point - mean_win - mean_loss)


def check_volatility(volatility: float) -> None:
    """Raise InvalidParameterError unless a jump volatility is from 0 (a live cube) to MOST_VOLATILITY."""
    if not 0 <= volatility <= MOST_VOLATILITY:
        raise InvalidParameterError(f"expected a jump volatility from 0 to {MOST_VOLATILITY:g}, got {volatility:g}")
