"""gnubg's bearoff numbers: our recursions, rounded to 16 bits at every step as in the files of gnubg."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.race import integer_distributions, solve_race, start_race
from bgdata.bearoff.two_sided_rows import equity_rows

GNUBG_SCALE = 65535
GNUBG_ROLLS = 32  # rolls that a file has room for


def one_sided_counts(points: int, *, is_gammon: bool = False) -> NDArray[np.uint16]:
    """uint16[positions, 32]: chances of n rolls in units of 1/65535, until all checkers or the first of 15 is off."""
    goal = comb(points + MAX_CHECKERS - 1, points) if is_gammon else 1
    solved = solve_race(start_race(points, goal, GNUBG_SCALE), GNUBG_ROLLS)
    return integer_distributions(solved, GNUBG_ROLLS).astype(np.uint16)


def two_sided_codes(points: int, checkers: int, *, is_cubeless: bool = False) -> NDArray[np.uint16]:
    """uint16[positions on roll, positions of the opponent, 4 or 1]: equity = code / 32767.5 - 1."""
    count = layout_count(points, checkers)
    codes = np.empty((count, count, 1 if is_cubeless else 4), np.uint16)
    for index, row in equity_rows(points, checkers, dtype=np.uint16, arithmetic=np.int16):
        codes[index] = row[:, : codes.shape[2]]
    return codes
