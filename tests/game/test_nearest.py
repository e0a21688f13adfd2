"""Tests of distances between positions, against counting checkers place by place."""

from collections import Counter

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError
from bgdata.game.nearest import moved_checkers, nearest_boards
from bgdata.game.position import START
from tests.random_games import random_game_positions

OPPONENTS_BAR, OFF = 0, 26


def checkers_by_place(board: list[int]) -> Counter[tuple[str, int]]:
    """The checkers of each side by slot of the board, and those that are off."""
    own = {("own", slot): count for slot, count in enumerate(board) if count > 0 and slot != OPPONENTS_BAR}
    opponent = {("opponent", slot): -count for slot, count in enumerate(board) if count < 0}
    opponent["opponent", OPPONENTS_BAR] = board[OPPONENTS_BAR]
    own["own", OFF] = 15 - sum(own.values())
    opponent["opponent", OFF] = 15 - sum(opponent.values())
    return Counter(own | opponent)


def count_moved_checkers(before: list[int], after: list[int]) -> int:
    """Count the checkers that leave their places on the way from one board to the other."""
    return (checkers_by_place(before) - checkers_by_place(after)).total()


def test_moved_checkers_are_those_on_other_places() -> None:
    boards = random_game_positions(10, seed=5).boards[:400]
    assert (boards[:, OPPONENTS_BAR] > 0).any()
    for board in boards[::80]:
        expected = [count_moved_checkers(board.tolist(), other) for other in boards.tolist()]
        assert moved_checkers(boards, board).tolist() == expected
    assert max(moved_checkers(boards, boards[0])) > 8


def test_nearest_boards_are_different_and_in_order() -> None:
    positions = random_game_positions(10, seed=5).boards[:300]
    boards = np.concatenate([positions, positions])
    board = boards[0]
    nearest = list(nearest_boards(boards, board, 20, 12))
    rows = [row for row, _ in nearest]
    distances = [moved for _, moved in nearest]
    assert len(rows) == len(np.unique(boards[rows], axis=0)) == 20
    assert distances == moved_checkers(boards[rows], board).tolist()
    assert distances == sorted(distances)
    assert distances[0] > 0  # the board itself is left out
    all_distances = sorted(moved_checkers(np.unique(boards, axis=0), board).tolist())
    assert distances == all_distances[1:21]


def test_only_board_has_no_nearest_boards() -> None:
    board = np.array(START.board, np.int8)
    assert list(nearest_boards(board[None], board, 5, 12)) == []


def test_boards_of_other_shapes_are_refused() -> None:
    with pytest.raises(InvalidPositionError):
        moved_checkers(np.zeros((3, 25), np.int8), np.array(START.board, np.int8))
