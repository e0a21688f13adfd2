"""Kernels for the legal plays of many boards and rolls: all distinct boards after the play, in the order of `plays`.
Others check whether a board can follow from another, and find the checker moves between two boards.

Boards are not compared to find duplicates. The rules for generating them produce each board once:

* Double: the moves of a play can be made from the highest point down, whatever their order. So starts never rise. Then
  two sequences never lead to the same board: at the highest point where they differ, they leave different numbers of
  checkers.
* Two different dice: a play is a start for the high die and a start for the low die, in either order. Two such pairs
  lead to the same board in two cases only: one checker plays both dice over either intermediate point without a hit
  there, or two checkers are borne off and either die bears off either of them. `is_new_pair` detects both.

A set of points is an integer with bit p for point p (25: the bar). Each new board is a changed copy of the given board.
Copying a board that was just changed would take twice the time, because the processor would wait for its store buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidRollError
from bgdata.game.codec import Boards, check_boards, check_legal_boards
from bgdata.kernel import kernel, prange

MAX_PLAYS = 3060  # 15 checkers share 4 moves in at most binom(18, 4) ways
MAX_NOTES = 1 + 15 + 120 + 680 + MAX_PLAYS  # number of sequences of 0 to 4 moves of a double

MAX_MOVES = 4  # checker moves in a play
NO_MOVE = -1

Notes = NDArray[np.int64]
Moves = NDArray[np.int8]
_BAR, _SLOTS = 25, 26
_BLOCK = 1 << 15  # number of rows whose plays are in memory at a time
_HALF = 13
_HIGHEST = np.array([0, *(number.bit_length() - 1 for number in range(1, 1 << _HALF))], np.int8)


def batch_plays(boards: Boards, rolls: NDArray[np.integer]) -> tuple[NDArray[np.int64], Boards]:
    """Find all legal plays of n rolls, integers[n, 2], each from one of n boards, int8[n, 26].

    Returns offsets int64[n + 1] and after_play int8[offsets[-1], 26]. The plays of row i lead to the boards
    `after_play[offsets[i] : offsets[i + 1]]`; every row has at least one. Boards are from the point of view of the
    player who moved (`codec.flip_boards` gives the opponent's). Plays are in the order of `plays.legal_plays`, whatever
    the number of threads. Raises InvalidPositionError if a board is illegal, InvalidRollError if dice are outside 1 to
    6, and the same errors if an array has another shape or type."""
    dice = check_rolls(rolls, len(check_legal_boards(boards)))
    offsets = np.zeros(len(boards) + 1, np.int64)
    fill_play_counts(boards, dice, offsets[1:])
    np.cumsum(offsets, out=offsets)
    after_play = np.empty((offsets[-1], _SLOTS), np.int8)
    fill_batch(boards, dice, offsets, after_play)
    return offsets, after_play


def play_counts(boards: Boards, rolls: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count the different boards to which the plays of each roll lead, as int64[n]. Arguments and exceptions are those
    of `batch_plays`."""
    counts = np.empty(len(check_legal_boards(boards)), np.int64)
    fill_play_counts(boards, check_rolls(rolls, len(boards)), counts)
    return counts


def check_rolls(rolls: NDArray[np.integer], count: int) -> NDArray[np.int8]:
    """Return the dice of `count` rolls as int8[count, 2]. Raises InvalidRollError if the array has another shape, or
    dice are not 1 to 6."""
    if rolls.shape != (count, 2) or rolls.dtype.kind not in "iu":
        raise InvalidRollError(f"expected rolls as integers[{count}, 2], got {rolls.dtype}{list(rolls.shape)}")
    wrong = ((rolls < 1) | (rolls > 6)).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidRollError(f"expected dice from 1 to 6, got {rolls[row].tolist()} in row {row}")
    return rolls.astype(np.int8)


@kernel(parallel=True)
def fill_play_counts(boards: Boards, dice: NDArray[np.int8], counts: NDArray[np.int64]) -> None:
    """Fill counts[row] with the number of plays of roll dice[row, 0:2] from boards[row]."""
    block = 64  # rows that share one scratch array
    for part in prange((len(boards) + block - 1) // block):
        notes = np.empty(MAX_NOTES, np.int64)
        nowhere = np.empty((0, _SLOTS), np.int8)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            counts[row] = fill_plays(boards[row], dice[row, 0], dice[row, 1], nowhere, notes)


@kernel(parallel=True)
def fill_batch(boards: Boards, dice: NDArray[np.int8], offsets: NDArray[np.int64], after_play: Boards) -> None:
    """Fill after_play[offsets[row]:offsets[row + 1]] with the boards after the plays of roll dice[row, 0:2] from
    boards[row]."""
    block = 64
    for part in prange((len(boards) + block - 1) // block):
        notes = np.empty(MAX_NOTES, np.int64)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            fill_plays(boards[row], dice[row, 0], dice[row, 1], after_play[offsets[row] : offsets[row + 1]], notes)


@kernel(borrows=True)
def fill_plays(board: Boards, die: int, other_die: int, after: Boards, notes: Notes) -> int:
    """Fill after[0:n] with every distinct board after playing a roll from `board`, and return n. If no checker can
    move, or the game is over, the only board is `board` itself, so n is at least 1.

    Boards beyond the end of `after` are only counted; MAX_PLAYS rows are always enough. They are from the point of view
    of the player who moved, in the order of `plays.legal_plays`. notes[0:MAX_NOTES] is scratch. The board must be
    legal; the dice may be in any order."""
    ours, landings, is_over = point_sets(board)
    n = 0
    if not is_over:
        # int64 for any dice type, so the kernels below are compiled once
        high: Any = np.int64(max(die, other_die))
        low: Any = np.int64(min(die, other_die))
        if high == low:
            n = fill_double_plays(board, ours, landings, high, after, notes)
        else:
            # high die first, then boards reached only by low die first; else one die, the high one if possible
            notes[:_SLOTS] = 0
            n = fill_pairs(board, ours, landings, high, low, True, after, notes, 0)
            n = fill_pairs(board, ours, landings, high, low, False, after, notes, n)
            if n == 0:
                n = fill_singles(board, ours, landings, high, after)
            if n == 0:
                n = fill_singles(board, ours, landings, low, after)
    if n == 0:
        fill_play(board, 0, 0, 0, 0, after, 0)
    return max(n, 1)


@kernel(borrows=True)
def point_sets(board: Boards) -> tuple[int, int, bool]:
    """Return three values: the set of points where the player on roll has checkers, the set of points that the opponent
    does not block, and whether the game is over."""
    ours, landings, theirs = 0, 0, int(board[0])
    for point in range(1, _BAR):
        ours |= int(board[point] > 0) << point
        landings |= int(board[point] >= -1) << point
        theirs |= int(board[point] < 0)
    ours |= int(board[_BAR] > 0) << _BAR
    return ours, landings, ours == 0 or theirs == 0


@kernel(borrows=True)
def movable_points(ours: int, landings: int, die: int) -> int:
    """Return the set of points from which a checker can move by `die`. `ours` is the set of points with our checkers,
    `landings` the set of points that are not blocked."""
    if ours >> _BAR:
        return (1 << _BAR) & (landings << die)
    starts = ours & (landings << die)
    if ours < 1 << 7:  # all checkers are home: bear off from the die's point, or from the highest if that is lower
        if ours >> die:
            starts |= ours & (1 << die)
        elif ours:
            starts |= 1 << highest(ours)
    return starts


@kernel(borrows=True)
def highest(points: int) -> int:
    """Return the highest point of a set that is not empty."""
    upper = points >> _HALF
    return int(_HIGHEST[upper]) + _HALF if upper else int(_HIGHEST[points])


@kernel(borrows=True)
def fill_play(board: Boards, start: int, end: int, later_start: int, later_end: int, after: Boards, row: int) -> None:
    """Fill after[row], if the row exists, with the board after two checker moves: start to end, then later_start to
    later_end. A start of 0 is no move; an end below 1 is off."""
    if row < len(after):
        for slot in range(_SLOTS):
            after[row, slot] = board[slot]
        move_checker(after, row, start, end)
        move_checker(after, row, later_start, later_end)


@kernel(borrows=True)
def move_checker(after: Boards, row: int, start: int, end: int) -> None:
    """Move a checker on after[row], in place."""
    if start > 0:
        after[row, start] -= 1
        if end > 0:
            held = after[row, end]
            after[row, 0] += held < 0
            after[row, end] = held + 1 if held > 0 else 1


@kernel(borrows=True)
def fill_double_plays(board: Boards, ours: int, landings: int, die: int, after: Boards, notes: Notes) -> int:
    """Fill after[0:n] with the boards after as many moves by `die` as possible, up to 4, and return n. `ours` is the
    set of points with our checkers, `landings` the set of points that are not blocked.

    Fills `notes` with all sequences of moves, shorter ones first. Bits 0 to 25 of a note are the points on which we
    have checkers after the moves. The starts of the moves begin at bit 26, with five bits each."""
    notes[0] = ours
    begin, end, n_moves = 0, 1, 0
    for _ in range(4):
        n = end
        for item in range(begin, end):
            note = notes[item]
            starts = movable_points(note & ((2 << _BAR) - 1), landings, die)
            if n_moves > 0:  # starts are no higher than the last start
                starts &= (2 << start_of_move(note, n_moves - 1)) - 1
            while starts:
                start = highest(starts)
                starts ^= 1 << start
                count = max(int(board[start]), 0)
                for move in range(n_moves):
                    earlier = start_of_move(note, move)
                    count += (earlier - die == start) - (earlier == start)
                longer = note | start << (26 + 5 * n_moves)
                if count == 1:
                    longer ^= 1 << start
                if start > die:
                    longer |= 1 << (start - die)
                notes[n] = longer
                n += 1
        if n == end:
            break
        begin, end = end, n
        n_moves += 1
    for item in range(begin, min(end, begin + len(after))):
        fill_play(board, 0, 0, 0, 0, after, item - begin)
        for move in range(n_moves):
            start = start_of_move(notes[item], move)
            move_checker(after, item - begin, start, start - die)
    return end - begin if n_moves else 0


@kernel(borrows=True)
def start_of_move(note: int, move: int) -> int:
    """Return the point where move number `move` starts, in a note that `fill_double_plays` wrote."""
    return note >> (26 + 5 * move) & 31


@kernel(borrows=True)
def fill_singles(board: Boards, ours: int, landings: int, die: int, after: Boards) -> int:
    """Fill after[0:n] with the boards after one checker move by `die`, and return n."""
    n = 0
    starts = movable_points(ours, landings, die)
    while starts:
        start = highest(starts)
        starts ^= 1 << start
        fill_play(board, start, start - die, 0, 0, after, n)
        n += 1
    return n


@kernel(borrows=True)
def fill_pairs(
    board: Boards, ours: int, landings: int, high: int, low: int, is_high_first: bool, after: Boards, seen: Notes,
    n: int,
) -> int:  # fmt: skip
    """Append to after[0:n] the boards after playing both dice in one order, and return the new number of boards. Boards
    that `seen` contains are left out. `ours` is the set of points with our checkers, `landings` the set of points that
    are not blocked."""
    first, second = (high, low) if is_high_first else (low, high)
    starts = movable_points(ours, landings, first)
    while starts:
        start = highest(starts)
        starts ^= 1 << start
        end = start - first
        held = ours ^ (1 << start) if board[start] == 1 else ours
        if end > 0:
            held |= 1 << end
        later_starts = movable_points(held, landings, second)
        while later_starts:
            later = highest(later_starts)
            later_starts ^= 1 << later
            by_high, by_low = (start, later) if is_high_first else (later, start)
            if is_new_pair(board, by_high, by_low, high, low, seen):
                fill_play(board, start, end, later, later - second, after, n)
                n += 1
    return n


@kernel(borrows=True)
def is_new_pair(board: Boards, by_high: int, by_low: int, high: int, low: int, seen: Notes) -> bool:
    """Whether moving from `by_high` with the high die and from `by_low` with the low die leads to a new board. If so,
    add by_high to the set seen[by_low]. The set seen[0] contains the starts from which one checker played both dice
    without a hit in between."""
    if seen[by_low] >> by_high & 1:
        return False
    seen[by_low] |= 1 << by_high
    if by_high - high == by_low or by_low - low == by_high:
        start, between = max(by_high, by_low), min(by_high, by_low)
        if board[between] < 0:
            return True
        is_seen = seen[0] >> start & 1
        seen[0] |= 1 << start
        return not is_seen
    if by_high <= low and by_low <= low and by_high != by_low:  # either die bears off either checker
        return not seen[by_high] >> by_low & 1
    return True


def are_legal_results(
    boards: Boards, rolls: NDArray[np.integer], first_results: NDArray[np.int64], next_boards: Boards
) -> NDArray[np.bool_]:
    """Find out which boards can follow from another board by a legal play, as bool[k].

    `boards` is int8[n, 26] with the player on roll, who plays `rolls`, integers[n, 2]. `next_boards` is int8[k, 26]
    with the OTHER side on roll. Row i of `boards` is compared with the next boards first_results[i] to first_results[i
    + 1] - 1; `first_results` has n + 1 entries."""
    legal = np.zeros(len(next_boards), np.bool_)
    for start in range(0, len(boards), _BLOCK):
        rows = slice(start, min(len(boards), start + _BLOCK))
        offsets, after_play = batch_plays(boards[rows], rolls[rows])
        fill_legal(offsets, after_play, first_results[rows.start : rows.stop + 1], next_boards, legal)
    return legal


@kernel(parallel=True)
def fill_legal(
    offsets: Notes, after_play: Boards, first_results: Notes, next_boards: Boards, legal: NDArray[np.bool_]
) -> None:
    """Set legal[j], which must be False before, if next_boards[j] is among the plays of row i,
    after_play[offsets[i]:offsets[i + 1]], for j from first_results[i] to first_results[i + 1] - 1."""
    for row in prange(len(offsets) - 1):
        for result in range(first_results[row], first_results[row + 1]):
            for play in range(offsets[row], offsets[row + 1]):
                if is_flipped(after_play[play], next_boards[result]):
                    legal[result] = True
                    break


@kernel()
def is_flipped(board: Boards, other: Boards) -> bool:
    """Whether two boards are the same position, one from each player's point of view."""
    if board[0] != other[25] or board[25] != other[0]:
        return False
    for point in range(1, 25):  # noqa: SIM110 - a kernel
        if board[point] != -other[25 - point]:
            return False
    return True


def checker_moves_of(boards: Boards, rolls: NDArray[np.integer], after_play: Boards) -> Moves:
    """Find the checker moves by which n rolls, integers[n, 2], lead from `boards` to `after_play`, both int8[n, 26]
    from the point of view of the player who moves. Returns (from, to, hits) of up to four moves as int8[n, 4, 3]; 25 is
    the bar, 0 is off, and -1 stands for no move.

    Moves are sorted from the highest point down. If one checker plays both dice, the larger die comes first if
    possible, and the checker hits on the way only if the play hits there. A row has no moves if the roll does not
    connect its boards. Legality is not checked."""
    moves = np.full((len(check_boards(boards)), MAX_MOVES, 3), NO_MOVE, np.int8)
    fill_moves(boards, check_rolls(rolls, len(boards)), check_boards(after_play), moves)
    return moves


@kernel(parallel=True)
def fill_moves(boards: Boards, rolls: NDArray[np.int8], after_play: Boards, moves: Moves) -> None:
    """Fill moves[row], which must be -1 before, with the checker moves by which rolls[row] leads from boards[row] to
    after_play[row]."""
    block = 64
    for part in prange((len(boards) + block - 1) // block):
        scratch = np.empty((2, _SLOTS), np.int8)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            find_moves(boards[row], rolls[row, 0], rolls[row, 1], after_play[row], scratch, moves[row])


@kernel(borrows=True)
def find_moves(board: Boards, die: int, other_die: int, after: Boards, scratch: Boards, moves: Moves) -> int:
    """Fill moves[0:n, 0:3] with the checker moves that lead from `board` to `after`, and return n. `scratch` is a
    board."""
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
    """Whether two boards are equal."""
    is_same = True
    for slot in range(_SLOTS):
        is_same &= board[slot] == other[slot]
    return is_same


@kernel(borrows=True)
def fill_moved(board: Boards, start: int, die: int, into: Boards) -> int:
    """Fill `into` with `board` after one checker move by `die`. Returns where the move ends: 0 for off, -1 if it is
    blocked."""
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
    """Fill moves[0, 0:3] with the move by one die that leads from `board` to `after`; returns 1, or 0 if there is no
    such move."""
    for start in range(_BAR, 0, -1):
        end = fill_moved(board, start, die, scratch)
        if end >= 0 and same_board(scratch, after):
            note_move(moves, 0, start, end, end > 0 and board[end] == -1)
            return 1
    return 0


@kernel(borrows=True)
def find_pair(board: Boards, first_die: int, later_die: int, after: Boards, scratch: Boards, moves: Moves) -> int:
    """Fill moves[0:2, 0:3] with a move by each die, which together lead from `board` to `after`. The move with the
    higher start comes first. Returns 2, or 0 if there are no such moves. If there are several ways, the one with the
    highest start for the first die is chosen."""
    for start in range(_BAR, 0, -1):
        end = fill_moved(board, start, first_die, scratch[0])
        if end < 0:
            continue
        for later in range(_BAR, 0, -1):
            later_end = fill_moved(scratch[0], later, later_die, scratch[1])
            if later_end >= 0 and same_board(scratch[1], after):
                place = int(later > start)  # index of the first die's move
                is_hit, is_later_hit = end > 0 and board[end] == -1, later_end > 0 and board[later_end] == -1
                is_same_end = end == later_end  # then only the earlier move hits
                note_move(moves, place, start, end, is_hit and not (is_same_end and place == 1))
                note_move(moves, 1 - place, later, later_end, is_later_hit and not (is_same_end and place == 0))
                return 2
    return 0


@kernel(borrows=True)
def note_move(moves: Moves, n: int, start: int, end: int, is_hit: bool) -> None:
    """Write a checker move to moves[n, 0:3]: start, end, and whether it hits."""
    moves[n, 0], moves[n, 1], moves[n, 2] = start, end, is_hit


@kernel(borrows=True)
def find_double_moves(board: Boards, die: int, after: Boards, now: Boards, moves: Moves) -> int:
    """Fill moves[0:n, 0:3] with the moves of a double, from the highest point down; returns n, or 0 if they do not lead
    from `board` to `after`. Checkers only arrive from higher points. So from the highest point down, each point makes
    as many moves as it must lose checkers."""
    for slot in range(_SLOTS):
        now[slot] = board[slot]
    n = 0
    for start in range(_BAR, 0, -1):
        while now[start] > max(int(after[start]), 0) and n < MAX_MOVES:
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
