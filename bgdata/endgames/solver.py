"""Exact equities of few checkers anywhere on the board, proven by bounds that converge.

As in `bearoff.two_sided`, equities are points per unit cube for the player on roll, who does not double now. Play and
cube are optimal afterwards. Hits make cycles, so the values are iterated over all pairs until they hardly change. That
does not prove that they are near the solution. So each value then gets two bounds, and the rounds continue with the
bounds: the upper bound of the side on roll after a play gives the lower bound of the side that played, and vice versa.
Bounds first grow, because a doubled cube doubles them, and then get closer. The recursion is monotone. So once a round
widens no bound, the solution is between the bounds, up to rounding. The solution is unique, since every game ends.

    cubeless         E0 = average over rolls of the  max over plays of  -E0'
    owned            E1:                                     max of  -E3'
    centered         E2:                                     max of  -max(E2', min(2 E3', 1))
    opponent_owned   E3:                                     max of  -max(E1', min(2 E3', 1))
    centered_jacoby  E4:                                     max of  -max(E4', min(2 E3', 1))

where ' marks the position after the play, with the opponent on roll. With gammons, a side that has borne no checker off
loses 2 points, or 3 if it has a checker on the bar or in the other home board. Under the Jacoby rule it loses 1 point
before the cube is turned.

Each round changes all values by about the same fraction of the previous change, so they are extrapolated after some
rounds. Extrapolation and the order of pairs only save time; the bounds prove the values.

Opponents are processed in the order of their pips. All opponents with equal pips use the same cube values, so the
result does not depend on the number of threads.

Plays are never listed. The value of a position with n steps of a roll left is the lowest value with n - 1 steps left
after any step; with none left it is the value of a pair. So only single steps are looked up. For each opponent, the
positions with one step left come first, for each die; then those with two and three steps of a double; then the rolls.
The opponent's blots that were hit are one of at most 16 sets. If no play takes all steps, the value is infinite, and
plays with one step fewer count. Layouts are processed in the order of pips, a block at a time. Intermediate results are
stored only for a block and the layouts with up to six pips fewer, so that they stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.endgames.layouts import BAR, MAX_CHECKERS, NO_SHIFT, Layouts, own_points
from bgdata.endgames.plays import BLOCK, NO_STEP, NOWHERE, Steps, all_steps
from bgdata.endgames.vectors import add_lower, fill_dice, fill_die, fill_worth
from bgdata.kernel import Array, in_threads, kernel, thread_count

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned", "centered_jacoby")
JACOBY = 4
MIN_PAIRS = 16_000  # fewest pairs per thread when storing them
START_SLACK, MAX_SLACK = 60, 255  # in units: the first distance of bounds, and the largest that can be stored
SETS = 1 << MAX_CHECKERS  # number of sets of an opponent's hit blots
HITS = np.array([bin(hit).count("1") for hit in range(SETS)])  # number of blots in each set
BASES = NOWHERE + 1  # number of entries of a set, one for each point


class Bounds(NamedTuple):
    """The values of all pairs, and bounds around them. They are stored as cube values: the values after the doubling
    decision."""

    layouts: Layouts
    steps: Steps
    lanes: int  # values of a pair: its columns, and unused ones
    cube_values: NDArray[np.float32]  # [on roll, opponent, lane], flat; both sides are places in `steps`
    slack: NDArray[np.uint8]  # [on roll, opponent, bound, lane], flat: distance of a bound in units; or empty
    unit: np.float32


def points_lost(layouts: Layouts, *, gammons: bool) -> NDArray[np.int8]:
    """Return how many points a side with each layout loses when the opponent has borne off, as int8[layouts]."""
    on_board = layouts.counts.sum(axis=1)
    if not gammons:
        return np.ones(len(on_board), np.int8)
    is_back = layouts.counts[:, 18:].any(axis=1)
    return np.where(on_board < layouts.checkers, 1, np.where(is_back, 3, 2)).astype(np.int8)


def is_possible(layouts: Layouts) -> NDArray[np.bool_]:
    """Return whether two sides share no point and at least one of them has checkers, as bool[on roll, opponent]."""
    every = np.arange(len(layouts))
    return are_pairs(layouts, every[:, None], every)


def are_unfinished(layouts: Layouts) -> NDArray[np.bool_]:
    """Return whether two sides share no point and both have checkers, as bool[on roll, opponent]."""
    found = is_possible(layouts)
    found[0], found[:, 0] = False, False
    return found


def are_pairs(layouts: Layouts, on_roll: NDArray[np.int64], opponent: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether two layouts share no point and at least one of them has a checker, as bool[...]. The arrays of
    indexes broadcast."""
    apart = (own_points(layouts.counts)[on_roll] & layouts.points[opponent]) == 0
    return np.asarray(apart & ((on_roll > 0) | (opponent > 0)))


