"""Bearoff layouts and their dense index (the combinatorial number system; formats: gnubg's position index).

A *layout* is one side's checkers on its own points 1..P, ace point first, at most C in all; whatever is missing from
the C checkers is borne off. Layouts rank to 0..count-1 by ascending number of checkers, then descending count on the
ace point, then on the deuce point, and so on. Two facts make tables simple: the rank does not depend on C, so a table
for fewer checkers is a prefix of the larger one; and every checker move lowers the rank and the pip count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError
from bgdata.kernel import kernel

MAX_POINTS = 18
MAX_CHECKERS = 15

# BINOMIAL[n, r]: n up to points + checkers, r up to points
BINOMIAL = np.array([[comb(n, r) for r in range(MAX_POINTS + 2)] for n in range(MAX_POINTS + MAX_CHECKERS + 2)])
_ROWS = BINOMIAL.tolist()


def layout_count(points: int, checkers: int) -> int:
    """Number of layouts of at most `checkers` on `points` points, the empty one included: binom(P + C, P)."""
    check_size(points, checkers)
    return comb(points + checkers, points)


def check_size(points: int, checkers: int) -> None:
    """Raise InvalidPositionError unless 1 <= points <= 18 and 1 <= checkers <= 15."""
    if not 1 <= points <= MAX_POINTS:
        raise InvalidPositionError(f"expected 1 to {MAX_POINTS} points, got {points}")
    if not 1 <= checkers <= MAX_CHECKERS:
        raise InvalidPositionError(f"expected 1 to {MAX_CHECKERS} checkers, got {checkers}")


def position_index(layout: Sequence[int]) -> int:
    """Rank of a layout (checkers on points 1..P, ace point first; P is its length).

    >>> position_index([0, 0, 0, 0, 0, 15])
    54263

    Raises InvalidPositionError for a negative count or more than 15 checkers.
    """
    points = len(layout)
    index = above = 0
    row = points + 1
    for column, count in enumerate(reversed(layout), start=1):
        if count < 0:
            raise InvalidPositionError(f"expected no negative count in a layout, got {list(layout)}")
        above += count
        row = above + column - 1
        index += _ROWS[row][column] if row < len(_ROWS) else 0
    if above > MAX_CHECKERS or points > MAX_POINTS:
        raise InvalidPositionError(
            f"expected at most {MAX_CHECKERS} checkers on {MAX_POINTS} points, got {list(layout)}"
        )
    return index


def layout_at(index: int, points: int) -> list[int]:
    """Layout with this rank: the inverse of `position_index` (greedy, from the largest term down).

    >>> layout_at(26, 6)
    [0, 0, 0, 0, 1, 1]

    Raises InvalidPositionError when no layout of at most 15 checkers has this rank.
    """
    check_size(points, 1)
    if not 0 <= index < comb(points + MAX_CHECKERS, points):
        raise InvalidPositionError(f"expected an index below {comb(points + MAX_CHECKERS, points)}, got {index}")
    cumulative = []
    rest = index
    for column in range(points, 0, -1):
        above = 0
        while comb(above + column, column) <= rest:
            above += 1
        rest -= comb(above + column - 1, column)
        cumulative.append(above)
    return [here - after for here, after in zip(cumulative, [*cumulative[1:], 0], strict=True)]


@kernel()
def fill_layouts(layouts: NDArray[np.int8]) -> None:
    """Fills layouts[index, point - 1] with the checkers of every layout, in index order."""
    count, points = layouts.shape
    for index in range(1, count):
        row = layouts[index]
        row[:] = layouts[index - 1]
        # the next layout of the same total moves one checker from the last point but one that holds any onto the
        # point above it, and brings the checkers of the top point back behind it; when all stand on the top point the
        # total grows by one and all stand on the ace point
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
    """int8[count, points]: every layout in index order."""
    layouts = np.zeros((layout_count(points, checkers), points), np.int8)
    fill_layouts(layouts)
    return layouts


def pip_counts(layouts: NDArray[np.int8]) -> NDArray[np.int16]:
    """int16[count]: pips to bear every checker off, for each layout."""
    return (layouts @ np.arange(1, layouts.shape[1] + 1, dtype=np.int16)).astype(np.int16)


def pip_layers(pips: NDArray[np.int16]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Positions grouped by pip count: (order int32[count], start int64[max pips + 2]).

    `order[start[n]:start[n + 1]]` are the positions of n pips in index order. Every play lowers the pip count, so
    the positions of one layer do not depend on each other.
    """
    order = np.argsort(pips, kind="stable").astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(pips))]).astype(np.int64)
    return order, start
