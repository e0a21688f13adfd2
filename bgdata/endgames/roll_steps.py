"""What one checker can do with one die, for every layout, in the order in which a solver goes over layouts.

A play of two dice is two steps, one of doubles up to four; a solver that knows what the rest of a roll is worth after
each step needs no list of plays. Layouts are ordered by pips here: every step leads to an earlier place, and to one
nearby, as does what is in memory for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.endgames.layouts import BAR, MOST_CHECKERS, POINTS, Layouts, layout_rank, own_points
from bgdata.endgames.plays import can_move, move, move_back
from bgdata.kernel import Array, kernel

BLOCK = 64  # places that a solver goes over together: what they need is in the cache
OFF, NO_STEP, NOWHERE = 0, 30, 31  # as points that a step touches down on; the last one is of a step that is blocked


class Steps(NamedTuple):
    """Layouts by pips, and where each of their checkers can move if no point is made by the other side."""

    layer: NDArray[np.int64]  # [pips] first place of so many pips, and one past the last of all
    layout: NDArray[np.int32]  # [places] index of the layout
    pips: NDArray[np.int64]  # [places]
    own: NDArray[np.uint32]  # [places] points with a checker, as bits 1 to 24; bit 0 where all are in the home board
    seen: NDArray[np.uint32]  # [places] the same as an opponent's, bits of the points of the player on roll; no bit 0
    blots: NDArray[np.uint32]  # [places] those of `seen` with a single checker
    shifts: NDArray[np.uint8]  # [places, 4] these points one by one, see `Layouts`
    hit: NDArray[np.int32]  # [places, 16] the place when the blots of these bits are hit
    after: NDArray[np.int32]  # [place, die - 1, step] place after the step, flat
    near: NDArray[np.int32]  # the same modulo `ring`
    ring: int  # places, a power of two: all steps are shorter, even from the end of a block
    point: NDArray[np.uint8]  # [place, die - 1, step] point touched down on, flat; NO_STEP where there are fewer


@kernel()
def fill_steps(counts: Array, order: Array, place_of: Array, after: Array, touched: Array) -> None:
    """Fills after[place, die - 1, step] and touched[place, die - 1, step] as `Steps` has them, flat."""
    moved = np.empty(POINTS, np.int8)
    for place in range(len(order)):
        moved[:] = counts[order[place]]
        for die in range(1, 7):
            found = (place * 6 + die - 1) * MOST_CHECKERS
            for point in range(BAR, 0, -1):
                if can_move(moved, point, die, 0):
                    move(moved, point, die)
                    after[found], touched[found] = place_of[layout_rank(moved)], max(point - die, OFF)
                    move_back(moved, point, die)
                    found += 1


def all_steps(layouts: Layouts) -> Steps:
    """The steps of all layouts."""
    order, count = layouts.order, len(layouts)
    place_of = np.empty(count, np.int32)
    place_of[order] = np.arange(count, dtype=np.int32)
    after = np.zeros(count * 6 * MOST_CHECKERS, np.int32)
    point = np.full(len(after), NO_STEP, np.uint8)
    point[: 6 * MOST_CHECKERS] = OFF  # the game is over: every step leads there again
    fill_steps(layouts.counts, order, place_of, after, point)
    length = np.repeat(np.arange(count), 6 * MOST_CHECKERS)[point != NO_STEP] - after[point != NO_STEP]
    ring = 1 << (int(length.max()) + BLOCK).bit_length()
    return Steps(
        layouts.start,
        order,
        layouts.pips[order].astype(np.int64),
        (own_points(layouts.counts) | ~layouts.counts[:, 6:].any(axis=1))[order].astype(np.uint32),
        layouts.points[order],
        layouts.blots[order],
        layouts.shifts[order],
        place_of[layouts.hit[order]],
        after,
        after % ring,
        ring,
        point,
    )
