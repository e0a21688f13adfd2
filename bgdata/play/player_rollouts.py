"""Rollouts in which any player plays both sides: the same dice, ends and luck as those of networks, in lockstep.

Programs that no kernel knows, such as gnubg and bgsage, are asked for the plays of many games at a time. Luck and the
ends of games are seen by networks and tables all the same: luck averages to zero whoever plays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.choices import Chooser
from bgdata.game.codec import Boards
from bgdata.kernel import in_threads
from bgdata.play.games import LOCKSTEP, checked_choices
from bgdata.play.rollout import Rolled, RolloutSettings, Values
from bgdata.play.rollout_kernels import BLOCK, KernelSettings, fill_ends, fill_rolls

if TYPE_CHECKING:
    from bgdata.evaluation.player import Player


def rolled_by(
    player: Player, boards: Boards, chooser: Chooser, seed: int, settings: RolloutSettings, items: NDArray[np.int64]
) -> Rolled:
    """A function that rolls out blocks of int8[n, 26] boards, as `rollout.rolled_blocks` takes one by `through`, with a
    player for both sides; `chooser` has the networks that see the luck. Raises UsageError for wrong settings, and
    InvalidPositionError for answers of the player that are no positions."""
    kernel_settings = settings.for_kernels(seed)

    def rolled(rows: NDArray[np.int64], begin: int, end: int) -> Values:
        numbers = np.arange(begin * BLOCK, end * BLOCK)
        trials, games = np.tile(numbers, len(rows)), rows.repeat(len(numbers))
        found = np.empty((len(trials), 2, 5))
        for start in range(0, len(trials), LOCKSTEP):
            part = slice(start, start + LOCKSTEP)
            found[part] = played(
                player, boards[games[part]], chooser, kernel_settings, items[games[part]], trials[part]
            )
        total = np.zeros((len(rows), end - begin, 2, 5))
        for number in range(BLOCK):  # in the order of the kernel: sums of rounded numbers depend on it
            total += found.reshape(len(rows), end - begin, BLOCK, 2, 5)[:, :, number]
        return total / BLOCK

    return rolled


def played(
    player: Player,
    boards: Boards,
    chooser: Chooser,
    settings: KernelSettings,
    items: NDArray[np.int64],
    trials: NDArray[np.int64],
) -> Values:
    """float64[n, 2, 5]: chances at the end of int64[n] trials of items from int8[n, 26] boards, and their luck, both
    seen by the player first on roll."""
    ends, lucks = np.zeros((2, len(boards), 5))
    rows, boards = np.arange(len(boards)), np.ascontiguousarray(boards)
    turn = 0
    while True:
        is_end, chances = np.empty(len(rows), np.bool_), np.empty((len(rows), 5))
        in_threads(fill_ends, len(rows), chooser, settings, turn, boards, is_end, chances)
        ends[rows[is_end]] = chances[is_end]
        rows, boards = rows[~is_end], boards[~is_end]
        if not len(rows):
            return np.stack([ends, lucks], axis=1)
        rolls, luck = np.empty((len(rows), 2), np.int8), lucks[rows]
        in_threads(fill_rolls, len(rows), chooser, settings, turn, boards, items[rows], trials[rows], rolls, luck)
        lucks[rows] = luck
        boards = checked_choices(player, boards, rolls, trials[rows], turn)
        turn += 1
