"""Classes of positions: boundaries by example, arrays against single positions, and gnubg."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from bgdata.errors import InvalidPositionError
from bgdata.game.board_kernels import game_outcomes, position_classes
from bgdata.game.classes import (
    Outcome,
    PositionClass,
    check_has_checkers,
    check_in_progress,
    game_outcome,
    is_over,
    position_class,
)
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position import START, Position, parse_key20
from tests.game.gnubg_rules import gnubg_classes
from tests.game.test_codec import batches
from tests.game.test_plays import position
from tests.oracles import needs_gnubg_tool
from tests.random_games import random_game_positions
from tests.subtests import each


@each(
    ("own", "opponent", "expected"),
    [
        ({}, {24: 1}, PositionClass.OVER),
        ({1: 1}, {}, PositionClass.OVER),
        ({6: 6}, {19: 6}, PositionClass.BEAROFF_TWO_SIDED),
        ({6: 7}, {19: 6}, PositionClass.BEAROFF_ONE_SIDED),
        ({6: 1}, {19: 15}, PositionClass.BEAROFF_ONE_SIDED),
        ({7: 1}, {19: 1}, PositionClass.RACE),
        ({12: 9}, {13: 9}, PositionClass.RACE),
        ({14: 9}, {13: 9}, PositionClass.CONTACT),
        ({14: 7}, {13: 6}, PositionClass.CRASHED),
        ({14: 6, 1: 2}, {13: 9}, PositionClass.CRASHED),
        ({14: 6, 1: 1}, {13: 9}, PositionClass.CONTACT),
        ({14: 5, 1: 2, 2: 2}, {13: 9}, PositionClass.CRASHED),
        ({14: 6, 2: 1}, {13: 9}, PositionClass.CONTACT),
        ({14: 5, 2: 2}, {13: 9}, PositionClass.CRASHED),
        ({14: 5, 1: 1, 2: 1}, {13: 9}, PositionClass.CONTACT),
        ({25: 7}, {18: 7}, PositionClass.CONTACT),
        ({25: 7}, {24: 7}, PositionClass.CRASHED),
    ],
)
def test_positions_at_the_boundaries_have_the_right_class(
    own: dict[int, int], opponent: dict[int, int], expected: PositionClass
) -> None:
    assert position_class(position(own, opponent)) is expected
    assert position_class(position(own, opponent).flip()) is expected


def test_file_class_has_only_the_classes_of_gnubg_files() -> None:
    assert position_class(START).file_class is PositionClass.CONTACT
    assert position_class(parse_key20("NIKOIJADCANIGOAHADBA")).file_class is PositionClass.CONTACT
    assert PositionClass.BEAROFF_ONE_SIDED.file_class is PositionClass.RACE
    assert PositionClass.OVER.file_class is PositionClass.OVER
    assert [kind.name for kind in PositionClass if kind.is_race] == ["BEAROFF_TWO_SIDED", "BEAROFF_ONE_SIDED", "RACE"]


@given(batches)
def test_array_classes_match_single_positions(batch: Boards) -> None:
    expected = [position_class(Position(board)) for board in batch.tolist()]
    assert position_classes(batch).tolist() == expected


@needs_gnubg_tool("gnubg")
def test_classes_match_gnubg(tmp_path: Path) -> None:
    games = random_game_positions(200, seed=30).boards
    generator = np.random.default_rng(30)
    boards = np.concatenate(
        [
            games,
            with_fewer_checkers(games, generator, least_kept=0.6),
            with_fewer_checkers(games, generator, least_kept=0.2),
            home_boards(3000, generator),
        ]
    )
    classes = position_classes(boards).tolist()
    assert set(classes) == set(PositionClass)
    assert min(Counter(classes).values()) > 100
    positions = [Position(board) for board in boards.tolist()]
    assert gnubg_classes(positions, tmp_path) == classes
    assert list(map(position_class, positions)) == classes


def with_fewer_checkers(boards: Boards, generator: np.random.Generator, least_kept: float) -> Boards:
    """Boards on which some points have half of their checkers or none; at least the share `least_kept` of the points
    stays in the mean."""
    shares = generator.uniform(least_kept, 1, (len(boards), 1))
    is_kept = generator.random(boards.shape) < shares
    is_halved = generator.random(boards.shape) < 0.5
    halves = np.trunc(boards / 2).astype(np.int8)
    return np.where(is_kept, boards, np.where(is_halved, halves, 0)).astype(np.int8)


def home_boards(count: int, generator: np.random.Generator) -> Boards:
    """Boards with both sides within 8 points, most within 6, up to 15 checkers each."""
    boards = np.zeros((count, 26), np.int8)
    rows = np.arange(count)
    for _ in range(15):
        boards[rows, generator.integers(1, 9, count)] += generator.random(count) < 0.5
        boards[rows, generator.integers(17, 25, count)] -= generator.random(count) < 0.5
    is_in_home = generator.random(count) < 0.7
    boards[is_in_home, 7:19] = 0
    return boards


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
def test_finished_games_have_outcomes(opponent: dict[int, int], opponent_bar: int, outcome: Outcome) -> None:
    won = position({}, opponent, opponent_bar)
    assert game_outcome(won) is outcome
    assert game_outcome(won.flip()) is Outcome(-outcome)
    assert is_over(won)
    assert game_outcomes(np.array([won.board, won.flip().board], np.int8)).tolist() == [outcome, -outcome]


def test_gammons_depend_on_number_of_checkers() -> None:
    assert game_outcome(START) is Outcome.UNFINISHED
    assert not is_over(START)
    won = position({}, {24: 2, 3: 1})
    assert game_outcome(won) is Outcome.WINS_SINGLE
    assert game_outcome(won, checkers=3) is Outcome.WINS_BACKGAMMON
    assert game_outcomes(np.array([won.board], np.int8), checkers=3).tolist() == [3]


@given(batches)
def test_array_outcomes_match_single_positions(batch: Boards) -> None:
    ended = batch.copy()
    ended[:, 1:][ended[:, 1:] > 0] = 0  # the player on roll has borne off
    for rows in (batch, ended, flip_boards(ended)):
        assert game_outcomes(rows).tolist() == [game_outcome(Position(board)) for board in rows.tolist()]


def test_finished_games_are_not_in_progress() -> None:
    assert check_in_progress(START) == START
    won = position({}, {19: 14})
    with pytest.raises(InvalidPositionError, match="in which the player on roll has borne off every checker"):
        check_in_progress(won)
    with pytest.raises(InvalidPositionError, match="in which the opponent has borne off every checker"):
        check_in_progress(won.flip())


def test_empty_boards_have_no_checkers() -> None:
    won = position({}, {19: 14})
    assert check_has_checkers(won) == won
    for check in (check_has_checkers, check_in_progress):
        with pytest.raises(InvalidPositionError, match="expected a position with checkers, got AAAAAAAAAAAAAA"):
            check(Position([0] * 26))
