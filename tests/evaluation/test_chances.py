"""Chances turned, valued and limited by the rules, against a reference and against played games."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.evaluation.chances import (
    CHANCES,
    cubeless_equities,
    equity_of,
    fill_outcome_chances,
    fill_turned,
    limit_chances,
    possible_outcomes,
    turned_chances,
)
from bgdata.game.codec import flip_boards
from tests.random_games import GamePositions, random_game_positions, random_games
from tests.reference.networks import equity, limited, possible, turned

GAMES, SEED = 100, 51


@cache
def random_rows() -> NDArray[np.float32]:
    return np.random.default_rng(3).random((2000, 5), np.float32)


@cache
def sample_games() -> GamePositions:
    return random_game_positions(GAMES, SEED)


def bits(board: list[int]) -> int:
    return sum(1 << place for place, allowed in enumerate(possible(board)[1:]) if allowed)


def test_cubeless_equities_follow_the_formula() -> None:
    found = cubeless_equities(random_rows())
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([equity(row) for row in random_rows().tolist()], abs=1e-6)
    assert [np.float32(equity_of(row)) for row in random_rows()] == found.tolist()
    known = np.array(
        [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0.5, 0, 0, 0, 0], [0, 0, 0, 1, 1]], np.float32
    )
    assert cubeless_equities(known).tolist() == [1, 2, 3, 0, -3]


def test_turned_chances_are_those_of_the_opponent() -> None:
    found = turned_chances(random_rows())
    one = np.empty(5, np.float32)
    assert found.tolist() == pytest.approx(np.array([turned(row) for row in random_rows().tolist()]), abs=1e-7)
    for row, expected in zip(random_rows(), found, strict=True):
        fill_turned(row, one)
        assert np.array_equal(one, expected)
    assert np.allclose(cubeless_equities(found), -cubeless_equities(random_rows()), atol=1e-6)
    assert len(CHANCES) == found.shape[1]


@pytest.mark.parametrize("points", [-3, -2, -1, 1, 2, 3])
def test_finished_games_have_certain_chances(points: int) -> None:
    found, other = np.full((1, 5), 7, np.float32), np.full((1, 5), 7, np.float32)
    fill_outcome_chances(points, found[0])
    fill_outcome_chances(-points, other[0])
    assert cubeless_equities(found).tolist() == [points]
    assert set(found[0].tolist()) <= {0, 1}
    assert np.array_equal(turned_chances(found), other)


def test_possible_outcomes_match_the_reference() -> None:
    found = [possible_outcomes(board) for board in sample_games().boards]
    assert found == [bits(board) for board in sample_games().boards.tolist()]
    assert len(found) > 9000
    assert set(found) >= {0, 1, 3, 4, 12, 15}  # none, gammons or more of either side, all


def test_outcomes_of_games_were_possible() -> None:
    """Every gammon and backgammon in random games was a possible outcome in all earlier positions of the game."""
    outcomes = random_games(GAMES, SEED).outcomes
    happened = np.zeros(4, int)
    for game, outcome in enumerate(outcomes.tolist()):
        for row in range(sample_games().offsets[game], sample_games().offsets[game + 1]):
            points = outcome if (row - sample_games().offsets[game]) % 2 == 0 else -outcome
            reached = np.array([points > 1, points > 2, points < -1, points < -2])
            needed = int(reached @ [1, 2, 4, 8])
            assert needed & ~possible_outcomes(sample_games().boards[row]) == 0
            happened += reached
    assert happened.min() > 50


@pytest.mark.parametrize(
    ("board", "expected"),
    [
        # all 15 of the opponent left: on its 18 point at most (no backgammon), or on its 19, in our home board
        ([0, 1, 0, 0, 0, 0, 0, -15, *[0] * 17, 0], [True, False, False, False]),
        ([0, 1, 0, 0, 0, 0, -15, *[0] * 18, 0], [True, True, False, False]),
        ([0, 1, 0, 0, 0, 0, -14, *[0] * 18, 0], [False, False, False, False]),  # one of them off
        ([0, *[0] * 17, 15, *[0] * 5, -1, 0], [False, False, True, False]),
        ([0, *[0] * 18, 15, *[0] * 4, -1, 0], [False, False, True, True]),
        ([0, *[0] * 23, -1, 15], [False, False, True, True]),  # on the bar
        ([0, *[0] * 11, 15, -15, *[0] * 11, 0], [True, False, True, False]),  # just past each other
        ([0, *[0] * 11, -15, 15, *[0] * 11, 0], [True, True, True, True]),  # about to pass: backgammons can happen
    ],
)
def test_possible_outcomes_match_values_by_hand(board: list[int], expected: list[bool]) -> None:
    for seen, chances in ((board, expected), (flip_boards(np.array([board], np.int8))[0], expected[2:] + expected[:2])):
        found = possible_outcomes(np.array(seen, np.int8))
        assert [bool(found >> bit & 1) for bit in range(4)] == chances


def test_chances_are_limited_by_those_that_contain_them() -> None:
    """Impossible chances become 0, and no chance exceeds one that includes it."""
    boards = sample_games().boards[:: len(sample_games().boards) // len(random_rows())][: len(random_rows())]
    found = random_rows().copy()
    for row, board in zip(found, boards, strict=True):
        limit_chances(possible_outcomes(board), row)
    expected = [limited(row, board) for row, board in zip(random_rows().tolist(), boards.tolist(), strict=True)]
    assert found.tolist() == pytest.approx(np.array(expected), abs=1e-7)
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = found.T
    assert (win == random_rows()[:, 0]).all()
    assert ((win_backgammon >= 0) & (win_backgammon <= win_gammon) & (win_gammon <= win)).all()
    assert ((lose_backgammon >= 0) & (lose_backgammon <= lose_gammon) & (lose_gammon <= 1 - win)).all()
    again = found.copy()
    for row, board in zip(again, boards, strict=True):
        limit_chances(possible_outcomes(board), row)
    assert np.array_equal(again, found)
