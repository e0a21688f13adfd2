"""Published rules of thumb for the cube in races.

`answer` applies a rule, by number, to rows of the array that `side_counts` computes once for each layout. An answer
consists of the bits DOUBLE, REDOUBLE (if the player on roll owns the cube) and PASS. `NAMES` lists the rules in the
order of their numbers; `RULES` names their sources.

Rules use exact numbers, multiplied where the published text has fractions. All are for money play.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import position_index
from bgdata.errors import InvalidPositionError, UsageError, cite
from bgdata.kernel import Array, kernel

DOUBLE, REDOUBLE, PASS = 1, 2, 4  # bits in the order of decisions
HOME = 6  # points of the home board
# columns of `sides`
PIPS, EFFECTIVE, CHECKERS, POINTS, OUTSIDE, CROSSOVERS, FIRST_GAP = range(7)
THORP, KEITH, WARD, ISIGHT, FOUND = range(9, 14)  # points 4, 5 and 6 have a column each from FIRST_GAP on
N_COUNTS = 16  # the last columns are counts of found rules
FOUND_RULE = 13  # number of the first found rule


class Penalties(NamedTuple):
    """Pips that a rule adds to the pip count: for each checker beyond the spare ones on the ace, deuce and three point,
    for each gap on points 4, 5 and 6, for each checker, and for an odd number of checkers. `point` pips are subtracted
    for each home point with a checker."""

    ace: int = 0
    ace_spare: int = 0
    deuce: int = 0
    deuce_spare: int = 0
    three: int = 0
    three_spare: int = 0
    gap: int = 0
    checker: int = 0
    odd: int = 0
    point: int = 0


class Decision(NamedTuple):
    """What a rule says about a position: whether to double a centered cube, whether to redouble, and whether the
    opponent takes."""

    doubles: bool
    redoubles: bool
    takes: bool


def side_counts(layouts: NDArray[np.int8], effective_pips: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return everything that rules count in int8[n, points] layouts, as float64[n, N_COUNTS]. `effective_pips` are the
    effective pip counts of these layouts. Columns of found rules, whose counts are `penalized_pips`, are 0."""
    points = np.arange(layouts.shape[1])
    checkers = np.zeros((len(layouts), max(HOME, layouts.shape[1])), np.int64)
    checkers[:, : layouts.shape[1]] = layouts
    above = [np.maximum(checkers - spare, 0) for spare in range(4)]  # checkers beyond the spare ones of a point
    counts = np.zeros((len(layouts), N_COUNTS))
    counts[:, PIPS] = layouts @ (points + 1)
    counts[:, EFFECTIVE] = effective_pips
    counts[:, CHECKERS] = checkers.sum(axis=1)
    counts[:, POINTS] = (checkers[:, :HOME] > 0).sum(axis=1)
    counts[:, OUTSIDE] = checkers[:, HOME:].sum(axis=1)
    counts[:, CROSSOVERS] = layouts @ (points // HOME)
    counts[:, FIRST_GAP : FIRST_GAP + 3] = checkers[:, 3:HOME] == 0
    gaps = counts[:, FIRST_GAP : FIRST_GAP + 3].sum(axis=1)
    counts[:, THORP] = counts[:, PIPS] + 2 * counts[:, CHECKERS] + checkers[:, 0] - counts[:, POINTS]
    counts[:, KEITH] = counts[:, PIPS] + 2 * above[1][:, 0] + above[1][:, 1] + above[3][:, 2] + gaps
    counts[:, WARD] = counts[:, PIPS] + 2 * above[2][:, 0] + above[2][:, 1]
    counts[:, ISIGHT] = counts[:, WARD] + above[3][:, 2]
    return counts


def penalized_pips(layouts: NDArray[np.int8], penalties: Penalties) -> NDArray[np.int64]:
    """Return the pip counts of int8[n, points] layouts, with penalties added, as int64[n]."""
    checkers = np.zeros((len(layouts), max(HOME, layouts.shape[1])), np.int64)
    checkers[:, : layouts.shape[1]] = layouts
    pips: NDArray[np.int64] = checkers @ np.arange(1, checkers.shape[1] + 1)
    for point in range(3):
        weight, spare = penalties[2 * point : 2 * point + 2]
        pips += weight * np.maximum(checkers[:, point] - spare, 0)
    pips += penalties.gap * (checkers[:, 3:HOME] == 0).sum(axis=1)
    pips += penalties.checker * checkers.sum(axis=1) + penalties.odd * (checkers.sum(axis=1) % 2)
    pips -= penalties.point * (checkers[:, :HOME] > 0).sum(axis=1)
    return pips


@kernel(inline=True)
def grade(lead: float, double_from: float, redouble_from: float, take_up_to: float) -> int:
    """Return the answer, as bits DOUBLE, REDOUBLE and PASS, of a rule that compares the lead of the player on roll with
    three limits."""
    return (lead >= double_from) * DOUBLE + (lead >= redouble_from) * REDOUBLE + (lead > take_up_to) * PASS


@kernel(borrows=True)
def side_excess(sides: Array, side: int, other: int, column: int) -> float:
    """Return how much more than the other side a side has in a column of `sides`; 0 if it has less."""
    return max(float(sides[side, column] - sides[other, column]), 0.0)


@kernel(borrows=True)
def ward_count(sides: Array, side: int, other: int) -> float:
    """Return Ward's count of a side: pips, plus 2 for each checker beyond the second on the ace point and 1 on the
    deuce point. Compared with the other side, it adds 2 for each checker more and 1/2 for each checker more outside the
    home board, and subtracts 1 for each home point more."""
    excess = 2.0 * side_excess(sides, side, other, CHECKERS) + 0.5 * side_excess(sides, side, other, OUTSIDE)
    return float(sides[side, WARD] + (excess - side_excess(sides, side, other, POINTS)))


@kernel(borrows=True)
def isight_count(sides: Array, side: int, other: int) -> float:
    """Return the Isight count of a side: pips with penalties.

    It adds 1 for each checker more than the opponent has, 2 for each checker beyond the second on the ace point, 1
    beyond the second on the deuce point and beyond the third on the three point, 1 for each gap on points 4, 5 and 6 if
    the opponent has no gap there, and 1 for each crossover more than the opponent needs."""
    gaps = 0.0
    for gap in range(FIRST_GAP, FIRST_GAP + 3):
        gaps += sides[side, gap] * (1.0 - sides[other, gap])
    checkers = side_excess(sides, side, other, CHECKERS)
    return float(sides[side, ISIGHT] + (gaps + checkers + side_excess(sides, side, other, CROSSOVERS)))


@kernel(borrows=True)
def answer(rule: int, sides: Array, on_roll: int, opponent: int, limits: Array) -> int:
    """Return the answer of rule number `rule`, as bits DOUBLE, REDOUBLE and PASS, where layout `on_roll` is on roll
    against layout `opponent`. `limits`, int64[n, 4], are the limits of the found rules."""
    pips, other_pips = sides[on_roll, PIPS], sides[opponent, PIPS]
    effective, other_effective = sides[on_roll, EFFECTIVE], sides[opponent, EFFECTIVE]
    if rule == 0:  # 8-9-12: double if the opponent has 8 % more pips, redouble from 9 % on, take up to 12 %
        return grade(100.0 * (other_pips - pips), 8.0 * pips, 9.0 * pips, 12.0 * pips)
    if rule == 1:
        # 10-percent: pips of the player on roll and a tenth more: double if they are at most 2 above the opponent's,
        # redouble if at most 1 above; take if they are at most 2 below
        return grade(10.0 * other_pips - 11.0 * pips, -20.0, -10.0, 20.0)
    if rule in (2, 3, 4):
        # thorp: count pips, 2 for each checker, 1 more for each on the ace point, less 1 for each home point that is
        # held; the player on roll adds a tenth if that is above 30. Double up to 2 above the opponent's count, redouble
        # up to 1 above; take if the doubler's is at most 2 below
        count, other_count = sides[on_roll, THORP], sides[opponent, THORP]
        if rule == 4:  # thorp-rounded: the tenth is rounded down, and 2 below is a pass
            return grade(other_count - (count + count // 10.0 if count > 30.0 else count), -2.0, -1.0, 1.0)
        is_longer = count > 30.0 or (rule == 3 and count == 30.0)  # thorp-from-30: at exactly 30, too
        return grade(10.0 * other_count - (11.0 if is_longer else 10.0) * count, -20.0, -10.0, 20.0)
    if rule == 5:
        # ward: the player on roll adds a tenth to its count. Double up to 2 above the opponent's, redouble up to 1
        # above; take up to 2 below where both have 50 pips on average, 3 at 75, 4 from 100 on, in a line between
        longer = 2.0 * (pips + other_pips) - 200.0
        lead = 100.0 * ward_count(sides, opponent, on_roll) - 110.0 * ward_count(sides, on_roll, opponent)
        return grade(lead, -200.0, -100.0, 200.0 + min(max(longer, 0.0), 200.0))
    if rule == 6:
        # keith: add 2 for each checker beyond the first on the ace point, 1 beyond the first on the deuce point and
        # beyond the third on the three point, 1 for each gap on points 4, 5 and 6. The player on roll adds a seventh,
        # rounded down. Double up to 4 above the opponent's count, redouble up to 3 above, take from 2 above on
        count = sides[on_roll, KEITH]
        return grade(sides[opponent, KEITH] - (count + count // 7.0), -4.0, -3.0, -2.0)
    if rule == 7:
        # isight: with counts L and T of leader and trailer, 80 - L / 3 + 2 (T - L): double from 68 on, redouble from 70
        # on, take up to 76
        own, other = isight_count(sides, on_roll, opponent), isight_count(sides, opponent, on_roll)
        return grade(240.0 - own + 6.0 * (other - own), 204.0, 210.0, 228.0)
    if rule == 8:
        # kleinman: with D the lead in pips and 4, S the sum of pips less 4, K = D^2 / S: double from 0.5 on, redouble
        # from 0.7 on, take up to 1.2. Behind by 4 or more, no double
        lead, total = other_pips - pips + 4.0, other_pips + pips - 4.0
        return grade(10.0 * lead * lead, 5.0 * total, 7.0 * total, 12.0 * total) if lead > 0.0 else 0
    if rule in (9, 10):
        # rule-62: of the pips of the player on roll: up to 62, less 5, by 7, rounded down; above, by 10, rounded up,
        # and 1. Take if the opponent is at most so far behind; double if within 3 of that, redouble if within 2.
        # epc-62: the same with effective pip counts less 7, what a position wastes that wastes little
        leader, behind = (pips, other_pips - pips) if rule == 9 else (effective - 7.0, other_effective - effective)
        last = math.floor((leader - 5.0) / 7.0) if leader <= 62.0 else math.ceil(leader / 10.0) + 1.0
        return grade(behind, last - 3.0, last - 2.0, last)
    if rule == 11:
        # epc-rolls: with N the effective pips of the player on roll by 7, rounded: take if at most N - 3 effective pips
        # behind; double if within 2 of that, redouble if within 1
        last = math.floor(effective / 7.0 + 0.5) - 3.0
        return grade(other_effective - effective, last - 2.0, last - 1.0, last)
    if rule == 12:
        # epc-sevens: with N such that 7 N + 1 is nearest to the effective pips of the player on roll: double from N - 5
        # effective pips ahead on, redouble from N - 4 on, take up to N - 1
        n = math.floor((effective - 1.0) / 7.0 + 0.5)
        return grade(other_effective - effective, n - 5.0, n - 4.0, n - 1.0)
    # a found rule: the player on roll adds one in limits[0] to its penalized pips, rounded down, or nothing at 0;
    # limits[1:] are of what the opponent has more then: from where on to double and to redouble, up to where to take
    column, own_limits = FOUND + rule - FOUND_RULE, limits[rule - FOUND_RULE]
    count = sides[on_roll, column]
    adjusted = count + count // own_limits[0] if own_limits[0] > 0 else count
    return grade(sides[opponent, column] - adjusted, own_limits[1], own_limits[2], own_limits[3])


class Rule(NamedTuple):
    """Where a rule was published, and whether it needs effective pip counts."""

    source: str
    is_effective: bool = False


GLOSSARY = "Backgammon Galore glossary (bkgm.com)"
# in the order of their numbers
RULES = {
    "8-9-12": Rule(f"{GLOSSARY}; S. Woodhead, rec.games.backgammon, 11 September 1991"),
    "10-percent": Rule(f"{GLOSSARY}; D. Zare, Effective Pip Count (GammonVillage, 2003)"),
    "thorp": Rule(f"E. O. Thorp, The Mathematics of Gambling; as in the {GLOSSARY}"),
    "thorp-from-30": Rule("C. Bower, rec.games.backgammon, 23 January 1997"),
    "thorp-rounded": Rule("J. Greenwood, rec.games.backgammon, 30 June 1997"),
    "ward": Rule("J. Ward, The Doubling Cube in Backgammon I (1982); M. Storer, rec.games.backgammon, 24 January 1992"),
    "keith": Rule("T. Keith, Cube Handling in Noncontact Positions (2004)"),
    "isight": Rule("A. Reichert, Insights with Isight (2014); Taper_Mike, bgonline.org, 10 December 2014"),
    "kleinman": Rule("D. Kleinman; O. Johansen, rec.games.backgammon, 22 February 2001"),
    "rule-62": Rule(
        "W. Trice, Backgammon Boot Camp; takes as P. Simborg has them (backgammon.org), doubles as in "
        "boardgamestrategy.blogspot.com, 12 March 2011"
    ),
    "epc-62": Rule("rule-62; effective less 7 pips as D. Zare has it (bkgm.com, archive 1102)", is_effective=True),
    "epc-rolls": Rule(
        "W. Trice, GammonVillage, 15 November 2007; Stick, bkgm.com, archive 1592 (2012)", is_effective=True
    ),
    "epc-sevens": Rule("4winds.blog, 7 January 2025", is_effective=True),
}
FOUND_NAMES = ("found-equal", "found-played", "found-longer")  # rules of the search, for three weightings of positions
NAMES = (*RULES, *FOUND_NAMES)


def race_decision(
    rule: str, on_roll: Sequence[int], opponent: Sequence[int], effective_pips: tuple[float, float] | None = None
) -> Decision:
    """Return what a rule of `RULES` says about the doubling cube in a race. `on_roll` and `opponent` are the checkers
    of each side on its points 1, 2, ...

    Some rules need the effective pip counts of both sides.

    >>> race_decision("keith", [0, 1, 2, 2, 2, 2], [0, 0, 2, 3, 2, 2])
    Decision(doubles=True, redoubles=True, takes=True)

    Raises UsageError for an unknown rule, or if effective pip counts are missing or not two; InvalidPositionError for
    an invalid layout, or a side without checkers."""
    if rule not in RULES:
        raise UsageError(f"expected a rule of {', '.join(RULES)}, got {cite(rule)}")
    if effective_pips is None and RULES[rule].is_effective:
        raise UsageError(f"expected the effective pip counts of both sides for {rule}, got none")
    if not position_index(on_roll) or not position_index(opponent):
        raise InvalidPositionError("expected checkers on both sides, got a race that is over")
    points = max(len(on_roll), len(opponent))
    layouts = np.array([[*side, *[0] * (points - len(side))] for side in (on_roll, opponent)], np.int8)
    effective = np.asarray((0.0, 0.0) if effective_pips is None else effective_pips, np.float64)
    if effective.shape != (2,) or not np.isfinite(effective).all():
        raise UsageError(f"expected the effective pip counts of both sides, got {cite(str(effective_pips))}")
    sides = side_counts(layouts, effective)
    bits = answer(NAMES.index(rule), sides, 0, 1, np.zeros((len(FOUND_NAMES), 4), np.int64))
    return Decision(bool(bits & DOUBLE), bool(bits & REDOUBLE), not bits & PASS)
