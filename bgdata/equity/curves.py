"""Equity as a function of winning chance, in the form of all cube models here: three straight pieces between the ends
and two knots.

The pieces meet where the live cube is turned. A model only places the knots; mixing curves, comparing them and finding
the winning chances at which decisions change is the same for all models, in money play and in matches. The functions
take one position, in kernels or in Python.
"""

from __future__ import annotations

from typing import NamedTuple

from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from bgdata.kernel import kernel

CENTERED, ON_ROLL, OPPONENT = 0, 1, 2
OWNER_CODES = {CubeOwner.CENTERED: CENTERED, CubeOwner.ON_ROLL: ON_ROLL, CubeOwner.OPPONENT: OPPONENT}
NEVER = 2.0  # a winning chance that is never reached: the decision does not change


class Curve(NamedTuple):
    """Equity straight between (0, lose), (low, at_low), (high, at_high) and (1, win): winning chances and no-double
    equities of the player on roll. Curves never fall, and `low` is at most `high`."""

    low: float
    high: float
    lose: float
    at_low: float
    at_high: float
    win: float


class Points(NamedTuple):
    """Winning chances of the player on roll, 0 to 1, at which cube decisions change; NEVER where they do not."""

    take_point: float  # of the player on roll itself, were it doubled now: from here on it takes
    double_point: float  # from here on it doubles, up to where playing on is worth more
    cash_point: float  # from here on the opponent passes
    too_good_point: float  # from here on playing on is worth more than a pass


@kernel()
def piece(win: float, start: float, end: float, at_start: float, at_end: float) -> float:
    """The line through (start, at_start) and (end, at_end) at `win`; `at_end` if the two points are one."""
    width = end - start
    return at_end if width <= 0.0 else at_start + (at_end - at_start) * ((win - start) / width)


@kernel()
def curve_equity(curve: Curve, win: float) -> float:
    """The equity of a curve at a winning chance from 0 to 1."""
    if win < curve.low:
        return piece(win, 0.0, curve.low, curve.lose, curve.at_low)
    if win < curve.high:
        return piece(win, curve.low, curve.high, curve.at_low, curve.at_high)
    return piece(win, curve.high, 1.0, curve.at_high, curve.win)


@kernel()
def mix(live: Curve, index: float) -> Curve:
    """Janowski's mixture: `index` times the live curve, plus the rest times the line of the dead cube between its
    ends."""
    rise = live.win - live.lose
    at_low = index * live.at_low + (1.0 - index) * (live.lose + rise * live.low)
    at_high = index * live.at_high + (1.0 - index) * (live.lose + rise * live.high)
    return Curve(live.low, live.high, live.lose, at_low, at_high, live.win)


@kernel()
def first_reaching(curve: Curve, equity: float) -> float:
    """The least winning chance at which a curve reaches an equity: 0 if it is always above it, NEVER if it never
    reaches it."""
    if curve.lose >= equity:
        return 0.0
    if curve.at_low >= equity:
        return piece(equity, curve.lose, curve.at_low, 0.0, curve.low)
    if curve.at_high >= equity:
        return piece(equity, curve.at_low, curve.at_high, curve.low, curve.high)
    if curve.win >= equity:
        return piece(equity, curve.at_high, curve.win, curve.high, 1.0)
    return NEVER


@kernel()
def scale(curve: Curve, factor: float) -> Curve:
    """The curve in the units of another cube value."""
    return Curve(
        curve.low, curve.high, factor * curve.lose, factor * curve.at_low, factor * curve.at_high, factor * curve.win
    )


@kernel()
def mirror(curve: Curve) -> Curve:
    """The curve as the opponent sees it, with equities of the other sign."""
    return Curve(1.0 - curve.high, 1.0 - curve.low, -curve.win, -curve.at_high, -curve.at_low, -curve.lose)


@kernel()
def doubled_equity(taken: Curve, passed: float, beaver_factor: float, win: float) -> float:
    """The value of a double if the opponent answers it best. A taken cube that costs the doubler money is beavered,
    which multiplies it by `beaver_factor`: 2 in money play with beavers, else 1."""
    equity = curve_equity(taken, win)
    return min(passed, equity if equity >= 0.0 else beaver_factor * equity)


@kernel()
def double_point(now: Curve, taken: Curve, passed: float, beaver_factor: float) -> float:
    """The winning chance from which doubling is worth at least as much as the curve `now`, up to where the opponent
    passes; NEVER if playing on is worth more even there."""
    cash = min(first_reaching(taken, passed), 1.0)
    zero = first_reaching(taken, 0.0) if beaver_factor > 1.0 else 0.0
    above, gain_above = cash, doubled_equity(taken, passed, beaver_factor, cash) - curve_equity(now, cash)
    if gain_above < 0.0:
        return NEVER
    while above > 0.0:
        below = 0.0  # the next winning chance at which a curve bends, or `taken` is 0
        for knot in (now.low, now.high, taken.low, taken.high, zero):
            if knot < above:
                below = max(below, knot)
        gain = doubled_equity(taken, passed, beaver_factor, below) - curve_equity(now, below)
        if gain < 0.0:
            return piece(0.0, gain, gain_above, below, above)
        above, gain_above = below, gain
    return 0.0


def owner_code(owner: CubeOwner | str) -> int:
    """The number of an owner in kernels. Raises InvalidParameterError."""
    if owner not in OWNER_CODES:
        raise InvalidParameterError(f"expected a cube owner in {{{', '.join(CubeOwner)}}}, got {owner}")
    return OWNER_CODES[CubeOwner(owner)]
