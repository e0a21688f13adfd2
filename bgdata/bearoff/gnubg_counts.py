"""gnubg's bearoff numbers: our recursions, rounded at every step as in the files of gnubg."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.race import (
    BLOCK,
    ROLL_COUNT,
    SLOT_BITS,
    Race,
    fill_choices,
    integer_distributions,
    solve_race,
    start_race,
)
from bgdata.bearoff.two_sided_rows import equity_rows
from bgdata.game.dice import ROLLS
from bgdata.kernel import Array, kernel, prange

GNUBG_SCALE = 65535
GNUBG_ROLLS = 32  # rolls that a file has room for
# rolls in gnubg's order 11 21 22 31 ... 66, as places in ours: 21 31 32 ... 65, then doubles
ROLL_ORDER = np.array([ROLLS.index(roll) for roll in sorted(ROLLS)])
WEIGHTS = np.array([roll.weight for roll in sorted(ROLLS)], np.float32)
RECIPROCAL = np.float32(1) / np.float32(36)


def one_sided_counts(points: int, *, is_gammon: bool = False) -> NDArray[np.uint16]:
    """uint16[positions, 32]: chances of n rolls in units of 1/65535, until all checkers or the first of 15 is off."""
    goal = comb(points + MAX_CHECKERS - 1, points) if is_gammon else 1
    solved = solve_race(start_race(points, goal, GNUBG_SCALE), GNUBG_ROLLS)
    return integer_distributions(solved, GNUBG_ROLLS).astype(np.uint16)


def normal_moments(points: int) -> NDArray[np.float32]:
    """float32[positions, 4] in index order: mean and s.d. of the rolls to bear off, then to save the gammon.

    They are those of gnubg's normal-distribution files, bit for bit, and differ from the moments of the integer
    distributions by up to 2e-4. For each roll the play with the smallest stored mean counts; with x = mean + 1 and
    weight w, w * x and w * (sd^2 + x^2) are added up roll by roll and multiplied by the float32 reciprocal of 36;
    sd = sqrt(second moment - mean^2). Every step is rounded to float32.
    """
    columns = []
    for first_live in (1, comb(points + MAX_CHECKERS - 1, points)):
        race = start_race(points, first_live)
        mean, sd = np.zeros(len(race.key), np.float32), np.zeros(len(race.key), np.float32)
        for start, end in zip(race.layer_start[:-1], race.layer_start[1:], strict=True):
            if start < end:
                fill_moments(start, end, race, mean, sd)
                # positive floats sort as the integers with the same bits; in the kernel, two names of one array would
                # be taken for two arrays
                race.key[start:end] = mean[start:end].view(np.int32)
                race.key[start:end] = (race.key[start:end] << SLOT_BITS) | np.arange(start, end)
        columns += [mean[race.slot_of], sd[race.slot_of]]
    return np.column_stack(columns)


@kernel(parallel=True)
def fill_moments(start: int, end: int, race: Race, mean: Array, sd: Array) -> None:
    """Fills mean, sd and the halves of race at slots start..end-1 (one pip layer; lower layers have their keys)."""
    for block in prange((end - start + BLOCK - 1) // BLOCK):
        drops = np.empty(race.layouts.shape[1] + 1, np.int64)
        reply = np.empty((6, 9), np.int64)
        results = np.empty(ROLL_COUNT, np.int64)
        for slot in range(start + block * BLOCK, min(end, start + (block + 1) * BLOCK)):
            fill_choices(slot, race, drops, reply, results)
            first = np.float32(0)
            second = np.float32(0)
            for place in range(ROLL_COUNT):
                result = results[ROLL_ORDER[place]]
                rolls = mean[result] + np.float32(1)
                first += WEIGHTS[place] * rolls
                second += WEIGHTS[place] * (sd[result] * sd[result] + rolls * rolls)
            mean[slot] = first * RECIPROCAL
            sd[slot] = np.sqrt(second * RECIPROCAL - mean[slot] * mean[slot])


def two_sided_codes(points: int, checkers: int, *, is_cubeless: bool = False) -> NDArray[np.uint16]:
    """uint16[positions on roll, positions of the opponent, 4 or 1]: equity = code / 32767.5 - 1."""
    count = layout_count(points, checkers)
    codes = np.empty((count, count, 1 if is_cubeless else 4), np.uint16)
    for index, row in equity_rows(points, checkers, dtype=np.uint16, arithmetic=np.int16):
        codes[index] = row[:, : codes.shape[2]]
    return codes
