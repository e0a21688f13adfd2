"""What the rolls of a side are worth against one opponent, for all of its layouts.

Plays are never listed. What a position is worth to whoever plays while n steps of a roll are left (with none left it is
the worth of a pair) is the lowest of what it is worth with n - 1 left after any step. So single steps are all that is
looked up: for one opponent, first all positions with one step left, for each die, then with two and three of a double,
and then the rolls. Blots of the opponent that were hit on the way are a set, of which there are 16 at most. Where no
play takes all steps there is no value, and those with one step less count.

Layouts are gone over by pips, a block at a time. Of what is found on the way only as many layouts are kept as six pips
and a block have, so it stays in the cache.
"""

from __future__ import annotations

import numpy as np

from bgdata.endgames.layouts import BAR, MOST_CHECKERS, NO_SHIFT
from bgdata.endgames.roll_steps import NO_STEP, NOWHERE, Steps
from bgdata.endgames.vectors import add_lower, fill_dice, fill_die, fill_worth
from bgdata.kernel import Array, kernel

SETS = 1 << MOST_CHECKERS  # of an opponent's blots that were hit
HITS = np.array([bin(hit).count("1") for hit in range(SETS)])  # blots of a set
BASES = NOWHERE + 1  # of a set, by points


@kernel(borrows=True)
def fill_bases(rows: Array, sets: Array, size: int, nowhere: int, steps: Steps, opponent: int, row_size: int) -> None:
    """Fills rows[hit * BASES + point] and sets[hit * BASES + point] with where the row of worths begins, and the part
    of `left` (see `fill_left`), that a step leads to which touches down on a point after some blots were hit: -1 where
    it cannot be taken. Those of NOWHERE are where infinite values are."""
    for hit in range(SETS):
        for point in range(NO_STEP + 1):
            then = -1 if point == NO_STEP or steps.seen[opponent] >> point & 1 else hit
            for blot in range(MOST_CHECKERS):
                if steps.shifts[opponent, blot] == point:
                    then = hit | 1 << blot
            rows[hit * BASES + point] = steps.hit[opponent, then] * row_size if then >= 0 else -1
            sets[hit * BASES + point] = then * size if then >= 0 else -1
        rows[hit * BASES + NOWHERE], sets[hit * BASES + NOWHERE] = 0, nowhere


@kernel(borrows=True)
def fill_traces(traces: Array, steps: Steps, opponent: int) -> None:
    """Fills traces[level - 1, die - 1, blot] with what shows that a blot can have been hit while a side goes on with a
    double until it has so many steps left, or for the first level with another die: a checker on the point, or where
    later steps lead, as bits of `Steps.own`. After the blots there are the traces of any."""
    for level in range(1, 4):
        for die in range(1, 7):
            any_trace = 0
            for blot in range(MOST_CHECKERS):
                point, trace = int(steps.shifts[opponent, blot]), 0
                for step in range(4 - level if point + die <= BAR else 1):
                    trace |= 1 << max(point - step * die, 0)
                is_hit = point != NO_SHIFT and (level == 1 or point + die <= BAR)
                traces[level - 1, die - 1, blot] = trace if is_hit else 0
                any_trace |= traces[level - 1, die - 1, blot]
            traces[level - 1, die - 1, MOST_CHECKERS] = any_trace


@kernel(borrows=True)
def blots_among(points: int, traces: Array) -> int:
    """The set of blots of which one trace or more is among some points."""
    found = 0
    for blot in range(MOST_CHECKERS):
        found |= int(points & traces[blot] != 0) << blot
    return found


