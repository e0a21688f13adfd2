"""Whether one position can follow from another, against the slow twin of the legal plays."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.game import legality
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.legality import are_legal_results
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.random_games import random_game_positions
from tests.reference.plays import boards_after

COUNT = 120


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    """Boards and rolls of some random games."""
    games = random_game_positions(3, seed=41)
    return games.boards[:COUNT], games.rolls[:COUNT]


@cache
def all_after() -> list[set[tuple[int, ...]]]:
    boards, rolls = turns()
    return [boards_after(board, *roll) for board, roll in zip(boards.tolist(), rolls.tolist(), strict=True)]


def asked(row: int) -> list[tuple[int, ...]]:
    """Boards to ask about: all that can follow in some decision near this one; none for every seventh."""
    after = all_after()
    return [] if row % 7 == 3 else sorted(after[row] | after[row - 1] | {tuple(turns()[0][row].tolist())})


def results(boards: list[list[tuple[int, ...]]]) -> tuple[np.ndarray, np.ndarray]:
    """(where the results of each decision begin, the boards with the other side on roll)."""
    first = np.cumsum([0, *map(len, boards)])
    return first, flip_boards(np.array([board for some in boards for board in some], np.int8).reshape(-1, 26))


def test_all_that_can_follow_and_more(monkeypatch: pytest.MonkeyPatch) -> None:
    first, following = results(list(map(asked, range(COUNT))))
    expected = [board in all_after()[row] for row in range(COUNT) for board in asked(row)]
    assert 0.2 < np.mean(expected) < 0.8
    for count in (1, 2):
        with threads(count):
            assert are_legal_results(*turns(), first, following).tolist() == expected
    monkeypatch.setattr(legality, "_BLOCK", 7)
    assert are_legal_results(*turns(), first, following).tolist() == expected


def test_the_published_opening() -> None:
    """Dice in either order; seen by the wrong side it is another position."""
    board, after = np.array([START.board], np.int8), Position("4HPwATDgc/ABMA").board
    play = np.array([0, -2, 0, 0, 2, 0, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0], np.int8)
    both = np.vstack([flip_boards(play[np.newaxis]), play[np.newaxis], np.array([after], np.int8)])
    for roll in ([4, 2], [2, 4]):
        found = are_legal_results(board, np.array([roll], np.int64), np.array([0, 3]), both)
        assert found.tolist() == [True, False, False]
    assert not are_legal_results(board, np.array([[4, 1]], np.int8), np.array([0, 3]), both).any()


def test_a_checker_more_on_either_bar_is_another_position() -> None:
    board, roll = np.array([START.board], np.int8), np.array([[3, 1]], np.int8)
    after = np.array([legal_plays(START, "31")[0].next_position.board], np.int8).repeat(3, axis=0)
    after[1, 0] += 1
    after[2, 25] += 1
    assert are_legal_results(board, roll, np.array([0, 3]), after).tolist() == [True, False, False]


def test_no_boards() -> None:
    empty = np.empty((0, 26), np.int8)
    assert are_legal_results(empty, np.empty((0, 2), np.int8), np.array([0]), empty).shape == (0,)
    boards, rolls = turns()
    assert are_legal_results(boards[:2], rolls[:2], np.array([0, 0, 0]), empty).shape == (0,)
