"""Players as kernels see them: a kind and its arrays, so that whole games run without returning to Python.

Another kind is a number, its arrays in `Brain` (empty by default), and a branch in `choose`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.pubeval_kernels import NO_TABLES, ScoreTables, choose_pubeval
from bgdata.game.codec import Boards, check_legal_boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, check_rolls, fill_plays
from bgdata.game.random import low_below, random_bits, random_stream
from bgdata.kernel import kernel, prange

RANDOM, PUBEVAL = 0, 1


class Brain(NamedTuple):
    """All that a kernel needs to choose plays; fields of other kinds keep their defaults."""

    kind: int
    seed: int = 0  # RANDOM
    pubeval: ScoreTables = NO_TABLES  # PUBEVAL: int32[2, 26, 32]


@runtime_checkable
class KernelPlayer(Protocol):
    """A `player.Player` whose choices a kernel can make as well."""

    @property
    def brain(self) -> Brain:
        """Its kind and arrays; always of the same types, for any kind."""


@kernel()
def choose(brain: Brain, board: Boards, after: Boards, n: int, game: int, turn: int) -> int:
    """The row of after[0:n, slot], positions after each play from board[slot] still seen by the player who moved, that
    a player chooses. One that plays at random is decided by its seed, the game and the turn, others by the board."""
    if n == 1:
        return 0
    if brain.kind == PUBEVAL:
        return choose_pubeval(brain.pubeval, board, after, n)
    bits: Any = random_bits(random_stream(brain.seed, game), turn)
    return np.int64(low_below(bits, n))  # type: ignore[return-value]  # unsigned otherwise


def chosen_boards(
    brain: Brain, boards: Boards, rolls: NDArray[np.integer], games: NDArray[np.int64] | None = None, turn: int = 0
) -> Boards:
    """int8[n, 26]: positions after the chosen plays, with the OPPONENT on roll, as `player.Player` gives them.

    Row i is turn `turn` of game games[i], int64[n] (their place in the batch if not given), which decides random
    choices. Raises as `batch_plays` does.
    """
    dice = check_rolls(rolls, len(check_legal_boards(boards)))
    chosen = np.empty((len(boards), 26), np.int8)
    numbers = np.arange(len(boards), dtype=np.int64) if games is None else games
    fill_chosen(brain, np.ascontiguousarray(boards), dice, numbers, turn, chosen)
    return chosen


@kernel(parallel=True)
def fill_chosen(
    brain: Brain, boards: Boards, dice: NDArray[np.int8], games: NDArray[np.int64], turn: int, chosen: Boards
) -> None:
    """Fills chosen[row, slot], seen by the opponent, from boards[row, slot], dice[row, 0:2] and games[row]."""
    block = 64  # rows that share scratch arrays
    for part in prange((len(boards) + block - 1) // block):
        after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            n = fill_plays(boards[row], dice[row, 0], dice[row, 1], after, notes)
            flip_into(after[choose(brain, boards[row], after, n, games[row], turn)], chosen[row])
