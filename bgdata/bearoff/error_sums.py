"""Sums of differences over groups of pairs of layouts, in an order that no number of threads changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.kernel import Array, kernel, prange


class GroupSums(NamedTuple):
    """Sums over pairs, for groupings one after the other: a grouping of `size` groups has size * size rows, for the
    groups of the player on roll and of the opponent."""

    counts: NDArray[np.int64]  # [rows]
    sums: NDArray[np.float64]  # [rows, (differences, squares, sizes)]
    extremes: NDArray[np.float64]  # [rows, (largest, smallest)], 0 where there is no pair
    places: NDArray[np.int32]  # [rows, (largest, smallest), (on roll, opponent)] of the first pair that has it


def start_sums(*shape: int) -> GroupSums:
    """Sums over no pairs, in arrays of this shape: one row for each pair of groups of each grouping."""
    return GroupSums(
        np.zeros(shape, np.int64), np.zeros((*shape, 3)), np.zeros((*shape, 2)), np.zeros((*shape, 2, 2), np.int32)
    )


def add_pairs(
    sums: GroupSums, sizes: NDArray[np.int64], groups: NDArray[np.int64], first: int, differences: NDArray[np.float64]
) -> None:
    """Add differences float64[rows, N] of the players on roll from number `first` on against all N layouts.

    `groups` int64[N, groupings] are below `sizes`. Players on roll have to come in order.
    """
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
    """Fills counts[row, column], sums[row, column, 3], extremes[row, column, 2] and, of places, the opponents, from
    differences[row, opponent], each of which counts in columns[opponent, grouping]."""
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
    """Whether a value is larger, or for which = 1 smaller."""
    return value > other if which == 0 else value < other


@kernel()
def merge_rows(sizes: Array, rows: Array, first: int, found: GroupSums, sums: GroupSums) -> None:
    """Adds found[player, column] of each player on roll, in order, to sums[row] of its groups: rows[player, grouping]
    is where these begin; the first player is number `first`."""
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
