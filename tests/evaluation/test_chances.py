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


@cache
def random_rows() -> NDArray[np.float32]:
    return np.random.default_rng(3).random((2000, 5), np.float32)


@cache
def sample_games() -> GamePositions:
    """The positions of `outcomes`."""
    return random_game_positions(100, seed=51)


def outcomes() -> list[int]:
    """The points that the player who rolls first wins in each sample game."""
    return random_games(100, seed=51).outcomes.tolist()


def possible_bits(board: list[int]) -> int:
    """The possible outcomes by the reference, a bit each: gammons and backgammons won, then lost."""
    return sum(1 << place for place, is_possible in enumerate(possible(board)[1:]) if is_possible)


def test_cubeless_equities_follow_the_formula() -> None:
    equities = cubeless_equities(random_rows())
    assert equities.dtype == np.float32
    assert equities.tolist() == pytest.approx([equity(row) for row in random_rows().tolist()], abs=1e-6)
    assert [np.float32(equity_of(row)) for row in random_rows()] == equities.tolist()
    known = np.array(
        [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0.5, 0, 0, 0, 0], [0, 0, 0, 1, 1]], np.float32
    )
    assert cubeless_equities(known).tolist() == [1, 2, 3, 0, -3]


def test_turned_chances_are_those_of_the_opponent() -> None:
    of_opponent = turned_chances(random_rows())
    assert of_opponent.shape[1] == len(CHANCES)
    assert of_opponent.tolist() == pytest.approx(np.array([turned(row) for row in random_rows().tolist()]), abs=1e-7)
    assert np.allclose(cubeless_equities(of_opponent), -cubeless_equities(random_rows()), atol=1e-6)
    filled = np.empty(5, np.float32)
    for row, expected in zip(random_rows(), of_opponent, strict=True):
        fill_turned(row, filled)
        assert np.array_equal(filled, expected)


@pytest.mark.parametrize("points", [-3, -2, -1, 1, 2, 3])
def test_finished_games_have_certain_chances(points: int) -> None:
    chances, of_opponent = np.full((1, 5), 7, np.float32), np.full((1, 5), 7, np.float32)
    fill_outcome_chances(points, chances[0])
    fill_outcome_chances(-points, of_opponent[0])
    assert cubeless_equities(chances).tolist() == [points]
    assert set(chances[0].tolist()) <= {0, 1}
    assert np.array_equal(turned_chances(chances), of_opponent)


def test_possible_outcomes_match_the_reference() -> None:
    boards = sample_games().boards
    assert len(boards) > 9000
    found = [possible_outcomes(board) for board in boards]
    assert found == [possible_bits(board) for board in boards.tolist()]
    assert set(found) >= {0, 1, 3, 4, 12, 15}, "none, gammons or more of either side, all"


def test_gammons_of_played_games_were_possible_in_all_positions_before() -> None:
    occurred = np.zeros(4, int)
    for game, outcome in enumerate(outcomes()):
        boards = sample_games().boards[sample_games().offsets[game] : sample_games().offsets[game + 1]]
        for turn, board in enumerate(boards):
            points = outcome if turn % 2 == 0 else -outcome  # to the player on roll
            reached = np.array([points > 1, points > 2, points < -1, points < -2])
            bits = int(reached @ [1, 2, 4, 8])
            assert bits & ~possible_outcomes(board) == 0
            occurred += reached
    assert occurred.min() > 50


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
    on_roll = np.array([board], np.int8)
    assert bits_of(possible_outcomes(on_roll[0])) == expected
    assert bits_of(possible_outcomes(flip_boards(on_roll)[0])) == expected[2:] + expected[:2]


def bits_of(outcomes: int) -> list[bool]:
    return [bool(outcomes >> bit & 1) for bit in range(4)]


def test_chances_are_limited_by_those_that_contain_them() -> None:
    """Impossible chances become 0, and no chance exceeds one that includes it."""
    step = len(sample_games().boards) // len(random_rows())
    boards = sample_games().boards[::step][: len(random_rows())]
    chances = random_rows().copy()
    for row, board in zip(chances, boards, strict=True):
        limit_chances(possible_outcomes(board), row)
    expected = [limited(row, board) for row, board in zip(random_rows().tolist(), boards.tolist(), strict=True)]
    assert chances.tolist() == pytest.approx(np.array(expected), abs=1e-7)
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances.T
    assert (win == random_rows()[:, 0]).all()
    assert ((win_backgammon >= 0) & (win_backgammon <= win_gammon) & (win_gammon <= win)).all()
    assert ((lose_backgammon >= 0) & (lose_backgammon <= lose_gammon) & (lose_gammon <= 1 - win)).all()
    limited_twice = chances.copy()
    for row, board in zip(limited_twice, boards, strict=True):
        limit_chances(possible_outcomes(board), row)
    assert np.array_equal(limited_twice, chances)
