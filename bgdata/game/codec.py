"""Converts int8[n, 26] boards to and from Position IDs, 10-byte keys and 20-letter keys.

`position` describes these forms. Invalid text raises no error: parsing returns the boards and a `Flaw` number for each
row (0: legal). The board of an invalid row is all zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError
from bgdata.game.board import BASE64_LETTERS, CHECKERS, Flaw
from bgdata.kernel import kernel

Boards = NDArray[np.int8]
Bytes = NDArray[np.uint8]

# the six bits of each Base64 letter, 255 for other characters
_SIX_BITS = np.full(256, 255, np.uint8)
_SIX_BITS[np.frombuffer(BASE64_LETTERS.encode(), np.uint8)] = np.arange(64)
_LETTERS = np.frombuffer(BASE64_LETTERS.encode(), np.uint8).copy()
# index in the board, and sign, of each of the 50 counts of a key: the opponent's points 1..24 and bar, then ours
_SLOT = np.array([*range(24, 0, -1), 0, *range(1, 26)], np.int64)
_SIGN = np.array([-1] * 24 + [1] * 26, np.int8)

# Flaw members as plain integers, for kernels
_CHARACTER, _LAST_CHARACTER = int(Flaw.CHARACTER), int(Flaw.LAST_CHARACTER)
_UNUSED_BITS, _SHARED_POINT = int(Flaw.UNUSED_BITS), int(Flaw.SHARED_POINT)
_NEGATIVE_BAR, _CLOSED_BOARDS = int(Flaw.NEGATIVE_BAR), int(Flaw.CLOSED_BOARDS)
_CHECKERS, _OPPONENT_CHECKERS = int(Flaw.CHECKERS), int(Flaw.OPPONENT_CHECKERS)


def parse_position_ids(ids: NDArray[Any]) -> tuple[Boards, Bytes]:
    """Parse Position IDs, given as an 'S14' array or as uint8[n, 14]. Returns int8[n, 26] boards and uint8[n] flaws,
    which are `Flaw` numbers, 0 for a legal board."""
    letters = _letters(ids, 14)
    keys = np.empty((len(letters), 10), np.uint8)
    flaws = np.zeros(len(letters), np.uint8)
    fill_keys_of_ids(letters, keys, flaws)
    return _boards(keys, flaws)


def format_position_ids(boards: Boards) -> NDArray[np.bytes_]:
    """Return the Position IDs of int8[n, 26] boards as an 'S14' array [n]. Raises InvalidPositionError for an illegal
    board."""
    keys = format_keys(boards)
    letters = np.empty((len(keys), 14), np.uint8)
    fill_ids_of_keys(keys, letters)
    return letters.view("S14").reshape(-1)


def format_keys(boards: Boards) -> Bytes:
    """Return the 10-byte keys of int8[n, 26] boards as uint8[n, 10]. Raises InvalidPositionError for an illegal
    board."""
    keys = np.empty((len(check_legal_boards(boards)), 10), np.uint8)
    fill_keys_of_boards(boards, keys)
    return keys


def parse_key20s(texts: NDArray[Any]) -> tuple[Boards, Bytes]:
    """Parse 20-letter keys, given as an 'S20' array or as uint8[n, 20]. Returns int8[n, 26] boards and uint8[n] flaws,
    which are `Flaw` numbers, 0 for a legal board."""
    nibbles = _letters(texts, 20) - np.uint8(ord("A"))  # wraps around, so other characters are above 15
    flaws = np.where((nibbles > 15).any(axis=1), Flaw.CHARACTER, Flaw.NONE).astype(np.uint8)
    keys: Bytes = (nibbles[:, ::2] * 16 + nibbles[:, 1::2]).astype(np.uint8)
    return _boards(keys, flaws)


def format_key20s(boards: Boards) -> NDArray[np.bytes_]:
    """Return the 20-letter keys of int8[n, 26] boards as an 'S20' array [n]. Raises InvalidPositionError for an illegal
    board."""
    keys = format_keys(boards)
    letters = np.stack([keys >> 4, keys & 15], axis=2).reshape(len(keys), 20) + np.uint8(ord("A"))
    return letters.view("S20").reshape(-1)


def board_flaws(boards: Boards) -> Bytes:
    """Return the number of the first `Flaw` of each int8[n, 26] board as uint8[n], 0 for a legal board."""
    flaws = np.empty(len(check_boards(boards)), np.uint8)
    fill_board_flaws(boards, flaws)
    return flaws


def flip_boards(boards: Boards) -> Boards:
    """Return each board as the other player sees it, as int8[n, 26]."""
    flipped = np.empty_like(check_boards(boards))
    fill_flipped(boards, flipped)
    return flipped


def pip_counts(boards: Boards) -> NDArray[np.int16]:
    """Return the pip counts of the player on roll and of the opponent as int16[n, 2]."""
    pips = np.empty((len(check_boards(boards)), 2), np.int16)
    fill_pip_counts(boards, pips)
    return pips


def check_boards(boards: Boards) -> Boards:
    """Return the boards. Raises InvalidPositionError unless they are an int8[n, 26] array."""
    if boards.ndim != 2 or boards.shape[1] != 26 or boards.dtype != np.int8:
        raise InvalidPositionError(f"expected boards as int8[n, 26], got {boards.dtype}{list(boards.shape)}")
    return boards


def check_legal_boards(boards: Boards) -> Boards:
    """Return the boards. Raises InvalidPositionError unless they are an int8[n, 26] array and every board is legal."""
    flaws = board_flaws(boards)
    if flaws.any():
        row = int((flaws > 0).argmax())
        raise InvalidPositionError(f"{Flaw(flaws[row]).rule}, got {boards[row].tolist()} in row {row}")
    return boards


def _letters(texts: NDArray[Any], width: int) -> Bytes:
    """Return the letters of byte strings as uint8[n, width]. Shorter strings are padded with zero bytes."""
    if texts.dtype.kind == "S" and texts.dtype.itemsize == width and texts.ndim == 1:
        return np.ascontiguousarray(texts).view(np.uint8).reshape(-1, width)
    if texts.dtype == np.uint8 and texts.ndim == 2 and texts.shape[1] == width:
        return texts
    raise InvalidPositionError(f"expected S{width}[n] or uint8[n, {width}], got {texts.dtype.str}{list(texts.shape)}")


def _boards(keys: Bytes, flaws: Bytes) -> tuple[Boards, Bytes]:
    boards = np.zeros((len(keys), 26), np.int8)
    fill_boards_of_keys(keys, boards, flaws)
    return boards, flaws


@kernel()
def fill_keys_of_ids(ids: Bytes, keys: Bytes, flaws: Bytes) -> None:
    """Convert Position IDs ids[row, 0:14] to keys[row, byte], and fill flaws[row]."""
    for row in range(len(ids)):
        pending, seen = np.int64(0), np.int64(0)
        n_bits, byte = 0, 0
        for place in range(14):
            six = np.int64(_SIX_BITS[ids[row, place]])
            seen |= six
            pending = (pending << 6) | (six & 63)
            n_bits += 6
            if n_bits >= 8:
                n_bits -= 8
                keys[row, byte] = (pending >> n_bits) & 255
                byte += 1
        if seen > 63:
            flaws[row] = _CHARACTER
        elif pending & 15:  # the last character carries 2 bits of the key, then 4 zeros
            flaws[row] = _LAST_CHARACTER


@kernel()
def fill_ids_of_keys(keys: Bytes, ids: Bytes) -> None:
    """Convert keys[row, byte] to Position IDs ids[row, 0:14]."""
    for row in range(len(keys)):
        pending = np.int64(0)
        n_bits, place = 0, 0
        for byte in range(10):
            pending = ((pending & 63) << 8) | np.int64(keys[row, byte])
            n_bits += 8
            while n_bits >= 6:
                n_bits -= 6
                ids[row, place] = _LETTERS[(pending >> n_bits) & 63]
                place += 1
        ids[row, place] = _LETTERS[(pending << 4) & 63]


@kernel()
def fill_boards_of_keys(keys: Bytes, boards: Boards, flaws: Bytes) -> None:
    """Convert keys[row, byte] to boards[row], and fill flaws[row]. The boards must be zero before. Rows that already
    have a flaw are skipped."""
    for row in range(len(keys)):
        if flaws[row] == 0:
            flaws[row] = _decode(keys[row], boards[row])
        if flaws[row] != 0:
            boards[row] = 0


@kernel()
def _decode(key: Bytes, board: Boards) -> int:
    """Convert a 10-byte key to a board, which must be zero before. Returns the `Flaw` number of the board, 0 if it is
    legal."""
    zeros, theirs, ours, shared = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for place in range(80):
        bit = (np.int64(key[place >> 3]) >> (place & 7)) & 1
        if zeros == 50:
            if bit:
                return _UNUSED_BITS
            continue
        slot, sign = _SLOT[zeros], _SIGN[zeros]
        if zeros < 25:
            theirs += bit
        else:
            ours += bit
            shared |= bit & (board[slot] < 0)
        board[slot] += bit * sign
        zeros += 1 - bit
    if ours > CHECKERS:
        return _CHECKERS
    if theirs > CHECKERS:
        return _OPPONENT_CHECKERS
    if shared:
        return _SHARED_POINT
    return flaw_of(board)


@kernel()
def flaw_of(board: Boards) -> int:
    """Return the `Flaw` number of the first rule that a board breaks, 0 if it is legal: `position.board_flaw` for
    kernels."""
    if board[0] < 0 or board[25] < 0:
        return _NEGATIVE_BAR
    ours, theirs = np.int64(board[25]), np.int64(board[0])
    for point in range(1, 25):
        ours += max(board[point], 0)
        theirs -= min(board[point], 0)
    if ours > CHECKERS:
        return _CHECKERS
    if theirs > CHECKERS:
        return _OPPONENT_CHECKERS
    if board[0] > 0 and board[25] > 0 and board[1:7].min() >= 2 and board[19:25].max() <= -2:
        return _CLOSED_BOARDS
    return 0


@kernel()
def fill_board_flaws(boards: Boards, flaws: Bytes) -> None:
    """Fill flaws[row] with the number of the first rule that boards[row] breaks, 0 if it breaks none."""
    for row in range(len(boards)):
        flaws[row] = flaw_of(boards[row])


@kernel()
def fill_keys_of_boards(boards: Boards, keys: Bytes) -> None:
    """Convert legal boards[row] to keys[row, byte]."""
    for row in range(len(boards)):
        board = boards[row]
        keys[row] = 0
        place = 0
        for zeros in range(50):
            count = max(0, board[_SLOT[zeros]] * _SIGN[zeros])
            for _ in range(count):
                keys[row, place >> 3] |= 1 << (place & 7)
                place += 1
            place += 1


@kernel()
def fill_flipped(boards: Boards, flipped: Boards) -> None:
    """Fill flipped[row] with boards[row] as the other player sees it."""
    for row in range(len(boards)):
        flip_into(boards[row], flipped[row])


@kernel(borrows=True)
def flip_into(board: Boards, flipped: Boards) -> None:
    """Fill `flipped` with `board` as the other player sees it. The arrays must be different."""
    flipped[0] = board[25]
    flipped[25] = board[0]
    for point in range(1, 25):
        flipped[point] = -board[25 - point]


@kernel()
def fill_pip_counts(boards: Boards, pips: NDArray[np.int16]) -> None:
    """Fill pips[row] with the pip counts of boards[row]: of the player on roll, then of the opponent."""
    for row in range(len(boards)):
        ours, theirs = 25 * np.int64(boards[row, 25]), 25 * np.int64(boards[row, 0])
        for point in range(1, 25):
            ours += point * max(boards[row, point], 0)
            theirs -= (25 - point) * min(boards[row, point], 0)
        pips[row, 0] = ours
        pips[row, 1] = theirs
