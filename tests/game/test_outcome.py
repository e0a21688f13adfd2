"""How games end, for positions and for arrays of boards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from bgdata.errors import InvalidPositionError
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.outcome import Outcome, check_in_progress, check_occurs, game_outcome, is_over
from bgdata.game.position import START, Position
from tests.game.test_codec import batches
from tests.game.test_plays import position


@pytest.mark.parametrize(
    ("opponent", "opponent_bar", "outcome"),
    [
        ({19: 14}, 0, Outcome.WINS_SINGLE),
        ({1: 14}, 0, Outcome.WINS_SINGLE),
        ({19: 15}, 0, Outcome.WINS_GAMMON),
        ({24: 14, 7: 1}, 0, Outcome.WINS_GAMMON),
        ({24: 14, 6: 1}, 0, Outcome.WINS_BACKGAMMON),
        ({24: 14}, 1, Outcome.WINS_BACKGAMMON),
        ({24: 13}, 1, Outcome.WINS_SINGLE),
    ],
)
def test_ends(opponent: dict[int, int], opponent_bar: int, outcome: Outcome) -> None:
    won = position({}, opponent, opponent_bar)
    assert game_outcome(won) is outcome
    assert game_outcome(won.flip()) is Outcome(-outcome)
    assert is_over(won)
    assert game_outcomes(np.array([won.board, won.flip().board], np.int8)).tolist() == [outcome, -outcome]


def test_fewer_checkers_as_in_hypergammon() -> None:
    assert game_outcome(START) is Outcome.UNFINISHED
    assert not is_over(START)
    won = position({}, {24: 2, 3: 1})
    assert game_outcome(won) is Outcome.WINS_SINGLE
    assert game_outcome(won, checkers=3) is Outcome.WINS_BACKGAMMON
    assert game_outcomes(np.array([won.board], np.int8), checkers=3).tolist() == [3]


@given(batches)
def test_arrays_equal_one_at_a_time(batch: Boards) -> None:
    ended = batch.copy()
    ended[:, 1:][ended[:, 1:] > 0] = 0  # the player on roll has borne off
    for rows in (batch, ended, flip_boards(ended)):
        assert game_outcomes(rows).tolist() == [game_outcome(Position(board)) for board in rows.tolist()]


def test_games_in_progress() -> None:
    assert check_in_progress(START) == check_occurs(START) == START
    won = position({}, {19: 14})
    assert check_occurs(won) == won
    with pytest.raises(InvalidPositionError, match="in which the player on roll has borne off every checker"):
        check_in_progress(won)
    with pytest.raises(InvalidPositionError, match="in which the opponent has borne off every checker"):
        check_in_progress(won.flip())
    for check in (check_occurs, check_in_progress):
        with pytest.raises(InvalidPositionError, match="expected a position with checkers, got AAAAAAAAAAAAAA"):
            check(Position([0] * 26))
