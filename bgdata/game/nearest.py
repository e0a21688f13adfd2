"""Finds similar positions. The distance of two positions is the number of checkers that stand elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bgdata.game.codec import Boards, check_boards

ROWS = 1 << 16  # boards compared at a time


def moved_checkers(boards: Boards, board: Boards) -> NDArray[np.int16]:
    """Return how many checkers of both sides must move to get from `board`, int8[26], to each of the int8[n, 26]
    boards, as int16[n]. Checkers that are borne off count too. Raises InvalidPositionError for another shape or
    type."""
    found = np.empty(len(check_boards(boards)), np.int16)
    own, total = _own(board[None]), _total(board[None])
    for begin in range(0, len(boards), ROWS):
        part = boards[begin : begin + ROWS]
        on_points = np.abs(part - board).sum(axis=1, dtype=np.int16)
        own_off = np.abs(_own(part) - own)
        other_off = np.abs(_total(part) - _own(part) - total + own)
        found[begin : begin + ROWS] = (on_points + own_off + other_off) // 2
    return found


def _own(boards: Boards) -> NDArray[np.int16]:
    """Return how many checkers the player on roll has on the board and the bar, as int16[n]."""
    without_opponents_bar = boards[:, 1:]
    found: NDArray[np.int16] = np.maximum(without_opponents_bar, 0).sum(axis=1, dtype=np.int16)
    return found


def _total(boards: Boards) -> NDArray[np.int16]:
    """Return how many checkers both sides have on the board and the bar, as int16[n]."""
    found: NDArray[np.int16] = np.abs(boards).sum(axis=1, dtype=np.int16)
    return found


def nearest_boards(boards: Boards, board: Boards, count: int, most: int) -> Iterator[tuple[int, int]]:
    """Find up to `count` positions among int8[n, 26] boards that are most similar to `board`. Yields (row, moved
    checkers), the nearest position first, and each position once. Positions with more than `most` moved checkers, and
    `board` itself, are left out."""
    moved = moved_checkers(boards, board)
    for distance in range(1, most + 1):
        rows = np.flatnonzero(moved == distance)
        keys = np.ascontiguousarray(boards[rows]).view(f"V{boards.shape[1]}").ravel()
        _, first = np.unique(keys, return_index=True)
        for row in rows[np.sort(first)][:count].tolist():
            yield row, distance
            count -= 1
        if not count:
            return
