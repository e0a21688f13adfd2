"""All layouts at once, as arrays in the order in which bearoff tables are stored and solved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import BINOMIAL as BINOMIALS
from bgdata.bearoff.index import layout_count
from bgdata.kernel import kernel

BINOMIAL = np.array(BINOMIALS)


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