def start_values(layouts: Layouts, *, gammons: bool) -> Bounds:
    """Make the values before the first round, without bounds: those of finished games, and 0 for all others."""
    steps, count, lanes = all_steps(layouts), len(layouts), 8 if gammons else 4
    cube_values = np.zeros((count, count, lanes), np.float32)
    cube_values[:, 0, : len(COLUMNS)] = -points_lost(layouts, gammons=gammons)[steps.layout, None]  # no more cube turns
    if gammons:
        cube_values[:, 0, JACOBY] = -1
    cube_values[0, 0] = np.inf  # not a pair: the value of an impossible step
    return Bounds(layouts, steps, lanes, cube_values.reshape(-1), np.zeros(0, np.uint8), np.float32(0))


@kernel(borrows=True)
def fill_bases(rows: Array, sets: Array, size: int, nowhere: int, steps: Steps, opponent: int, row_size: int) -> None:
    """Fill rows[hit * BASES + point] and sets[hit * BASES + point] for steps that touch a point after the blots in the
    set `hit` were hit. `rows` gets the start of the row of cube values after the step, and `sets` the offset in `left`
    (see `fill_left`). -1 marks an impossible step. NOWHERE gets the offsets of infinite values."""
    for hit in range(SETS):
        for point in range(NO_STEP + 1):
            then = -1 if point == NO_STEP or steps.seen[opponent] >> point & 1 else hit
            for blot in range(MAX_CHECKERS):
                if steps.shifts[opponent, blot] == point:
                    then = hit | 1 << blot
            rows[hit * BASES + point] = steps.hit[opponent, then] * row_size if then >= 0 else -1
            sets[hit * BASES + point] = then * size if then >= 0 else -1
        rows[hit * BASES + NOWHERE], sets[hit * BASES + NOWHERE] = 0, nowhere


@kernel(borrows=True)
def fill_traces(traces: Array, steps: Steps, opponent: int) -> None:
    """Fill traces[level - 1, die - 1, blot] with a set of points, as bits like `Steps.own`. A checker on one of them
    shows that the blot may have been hit by a double that has `level` steps left or, at the first level, by another
    die. The last entry is the union over blots."""
    for level in range(1, 4):
        for die in range(1, 7):
            any_trace = 0
            for blot in range(MAX_CHECKERS):
                point, trace = int(steps.shifts[opponent, blot]), 0
                for step in range(4 - level if point + die <= BAR else 1):
                    trace |= 1 << max(point - step * die, 0)
                is_hit = point != NO_SHIFT and (level == 1 or point + die <= BAR)
                traces[level - 1, die - 1, blot] = trace if is_hit else 0
                any_trace |= traces[level - 1, die - 1, blot]
            traces[level - 1, die - 1, MAX_CHECKERS] = any_trace


@kernel(borrows=True)
def blots_among(points: int, traces: Array) -> int:
    """Return the set of blots that may have been hit, because one of these points is in their traces: see
    `fill_traces`."""
    found = 0
    for blot in range(MAX_CHECKERS):
        found |= int(points & traces[blot] != 0) << blot
    return found


