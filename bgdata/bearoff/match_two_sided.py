"""Both sides bearing off in a match: exact match winning chances (MWC) of every pair of layouts and cube state.

A column is a cube state (see `match_table`). Its values are MWC of the player on roll before its cube decision:

    decided = max(no double, min(double and take, double and pass))   where it may double, else no double
    no double = average over rolls of the  max over plays of  1 - decided of the same cube with the opponent on roll

A take leads to the column of twice the cube, owned by the other side, in the same cell. A pass leads to the MWC after
winning the points on the cube. Column 0 is the chance of winning the game by plays that maximise it; without gammons it
gives the MWC of every dead cube. So a cell depends only on cells with smaller pip totals.

Everything is float64. Rows stand for the side that is not on roll. Lanes stand for the side on roll, and are grouped in
tiles: after one result of a play, the values for all opponents of a layer are contiguous. The inner loop processes
whole tiles. At the ends of a layer it also computes lanes of other layers, which are never read.

A table covers all layouts of a size, at one score. `solve_position` solves only the layouts that a single position
leads to, in milliseconds for few checkers, at any score and for money.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_POINTS, layout_count, position_index
from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT, Slots, all_slots
from bgdata.bearoff.match_table import NOBODY, WIN_CHANCE, CubeState, MatchCube, States, reachable_states, start_states
from bgdata.bearoff.tables import fit_layout
from bgdata.kernel import Array, kernel, prange

LANES = 8  # values of a column that are side by side, followed by the next column: one cache line each
ON_ROLL = 32  # number of players on roll per task
OPPONENTS = 128  # number of opponents per task

# limits for a single position
MAX_LAYOUTS = 20_000  # layouts of a side before unreachable ones are removed: 6 points and 12 checkers
MAX_CELLS = 16_000_000  # cells to solve: about a second, and 128 MB
MAX_CHECKERS = 14  # with 15 checkers a gammon can be lost
# chances of the rolls, in the order of `Plays`
CHANCES = np.repeat([2 / 36, 1 / 36], [NON_DOUBLES, ROLL_COUNT - NON_DOUBLES])


class MatchPairs(NamedTuple):
    """A match table that is being solved: the cells of all pairs up to the last solved pip total."""

    slots: Slots
    cells: NDArray[np.float64]  # [slots, tiles, columns, LANES] decided MWC
    states: States
    no_double: NDArray[np.float64]  # [slot of the other side, slot on roll] MWC without a double, of column `start`
    start: int  # column of the table's cube state; the column of win chances for a dead cube


@kernel(borrows=True)
def fill_match_totals(
    on_roll: int, row_start: int, play_start: Array, results: Array, rows: Array, best: Array, totals: Array, place: int
) -> None:
    """Fill totals[place, ...] with 36 times the opponent's expectation after the plays of slot `on_roll` that minimise
    it. Fills as many columns and lanes from `row_start` of a row as `best` has items."""
    width = best.shape[0]
    total = totals[place]
    for item in range(width):
        total[item] = 0.0
    for roll in range(ROLL_COUNT):
        for item in range(width):
            best[item] = 2.0
        for play in range(play_start[on_roll * ROLL_COUNT + roll], play_start[on_roll * ROLL_COUNT + roll + 1]):
            row = rows[results[play]][row_start : row_start + width]
            for item in range(width):
                best[item] = row[item] if row[item] < best[item] else best[item]
        weight = 2.0 if roll < NON_DOUBLES else 1.0
        for item in range(width):
            total[item] += weight * best[item]


@kernel()
def fill_decided(expected: Array, take: Array, outcomes: Array, decided: Array) -> None:
    """Fill decided[column] with the MWC of the player on roll after its cube decision; expected[column] is its MWC
    without a double. outcomes[3, column] are `won`, `taken` and `per_unit` of `States`."""
    for column in range(expected.shape[0]):
        worth = expected[column]
        if take[column] != NOBODY:
            won = outcomes[0, column]
            doubled = outcomes[1, column] + decided[take[column]] * outcomes[2, column]
            doubled = doubled if doubled < won else won
            worth = worth if worth > doubled else doubled
        decided[column] = worth


@kernel(parallel=True)
def solve_match_tasks(
    tasks: Array, play_start: Array, results: Array, after_play: Array, take: Array, outcomes: Array, start: int,
    cells: Array, no_double: Array,
) -> None:  # fmt: skip
    """Solve the blocks of pairs in `tasks`: fill cells[opponent, tile, column, lane] and no_double[opponent, on roll].
    Cells of smaller pip totals must be filled. A task is (first slot on roll, one past the last, first slot of the
    opponent, one past the last)."""
    columns = after_play.shape[0]
    for task in prange(tasks.shape[0]):
        first, end, opponent, opponent_end = tasks[task]
        first_tile = opponent // LANES
        width = columns * LANES
        row_start, row_end = first_tile * width, ((opponent_end - 1) // LANES + 1) * width
        rows = cells.reshape(cells.shape[0], cells.shape[1] * width)
        best = np.empty(row_end - row_start)
        totals = np.empty((ON_ROLL, row_end - row_start))
        expected, decided = np.empty(columns), np.empty(columns)
        for on_roll in range(first, end):
            fill_match_totals(on_roll, row_start, play_start, results, rows, best, totals, on_roll - first)
        for other in range(opponent, opponent_end):
            place = (other // LANES - first_tile) * width + other % LANES
            for on_roll in range(first, end):
                for column in range(columns):
                    total = totals[on_roll - first, place + after_play[column] * LANES]
                    expected[column] = 1.0 - total / 36.0
                no_double[other, on_roll] = expected[start]
                fill_decided(expected, take, outcomes, decided)
                for column in range(columns):
                    cells[other, on_roll // LANES, column, on_roll % LANES] = decided[column]


def start_pairs(slots: Slots, states: States, start: int) -> MatchPairs:
    """Make a table of all pairs of these slots, in which only finished games are solved. `start` is the column of the
    table's own cube state."""
    count = len(slots.order)
    cells = np.empty((count, -(-count // LANES), len(states.take), LANES))
    cells[0] = states.lost[:, None]
    return MatchPairs(slots, cells, states, np.zeros((count, count)), start)


def start_match(points: int, checkers: int, cube: MatchCube, cube_value: int) -> MatchPairs:
    """Make a match table in which only finished games are solved. Raises InvalidScoreError if a cube of this value
    cannot occur at the score."""
    starts = start_states(cube.score, cube_value)
    states = reachable_states(cube, starts)
    return start_pairs(all_slots(points, checkers), states, states.column(starts[0]) or WIN_CHANCE)


def solve_match_total(match: MatchPairs, total: int) -> None:
    """Fill the cells of every pair that has `total` pips together; smaller totals must be solved."""
    slots, states = match.slots, match.states
    start = slots.layer_start.tolist()

    def blocks(pips: int, size: int) -> list[tuple[int, int]]:
        """Split the slots with this pip count at multiples of `size`, so that each tile is in one block."""
        first, end = start[pips], start[pips + 1]
        return [(max(first, cut), min(end, cut + size)) for cut in range(first // size * size, end, size)]

    tasks = [
        (*on_roll, *opponent)
        for pips in slots.layers_of(total)
        for on_roll in blocks(pips, ON_ROLL)
        for opponent in blocks(total - pips, OPPONENTS)
    ]
    outcomes = np.array([states.won, states.taken, states.per_unit])
    solve_match_tasks(
        np.array(tasks, np.int64).reshape(-1, 4), slots.play_start, slots.results, states.after_play, states.take,
        outcomes, match.start, match.cells, match.no_double,
    )  # fmt: skip


def solve_match(points: int, checkers: int, cube: MatchCube, cube_value: int) -> MatchPairs:
    """Solve the match table for a cube value. Raises InvalidScoreError if a cube of this value cannot occur at the
    score."""
    match = start_match(points, checkers, cube, cube_value)
    for total in match.slots.totals:
        solve_match_total(match, total)
    return match


def by_index(slots: Slots, by_slot: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sort values by position index instead of slot: [slot of the other side, slot on roll] becomes float64[on-roll
    index, opponent index]."""
    values = np.empty_like(by_slot)
    values[np.ix_(slots.order, slots.order)] = by_slot.T
    return values


def column_by_index(match: MatchPairs, column: int) -> NDArray[np.float64]:
    """Return the values of a column after the cube decision, as float64[on-roll index, opponent index]. Pairs whose
    player on roll has won have no cell: their values follow from those of the other side."""
    count = len(match.slots.order)
    return by_index(match.slots, match.cells[:, :, column, :].reshape(count, -1)[:, :count])


def win_chances(match: MatchPairs) -> NDArray[np.float64]:
    """Return the chance that the player on roll wins the game without a cube, as float64[on-roll index, opponent
    index]."""
    chances = column_by_index(match, WIN_CHANCE)
    chances[0] = 1.0
    return chances


def state_mwc(match: MatchPairs, cube: MatchCube, state: CubeState, *, is_decided: bool = False) -> NDArray[np.float64]:
    """Return the MWC of the player on roll in a cube state, before its cube decision, as float64[on-roll index,
    opponent index]. In the cube state for which the table was solved, it is the MWC without a double, unless
    `is_decided`."""
    won, lost = cube.worth(state.side, state.cube_value)
    column = match.states.column(state)
    if column is None:
        return lost + win_chances(match) * (won - lost)
    if is_decided or column != match.start:
        mwc = column_by_index(match, column)
    else:
        mwc = by_index(match.slots, match.no_double)
        mwc[1:, 0] = lost
    mwc[0] = won
    return mwc


def mwc_columns(match: MatchPairs, cube: MatchCube, cube_value: int) -> list[NDArray[np.float64]]:
    """Return the values of each of `match_table.match_columns`, in order, as float64[on-roll index, opponent index]."""
    won, lost = cube.worth(0, cube_value)
    states = () if cube.score.is_crawford else start_states(cube.score, cube_value)
    return [lost + win_chances(match) * (won - lost), *(state_mwc(match, cube, state) for state in states)]


class Worth(NamedTuple):
    """The values of a position for the player on roll before its roll, in the unit of the states: without a double,
    after a take (None if doubling cannot gain), and after a pass."""

    no_double: float
    taken: float | None
    passed: float


Layout = Sequence[int]  # checkers by point, ace point first


class SolvedRace:
    """A solved race: the values of all pairs of layouts to which a position can lead, in some cube states."""

    def __init__(self, slots: Slots, states: States, total: int, points: int) -> None:
        self.slots, self.states, self.total, self.points = slots, states, total, points
        self.pairs = start_pairs(slots, states, WIN_CHANCE)
        self.slot_of = {index: slot for slot, index in enumerate(slots.order.tolist())}
        for pips in range(2, total + 1):
            solve_match_total(self.pairs, pips)

    @property
    def cells(self) -> int:
        """The number of cells. Each takes eight bytes."""
        return int(self.pairs.cells.size)

    def find(self, on_roll: Layout, opponent: Layout) -> tuple[int, int] | None:
        """Return the slots of two layouts, None if this pair is not solved."""
        if pip_count(on_roll) + pip_count(opponent) > self.total:
            return None
        found = [self.slot_of.get(index_of(layout, self.points), -1) for layout in (on_roll, opponent)]
        return (found[0], found[1]) if min(found) >= 0 else None

    def worth(self, slots: tuple[int, int], state: CubeState) -> Worth | None:
        """Return the values of a pair of slots, neither of them empty, in a cube state; None if its cube is dead."""
        column = self.states.column(state)
        if column is None:
            return None
        (on_roll, opponent), take, taken = slots, int(self.states.take[column]), None
        if take != NOBODY:
            decided = float(self.pairs.cells[opponent, on_roll // LANES, take, on_roll % LANES])
            taken = float(self.states.taken[column]) + float(self.states.per_unit[column]) * decided
        return Worth(self._no_double(slots, column), taken, float(self.states.won[column]))

    def win(self, slots: tuple[int, int]) -> float:
        """Return the chance that the player on roll wins if both sides play to win the game."""
        return self._no_double(slots, 0)

    def _no_double(self, slots: tuple[int, int], column: int) -> float:
        on_roll, opponent = slots
        starts = self.slots.play_start[on_roll * ROLL_COUNT : (on_roll + 1) * ROLL_COUNT + 1]
        results = self.slots.results[starts[0] : starts[-1]]
        after = int(self.states.after_play[column])
        theirs = self.pairs.cells[results, opponent // LANES, after, opponent % LANES]
        return 1.0 - float(CHANCES @ np.minimum.reduceat(theirs, starts[:-1] - starts[0]))


def solve_position(on_roll: Layout, opponent: Layout, states: States, most_cells: int = MAX_CELLS) -> SolvedRace | None:
    """Solve all pairs of layouts that a position can lead to. Returns None if a gammon can be lost, or if this needs
    more than `most_cells` cells."""
    layouts = [on_roll, opponent]
    points = max(6, *(highest(layout) for layout in layouts))
    checkers = max(sum(layout) for layout in layouts)
    if not 0 < min(map(sum, layouts)) <= checkers <= MAX_CHECKERS or points > MAX_POINTS:
        return None
    every = layout_count(points, checkers)
    most = min(every, sum(map(count_below, layouts)))
    if every > MAX_LAYOUTS or most**2 * len(states.take) > most_cells:
        return None
    slots, slot_of = slots_of(points, checkers)
    first = slot_of[[index_of(layout, points) for layout in layouts]]
    return SolvedRace(slots.restrict(first), states, sum(map(pip_count, layouts)), points)


@lru_cache(maxsize=8)
def slots_of(points: int, checkers: int) -> tuple[Slots, NDArray[np.int64]]:
    """Number the layouts of a size by slot, and return the slots together with the slot of each position index."""
    slots = all_slots(points, checkers)
    return slots, np.argsort(slots.order)


def count_below(layout: Layout) -> int:
    """Return an upper bound on the number of layouts to which a layout can lead. It counts the layouts that, for each
    point, have no more checkers on or above it than this layout."""
    ways = {0: 1}  # number of layouts by checkers, for the points so far, from the highest down
    above = 0
    for count in reversed(layout):
        above += count
        ways = {total: sum(ways[less] for less in ways if less <= total) for total in range(above + 1)}
    return sum(ways.values())


def highest(layout: Layout) -> int:
    """Return the highest point with a checker, 0 if the layout is empty."""
    return max((point for point, count in enumerate(layout, start=1) if count), default=0)


def pip_count(layout: Layout) -> int:
    """Return the pip count of a layout."""
    return sum(point * count for point, count in enumerate(layout, start=1))


def index_of(layout: Layout, points: int) -> int:
    """Return the position index of a layout on `points` points, -1 if it has checkers beyond these points."""
    return -1 if highest(layout) > points else position_index(fit_layout(layout, points))