@kernel(borrows=True, inline=True)
def fill_entries(
    left: Array, size: int, level: int, place: int, die: int, inside: int, others: int, rows: Array, sets: Array,
    steps: Steps, worths: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Fills the entries of `left` (see `fill_left`) of a level, a place and a die for all sets of blots that have those
    `inside` and some of the `others`. A call would take longer than what it does."""
    step, first = (place * 6 + die) * MOST_CHECKERS, (level - 1) * SETS * size
    entry = first + ((place & (steps.ring - 1)) * 6 + die) * lanes
    more = others
    while more >= 0:
        hit = inside | more
        if level == 1 and HITS[hit] < MOST_CHECKERS:  # each hit took a step
            fill_worth(left, entry + hit * size, worths, slack, unit, steps, step, rows, hit * BASES, lanes)
        elif HITS[hit] <= 4 - level:
            before = first - SETS * size + die * lanes
            fill_die(left, entry + hit * size, left, before, steps, step, sets, hit * BASES, lanes)
        more = (more - 1) & others if more > 0 else -1


@kernel(borrows=True)
def fill_left(
    left: Array, size: int, begin: int, end: int, traces: Array, rows: Array, sets: Array, opponent: int, steps: Steps,
    worths: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Fills left[level - 1, hit, place % ring, die - 1, lane], flat, `size` for each level and hit, of places begin to
    end: what a place is worth to the side that plays while it has 1 to 3 steps of a die left and a set of the
    opponent's blots was hit, infinite where it cannot take all of them."""
    blots, made = steps.blots[opponent], steps.seen[opponent] & ~steps.blots[opponent]
    for level in range(1, 4):
        for place in range(begin, end):
            own = steps.own[place]
            if own & made:
                continue
            inside = blots_among(own & blots, traces[2, 0]) if own & blots else 0  # was hit, or both share a point
            for die in range(6):
                is_any = own & traces[level - 1, die, MOST_CHECKERS]
                others = blots_among(own, traces[level - 1, die]) & ~inside if is_any else 0
                fill_entries(
                    left, size, level, place, die, inside, others, rows, sets, steps, worths, slack, unit, lanes
                )


@kernel(borrows=True)
def add_rolls(
    totals: Array, rolls: Array, left: Array, size: int, sets: Array, opponent: int, place: int, steps: Steps,
    worths: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Fills totals[lane] with the sum over 36 rolls of the lowest worth that a play of a place leads to; rolls[die,
    other, lane] and then [die, lane] are for work."""
    totals[:] = 0
    last = 2 * SETS * size  # of `left`, its last level
    for die in range(6):
        step = (place * 6 + die) * MOST_CHECKERS
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
                add_single(totals, 2.0, rolls, left, own_other, opponent, place, steps, worths, slack, unit, lanes)
        twice, double = die * 7 * lanes, (36 + die) * lanes
        if rolls[double] < np.inf:
            add_lower(totals, 1.0, rolls, double, double, lanes)
        elif left[last + own] < np.inf:
            add_lower(totals, 1.0, left, last + own, last + own, lanes)
        elif rolls[twice] < np.inf:
            add_lower(totals, 1.0, rolls, twice, twice, lanes)
        else:
            add_single(totals, 1.0, rolls, left, own, opponent, place, steps, worths, slack, unit, lanes)


@kernel(borrows=True)
def add_single(
    totals: Array, weight: float, rolls: Array, left: Array, item: int, opponent: int, place: int, steps: Steps,
    worths: Array, slack: Array, unit: float, lanes: int,
) -> None:  # fmt: skip
    """Fills totals[lane] with that plus weight x what one step is worth, left[item + lane], or none where there is
    none; the first rolls[lane], of the same die twice, are asked for no more."""
    if left[item] < np.inf:
        add_lower(totals, weight, left, item, item, lanes)
        return
    pair, columns = opponent * len(steps.pips) + place, lanes if len(slack) == 0 else lanes // 2
    for lane in range(lanes):
        rolls[lane] = worths[pair * columns + lane % columns]
        if len(slack) > 0:
            by = unit * slack[pair * lanes + lane]
            rolls[lane] += by if lane >= columns else -by
    add_lower(totals, weight, rolls, 0, 0, lanes)
