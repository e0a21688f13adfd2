"""Tests of distances between positions, against counting checkers place by place."""

import numpy as np
import pytest

import bgdata
from bgdata.game.nearest import moved_checkers, nearest_boards
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position


def places(board: list[int]) -> dict[tuple[str, int], int]:
    """The checkers of each side by place, place 100 for those that are off."""
    found = {("own", place): max(count, 0) for place, count in enumerate(board)}
    found |= {("other", place): max(-count, 0) for place, count in enumerate(board)}
    for side in ("own", "other"):
        found[side, 100] = 15 - sum(count for (name, _), count in found.items() if name == side)
    return found


def moved_by_counting(first: list[int], second: list[int]) -> int:
    """The checkers that leave their places on the way from one board to the other."""
    own, other = places(first), places(second)
    return sum(max(0, count - other[place]) for place, count in own.items())


def random_boards(count: int) -> np.ndarray:
    """Positions from random games, flipped so that their players are on roll."""
    generator = np.random.default_rng(5)
    position = START
    found = list[list[int]]()
    while len(found) < count:
        roll = tuple(generator.integers(1, 7, 2).tolist())
        plays = legal_plays(position, f"{roll[0]}{roll[1]}")
        position = plays[generator.integers(len(plays))].next_position
        if not position.board or max(position.board) <= 0 or min(position.board) >= 0:
            position = START
        found.append(list(position.board))
    return np.array(found, np.int8)


def test_moved_checkers_are_those_on_other_places() -> None:
    boards = random_boards(400)
    for board in boards[::80]:
        expected = [moved_by_counting(board.tolist(), other) for other in boards.tolist()]
        assert moved_checkers(boards, board).tolist() == expected
    assert max(moved_checkers(boards, boards[0])) > 8


def test_nearest_boards_are_different_and_in_order() -> None:
    boards = np.concatenate([random_boards(300)] * 2)
    found = list(nearest_boards(boards, boards[0], 20, 12))
    rows = [boards[row].tobytes() for row, _ in found]
    assert len(set(rows)) == len(rows) == 20
    assert boards[0].tobytes() not in rows
    distances = [moved for _, moved in found]
    assert distances == sorted(distances)
    left_out = {each.tobytes() for each in boards} - set(rows) - {boards[0].tobytes()}
    nearest_left = min(int(moved_checkers(np.frombuffer(each, np.int8)[None], boards[0])[0]) for each in left_out)
    assert distances[-1] <= nearest_left
    assert list(nearest_boards(boards[:1], boards[0], 5, 12)) == []


def test_boards_of_other_shapes_are_refused() -> None:
    with pytest.raises(bgdata.errors.InvalidPositionError):
        moved_checkers(np.zeros((3, 25), np.int8), np.array(Position(START.id).board, np.int8))
