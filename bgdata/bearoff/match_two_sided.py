"""Both sides bearing off in a match: exact match winning chances (MWC) of every pair of layouts, for every cube.

A column is a cube state (see `match_states`). Its values are MWC of the player on roll before its cube decision:

    decided = max(no double, min(double and take, double and pass))   where it may double, else no double
    no double = average over rolls of the  max over plays of  1 - decided of the same cube with the opponent on roll

A take leads to the column of twice the cube, owned by the other side, in the same cell; a pass leads to the MWC after
winning the points on the cube. Column 0 is the chance of winning the game by plays that maximise it; without gammons it
gives the MWC of every dead cube. So all columns of a cell follow from cells of smaller totals of pips.

Everything is float64. A cell stands in the row of the other side, in the lane of the side on roll, lanes in tiles: for
one result of a play all opponents of a layer are contiguous. The inner loop takes whole tiles, so at the ends of a
layer it also computes lanes of other layers, which are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.match_states import NOBODY, WIN_CHANCE, CubeState, MatchCube, States, reachable_states, start_states
from bgdata.bearoff.race import NON_DOUBLES, ROLL_COUNT
from bgdata.bearoff.slots import Slots, all_slots
from bgdata.kernel import Array, kernel, prange

LANES = 8  # of one column side by side, then the next column: one cache line each
ON_ROLL = 32  # players on roll that one task takes
OPPONENTS = 128  # opponents that one task takes


class MatchPairs(NamedTuple):
    """State of a match table: cells of all pairs up to the last solved total of pips."""

    slots: Slots
    cells: NDArray[np.float64]  # [slots, tiles, columns, LANES] decided MWC
    states: States
    no_double: NDArray[np.float64]  # [slots, slots] of the other side and of the one on roll, for one column
    start: int  # that column: what the table is about; that of win chances if its cube is dead


@kernel(borrows=True)
def fill_match_totals(
    on_roll: int, row_start: int, play_start: Array, results: Array, rows: Array, best: Array, totals: Array, place: int
) -> None:
    """Fills totals[place, ...] with 36 times the expectation of the opponent on roll after the plays of slot `on_roll`
    that minimise it, for as many columns and lanes from `row_start` of a row as `best` has items."""
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
def fill_decided(expected: Array, take: Array, worths: Array, decided: Array) -> None:
    """Fills decided[column] with MWC of the player on roll from the no-double MWC expected[column]. worths[3, column]:
    MWC after winning, then `taken` and `per_unit` of `States`."""
    for column in range(expected.shape[0]):
        worth = expected[column]
        if take[column] != NOBODY:
            won = worths[0, column]
            doubled = worths[1, column] + decided[take[column]] * worths[2, column]
            doubled = doubled if doubled < won else won
            worth = worth if worth > doubled else doubled
        decided[column] = worth


@kernel(parallel=True)
def solve_match_tasks(
    tasks: Array,
    play_start: Array,
    results: Array,
    after_play: Array,
    take: Array,
    worths: Array,
    start: int,
    cells: Array,
    no_double: Array,
) -> None:
    """Fills cells[opponent, tile, column, lane] and no_double[opponent, on roll] for the blocks of pairs in `tasks`,
    all smaller totals being filled.

    A task is (first slot on roll, one past the last, first slot of the opponent, one past the last)."""
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
                fill_decided(expected, take, worths, decided)
                for column in range(columns):
                    cells[other, on_roll // LANES, column, on_roll % LANES] = decided[column]


def start_match(points: int, checkers: int, cube: MatchCube, cube_value: int) -> MatchPairs:
    """A table in which only finished games are solved. Raises InvalidScoreError for a cube that cannot occur."""
    starts = start_states(cube.score, cube_value)
    states = reachable_states(cube, starts)
    slots = all_slots(points, checkers)
    count = len(slots.order)
    cells = np.empty((count, -(-count // LANES), len(states.take), LANES))
    cells[0] = states.lost[:, None]
    no_double = np.zeros((count, count))
    start = states.column(starts[0])
    return MatchPairs(slots, cells, states, no_double, start or WIN_CHANCE)


def solve_match_total(match: MatchPairs, total: int) -> None:
    """Fill the cells of every pair with this total of pips, the smaller totals being solved."""
    slots, states = match.slots, match.states
    tasks = np.array(list(tasks_of(slots, total)), np.int64).reshape(-1, 4)
    worths = np.array([states.won, states.taken, states.per_unit])
    solve_match_tasks(
        tasks, slots.play_start, slots.results, states.after_play, states.take, worths, match.start, match.cells,
        match.no_double,
    )  # fmt: skip


def tasks_of(slots: Slots, total: int) -> Iterator[tuple[int, int, int, int]]:
    """The blocks of pairs with this total: up to ON_ROLL players on roll x OPPONENTS opponents."""
    start = slots.layer_start.tolist()
    for pips in slots.layers_of(total):
        others = total - pips
        for on_roll in blocks(start[pips], start[pips + 1], ON_ROLL):
            for opponent in blocks(start[others], start[others + 1], OPPONENTS):
                yield *on_roll, *opponent


def blocks(start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """start..end, cut at the multiples of `size`, so that tiles within one layer are in one block."""
    for cut in range(start // size * size, end, size):
        yield max(start, cut), min(end, cut + size)


def by_index(slots: Slots, by_slot: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[on-roll index, opponent index] of values by [slot of the other side, slot of the player on roll]."""
    values = np.empty_like(by_slot)
    values[np.ix_(slots.order, slots.order)] = by_slot.T
    return values


