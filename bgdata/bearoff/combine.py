"""Combines two one-sided distributions into equities, as if each side raced alone.

P(win of the player on roll) = sum over n of P(off in exactly n rolls) * Q(opponent not off in n - 1 rolls or fewer).
The equity is 2 P - 1. This is an approximation: it assumes that both sides play for the fewest expected rolls, whatever
the other side does. A side that trails does better by playing for large rolls, above all if it has little wastage. So
the combined equity of the leader is too high: by `tables.mean_excess` on average, which can be subtracted. Trying all
plays of the next roll (`one_roll_ahead`) corrects a small part of the error.

Gammons are combined in the same way (`Combination`): a side with 15 checkers loses a gammon if the other side is off
before its own first checker. It is assumed to play for the fewest rolls to bear off that checker.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT, Plays, pip_counts
from bgdata.bearoff.tables import RaceTable, mean_excess
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.kernel import Array, kernel, prange

excess = kernel(inline=True)(mean_excess)


def win_chance(on_roll: NDArray[np.float64], opponent: NDArray[np.float64]) -> float:
    """Return the chance that the player on roll bears off first. Item n of both arrays is the chance that the side
    needs exactly n rolls."""
    length = max(len(on_roll), len(opponent))
    first = np.zeros(length)
    first[: len(on_roll)] = on_roll
    tail = np.zeros(length)
    tail[: len(opponent)] = opponent
    return float(first @ tail[::-1].cumsum()[::-1])


@kernel(parallel=True)
def fill_products(first: Array, second: Array, found: Array) -> None:
    """Fill found[row, column] with the sum of first[row, n] * second[n, column] over n, in order."""
    count = second.shape[1]
    for row in prange(first.shape[0]):
        total = np.zeros(count)
        for n in range(first.shape[1]):
            factor = first[row, n]
            if factor > 0.0:
                for column in range(count):
                    total[column] += factor * second[n, column]
        found[row] = total


def products(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply two matrices, and return float64[rows, columns]. The order of additions is always the same."""
    found = np.empty((first.shape[0], second.shape[1]))
    fill_products(first, np.ascontiguousarray(second), found)
    return found


@kernel(parallel=True)
def correct_equities(equities: Array, wastages: Array, opponent_wastages: Array) -> None:
    """Subtract the mean excess (see `tables.mean_excess`) from equities[on roll, opponent]. Wastages are in pips."""
    for on_roll in prange(len(equities)):
        row = equities[on_roll]
        for opponent in range(len(row)):
            row[opponent] -= excess(row[opponent], wastages[on_roll], opponent_wastages[opponent])


@kernel(parallel=True)
def fill_one_roll_ahead(equities: Array, values: Array, start: Array, results: Array, found: Array) -> None:
    """Fill found[on roll, opponent] with the mean, over all rolls, of the value of the best play. The best play leaves
    the opponent the lowest equities[opponent, on roll]; its value comes from values[opponent, on roll]. All arrays omit
    the empty layout, index 0. results[start[index * 21 + roll]:] are the position indexes after the plays."""
    count = len(equities)
    for on_roll in prange(count):
        best, worth, total = np.empty(count), np.empty(count), np.zeros(count)
        for roll in range(ROLL_COUNT):
            place = (on_roll + 1) * ROLL_COUNT + roll
            best[:] = -1.0
            worth[:] = -1.0
            for item in range(start[place], start[place + 1]):
                after = results[item]
                for opponent in range(count):
                    value = 1.0 if after == 0 else -equities[opponent, after - 1]
                    is_better = value > best[opponent]
                    best[opponent] = value if is_better else best[opponent]
                    value = 1.0 if after == 0 else -values[opponent, after - 1]
                    worth[opponent] = value if is_better else worth[opponent]
            total += (2.0 if roll < NON_DOUBLES else 1.0) / 36.0 * worth
        found[on_roll] = total


