"""A hash of positions that is the same from both players' points of view. Splits use it, and so do the checks that no
position of a benchmark is trained on.

A board's hash sums its checkers times 26 64-bit weights (the first outputs of splitmix64 with seed 0) and mixes the
sum. A position's hash mixes the sum of the hashes of the board and its flip. The hash of a position is the same on
every machine and must not change, since splits depend on it. The chance that any two of a million positions have the
same hash is 1 in 40 million.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.game.codec import Boards, check_boards
from bgdata.game.random import random_bits
from bgdata.kernel import kernel

Hashes = NDArray[np.uint64]

# pure Python on NumPy arrays, so that importing the module compiles nothing
_bits_of_arrays: Any = getattr(random_bits, "py_func", random_bits)
WEIGHTS: Hashes = _bits_of_arrays(np.zeros(26, np.uint64), np.arange(26, dtype=np.uint64))
# weights of the flipped board in the order of the board: bars swap, points reverse and change sign
FLIPPED_WEIGHTS = np.concatenate([WEIGHTS[25:], ~WEIGHTS[24:0:-1] + np.uint64(1), WEIGHTS[:1]])


def position_hashes(boards: Boards) -> Hashes:
    """Return the hashes of int8[n, 26] boards as uint64[n]. A board and its flip have the same hash. Raises
    InvalidPositionError for another shape or type."""
    hashes = np.empty(len(check_boards(boards)), np.uint64)
    fill_position_hashes(boards, hashes)
    return hashes


@kernel(borrows=True)
def board_hash(board: Boards) -> np.uint64:
    """Return a hash of one board; the flipped board has another hash."""
    total = np.uint64(0)
    for slot in range(26):
        total += np.uint64(np.int64(board[slot])) * WEIGHTS[slot]
    return random_bits(total, 0)


@kernel()
def fill_position_hashes(boards: Boards, hashes: Hashes) -> None:
    """Fill hashes[row] with the hash of boards[row], which is the same for the flipped board."""
    for row in range(len(boards)):
        own, flipped = np.uint64(0), np.uint64(0)
        for slot in range(26):
            count = np.uint64(np.int64(boards[row, slot]))
            own += count * WEIGHTS[slot]
            flipped += count * FLIPPED_WEIGHTS[slot]
        hashes[row] = random_bits(random_bits(own, 0) + random_bits(flipped, 0), 0)
