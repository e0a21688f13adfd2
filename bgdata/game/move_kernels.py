"""The checker moves of a play in bulk: from the boards before and after it, and the roll."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.game.codec import Boards, check_boards
from bgdata.game.play_kernels import check_rolls
from bgdata.kernel import kernel, prange

MOST_MOVES = 4
_BAR, _SLOTS = 25, 26
NO_MOVE = -1
Moves = NDArray[np.int8]


def checker_moves_of(boards: Boards, rolls: NDArray[np.integer], after_play: Boards) -> Moves:
    """int8[n, 4, 3]: (from, to, hits) of the checker moves from int8[n, 26] boards to int8[n, 26] boards after the play
    of integers[n, 2] rolls, both seen by the player who moves; -1 for no move. 25 is the bar, 0 is off.

    Moves come from the highest point down; where one checker plays both dice, the larger comes first if it can, and a
    hit on the way only if the play hits there. A row whose boards no moves of the roll connect has none;
    whether they are legal is not asked.
    """
    moves = np.full((len(check_boards(boards)), MOST_MOVES, 3), NO_MOVE, np.int8)
    fill_moves(boards, check_rolls(rolls, len(boards)), check_boards(after_play), moves)
    return moves


@kernel(parallel=True)
def fill_moves(boards: Boards, rolls: NDArray[np.int8], after_play: Boards, moves: Moves) -> None:
    """Fills moves[row, move, 0:3], which hold -1, from boards[row, slot], rolls[row, 0:2] and after_play[row, slot]."""
    block = 64
    for part in prange((len(boards) + block - 1) // block):
        scratch = np.empty((2, _SLOTS), np.int8)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            find_moves(boards[row], rolls[row, 0], rolls[row, 1], after_play[row], scratch, moves[row])


@kernel(borrows=True)
def find_moves(board: Boards, die: int, other_die: int, after: Boards, scratch: Boards, moves: Moves) -> int:
    """Fills moves[0:n, 0:3] of one play; returns n."""
    high, low = max(die, other_die), min(die, other_die)
    if same_board(board, after):
        return 0
    if high == low:
        return find_double_moves(board, high, after, scratch[0], moves)
    n = find_pair(board, high, low, after, scratch, moves)
    if n == 0:
        n = find_pair(board, low, high, after, scratch, moves)
    if n == 0:
        n = find_single(board, high, after, scratch[0], moves)
    return n if n != 0 else find_single(board, low, after, scratch[0], moves)


@kernel(borrows=True)
def same_board(board: Boards, other: Boards) -> bool:
    """Whether all slots are equal."""
    is_same = True
    for slot in range(_SLOTS):
        is_same &= board[slot] == other[slot]
    return is_same


@kernel(borrows=True)
def fill_moved(board: Boards, start: int, die: int, into: Boards) -> int:
    """Fills into[slot] with board[slot] after one checker move; returns where it ends, 0 for off, -1 if it cannot."""
    end = max(start - die, 0)
    if board[start] <= 0 or (end > 0 and board[end] < -1):
        return -1
    for slot in range(_SLOTS):
        into[slot] = board[slot]
    into[start] -= 1
    if end > 0:
        if into[end] == -1:
            into[end] = 0
            into[0] += 1
        into[end] += 1
    return end


@kernel(borrows=True)
def find_single(board: Boards, die: int, after: Boards, scratch: Boards, moves: Moves) -> int:
    """Fills moves[0, 0:3] with the one move by a die that leads to after[slot]; returns 1, or 0 where none does."""
    for start in range(_BAR, 0, -1):
        end = fill_moved(board, start, die, scratch)
        if end >= 0 and same_board(scratch, after):
            note_move(moves, 0, start, end, end > 0 and board[end] == -1)
            return 1
    return 0


@kernel(borrows=True)
def find_pair(board: Boards, first_die: int, later_die: int, after: Boards, scratch: Boards, moves: Moves) -> int:
    """Fills moves[0:2, 0:3] with a move by the first die and one by the later die that lead to after[slot], the higher
    start first; returns 2, or 0 where none do. Of several ways, the highest start for the first die is taken."""
    for start in range(_BAR, 0, -1):
        end = fill_moved(board, start, first_die, scratch[0])
        if end < 0:
            continue
        for later in range(_BAR, 0, -1):
            later_end = fill_moved(scratch[0], later, later_die, scratch[1])
            if later_end >= 0 and same_board(scratch[1], after):
                place = int(later > start)  # of the first die's move
                is_hit, is_later_hit = end > 0 and board[end] == -1, later_end > 0 and board[later_end] == -1
                is_same_end = end == later_end  # whoever comes first hits
                note_move(moves, place, start, end, is_hit and not (is_same_end and place == 1))
                note_move(moves, 1 - place, later, later_end, is_later_hit and not (is_same_end and place == 0))
                return 2
    return 0


@kernel(borrows=True)
def note_move(moves: Moves, n: int, start: int, end: int, is_hit: bool) -> None:
    """Fills moves[n, 0:3] with one checker move: where it starts, where it ends, and whether it hits."""
    moves[n, 0], moves[n, 1], moves[n, 2] = start, end, is_hit


@kernel(borrows=True)
def find_double_moves(board: Boards, die: int, after: Boards, now: Boards, moves: Moves) -> int:
    """Fills moves[0:n, 0:3] with the moves of a double from the highest point down; returns n. Checkers only come from
    above, so the moves from a point are those that must leave it; returns 0 where they do not lead to after[slot]."""
    for slot in range(_SLOTS):
        now[slot] = board[slot]
    n = 0
    for start in range(_BAR, 0, -1):
        while now[start] > max(int(after[start]), 0) and n < MOST_MOVES:
            end = max(start - die, 0)
            is_hit = end > 0 and now[end] == -1
            note_move(moves, n, start, end, is_hit)
            now[start] -= 1
            if end > 0:
                now[end] = 1 if is_hit else now[end] + 1
                now[0] += is_hit
            n += 1
    if same_board(now, after):
        return n
    moves[:] = NO_MOVE
    return 0