@kernel(borrows=True, inline=True)
def fill_entries(
    left: Array, size: int, level: int, place: int, die: int, inside: int, others: int, rows: Array, sets: Array,
    steps: Steps, cube_values: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Fill the entries of `left` (see `fill_left`) for a level, place and die, for all sets of blots that contain
    `inside` and any of `others`. The function is inlined, because a call would take longer than the work."""
    step, first = (place * 6 + die) * MAX_CHECKERS, (level - 1) * SETS * size
    entry = first + ((place & (steps.ring - 1)) * 6 + die) * lanes
    more = others
    while more >= 0:
        hit = inside | more
        if level == 1 and HITS[hit] < MAX_CHECKERS:  # each hit takes a step
            fill_worth(left, entry + hit * size, cube_values, slack, unit, steps, step, rows, hit * BASES, lanes)
        elif HITS[hit] <= 4 - level:
            before = first - SETS * size + die * lanes
            fill_die(left, entry + hit * size, left, before, steps, step, sets, hit * BASES, lanes)
        more = (more - 1) & others if more > 0 else -1


@kernel(borrows=True)
def fill_left(
    left: Array, size: int, begin: int, end: int, traces: Array, rows: Array, sets: Array, opponent: int, steps: Steps,
    cube_values: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Fill left[level - 1, hit, place % ring, die - 1, lane], a flat array, for places begin to end - 1; `size` is the
    length of one level and hit. An entry is the value of the position for the side that plays, with `level` (1 to 3)
    steps of a die left, after it has hit the blots in a set. It is infinite if the side cannot take all these steps."""
    blots, made = steps.blots[opponent], steps.seen[opponent] & ~steps.blots[opponent]
    for level in range(1, 4):
        for place in range(begin, end):
            own = steps.own[place]
            if own & made:
                continue
            # all of these blots were hit, unless both sides share a point
            inside = blots_among(own & blots, traces[2, 0]) if own & blots else 0
            for die in range(6):
                is_any = own & traces[level - 1, die, MAX_CHECKERS]
                others = blots_among(own, traces[level - 1, die]) & ~inside if is_any else 0
                fill_entries(
                    left, size, level, place, die, inside, others, rows, sets, steps, cube_values, slack, unit, lanes
                )


@kernel(borrows=True)
def add_rolls(
    totals: Array, rolls: Array, left: Array, size: int, sets: Array, opponent: int, place: int, steps: Steps,
    cube_values: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Fill totals[lane] with the sum, over the 36 rolls, of the lowest value after a play from a place. rolls[die,
    other, lane] and then [die, lane] are scratch."""
    totals[:] = 0
    last = 2 * SETS * size  # last level of `left`
    for die in range(6):
        step = (place * 6 + die) * MAX_CHECKERS
        fill_dice(rolls, die * 6 * lanes, left, 0, steps, step, sets, 0, lanes)
        fill_die(rolls, (36 + die) * lanes, left, last + die * lanes, steps, step, sets, 0, lanes)
    for die in range(6):
        own = ((place & (steps.ring - 1)) * 6 + die) * lanes
        for other in range(die):
            both, back = (die * 6 + other) * lanes, (other * 6 + die) * lanes
            if rolls[both] < np.inf or rolls[back] < np.inf:
                add_lower(totals, 2.0, rolls, both, back, lanes)
            elif left[own] < np.inf:
                add_lower(totals, 2.0, left, own, own, lanes)
            else:
                own_other = own + (other - die) * lanes
                add_one_step(
                    totals, 2.0, rolls, left, own_other, opponent, place, steps, cube_values, slack, unit, lanes
                )
        twice, double = die * 7 * lanes, (36 + die) * lanes
        if rolls[double] < np.inf:
            add_lower(totals, 1.0, rolls, double, double, lanes)
        elif left[last + own] < np.inf:
            add_lower(totals, 1.0, left, last + own, last + own, lanes)
        elif rolls[twice] < np.inf:
            add_lower(totals, 1.0, rolls, twice, twice, lanes)
        else:
            add_one_step(totals, 1.0, rolls, left, own, opponent, place, steps, cube_values, slack, unit, lanes)


@kernel(borrows=True)
def add_one_step(
    totals: Array, weight: float, rolls: Array, left: Array, item: int, opponent: int, place: int, steps: Steps,
    cube_values: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Add weight times the value after a single step to totals[lane]. It is left[item + lane] if the side can take the
    step, otherwise the value of the unchanged place. Overwrites the first rolls[lane], which are not needed
    afterwards."""
    if left[item] < np.inf:
        add_lower(totals, weight, left, item, item, lanes)
        return
    pair, columns = opponent * len(steps.pips) + place, lanes if len(slack) == 0 else lanes // 2
    for lane in range(lanes):
        rolls[lane] = cube_values[pair * columns + lane % columns]
        if len(slack) > 0:
            by = unit * slack[pair * lanes + lane]
            rolls[lane] += by if lane >= columns else -by
    add_lower(totals, weight, rolls, 0, 0, lanes)


@kernel(borrows=True)
def fill_values(values: Array, totals: Array, has_bounds: bool) -> None:
    """Fill values[lane], the values of a pair for the player on roll, from the sums over the 36 rolls of the lowest
    cube values. With bounds, the lanes are the lower and then the upper bounds. Each bound follows from the opposite
    bound of the other side."""
    lanes, shift = len(totals), len(totals) // 2 if has_bounds else 0
    for lane in range(lanes):
        values[lane] = np.float32(-totals[(lane + shift) % lanes] / 36.0)


@kernel(borrows=True)
def fill_cube_values(cube_values: Array, values: Array, half: int) -> None:
    """Fill cube_values[lane], in the columns of the side that has just played, from values[lane] in the order of
    `COLUMNS`, for each group of `half` lanes."""
    for first in range(0, len(values), half):
        opponent_owned = values[first + 3]
        twice = opponent_owned + opponent_owned
        doubled = twice if twice < np.float32(1.0) else np.float32(1.0)
        cube_values[first] = values[first]
        cube_values[first + 1] = opponent_owned
        cube_values[first + 2] = max(values[first + 2], doubled)
        cube_values[first + 3] = max(values[first + 1], doubled)
        if half > 4:
            cube_values[first + 4] = max(values[first + 4], doubled)


@kernel()
def solve_opponents(
    begin: int, end: int, first: int, last: int, steps: Steps, cube_values: Array, slack: Array, unit: float,
    lanes: int, lefts: Array, values: Array,
) -> None:  # fmt: skip
    """Fill values[opponent - first, place, lane] for the opponents first to last - 1. The work is divided into shares,
    of which this call does begin to end - 1. Each share has its own scratch memory lefts[share]. Impossible pairs are
    not changed."""
    count = len(steps.pips)
    size = steps.ring * 6 * lanes
    nowhere, row_size = 3 * SETS * size, count * (lanes if len(slack) == 0 else lanes // 2)
    rolls, totals = np.empty(42 * lanes, np.float32), np.empty(lanes)
    traces = np.empty((3, 6, MAX_CHECKERS + 1), np.int64)
    rows, sets = np.empty(SETS * BASES, np.int64), np.empty(SETS * BASES, np.int64)
    for share in range(begin, end):
        left = lefts[share]
        left[nowhere:] = np.inf
        for opponent in range(first + share, last, len(lefts)):
            fill_traces(traces, steps, opponent)
            fill_bases(rows, sets, size, nowhere, steps, opponent, row_size)
            for block in range(0, count, BLOCK):
                end_block = min(block + BLOCK, count)
                fill_left(
                    left, size, block, end_block, traces, rows, sets, opponent, steps, cube_values, slack, unit, lanes
                )
                for place in range(max(1, block), end_block):
                    if steps.own[place] & steps.seen[opponent] == 0:
                        add_rolls(
                            totals, rolls, left, size, sets, opponent, place, steps, cube_values, slack, unit, lanes
                        )
                        fill_values(values[opponent - first, place], totals, len(slack) > 0)


@kernel()
def keep_cube_values(
    begin: int, end: int, first: int, steps: Steps, values: Array, cube_values: Array, lanes: int, moves: Array
) -> None:
    """Convert values[opponent - first, place, lane] to cube_values[place, opponent, lane], for places begin to end - 1,
    and fill moves[place] with the largest change."""
    count = len(steps.pips)
    found = np.zeros(lanes, np.float32)  # the unused lanes stay 0
    for place in range(max(1, begin), end):
        for opponent in range(first, first + len(values)):
            if steps.own[place] & steps.seen[opponent]:
                continue
            fill_cube_values(found, values[opponent - first, place], lanes)
            pair = (place * count + opponent) * lanes
            for lane in range(lanes):
                moves[place] = max(moves[place], abs(found[lane] - cube_values[pair + lane]))
                cube_values[pair + lane] = found[lane]


@kernel()
def keep_slack(
    begin: int, end: int, first: int, steps: Steps, values: Array, cube_values: Array, lanes: int, moves: Array,
    slack: Array, unit: float,
) -> None:  # fmt: skip
    """Convert bounds in values[opponent - first, place, lane] to slack[place, opponent, bound, lane], for places begin
    to end - 1, and fill moves[place] with the largest growth of a bound in units, infinite if the distance is too large
    to be stored."""
    count = len(steps.pips)
    found = np.zeros(2 * lanes, np.float32)
    for place in range(max(1, begin), end):
        for opponent in range(first, first + len(values)):
            if steps.own[place] & steps.seen[opponent]:
                continue
            fill_cube_values(found, values[opponent - first, place], lanes)
            pair = place * count + opponent
            for lane in range(2 * lanes):
                off_by = found[lane] - cube_values[pair * lanes + lane % lanes]
                units = max(np.ceil((off_by if lane >= lanes else -off_by) / unit), 0.0)
                item = pair * 2 * lanes + lane
                moves[place] = max(moves[place], units - slack[item] if units <= MAX_SLACK else np.inf)
                slack[item] = np.uint8(min(units, MAX_SLACK))


def scratch_of(bounds: Bounds) -> NDArray[np.float32]:
    """Allocate the scratch memory of `solve_opponents` for every thread."""
    lanes = bounds.lanes * (2 if len(bounds.slack) else 1)
    return np.empty((thread_count(), (3 * SETS * bounds.steps.ring + 1) * 6 * lanes), np.float32)


def values_of(bounds: Bounds, lefts: NDArray[np.float32], first: int, last: int) -> NDArray[np.float32]:
    """Compute the values, or their bounds, of all pairs with the opponents first to last - 1, from the current cube
    values. Returns float32[opponent, place, lane]."""
    lanes = bounds.lanes * (2 if len(bounds.slack) else 1)
    values = np.empty((last - first, len(bounds.layouts), lanes), np.float32)
    in_threads(
        solve_opponents, len(lefts), first, last, bounds.steps, bounds.cube_values, bounds.slack, bounds.unit, lanes,
        lefts, values,
    )  # fmt: skip
    return values


def layers_of(steps: Steps) -> Iterator[tuple[int, int]]:
    """Yield the first place of each pip count, from 1 on, and one past its last place."""
    return zip(steps.layer[1:-1].tolist(), steps.layer[2:].tolist(), strict=True)


def solve_round(bounds: Bounds) -> float:
    """Compute all pairs again from the current cube values. Returns the largest change of a value, or the largest
    growth of a bound in units."""
    steps, most, count, lefts = bounds.steps, 0.0, len(bounds.layouts), scratch_of(bounds)
    for first, last in layers_of(steps):
        values, moves = values_of(bounds, lefts, first, last), np.zeros(count)
        keep, more = (keep_slack, (bounds.slack, bounds.unit)) if len(bounds.slack) else (keep_cube_values, ())
        in_threads(
            keep, count, first, steps, values, bounds.cube_values, bounds.lanes, moves, *more,
            least=1 + MIN_PAIRS // (last - first),
        )  # fmt: skip
        most = max(most, float(moves.max()))
    return most


def extrapolate(bounds: Bounds, before: NDArray[np.float32], ratio: float) -> None:
    """Extrapolate the cube values of unfinished games to their limit, if each round changes them by `ratio` times the
    previous change. `before`, the cube values before the last round, is overwritten."""
    pairs = slice(bounds.lanes, None)  # all but the first, which is not a pair
    rest = np.subtract(bounds.cube_values[pairs], before[pairs], out=before[pairs])
    rest *= np.float32(ratio / (1 - ratio))
    bounds.cube_values[pairs] += rest


def add_bounds(bounds: Bounds) -> None:
    """Give the cube values of unfinished games bounds of `START_SLACK` units."""
    count = len(bounds.layouts)
    bounds.slack[...] = START_SLACK
    bounds.slack.reshape(count, count, -1)[:, 0] = 0


@kernel()
def keep_equities(
    begin: int, end: int, first: int, steps: Steps, values: Array, columns: Array, equities: Array
) -> None:
    """Copy values[opponent - first, place, lane] to equities[on roll, opponent, column], where both sides are layout
    indexes, for the places begin to end - 1 on roll."""
    for place in range(max(1, begin), end):
        for n in range(len(values)):
            if steps.own[place] & steps.seen[first + n] == 0:
                for column in range(len(columns)):
                    found = values[n, place, columns[column]]
                    equities[steps.layout[place], steps.layout[first + n], column] = found


def fill_equities(
    bounds: Bounds, equities: NDArray[np.float32], columns: Sequence[int], lost: NDArray[np.int8]
) -> None:
    """Fill equities[on roll, opponent, column], where both sides are layout indexes, with the values of `columns`. They
    are NaN if the two sides share a point or neither has checkers. If one side has borne off, it has won as many points
    as `lost` says for the other side's layout."""
    steps, chosen, lefts = bounds.steps, np.array(columns), scratch_of(bounds)
    equities[...] = np.nan
    points = np.where(chosen == JACOBY, 1, lost[1:, None])
    equities[0, 1:], equities[1:, 0] = points, -points
    for first, last in layers_of(steps):
        values = values_of(bounds, lefts, first, last)
        in_threads(
            keep_equities, len(steps.pips), first, steps, values, chosen, equities,
            least=1 + MIN_PAIRS // (last - first),
        )  # fmt: skip
