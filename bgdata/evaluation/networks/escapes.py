"""Escapes: how many of 36 rolls bring a checker past the made points in front of it, and how well points block.

The 12 points in front of a checker are a mask, bit i for the point i + 1 pips ahead. Its *block* ends with the farthest
made point no more than BLOCK pips ahead. A roll escapes if the checker alone can come to a point beyond that, with one
die, with both, or with up to four steps of a double, never stopping on a made point; points beyond 12 are open. An old
idea of the field (Berliner's programs had such counts); this definition is our own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.point_sets import bit_count
from bgdata.kernel import kernel

REACH = 12
BLOCK = 7
MASKS = 1 << REACH
LAST_SQUARE = 15  # a checker that far up the board, bar at 0, is as good as home


def escape_counts() -> NDArray[np.int8]:
    """int8[4096]: how many of 36 rolls escape, by mask."""
    masks = np.arange(MASKS)
    near = masks & ((1 << BLOCK) - 1)
    end = np.array([mask.bit_length() for mask in range(1 << BLOCK)])[near]  # 0: no block
    is_open = [np.ones(MASKS, np.bool_)] + [masks >> distance & 1 == 0 for distance in range(REACH)]
    is_open += [np.ones(MASKS, np.bool_)] * (24 - REACH)
    counts = np.zeros(MASKS, np.int8)
    for die in range(1, 7):
        way, escapes = is_open[0], np.zeros(MASKS, np.bool_)
        for distance in range(die, 4 * die + 1, die):
            way = way & is_open[distance]
            escapes |= way & (distance > end)
        counts += escapes
        for other in range(die + 1, 7):
            one, both = is_open[die], is_open[die + other]
            escapes = (one & (die > end)) | (is_open[other] & (other > end))
            escapes |= (one | is_open[other]) & both & (die + other > end)
            counts += 2 * escapes.astype(np.int8)
    return counts


def window_counts() -> NDArray[np.int8]:
    """int8[4096]: the most points of a mask within six neighbouring ones."""
    masks = np.arange(MASKS)
    counts = np.array([mask.bit_count() for mask in range(64)], np.int8)
    windows: NDArray[np.int8] = np.max([counts[masks >> start & 63] for start in range(7)], axis=0)
    return windows


_ESCAPES = escape_counts()
_WINDOWS = window_counts()


@kernel()
def escapes_from(square: int, made: int) -> int:
    """Rolls of 36 that escape from `square`, bar at 0, over points `made` above it."""
    return int(_ESCAPES[(made >> (square + 1)) & (MASKS - 1)])


@kernel()
def fewest_escapes(rearmost: int, made: int) -> tuple[int, int]:
    """(from the squares from `rearmost` on, from all squares): the fewest rolls that escape over points `made`.

    Squares up to LAST_SQUARE where a checker may stand count; the bar, 0, always is one. 36 where there is none.
    """
    fewest, fewest_of_all = 36, 36
    for square in range(LAST_SQUARE + 1):
        count = int(_ESCAPES[(made >> (square + 1)) & (MASKS - 1)]) | ((made >> square) & 1) << 6
        fewest_of_all = min(fewest_of_all, count)
        fewest = min(fewest, count if square >= rearmost else 36)
    return fewest, fewest_of_all


@kernel()
def longest_run(points: int) -> int:
    """The most neighbouring points in a set."""
    length = 0
    while points:
        points &= points >> 1
        length += 1
    return length


@kernel()
def most_in_six(points: int) -> int:
    """The most points of a set (1 to 24) within six neighbouring ones."""
    low, middle, high = points >> 1, points >> 8, points >> 13
    return int(max(_WINDOWS[low & (MASKS - 1)], _WINDOWS[middle & (MASKS - 1)], _WINDOWS[high & (MASKS - 1)]))


@kernel()
def points_in_front(square: int, made: int) -> int:
    """Points `made` up to 12 pips above `square`: two for each of the first six, one for each of the others."""
    ahead = made >> (square + 1)
    return bit_count(ahead & 63) + bit_count(ahead & (MASKS - 1))
