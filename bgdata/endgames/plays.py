"""The legal plays of few checkers: their results and the points on which they land. Also the single steps of a checker.

An opponent with few checkers can have made one or two points at most. So plays are listed once for each layout and each
set of made points. A play touches the points on which its checkers land, and hits the blots there. Plays that lead to
the same layout over different points are different plays.

A play of two different dice has two steps, a play of a double up to four. A solver that knows the value of the rest of
a roll after each step needs no list of plays. For steps, layouts have *places* in the order of pips. Every step leads
to an earlier place, not far away, so its data are near in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT
from bgdata.endgames.layouts import BAR, MAX_CHECKERS, POINTS, Layouts, layout_rank, own_points
from bgdata.kernel import Array, in_threads, kernel

DICE = np.array([(high, low) for high in range(2, 7) for low in range(1, high)] + [(die, die) for die in range(1, 7)])
WEIGHTS = np.array([2] * NON_DOUBLES + [1] * (ROLL_COUNT - NON_DOUBLES), np.float64)
MAX_PLAYS = 1024  # of a roll with four checkers
BLOCK = 64  # places that a solver processes together, so that their data stay in the cache
OFF, NO_STEP, NOWHERE = 0, 30, 31  # numbers for points that a step touches; NOWHERE is for a blocked step


class Plays(NamedTuple):
    """The legal plays of every layout against every set of made points, for each of the 21 rolls."""

    start: NDArray[np.int64]  # [(layout * sets + set) * 21 + roll] first play; one past the last at the end
    results: NDArray[np.int32]  # [plays] layout after the play
    touched: NDArray[np.uint32]  # [plays] points touched, as bits 1 to 24
    reach: NDArray[np.uint32]  # [rolls of all lists] points that any play of a roll touches


@kernel(borrows=True)
def can_move(counts: Array, point: int, die: int, blocked: int) -> bool:
    """Whether a checker on a point can move by a die. `counts` are the side's 25 counts, and `blocked` the points that
    the other side has made, as bits."""
    if counts[point - 1] == 0 or (point != BAR and counts[BAR - 1] > 0):
        return False
    if point > die:
        return blocked >> (point - die) & 1 == 0
    behind = 0  # checkers on higher points, which prevent bearing this one off
    for index in range(point if point < die else 6, POINTS):
        behind += counts[index]
    return behind == 0


@kernel(borrows=True)
def move(counts: Array, point: int, die: int) -> int:
    """Move a checker by a die in a side's 25 counts. Returns the bit of the point that it touches, 0 if it is borne
    off."""
    counts[point - 1] -= 1
    if point <= die:
        return 0
    counts[point - die - 1] += 1
    return 1 << (point - die)


@kernel(borrows=True)
def move_back(counts: Array, point: int, die: int) -> None:
    """Undo `move` in a side's 25 counts."""
    counts[point - 1] += 1
    if point > die:
        counts[point - die - 1] -= 1


@kernel(borrows=True)
def add_play(results: Array, touched: Array, count: int, result: int, mask: int) -> int:
    """Add a play to the `count` plays in `results` and `touched`, unless they contain it. The play leads to the layout
    `result`, and touches the points in `mask`, as bits. Returns the new count."""
    for play in range(count):
        if results[play] == result and touched[play] == mask:
            return count
    results[count], touched[count] = result, mask
    return count + 1


@kernel(borrows=True)
def list_two_dice(counts: Array, first: int, second: int, blocked: int, results: Array, touched: Array) -> int:
    """List the plays of two different dice, of which `first` is the larger. Fills results[play] with layouts, and
    touched[play] with the points touched, as bits. Returns the number of plays."""
    count = singles = 0
    is_full = False
    for which in range(2):
        die, other = (first, second) if which == 0 else (second, first)
        is_late = which == 1 and singles > 0  # if only one die can be played, the larger die takes precedence
        for point in range(BAR, 0, -1):
            if not can_move(counts, point, die, blocked):
                continue
            mask, moved = move(counts, point, die), False
            for after in range(BAR, 0, -1):
                if can_move(counts, after, other, blocked):
                    if not is_full:
                        is_full, count = True, 0
                    both = mask | move(counts, after, other)
                    count = add_play(results, touched, count, layout_rank(counts), both)
                    move_back(counts, after, other)
                    moved = True
            if not moved and not is_full and not is_late:
                count = add_play(results, touched, count, layout_rank(counts), mask)
                singles += 1
            move_back(counts, point, die)
    return count


@kernel(borrows=True)
def list_doubles(
    counts: Array, die: int, blocked: int, results: Array, touched: Array, points: Array, masks: Array
) -> int:
    """List the plays of a double, with steps from the rear forwards. Fills results[play] with layouts, and
    touched[play] with the points touched, as bits. Returns the number of plays. points[4] and masks[5] are scratch."""
    count = longest = depth = 0
    masks[0] = 0
    point = BAR
    while True:
        while point > 0 and not can_move(counts, point, die, blocked):
            point -= 1
        if depth < 4 and point > 0:
            points[depth] = point
            masks[depth + 1] = masks[depth] | move(counts, point, die)
            depth += 1
            if depth > longest:
                longest, count = depth, 0
            if depth == longest:
                count = add_play(results, touched, count, layout_rank(counts), masks[depth])
            if depth < 4:
                continue
        if depth == 0:
            return count
        depth -= 1
        move_back(counts, points[depth], die)
        point = points[depth] - 1


