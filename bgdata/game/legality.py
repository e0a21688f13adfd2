"""Whether boards can follow from others by a legal play, for decisions and games recorded by other programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.game.codec import Boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import kernel, prange

_BLOCK = 1 << 15  # decisions whose plays are held at a time: bounds the memory


def are_legal_results(
    boards: Boards, rolls: NDArray[np.integer], first_results: NDArray[np.int64], next_boards: Boards
) -> NDArray[np.bool_]:
    """bool[k]: whether next_boards[j] can follow when the player on roll in boards[i] plays rolls[i].

    boards int8[n, 26], rolls integers[n, 2]; the results of row i are first_results[i] to first_results[i + 1], which
    has n + 1 entries; next_boards int8[k, 26] have the OTHER side on roll.
    """
    legal = np.zeros(len(next_boards), np.bool_)
    for start in range(0, len(boards), _BLOCK):
        rows = slice(start, min(len(boards), start + _BLOCK))
        offsets, after_play = batch_plays(boards[rows], rolls[rows])
        fill_legal(offsets, after_play, first_results[rows.start : rows.stop + 1], next_boards, legal)
    return legal


@kernel(parallel=True)
def fill_legal(
    offsets: NDArray[np.int64],
    after_play: Boards,
    first_results: NDArray[np.int64],
    next_boards: Boards,
    legal: NDArray[np.bool_],
) -> None:
    """Fills legal[j] for the results j of every row i: first_results[i] to first_results[i + 1]."""
    for row in prange(len(offsets) - 1):
        for result in range(first_results[row], first_results[row + 1]):
            for play in range(offsets[row], offsets[row + 1]):
                if is_flipped(after_play[play], next_boards[result]):
                    legal[result] = True
                    break


@kernel()
def is_flipped(board: Boards, other: Boards) -> bool:
    """Whether two boards are the same position seen from both sides."""
    if board[0] != other[25] or board[25] != other[0]:
        return False
    for point in range(1, 25):  # noqa: SIM110 - a kernel
        if board[point] != -other[25 - point]:
            return False
    return True
