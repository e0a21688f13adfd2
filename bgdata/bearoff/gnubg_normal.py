"""The moments of gnubg's normal-distribution files: a float32 recursion of its own, reproduced bit for bit.

They are not the moments of the integer distributions (they differ by up to 2e-4). For each roll the play with the
smallest stored mean counts; with x = mean + 1 and weight w, w * x and w * (sd^2 + x^2) are added up roll by roll and
multiplied by the float32 reciprocal of 36; sd = sqrt(second moment - mean^2). Every step is rounded to float32.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.race import BLOCK, ROLL_COUNT, SLOT_BITS, fill_choices, start_race
from bgdata.kernel import Array, kernel, prange

# rolls in gnubg's order 11 21 22 31 ... 66, as places in ours: 21 31 32 ... 65, then doubles
_OURS = [(high, low) for high in range(2, 7) for low in range(1, high)] + [(die, die) for die in range(1, 7)]
ROLL_ORDER = np.array([_OURS.index((high, low)) for high in range(1, 7) for low in range(1, high + 1)])
WEIGHTS = np.array([1 if _OURS[roll][0] == _OURS[roll][1] else 2 for roll in ROLL_ORDER], np.float32)
RECIPROCAL = np.float32(1) / np.float32(36)


@kernel(parallel=True)
def fill_moments(
    start: int,
    end: int,
    order: Array,
    slot_of: Array,
    layouts: Array,
    key: Array,
    half: Array,
    bits: Array,
    mean: Array,
    sd: Array,
) -> None:
    """Fills mean, sd, key and half at slots start..end-1 (one pip layer). `bits` shows `mean` as integers, which sort
    in the same order as the positive floats."""
    for block in prange((end - start + BLOCK - 1) // BLOCK):
        drops = np.empty(layouts.shape[1] + 1, np.int64)
        reply = np.empty((6, 9), np.int64)
        results = np.empty(ROLL_COUNT, np.int64)
        for slot in range(start + block * BLOCK, min(end, start + (block + 1) * BLOCK)):
            index: Any = np.int64(order[slot - 1])
            fill_choices(index, layouts[index], slot_of, key, half, drops, reply, half[slot], results)
            first = np.float32(0)
            second = np.float32(0)
            for place in range(ROLL_COUNT):
                result = results[ROLL_ORDER[place]]
                rolls = mean[result] + np.float32(1)
                first += WEIGHTS[place] * rolls
                second += WEIGHTS[place] * (sd[result] * sd[result] + rolls * rolls)
            mean[slot] = first * RECIPROCAL
            sd[slot] = np.sqrt(second * RECIPROCAL - mean[slot] * mean[slot])
            key[slot] = (np.int64(bits[slot]) << SLOT_BITS) | slot


def normal_moments(points: int) -> NDArray[np.float32]:
    """float32[positions, 4] in index order: mean and s.d. of the rolls to bear off, then to save the gammon."""
    gammon = comb(points + MAX_CHECKERS - 1, points)
    columns = [race_moments(points, 1), race_moments(points, gammon)]
    return np.column_stack([column for pair in columns for column in pair])


def race_moments(points: int, first_live: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(mean, sd) float32[positions]: rolls until the position index falls below `first_live`."""
    race = start_race(points, first_live)
    mean, sd = np.zeros(len(race.key), np.float32), np.zeros(len(race.key), np.float32)
    for start, end in zip(race.layer_start[:-1], race.layer_start[1:], strict=True):
        if start < end:
            fill_moments(
                start, end, race.order, race.slot_of, race.layouts, race.key, race.half, mean.view(np.int32), mean, sd
            )
    return mean[race.slot_of], sd[race.slot_of]
