"""Both sides bearing off: exact cubeless and cubeful equities of every pair of layouts.

Equities are points per unit cube for the player on roll, who is about to roll and does not double now; play and cube
are optimal from there on (money game, unlimited cube, no Jacoby rule).

    cubeless         E0 = average over rolls of the  max over plays of  -E0'
    owned            E1, the player on roll owns the cube:   max of  -E3'
    centered         E2:                                     max of  -max(E2', min(2 E3', 1))
    opponent_owned   E3, the opponent owns the cube:         max of  -max(E1', min(2 E3', 1))

where ' marks the position after the play, with the opponent on roll. min(2 E3', 1) is the value of doubling to the
opponent: the cube is then owned by the other side at twice the stake, or, if that passes, the opponent wins one point.
The best play may differ by column. With fewer than 15 checkers gammons are impossible; with 15 a win against 15
checkers counts two points.

Layouts are in *slots* by pip count and then index, and pairs are solved by total pips: they depend on smaller totals
only. A cell stands in the row of the other side, in the lane of the player on roll, lanes in tiles: for one result of
the player on roll all opponents of a layer are contiguous, and the inner loop runs over them. It takes whole tiles, so
at the ends of a layer it also computes lanes of other layers, which are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.layouts import all_layouts, pip_counts, pip_layers
from bgdata.bearoff.plays import Plays, all_plays
from bgdata.bearoff.race import NON_DOUBLES, ROLL_COUNT
from bgdata.kernel import Array, kernel, prange

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned")
STEPS = 32767.5  # code = round((equity / limit + 1) * STEPS): with limit 1 the scale of gnubg's files
TILE = 16  # lanes of one column side by side, then the next column: one cache line each
ON_ROLL = 32  # players on roll that one task takes
OPPONENTS = 8 * TILE  # opponents that one task takes

WON, LOST = 32767, -32768  # gnubg's integers: equity * 32767.5 - 0.5, so that changing sides is a bitwise not


class Pairs(NamedTuple):
    """State of a two-sided table: cells of all pairs up to the last solved total of pips."""

    order: NDArray[np.int32]  # [slots] position index of each slot; slot 0 is the empty layout
    layer_start: NDArray[np.int64]  # [layers + 1] first slot of each pip count
    play_start: NDArray[np.int64]  # [slots * 21 + 1]
    results: NDArray[np.int32]  # [...] slots that the rolls of a slot lead to
    cells: NDArray[Any]  # [slots, tiles, 4, TILE] float32, or int16 for gnubg's arithmetic

    @property
    def totals(self) -> range:
        """The pip totals to solve, in order."""
        return range(2, 2 * len(self.layer_start) - 3)


@kernel()
def keep_lowest(row: Array, best: Array, integer: bool | None) -> None:
    """Lowers best[...] to the value of `row` for the opponent on roll, where that is less; see the module for the
    columns.

    Both hold tiles of 4 columns x TILE lanes. `integer` is None for floating point, anything else for gnubg's rule,
    whose comparisons truncate.
    """
    for tile in range(row.shape[0] // (4 * TILE)):
        theirs = row[tile * 4 * TILE : (tile + 1) * 4 * TILE]
        least = best[tile * 4 * TILE : (tile + 1) * 4 * TILE]
        for lane in range(TILE):
            cubeless = theirs[lane]
            owned = theirs[TILE + lane]
            centered = theirs[2 * TILE + lane]
            opponent_owned = theirs[3 * TILE + lane]
            if integer is None:
                twice = opponent_owned + opponent_owned
                doubled = twice if twice < np.float32(1.0) else np.float32(1.0)
                centered = centered if centered > doubled else doubled
                owned = owned if owned > doubled else doubled
            else:
                doubled = WON if opponent_owned >= WON // 2 else 2 * opponent_owned
                centered = np.int16(doubled if opponent_owned >= halved(centered) else centered)
                owned = np.int16(doubled if opponent_owned >= halved(owned) else owned)
            least[lane] = cubeless if cubeless < least[lane] else least[lane]
            least[TILE + lane] = opponent_owned if opponent_owned < least[TILE + lane] else least[TILE + lane]
            least[2 * TILE + lane] = centered if centered < least[2 * TILE + lane] else least[2 * TILE + lane]
            least[3 * TILE + lane] = owned if owned < least[3 * TILE + lane] else least[3 * TILE + lane]


@kernel(inline=True)
def halved(value: int) -> int:
    """value / 2 truncated toward zero, as in C."""
    return (value + (1 if value < 0 else 0)) >> 1


@kernel()
def average(total: Any, integer: bool | None) -> Any:
    """A 36th of the total: exact division in floating point, truncated toward zero for gnubg's integers."""
    if integer is None:
        return total / np.float32(36.0)
    return total // 36 if total >= 0 else -(-total // 36)


