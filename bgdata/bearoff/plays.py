"""Every distinct result of every roll, for bearoff layouts: the choices of two-sided tables.

Alone on its side of the board, a player can always play both dice, so a result is simply the layout after two moves
(four for a double), in either order of the dice. Results that waste pips are legal and are kept: dropping them, as a
published table did, changes 23 million of the 25 million two-sided equities of 6 points and 9 checkers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.race import ROLL_COUNT, fill_index_drops
from bgdata.kernel import Array, kernel, prange

BLOCK = 16  # layouts that one thread takes at a time
MOST_RESULTS = 8192  # scratch: results of three moves times six or more points, before duplicates go


class Plays(NamedTuple):
    """`results[start[index * 21 + roll] : start[index * 21 + roll + 1]]` are position indexes, ascending.

    Rolls are in the order 21 31 32 41 ... 65, then doubles 11 to 66. The empty layout has itself as only result.
    """

    start: NDArray[np.int64]  # [positions * 21 + 1]
    results: NDArray[np.int32]


@kernel()
def fill_moved(from_indexes: Array, count: int, die: int, layouts: Array, drops: Array, moved: Array) -> int:
    """Fills moved[0:n] with the distinct indexes, ascending, that one checker move with `die` leads to from any of
    from_indexes[0:count]; returns n. An empty layout stays: the game is over before the die is played."""
    n = 0
    for item in range(count):
        index = np.int64(from_indexes[item])
        if index == 0:
            moved[n] = 0
            n += 1
            continue
        layout = layouts[index]
        highest = fill_index_drops(layout, drops)
        for point in range(highest, 0, -1):
            if layout[point - 1] == 0:
                continue
            if point > die:
                moved[n] = index - (drops[point] - drops[point - die])
                n += 1
            elif highest <= 6 and point in (die, highest):
                moved[n] = index - drops[point]
                n += 1
    return distinct(moved, n)


@kernel()
def distinct(values: Array, count: int) -> int:
    """Fills values[0:n] with the distinct ones of values[0:count], ascending; returns n."""
    values[:count].sort()
    n = 0
    for item in range(count):
        if n == 0 or values[item] != values[n - 1]:
            values[n] = values[item]
            n += 1
    return n


@kernel()
def fill_roll_results(
    index: int, high: int, low: int, layouts: Array, drops: Array, scratch: Array, results: Array
) -> int:
    """Fills results[0:n] with the distinct results, ascending, of rolling `high` and `low`; returns n."""
    first, second, third = scratch[0], scratch[1], scratch[2]
    first[0] = index
    if high == low:
        n = fill_moved(first, 1, high, layouts, drops, second)
        n = fill_moved(second, n, high, layouts, drops, third)
        n = fill_moved(third, n, high, layouts, drops, second)
        return fill_moved(second, n, high, layouts, drops, results)
    n = fill_moved(first, 1, high, layouts, drops, second)
    n = fill_moved(second, n, low, layouts, drops, results)
    m = fill_moved(first, 1, low, layouts, drops, second)
    m = fill_moved(second, m, high, layouts, drops, third)
    for item in range(m):
        results[n + item] = third[item]
    return distinct(results, n + m)


@kernel(parallel=True)
def fill_plays(layouts: Array, start: Array, counts: Array, results: Array) -> None:
    """Fills counts[index * 21 + roll] with the number of results and, unless `results` is empty, results[start[index *
    21 + roll]:] with the results; rolls are in the order of `Plays`."""
    for block in prange((layouts.shape[0] + BLOCK - 1) // BLOCK):
        drops = np.empty(layouts.shape[1] + 1, np.int64)
        scratch = np.empty((3, MOST_RESULTS), np.int32)
        found = np.empty(MOST_RESULTS, np.int32)
        for index in range(block * BLOCK, min(layouts.shape[0], (block + 1) * BLOCK)):
            place = index * ROLL_COUNT
            for double in range(2):
                for high in range(1, 7):
                    for low in range(high, high + 1) if double else range(1, high):
                        n = fill_roll_results(index, high, low, layouts, drops, scratch, found)
                        counts[place] = n
                        if results.shape[0]:
                            results[start[place] : start[place] + n] = found[:n]
                        place += 1


def all_plays(points: int, checkers: int = MAX_CHECKERS) -> Plays:
    """Results of all 21 rolls for every layout of at most `checkers` on `points` points."""
    layouts = all_layouts(points, checkers)
    counts = np.empty(len(layouts) * ROLL_COUNT, np.int64)
    start = np.zeros(len(counts) + 1, np.int64)
    fill_plays(layouts, start, counts, np.empty(0, np.int32))
    np.cumsum(counts, out=start[1:])
    results = np.empty(start[-1], np.int32)
    fill_plays(layouts, start, counts, results)
    return Plays(start, results)


def roll_results(index: int, layouts: NDArray[np.int8]) -> list[NDArray[np.int32]]:
    """Distinct results, ascending, of each of the 21 rolls from one position; `layouts` are all of them."""
    drops = np.empty(layouts.shape[1] + 1, np.int64)
    scratch = np.empty((3, MOST_RESULTS), np.int32)
    found = np.empty(MOST_RESULTS, np.int32)
    rolls = [(high, low) for high in range(2, 7) for low in range(1, high)] + [(die, die) for die in range(1, 7)]
    return [found[: fill_roll_results(index, *roll, layouts, drops, scratch, found)].copy() for roll in rolls]