def one_roll_ahead(
    equities: NDArray[np.float64], plays: Plays, values: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the equities of the player on roll if it tries all plays of its next roll, as float64[N, N] for all
    ordered pairs of non-empty layouts.

    It chooses plays by the opponent's `equities`, float64[N, N]. If `values`, float64[N, N], are given, the chosen
    plays have these values instead. Exact `values` show what choosing by approximate equities costs."""
    found = np.empty_like(equities)
    turned = np.asfortranarray(equities)
    valued = turned if values is None else np.asfortranarray(values)
    fill_one_roll_ahead(turned, valued, plays.start, plays.results, found)
    return found


def layout_wastages(one_sided: RaceTable, layouts: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the wastage (effective minus plain pip count) of each of `layouts`, the first N layouts of the table, as
    float64[N] in pips."""
    effective_pips: NDArray[np.float64] = one_sided.table.array("mean_rolls")[: len(layouts)] * PIPS_PER_ROLL
    return effective_pips - pip_counts(layouts)


def chances_from(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert the chances of needing exactly n rolls to the chances of needing n rolls or more, as float64[N,
    rolls]."""
    found = np.zeros_like(chances)
    running = np.zeros(len(chances))
    for n in range(chances.shape[1] - 1, -1, -1):  # not cumsum: the stored values depend on the order of additions
        running = running + chances[:, n]
        found[:, n] = running
    return found


def one_sided_equities(
    chances: NDArray[np.float64], wastages: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the equity of the player on roll for every ordered pair of layouts, as float64[N, N]: see
    `Combination`."""
    return Combination(chances, wastages).equities(0, len(chances))


class Combination:
    """Combines one-sided distributions into the equities of every ordered pair of non-empty layouts, in blocks of rows.

    `chances`, float64[N, rolls], are the chances of bearing off in exactly n rolls. If `wastages`, float64[N] in pips,
    are given, the mean excess is subtracted. If `first_chances`, float64[M, rolls], are given, gammons count two
    points: these are the chances of bearing off the first checker, for the last M layouts, which have 15 checkers."""

    def __init__(
        self,
        chances: NDArray[np.float64],
        wastages: NDArray[np.float64] | None = None,
        first_chances: NDArray[np.float64] | None = None,
    ) -> None:
        self._chances, self._wastages = chances, wastages
        self._not_before = np.ascontiguousarray(chances_from(chances).T)
        self._rolls = np.ascontiguousarray(chances.T)
        self._full = 0 if first_chances is None else len(first_chances)
        if first_chances is not None:
            rolls = chances.shape[1]
            none_off = np.zeros((len(first_chances), rolls + 1))  # chance of no checker off in n - 1 rolls
            found = chances_from(first_chances)
            none_off[:, : found.shape[1]] = found
            self._none_off = np.ascontiguousarray(none_off[:, :rolls].T)
            self._none_off_after = np.ascontiguousarray(none_off[:, 1:])

    def equities(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return the equities as float64[end - begin, N]: the equities in points if the player on roll has layout
        number begin to end - 1, against all layouts."""
        count = len(self._chances)
        found = products(self._chances[begin:end], self._not_before)
        found *= 2.0
        found -= 1.0
        if self._wastages is not None:
            correct_equities(found, self._wastages[begin:end], self._wastages)
        if self._full:
            first_full = count - self._full
            found[:, first_full:] += products(self._chances[begin:end], self._none_off)
            inside = max(begin, first_full)
            if inside < end:
                none_off = self._none_off_after[inside - first_full : end - first_full]
                found[inside - begin :] -= products(none_off, self._rolls)
        return found


class GroupSums(NamedTuple):
    """Sums over pairs of layouts, by several groupings. A grouping of layouts into `size` groups has size * size rows,
    one for each pair of groups (player on roll, opponent). The rows of one grouping come after those of another."""

    counts: NDArray[np.int64]  # [rows]
    sums: NDArray[np.float64]  # [rows, (differences, squares, sizes)]
    extremes: NDArray[np.float64]  # [rows, (largest, smallest)], 0 without pairs
    places: NDArray[np.int32]  # [rows, (largest, smallest), (on roll, opponent)] of the first such pair


def start_sums(*shape: int) -> GroupSums:
    """Make sums over no pairs. `shape` is the shape of the arrays, which have one row for each pair of groups of each
    grouping."""
    return GroupSums(
        np.zeros(shape, np.int64), np.zeros((*shape, 3)), np.zeros((*shape, 2)), np.zeros((*shape, 2, 2), np.int32)
    )


def add_pairs(
    sums: GroupSums, sizes: NDArray[np.int64], groups: NDArray[np.int64], first: int, differences: NDArray[np.float64]
) -> None:
    """Add `differences`, float64[rows, N], of the players on roll from number `first` on against all N layouts.
    `groups`, int64[N, groupings], contains the group of each layout, a number below `sizes`. Players on roll must be
    added in order."""
    ends = np.cumsum(sizes)
    found = start_sums(len(differences), int(ends[-1]))
    fill_row_sums(differences, groups + (ends - sizes), *found)
    squares = sizes**2
    rows = (np.cumsum(squares) - squares) + groups[first : first + len(differences)] * sizes
    merge_rows(sizes, rows, first, found, sums)


@kernel(parallel=True)
def fill_row_sums(
    differences: Array, columns: Array, counts: Array, sums: Array, extremes: Array, places: Array
) -> None:
    """Sum differences[row, opponent] by column, which is columns[opponent, grouping]. Fills counts[row, column],
    sums[row, column, 3], extremes[row, column, 2], and the opponents with the extremes in `places`."""
    for row in prange(differences.shape[0]):
        for opponent in range(differences.shape[1]):
            value = differences[row, opponent]
            for grouping in range(columns.shape[1]):
                column = columns[opponent, grouping]
                counts[row, column] += 1
                sums[row, column, 0] += value
                sums[row, column, 1] += value * value
                sums[row, column, 2] += abs(value)
                for which in range(2):
                    extreme = extremes[row, column, which]
                    if counts[row, column] == 1 or is_further(value, extreme, which):
                        extremes[row, column, which] = value
                        places[row, column, which, 1] = opponent


@kernel(inline=True)
def is_further(value: float, other: float, which: int) -> bool:
    """Whether `value` is larger than `other` (if `which` is 0), or smaller (if it is 1)."""
    return value > other if which == 0 else value < other


@kernel()
def merge_rows(sizes: Array, rows: Array, first: int, found: GroupSums, sums: GroupSums) -> None:
    """Add found[player, column] of each player on roll, in order, to the row of `sums` for its pair of groups.
    rows[player, grouping] is the first row of `sums` for the player's group; `first` is the number of the first
    player."""
    for player in range(len(rows)):
        column = 0
        for grouping in range(len(sizes)):
            for group in range(sizes[grouping]):
                row = rows[player, grouping] + group
                if found.counts[player, column]:
                    for which in range(2):
                        value = found.extremes[player, column, which]
                        if sums.counts[row] == 0 or is_further(value, sums.extremes[row, which], which):
                            sums.extremes[row, which] = value
                            sums.places[row, which, 0] = first + player
                            sums.places[row, which, 1] = found.places[player, column, which, 1]
                    sums.counts[row] += found.counts[player, column]
                    for item in range(3):
                        sums.sums[row, item] += found.sums[player, column, item]
                column += 1
