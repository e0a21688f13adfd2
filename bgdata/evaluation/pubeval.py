"""PubEval: Gerald Tesauro's public linear evaluator, the field's common opponent since 1993.

It ranks the plays of one roll and nothing else: scores are no chances, and those of two positions do not compare.
Source: posted to rec.games.backgammon in 1993; the weights are its 2 x 122 published numbers.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.player import BATCH
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import kernel, prange

INPUTS = 122
WON = 1e9  # bearing off the last checker beats every other play
Weights = NDArray[np.float64]


@functools.cache
def weights() -> Weights:
    """float64[2, 122]: the weights for contact, then those for races."""
    folder = files("bgdata.evaluation") / "weights"
    return np.array([(folder / f"pubeval_{name}.txt").read_text().split() for name in ("contact", "race")], np.float64)


class PubEval:
    """Chooses the play with the highest score, the first of equals; weights by the position before the play."""

    label = "pubeval"
    version = "1"

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See player.Player."""
        chosen = np.empty_like(boards)
        for start in range(0, len(boards), BATCH):
            rows = slice(start, min(len(boards), start + BATCH))
            offsets, after_play = batch_plays(boards[rows], rolls[rows])
            is_race = position_classes(boards[rows]) <= PositionClass.RACE
            fill_choices(weights(), is_race, offsets, after_play, chosen[rows])
        return flip_boards(chosen)


@kernel(parallel=True)
def fill_choices(
    both: Weights, is_race: NDArray[np.bool_], offsets: NDArray[np.int64], after_play: Boards, chosen: Boards
) -> None:
    """Fills chosen[row] with the best of after_play[offsets[row]:offsets[row + 1]]."""
    for row in prange(len(chosen)):
        used = both[1] if is_race[row] else both[0]
        best = offsets[row]
        highest = score(after_play[best], used)
        for play in range(offsets[row] + 1, offsets[row + 1]):
            found = score(after_play[play], used)
            if found > highest:
                best, highest = play, found
        chosen[row] = after_play[best]


@kernel()
def score(board: Boards, used: Weights) -> float:
    """Score of board[slot] after a play, seen by the player who has played; see the published inputs."""
    total: Any = 0.0
    left: Any = np.int64(board[25])
    for item in range(24):
        count: Any = np.int64(board[24 - item])
        place = 5 * item
        if count == -1:
            total += used[place]
        elif count == 1:
            total += used[place + 1]
        elif count >= 2:
            total += used[place + 2]
            if count == 3:
                total += used[place + 3]
            elif count >= 4:
                total += used[place + 4] * (count - 3) / 2.0
        left += max(count, 0)
    if left == 0:
        return WON
    total += used[120] * board[0] / 2.0 + used[121] * (15 - left) / 15.0
    return float(total)
