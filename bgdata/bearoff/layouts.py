"""All layouts as arrays, in the orders in which bearoff tables are stored and solved, and the results of every roll.

Without contact a side can always play both dice. So a result is the layout after two moves (four for a double), in
either order of the dice. Plays that waste pips are legal too. Leaving them out, as a published table did, changes 23
million of the 25 million two-sided equities of 6 points and 9 checkers.

The *slot* of a layout is its number in the order of pip count and then index. This is the order of solving, because
every play lowers the pip count. Layouts of one pip count, a *layer*, have consecutive slots and do not depend on each
other. Pairs of layouts are solved by the total pip count of both sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import BINOMIAL as BINOMIALS
from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.kernel import Array, kernel, prange

BINOMIAL = np.array(BINOMIALS)
ROLL_COUNT = 21  # non-doubles in the order 21 31 32 41 ... 65, then doubles 11 to 66
NON_DOUBLES = 15


@kernel()
def fill_layouts(layouts: NDArray[np.int8]) -> None:
    """Fill layouts[index, point - 1] with the checkers of every layout, in the order of position indexes."""
    count, points = layouts.shape
    for index in range(1, count):
        row = layouts[index]
        row[:] = layouts[index - 1]
        # the next layout with as many checkers: one checker of the last occupied point below the top point moves up one
        # point, and the checkers of the top point follow it there. If all checkers are on the top point, the next
        # layout has one checker more, and all are on the ace point
        point = points - 2
        while point >= 0 and row[point] == 0:
            point -= 1
        top = row[points - 1]
        row[points - 1] = 0
        if point < 0:
            row[0] = top + 1
        else:
            row[point] -= 1
            row[point + 1] += 1 + top


def all_layouts(points: int, checkers: int) -> NDArray[np.int8]:
    """Return every layout with at most `checkers` checkers in the order of position indexes, as int8[count, points]."""
    layouts = np.zeros((layout_count(points, checkers), points), np.int8)
    fill_layouts(layouts)
    return layouts


def pip_counts(layouts: NDArray[np.int8]) -> NDArray[np.int16]:
    """Return the pip count of each layout, as int16[count]."""
    return (layouts @ np.arange(1, layouts.shape[1] + 1, dtype=np.int16)).astype(np.int16)


def pip_layers(pips: NDArray[np.int16]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Group positions by their pip count. Returns order, int32[count], and start, int64[max pips + 2]:
    `order[start[n]:start[n + 1]]` are the position indexes with n pips, ascending."""
    order = np.argsort(pips, kind="stable").astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(pips))]).astype(np.int64)
    return order, start


_BLOCK = 16  # number of layouts per task
_MAX_RESULTS = 8192  # size of scratch arrays: results of three moves times six or more points, with duplicates


class Plays(NamedTuple):
    """The layouts to which the plays of every roll lead: `results[start[index * 21 + roll] : start[index * 21 + roll +
    1]]` are position indexes, ascending. Rolls are in the order 21 31 32 41 ... 65, then doubles 11 to 66. The only
    result of the empty layout is itself."""

    start: NDArray[np.int64]  # [positions * 21 + 1]
    results: NDArray[np.int32]


@kernel()
def fill_index_drops(layout: Array, drops: Array) -> int:
    """Fill drops[k] with the decrease of the position index if a checker on point k is borne off, and return the
    highest occupied point. A move from point k to point k - n lowers the index by drops[k] - drops[k - n]."""
    points = layout.shape[0]
    checkers = highest = 0
    for point in range(points, 0, -1):
        checkers += layout[point - 1]
        if highest == 0 and checkers > 0:
            highest = point
        drops[point] = BINOMIAL[checkers + points - point - 1, points - point] if checkers > 0 else 0
    drops[0] = 0
    for point in range(1, points + 1):
        drops[point] += drops[point - 1]
    return highest


@kernel()
def fill_moved(from_indexes: Array, count: int, die: int, layouts: Array, drops: Array, moved: Array) -> int:
    """Fill moved[0:n] with the distinct position indexes, ascending, after one checker move with `die` from any of the
    first `count` positions in from_indexes; returns n. An empty layout stays empty, because the game is over before the
    die is played."""
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
    return keep_distinct(moved, n)


@kernel()
def keep_distinct(values: Array, count: int) -> int:
    """Move the distinct numbers among the first `count` of `values` to its beginning, ascending, and return how many
    there are."""
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
    """Fill results[0:n] with the distinct position indexes, ascending, after rolling `high` and `low`; returns n."""
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
    return keep_distinct(results, n + m)


