"""Layouts of few checkers anywhere on the board, and the look-up tables of the solver.

A layout is one side's checkers on its own points 1 to 24 and on the bar, which is point 25. The other checkers are
borne off. Layouts have the order of bearoff tables (see `bearoff.index`), which is also that of gnubg's hypergammon
files.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.layouts import BINOMIAL, fill_layouts, pip_counts, pip_layers
from bgdata.game.codec import Boards
from bgdata.kernel import Array, kernel

POINTS = 25
BAR = 25  # as a point
MAX_CHECKERS = 4
NO_SHIFT = 31  # a mask of points has bits 1 to 24


class Layouts(NamedTuple):
    """All layouts of up to `checkers` checkers, in index order. `blocked`, `points`, `blots` and `shifts` describe each
    layout as the opponent's, with the point numbers of the player on roll."""

    checkers: int
    counts: NDArray[np.int8]  # [layouts, 25] checkers on points 1 to 25
    pips: NDArray[np.int16]
    order: NDArray[np.int32]  # position indexes by pip count, see `pip_layers`
    start: NDArray[np.int64]  # first index in `order` of each pip count
    made: NDArray[np.int32]  # [layouts] index in `blocked` of its made points
    blocked: NDArray[np.uint32]  # [sets] made points of an opponent, as bits 1 to 24 of the player on roll
    points: NDArray[np.uint32]  # [layouts] all its points, as bits
    blots: NDArray[np.uint32]  # [layouts] its points with one checker, as bits
    shifts: NDArray[np.uint8]  # [layouts, 4] points of its blots, the rest NO_SHIFT
    hit: NDArray[np.int32]  # [layouts, 16] the layout after hits; bit k of the column is the blot on point shifts[k]

    def __len__(self) -> int:
        return len(self.counts)


def layout_count(checkers: int) -> int:
    """Return the number of layouts with at most `checkers` checkers on 24 points and the bar."""
    return comb(POINTS + checkers, checkers)


@kernel(borrows=True)
def layout_rank(counts: Array) -> int:
    """Return the index of a layout, given as 25 counts: points 1 to 24 and the bar."""
    index = above = 0
    for column in range(1, POINTS + 1):
        above += counts[POINTS - column]
        index += BINOMIAL[above + column - 1, column]
    return index


@kernel()
def fill_hits(counts: Array, shifts: Array, hit: Array) -> None:
    """Fill shifts[layout] and hit[layout] for every layout: see `Layouts`."""
    moved = np.empty(POINTS, np.int8)
    for layout in range(len(counts)):
        found = 0
        for point in range(1, BAR):
            if counts[layout, point - 1] == 1:
                shifts[layout, found] = BAR - point
                found += 1
        for bits in range(1 << found):
            moved[:] = counts[layout]
            for blot in range(found):
                if bits >> blot & 1:
                    moved[BAR - shifts[layout, blot] - 1] -= 1
                    moved[BAR - 1] += 1
            hit[layout, bits] = layout_rank(moved)


def bits_of(is_set: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Pack each row of bool[layouts, 24], ace point first, into the bits 1 to 24 of uint32[layouts]."""
    bits = np.uint32(1) << np.arange(1, BAR, dtype=np.uint32)
    found: NDArray[np.uint32] = np.where(is_set, bits, np.uint32(0)).sum(axis=1, dtype=np.uint32)
    return found


def all_layouts(checkers: int) -> Layouts:
    """List every layout of at most `checkers` checkers."""
    counts = np.zeros((layout_count(checkers), POINTS), np.int8)
    fill_layouts(counts)
    pips = pip_counts(counts)
    seen = counts[:, BAR - 2 :: -1]  # with the other side's point numbers
    blocked, made = np.unique(bits_of(seen >= 2), return_inverse=True)
    shifts = np.full((len(counts), MAX_CHECKERS), NO_SHIFT, np.uint8)
    hit = np.zeros((len(counts), 1 << MAX_CHECKERS), np.int32)
    fill_hits(counts, shifts, hit)
    points, blots = bits_of(seen >= 1), bits_of(seen == 1)
    return Layouts(
        checkers, counts, pips, *pip_layers(pips), made.astype(np.int32), blocked, points, blots, shifts, hit
    )


def own_points(counts: NDArray[np.int8]) -> NDArray[np.uint32]:
    """Return the points 1 to 24 where a side has a checker, by its own numbers, as the bits of uint32[layouts]."""
    return bits_of(counts[:, : BAR - 1] > 0)


def boards_of(on_roll: NDArray[np.int8], opponent: NDArray[np.int8]) -> Boards:
    """Return the boards of pairs of layouts as int8[n, 26]. A layout is given as 25 counts on points 1 to 24 and the
    bar."""
    boards = np.zeros((len(on_roll), BAR + 1), np.int8)
    boards[:, 1:] = on_roll
    boards[:, BAR - 1 : 0 : -1] -= opponent[:, : BAR - 1]
    boards[:, 0] = opponent[:, BAR - 1]
    return boards


def layout_indexes(boards: Boards) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the layout indexes of the player on roll and of the opponent, int64[n] each, from int8[n, 26] boards."""
    theirs = np.concatenate([-boards[:, BAR - 1 : 0 : -1], boards[:, :1]], axis=1)
    ranks = np.empty((2, len(boards)), np.int64)
    for side, counts in enumerate((boards[:, 1:], theirs)):
        fill_ranks(np.ascontiguousarray(np.maximum(counts, 0)), ranks[side])
    return ranks[0], ranks[1]


@kernel()
def fill_ranks(counts: Array, ranks: Array) -> None:
    """Fill ranks[row] with the index of the layout in counts[row], 25 counts."""
    for row in range(len(counts)):
        ranks[row] = layout_rank(counts[row])
