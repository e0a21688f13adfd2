"""The rules that five cumulative chances must obey, from whatever source.

`win, win_gammon, win_backgammon, lose_gammon, lose_backgammon` of the player whose board it is: each at most the one
that contains it, and no gammon against a side that has borne off a checker. Published numbers are rounded or noisy, so
the rules have tolerances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.lines import Ledger
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards
from bgdata.kernel import kernel

CHANCE_NAMES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far chances may be below 0 or above 1 (`range`), or above the chance that contains them (`order`)."""

    range: float
    order: float


# five decimals: each is off by half a unit of the last, so that two are out of order by one unit at most; the rest is
# for binary fractions
ROUNDED = Tolerance(0.0, 1.05e-5)
# variance-reduced rollouts leave the range by noise; published ones by 0.0002, and this is many standard errors
NOISY = Tolerance(0.05, 0.05)


RULES = (  # what the chances of a row break, by the numbers of `fill_chance_flaws`; 0 is none
    "expected anything",
    "expected chances from 0 to 1",
    "expected win_gammon at most win",
    "expected win_backgammon at most win_gammon",
    "expected lose_gammon at most 1 - win",
    "expected lose_backgammon at most lose_gammon",
    "expected no win_gammon once the opponent has borne off a checker",
    "expected no lose_gammon once the player himself has borne off a checker",
)
RANGE, WIN_GAMMON, WIN_BACKGAMMON, LOSE_GAMMON, LOSE_BACKGAMMON, OPPONENT_OFF, OFF = range(1, len(RULES))


def chance_flaws(boards: Boards, chances: NDArray[np.float64], tolerance: Tolerance) -> NDArray[np.uint8]:
    """uint8[n]: the number in RULES of every row of int8[n, 26] boards and float64[n, 5] chances of the same player."""
    flaws = np.empty(len(boards), np.uint8)
    fill_chance_flaws(boards, chances, tolerance.range, tolerance.order, flaws)
    return flaws


def reject_chance_flaws(
    ledger: Ledger,
    rows: NDArray[np.int64],
    boards: Boards,
    chances: NDArray[np.float64],
    tolerance: Tolerance,
) -> None:
    """Quarantine the rows (line indexes) whose chances break a rule."""
    flaws = chance_flaws(boards, chances, tolerance)
    for flaw in np.unique(flaws[flaws > 0]).tolist():
        ledger.reject(rows[flaws == flaw], RULES[flaw])


@kernel()
def fill_chance_flaws(
    boards: Boards,
    chances: NDArray[np.float64],
    range_tolerance: float,
    order_tolerance: float,
    flaws: NDArray[np.uint8],
) -> None:
    """Fills flaws[row] with the first of RULES that chances[row] break for boards[row], 0 for none."""
    for row in range(len(boards)):
        flaws[row] = _chance_flaw(boards[row], chances[row], range_tolerance, order_tolerance)


@kernel()
def _chance_flaw(board: Boards, chances: NDArray[np.float64], range_tolerance: float, order_tolerance: float) -> int:
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    if not (chances.min() >= -range_tolerance and chances.max() <= 1 + range_tolerance):  # catches NaN too
        return RANGE
    if win_gammon - win > order_tolerance:
        return WIN_GAMMON
    if win_backgammon - win_gammon > order_tolerance:
        return WIN_BACKGAMMON
    if lose_gammon - (1 - win) > order_tolerance:
        return LOSE_GAMMON
    if lose_backgammon - lose_gammon > order_tolerance:
        return LOSE_BACKGAMMON
    ours, theirs = np.int64(board[25]), np.int64(board[0])
    for point in range(1, 25):
        ours += max(board[point], 0)
        theirs -= min(board[point], 0)
    if theirs < CHECKERS and win_gammon > order_tolerance:
        return OPPONENT_OFF
    if ours < CHECKERS and lose_gammon > order_tolerance:
        return OFF
    return 0