@kernel(parallel=True)
def fill_plays(layouts: Array, start: Array, counts: Array, results: Array) -> None:
    """Fill counts[index * 21 + roll] with the number of results of each roll. Unless `results` is empty, also fill
    results[start[index * 21 + roll]:] with them. Rolls are in the order of `Plays`."""
    for block in prange((layouts.shape[0] + _BLOCK - 1) // _BLOCK):
        drops = np.empty(layouts.shape[1] + 1, np.int64)
        scratch = np.empty((3, _MAX_RESULTS), np.int32)
        found = np.empty(_MAX_RESULTS, np.int32)
        for index in range(block * _BLOCK, min(layouts.shape[0], (block + 1) * _BLOCK)):
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
    """Find the results of all 21 rolls for every layout with at most `checkers` checkers on `points` points."""
    layouts = all_layouts(points, checkers)
    counts = np.empty(len(layouts) * ROLL_COUNT, np.int64)
    start = np.zeros(len(counts) + 1, np.int64)
    fill_plays(layouts, start, counts, np.empty(0, np.int32))
    np.cumsum(counts, out=start[1:])
    results = np.empty(start[-1], np.int32)
    fill_plays(layouts, start, counts, results)
    return Plays(start, results)


def roll_results(index: int, layouts: NDArray[np.int8]) -> list[NDArray[np.int32]]:
    """Find the distinct results, ascending, of each of the 21 rolls from the layout with this position index. `layouts`
    are all layouts."""
    drops = np.empty(layouts.shape[1] + 1, np.int64)
    scratch = np.empty((3, _MAX_RESULTS), np.int32)
    found = np.empty(_MAX_RESULTS, np.int32)
    rolls = [(high, low) for high in range(2, 7) for low in range(1, high)] + [(die, die) for die in range(1, 7)]
    return [found[: fill_roll_results(index, *roll, layouts, drops, scratch, found)].copy() for roll in rolls]


class Slots(NamedTuple):
    """The layouts of a side and the results of its rolls, numbered by slot: by pip count, then by position index. Slot
    0 is the empty layout."""

    order: NDArray[np.int32]  # [slots] position index of each slot; slot 0 is the empty layout
    layer_start: NDArray[np.int64]  # [layers + 1] first slot of each pip count
    play_start: NDArray[np.int64]  # [slots * 21 + 1]
    results: NDArray[np.int32]  # [...] slots after each roll of each slot

    @property
    def most_pips(self) -> int:
        """The highest pip count that a side can have."""
        return len(self.layer_start) - 2

    @property
    def totals(self) -> range:
        """The totals of the pip counts of both sides, for all pairs to solve, in the order of solving."""
        return range(2, 2 * self.most_pips + 1)

    def layers_of(self, total: int) -> range:
        """Return the pip counts that the player on roll can have if both sides together have `total` pips and neither
        has finished."""
        return range(max(1, total - self.most_pips), min(self.most_pips, total - 1) + 1)

    def pairs_of(self, total: int) -> int:
        """Return the number of pairs of layouts that have `total` pips together."""
        sizes = np.diff(self.layer_start).tolist()
        return sum(sizes[pips] * sizes[total - pips] for pips in self.layers_of(total))

    def reachable_from(self, first: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Find the slots that can be reached from the slots `first`, including these, as bool[slots]."""
        found = np.zeros(len(self.order), np.bool_)
        found[first] = True
        for slot in range(int(first.max()), 0, -1):  # plays lead to lower slots
            if found[slot]:
                begin, end = self.play_start[[slot * ROLL_COUNT, (slot + 1) * ROLL_COUNT]]
                found[self.results[begin:end]] = True
        return found

    def restrict(self, first: NDArray[np.int64]) -> Slots:
        """Return a copy with only the slots that can be reached from `first`. They get new numbers."""
        found = self.reachable_from(first)
        number = np.cumsum(found) - 1
        counts = np.diff(self.play_start).reshape(-1, ROLL_COUNT)
        results = self.results[np.repeat(found, counts.sum(axis=1))]
        return Slots(
            self.order[found],
            np.concatenate([[0], np.cumsum(found)])[self.layer_start],
            np.concatenate([[0], np.cumsum(counts[found])]),
            number[results].astype(np.int32),
        )


def all_slots(points: int, checkers: int) -> Slots:
    """Number all layouts with up to `checkers` checkers on points 1 to `points` by slot."""
    order, layer_start = pip_layers(pip_counts(all_layouts(points, checkers)))
    plays = all_plays(points, checkers)  # in index order
    rolls = (order[:, None].astype(np.int64) * ROLL_COUNT + np.arange(ROLL_COUNT)).ravel()
    counts = np.diff(plays.start)[rolls]
    start = np.concatenate([[0], np.cumsum(counts)])
    source = np.repeat(plays.start[rolls] - start[:-1], counts) + np.arange(start[-1])
    return Slots(order, layer_start, start, np.argsort(order).astype(np.int32)[plays.results[source]])
