"""Sets of points as integers, for kernels: bit p is point p, so that one instruction looks at all points together.

A side's checkers are wanted in two directions. In its *own* numbering they move down to point 1 (bar 25); in the other
side's numbering, called *ahead*, they move up (bar 0), and there the other side's own points are the obstacles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bgdata.game.codec import Boards
from bgdata.kernel import kernel

FIELD = (1 << 25) - 2  # points 1 to 24
_ONES, _PAIRS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_NIBBLES, _BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_ONES_32, _PAIRS_32, _NIBBLES_32, _BYTES_32 = map(np.int32, (0x55555555, 0x33333333, 0x0F0F0F0F, 0x01010101))
_I1, _I2, _I4, _I24 = map(np.int32, (1, 2, 4, 24))
_U1, _U2, _U4, _U56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


class SideSets(NamedTuple):
    """Where one side stands, in its own numbering and ahead; `made` points hold two checkers or more, never the bar."""

    own: int
    own_made: int
    ahead: int
    ahead_made: int


@kernel()
def bit_count(points: int) -> int:
    """How many points are in a set. Compilers know this way of counting and make one instruction of it."""
    bits = np.uint64(points)
    bits = bits - ((bits >> _U1) & _ONES)
    bits = (bits & _PAIRS) + ((bits >> _U2) & _PAIRS)
    bits = (bits + (bits >> _U4)) & _NIBBLES
    return int(np.int64((bits * _BYTES) >> _U56))


@kernel()
def bit_count_32(points: np.int32) -> np.int32:
    """The same of int32 points from 0 on, as int32: in loops over lanes, which become vectors."""
    bits = np.int32(points - np.int32(np.int32(points >> _I1) & _ONES_32))
    bits = np.int32(np.int32(bits & _PAIRS_32) + np.int32(np.int32(bits >> _I2) & _PAIRS_32))
    bits = np.int32(np.int32(bits + np.int32(bits >> _I4)) & _NIBBLES_32)
    return np.int32(np.int32(bits * _BYTES_32) >> _I24)


@kernel()
def lowest(points: int) -> int:
    """The lowest point of a set, 64 for none."""
    return bit_count((points & -points) - 1)


@kernel()
def side_sets(board: Boards) -> tuple[SideSets, SideSets]:
    """(sets of the player on roll, sets of the opponent) of board[slot]."""
    ours, our_made, theirs, their_made = 0, 0, 0, 0
    ours_ahead, ours_made_ahead, theirs_own, their_made_own = 0, 0, 0, 0
    for point in range(1, 25):
        count = int(board[point])
        mirrored = 25 - point
        ours |= int(count > 0) << point
        our_made |= int(count > 1) << point
        theirs |= int(count < 0) << point
        their_made |= int(count < -1) << point
        ours_ahead |= int(count > 0) << mirrored
        ours_made_ahead |= int(count > 1) << mirrored
        theirs_own |= int(count < 0) << mirrored
        their_made_own |= int(count < -1) << mirrored
    our_bar, their_bar = int(board[25] > 0), int(board[0] > 0)
    return (
        SideSets(ours | our_bar << 25, our_made, ours_ahead | our_bar, ours_made_ahead),
        SideSets(theirs_own | their_bar << 25, their_made_own, theirs | their_bar, their_made),
    )
