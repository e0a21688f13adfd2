"""Races solved when they are asked for: every pair of layouts that one position can still lead to, for one cube.

A table has all layouts of a size, at one score. A single position of a few checkers leads to far fewer, so that its
own are solved in milliseconds, at any score and for money. No side may be able to lose a gammon.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_POINTS, layout_count, position_index
from bgdata.bearoff.match_states import NOBODY, CubeState, States
from bgdata.bearoff.match_two_sided import LANES, MatchPairs, solve_match_total
from bgdata.bearoff.race import NON_DOUBLES, ROLL_COUNT
from bgdata.bearoff.slots import Slots, all_slots

MOST_LAYOUTS = 20_000  # of one side, of which those that are reached are picked: 6 points and 12 checkers
MOST_CELLS = 16_000_000  # that are solved: about a second, and 128 MB
MOST_CHECKERS = 14  # with 15 a gammon can be lost
CHANCES = np.repeat([2 / 36, 1 / 36], [NON_DOUBLES, ROLL_COUNT - NON_DOUBLES])  # of the rolls in the order of `Plays`

Layout = Sequence[int]  # checkers by point, from the ace point


class Worth(NamedTuple):
    """What a position is worth to the player on roll before its roll, as the states of the cube count it: without a
    double, after one that is taken (None where there is no reason to double), and after a pass."""

    no_double: float
    taken: float | None
    passed: float


class SolvedRace:
    """Every pair of layouts that a position can still lead to, solved for the states of a cube."""

    def __init__(self, slots: Slots, states: States, total: int, points: int) -> None:
        count = len(slots.order)
        cells = np.empty((count, -(-count // LANES), len(states.take), LANES))
        cells[0] = states.lost[:, None]
        self.slots, self.states, self.total, self.points = slots, states, total, points
        self.pairs = MatchPairs(slots, cells, states, np.empty((count, count)), 0)
        self.slot_of = dict(zip(slots.order.tolist(), range(count), strict=True))
        for pips in range(2, total + 1):
            solve_match_total(self.pairs, pips)

    @property
    def cells(self) -> int:
        """The number of cells, eight bytes each."""
        return int(self.pairs.cells.size)

    def find(self, on_roll: Layout, opponent: Layout) -> tuple[int, int] | None:
        """The slots of two layouts; None if they are not among those that were solved."""
        if pip_count(on_roll) + pip_count(opponent) > self.total:
            return None
        found = [self.slot_of.get(index_of(layout, self.points), -1) for layout in (on_roll, opponent)]
        return (found[0], found[1]) if min(found) >= 0 else None

    def worth(self, slots: tuple[int, int], state: CubeState) -> Worth | None:
        """What a pair of slots, neither of them empty, is worth in a state; None if its cube is dead."""
        column = self.states.column(state)
        if column is None:
            return None
        take, taken = int(self.states.take[column]), None
        if take != NOBODY:
            unit = float(self.states.per_unit[column])
            taken = float(self.states.taken[column]) + unit * self._decided(slots, take)
        return Worth(self._no_double(slots, column), taken, float(self.states.won[column]))

    def win(self, slots: tuple[int, int]) -> float:
        """The chance that the player on roll wins if both sides play for that alone."""
        return self._no_double(slots, 0)

    def _decided(self, slots: tuple[int, int], column: int) -> float:
        on_roll, opponent = slots
        return float(self.pairs.cells[opponent, on_roll // LANES, column, on_roll % LANES])

    def _no_double(self, slots: tuple[int, int], column: int) -> float:
        on_roll, opponent = slots
        starts = self.slots.play_start[on_roll * ROLL_COUNT : (on_roll + 1) * ROLL_COUNT + 1]
        results = self.slots.results[starts[0] : starts[-1]]
        after = int(self.states.after_play[column])
        theirs = self.pairs.cells[results, opponent // LANES, after, opponent % LANES]
        return 1.0 - float(CHANCES @ np.minimum.reduceat(theirs, starts[:-1] - starts[0]))


def solve_race(on_roll: Layout, opponent: Layout, states: States, most_cells: int = MOST_CELLS) -> SolvedRace | None:
    """What two layouts without contact lead to, solved; None where a gammon can be lost, or it would take more than
    `most_cells`."""
    layouts = [on_roll, opponent]
    points = max(6, *(highest(layout) for layout in layouts))
    checkers = max(sum(layout) for layout in layouts)
    if not 0 < min(map(sum, layouts)) <= checkers <= MOST_CHECKERS or points > MAX_POINTS:
        return None
    every = layout_count(points, checkers)
    most = min(every, sum(map(count_below, layouts)))
    if every > MOST_LAYOUTS or most**2 * len(states.take) > most_cells:
        return None
    slots, slot_of = slots_of(points, checkers)
    first = slot_of[[index_of(layout, points) for layout in layouts]]
    return SolvedRace(slots.restrict(first), states, sum(map(pip_count, layouts)), points)


@lru_cache(maxsize=8)
def slots_of(points: int, checkers: int) -> tuple[Slots, NDArray[np.int64]]:
    """All slots of a size, and the slot of each position index."""
    slots = all_slots(points, checkers)
    slot_of = np.empty(len(slots.order), np.int64)
    slot_of[slots.order] = np.arange(len(slots.order))
    return slots, slot_of


def count_below(layout: Layout) -> int:
    """How many layouts one can lead to, at most: all that have no more checkers from any point up than it has."""
    ways = {0: 1}  # layouts of the points so far, from the highest down, by the checkers on them
    above = 0
    for count in reversed(layout):
        above += count
        ways = {total: sum(ways[less] for less in ways if less <= total) for total in range(above + 1)}
    return sum(ways.values())


def highest(layout: Layout) -> int:
    """The highest point with a checker; 0 without any."""
    return max((point for point, count in enumerate(layout, start=1) if count), default=0)


def pip_count(layout: Layout) -> int:
    """The pips of a layout."""
    return sum(point * count for point, count in enumerate(layout, start=1))


def index_of(layout: Layout, points: int) -> int:
    """The position index of a layout on this many points; -1 if it has checkers beyond them."""
    if highest(layout) > points:
        return -1
    return position_index([*layout[:points], *[0] * (points - len(layout))])