@kernel()
def list_plays(
    begin: int, end: int, layouts: Layouts, own: Array, start: Array, results: Array, touched: Array
) -> None:
    """List the plays of layouts begin to end - 1. Fills results[play] and touched[play] from `start` on; if these
    arrays are empty, fills `start` with the number of plays of each roll."""
    is_counting, sets = len(results) == 0, len(layouts.blocked)
    found_results, found_touched = np.empty(MAX_PLAYS, np.int32), np.empty(MAX_PLAYS, np.uint32)
    counts, points, masks = np.empty(POINTS, np.int8), np.empty(4, np.int64), np.empty(5, np.int64)
    for layout in range(begin, end):
        counts[:] = layouts.counts[layout]
        for which in range(sets):
            blocked: Any = np.int64(layouts.blocked[which])
            if own[layout] & blocked or layout == 0:
                continue
            for roll in range(len(DICE)):
                high, low = DICE[roll]
                if high != low:
                    count = list_two_dice(counts, high, low, blocked, found_results, found_touched)
                else:
                    count = list_doubles(counts, high, blocked, found_results, found_touched, points, masks)
                if count == 0:
                    found_results[0], found_touched[0] = layout, 0
                    count = 1
                place = (layout * sets + which) * ROLL_COUNT + roll
                if is_counting:
                    start[place + 1] = count
                    continue
                results[start[place] : start[place] + count] = found_results[:count]
                touched[start[place] : start[place] + count] = found_touched[:count]


def all_plays(layouts: Layouts) -> Plays:
    """List every legal play of all layouts, against every set of points that an opponent with the same number of
    checkers can have made."""
    start = np.zeros(len(layouts) * len(layouts.blocked) * ROLL_COUNT + 1, np.int64)
    own = own_points(layouts.counts)
    for _ in range(2):  # the first time only to count the plays
        results, touched = np.empty(start[-1], np.int32), np.empty(start[-1], np.uint32)
        in_threads(list_plays, len(layouts), layouts, own, start, results, touched)
        if len(results) == 0:
            np.cumsum(start, out=start)
    begins = np.minimum(start[:-1], start[-1] - 1)
    reach = np.where(np.diff(start) > 0, np.bitwise_or.reduceat(touched, begins), 0).astype(np.uint32)
    return Plays(start, results, touched, reach)


class Steps(NamedTuple):
    """Layouts in the order of pips (the index is the place of a layout), and the steps of each of their checkers by one
    die if the other side has made no points."""

    layer: NDArray[np.int64]  # [pips] first place with this pip count; one past the last at the end
    layout: NDArray[np.int32]  # [places] index of the layout
    pips: NDArray[np.int64]  # [places]
    own: NDArray[np.uint32]  # [places] points with a checker, as bits 1 to 24; bit 0 if all are in the home board
    seen: NDArray[np.uint32]  # [places] the opponent's points, as bits by the numbers of the player on roll; no bit 0
    blots: NDArray[np.uint32]  # [places] points of `seen` with a single checker
    shifts: NDArray[np.uint8]  # [places, 4] the points of `blots` one by one, see `Layouts`
    hit: NDArray[np.int32]  # [places, 16] the place after hits on the blots of these bits
    after: NDArray[np.int32]  # [place, die - 1, step] place after the step, flat
    near: NDArray[np.int32]  # `after` modulo `ring`
    ring: int  # a number of places, a power of two: all steps are shorter, even from the end of a block
    point: NDArray[np.uint8]  # [place, die - 1, step] point touched, flat; NO_STEP for missing steps


@kernel()
def fill_steps(counts: Array, order: Array, place_of: Array, after: Array, touched: Array) -> None:
    """Fill after[place, die - 1, step] and touched[place, die - 1, step], flat arrays: see `Steps`."""
    moved = np.empty(POINTS, np.int8)
    for place in range(len(order)):
        moved[:] = counts[order[place]]
        for die in range(1, 7):
            found = (place * 6 + die - 1) * MAX_CHECKERS
            for point in range(BAR, 0, -1):
                if can_move(moved, point, die, 0):
                    move(moved, point, die)
                    after[found], touched[found] = place_of[layout_rank(moved)], max(point - die, OFF)
                    move_back(moved, point, die)
                    found += 1


def all_steps(layouts: Layouts) -> Steps:
    """List the steps of all layouts."""
    order, count = layouts.order, len(layouts)
    place_of = np.argsort(order).astype(np.int32)
    after = np.zeros(count * 6 * MAX_CHECKERS, np.int32)
    point = np.full(len(after), NO_STEP, np.uint8)
    point[: 6 * MAX_CHECKERS] = OFF  # the game is over: every step stays there
    fill_steps(layouts.counts, order, place_of, after, point)
    length = np.repeat(np.arange(count), 6 * MAX_CHECKERS)[point != NO_STEP] - after[point != NO_STEP]
    ring = 1 << (int(length.max()) + BLOCK).bit_length()
    return Steps(
        layouts.start,
        order,
        layouts.pips[order].astype(np.int64),
        (own_points(layouts.counts) | ~layouts.counts[:, 6:].any(axis=1))[order].astype(np.uint32),
        layouts.points[order],
        layouts.blots[order],
        layouts.shifts[order],
        place_of[layouts.hit[order]],
        after,
        after % ring,
        ring,
        point,
    )