def column_by_index(match: MatchPairs, column: int) -> NDArray[np.float64]:
    """float64[on-roll index, opponent index] decided values of a column. A side without checkers has won; such pairs
    are taken from the cells of the other side, as they have no cell of their own."""
    count = len(match.slots.order)
    return by_index(match.slots, match.cells[:, :, column, :].reshape(count, -1)[:, :count])


def win_chances(match: MatchPairs) -> NDArray[np.float64]:
    """float64[on-roll index, opponent index] chance that the player on roll wins the game, without a cube."""
    chances = column_by_index(match, WIN_CHANCE)
    chances[0] = 1.0
    return chances


def decided_mwc(match: MatchPairs, cube: MatchCube, state: CubeState) -> NDArray[np.float64]:
    """float64[on-roll index, opponent index] MWC of the player on roll in a state, before its cube decision."""
    won, lost = cube.worth(state.side, state.cube_value)
    column = match.states.column(state)
    if column is None:
        return lost + win_chances(match) * (won - lost)
    mwc = column_by_index(match, column)
    mwc[0] = won
    return mwc


def no_double_mwc(match: MatchPairs, cube: MatchCube, state: CubeState) -> NDArray[np.float64]:
    """float64[on-roll index, opponent index] MWC of the player on roll if it does not double now, in the state that the
    table was solved for, or in one in which it may not double."""
    column = match.states.column(state)
    if column is None or column != match.start:
        return decided_mwc(match, cube, state)
    won, lost = cube.worth(state.side, state.cube_value)
    mwc = by_index(match.slots, match.no_double)
    mwc[0], mwc[1:, 0] = won, lost
    return mwc


def solve_match(points: int, checkers: int, cube: MatchCube, cube_value: int) -> MatchPairs:
    """The solved table of a cube value. Raises InvalidScoreError for a cube that cannot occur."""
    match = start_match(points, checkers, cube, cube_value)
    for total in match.slots.totals:
        solve_match_total(match, total)
    return match


def mwc_columns(match: MatchPairs, cube: MatchCube, cube_value: int) -> list[NDArray[np.float64]]:
    """float64[on-roll index, opponent index] for each of `match_table.match_columns`, in order."""
    won, lost = cube.worth(0, cube_value)
    states = () if cube.score.is_crawford else start_states(cube.score, cube_value)
    return [lost + win_chances(match) * (won - lost), *(no_double_mwc(match, cube, state) for state in states)]