@kernel()
def fill_totals(
    on_roll: int,
    row_start: int,
    row_end: int,
    play_start: Array,
    results: Array,
    rows: Array,
    best: Array,
    total: Array,
    integer: bool | None,
) -> None:
    """Fills total[...] with 36 times the equities of slot `on_roll` against the lanes row_start..row_end of a row."""
    total[:] = 0
    for roll in range(ROLL_COUNT):
        best[:] = 8 if integer is None else WON
        for play in range(play_start[on_roll * ROLL_COUNT + roll], play_start[on_roll * ROLL_COUNT + roll + 1]):
            keep_lowest(rows[results[play]][row_start:row_end], best, integer)
        weight = 2 if roll < NON_DOUBLES else 1
        for item in range(total.shape[0]):
            if integer is None:
                total[item] -= np.float32(weight) * best[item]
            else:
                total[item] += weight * ~np.int32(best[item])


@kernel(parallel=True)
def solve_tasks(
    tasks: Array, play_start: Array, results: Array, cells: Array, sums: Array, integer: bool | None
) -> None:
    """Fills cells[opponent, tile, :, lane] for the blocks of pairs in `tasks`, all smaller totals being filled.

    A task is (first slot on roll, one past the last, first slot of the opponent, one past the last). `sums` only tells
    the type of the sums.
    """
    for task in prange(tasks.shape[0]):
        first, end, opponent, opponent_end = tasks[task]
        first_tile = opponent // TILE
        row_start, row_end = first_tile * 4 * TILE, ((opponent_end - 1) // TILE + 1) * 4 * TILE
        rows = cells.reshape(cells.shape[0], cells.shape[1] * 4 * TILE)
        best = np.empty(row_end - row_start, cells.dtype)
        totals = np.empty((ON_ROLL, row_end - row_start), sums.dtype)
        for on_roll in range(first, end):
            total = totals[on_roll - first]
            fill_totals(on_roll, row_start, row_end, play_start, results, rows, best, total, integer)
        for other in range(opponent, opponent_end):
            for column in range(4):
                item = ((other // TILE - first_tile) * 4 + column) * TILE + other % TILE
                for lane in range(first, end):
                    value = average(totals[lane - first, item], integer)
                    cells[other, lane // TILE, column, lane % TILE] = value


def start_pairs(points: int, checkers: int, *, integer: bool = False) -> Pairs:
    """A two-sided table in which only finished games are solved.

    `integer` selects gnubg's 16-bit arithmetic, which ignores gammons as its files do; otherwise it is float32.
    """
    layouts = all_layouts(points, checkers)
    order, layer_start = pip_layers(pip_counts(layouts))
    play_start, results = plays_by_slot(all_plays(points, checkers), order)
    cells = np.empty((len(order), -(-len(order) // TILE), 4, TILE), np.int16 if integer else np.float32)
    cells[0] = LOST if integer else -1.0
    if checkers == MAX_CHECKERS and not integer:
        lanes = np.flatnonzero(layouts[order].sum(axis=1) == MAX_CHECKERS)
        cells[0, lanes // TILE, :, lanes % TILE] = -2.0
    return Pairs(order, layer_start, play_start, results, cells)


def plays_by_slot(plays: Plays, order: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(start int64[slots * 21 + 1], result slots): plays rearranged from index order into slot order."""
    slot_of = np.empty_like(order)
    slot_of[order] = np.arange(len(order), dtype=np.int32)
    rolls = (order[:, None].astype(np.int64) * ROLL_COUNT + np.arange(ROLL_COUNT)).ravel()
    counts = np.diff(plays.start)[rolls]
    start = np.concatenate([[0], np.cumsum(counts)])
    source = np.repeat(plays.start[rolls] - start[:-1], counts) + np.arange(start[-1])
    return start, slot_of[plays.results[source]]


def solve_total(pairs: Pairs, total: int) -> None:
    """Fill the cells of every pair with this total of pips, the smaller totals being solved."""
    integer = True if pairs.cells.dtype == np.int16 else None
    sums = np.empty(0, np.int32 if integer else np.float32)
    tasks = np.array(list(tasks_of(pairs, total)), np.int64).reshape(-1, 4)
    solve_tasks(tasks, pairs.play_start, pairs.results, pairs.cells, sums, integer)


def tasks_of(pairs: Pairs, total: int) -> Iterator[tuple[int, int, int, int]]:
    """The blocks of pairs with this total: up to ON_ROLL players on roll x OPPONENTS opponents."""
    most = len(pairs.layer_start) - 2
    start = pairs.layer_start.tolist()
    for pips in range(max(1, total - most), min(most, total - 1) + 1):
        others = total - pips
        for on_roll in blocks(start[pips], start[pips + 1], ON_ROLL):
            for opponent in blocks(start[others], start[others + 1], OPPONENTS):
                yield *on_roll, *opponent


def blocks(start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """start..end, cut at the multiples of `size`, so that tiles within one layer are in one block."""
    for cut in range(start // size * size, end, size):
        yield max(start, cut), min(end, cut + size)


def pairs_of_total(pairs: Pairs, total: int) -> int:
    """Number of pairs with this total of pips."""
    layers = np.diff(pairs.layer_start)
    most = len(layers) - 1
    return sum(
        int(layers[pips] * layers[total - pips]) for pips in range(max(1, total - most), min(most, total - 1) + 1)
    )


@kernel(parallel=True)
def fill_rows(tile: int, order: Array, cells: Array, scale: float, offset: float, rows: Array) -> None:
    """Fills rows[lane, opponent index, column] for the lanes of one tile with equity * scale + offset.

    For integer rows, the offset includes one half, so that truncation rounds to nearest.
    """
    for opponent in prange(order.shape[0]):
        for column in range(4):
            for lane in range(TILE):
                rows[lane, order[opponent], column] = cells[opponent, tile, column, lane] * scale + offset


def equity_rows(pairs: Pairs, limit: float, dtype: DTypeLike) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (on-roll index, [positions, 4] by opponent index) for every position, in slot order.

    float32: equities. uint16: codes, round((equity / limit + 1) * 32767.5), or gnubg's integers from 0 on. A player
    without checkers has won; against an opponent without checkers the game is lost.
    """
    count = len(pairs.order)
    scale, offset = 1.0, 0.0
    if np.dtype(dtype) == np.uint16:
        scale, offset = (1.0, float(-LOST)) if pairs.cells.dtype == np.int16 else (STEPS / limit, STEPS + 0.5)
    rows = np.empty((TILE, count, 4), dtype)
    won = np.empty((count, 4), dtype)
    lost = pairs.cells[0].transpose(0, 2, 1).reshape(-1, 4)[:count].astype(np.float64)
    won[pairs.order] = (WON if pairs.cells.dtype == np.int16 else -lost) * scale + offset
    yield 0, won
    for tile in range(pairs.cells.shape[1]):
        fill_rows(tile, pairs.order, pairs.cells, scale, offset, rows)
        for lane in range(TILE):
            slot = tile * TILE + lane
            if 0 < slot < count:
                yield int(pairs.order[slot]), rows[lane]
