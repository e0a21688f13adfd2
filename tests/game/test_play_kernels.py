"""Plays in bulk: against the twin and `plays` (order included), for every roll, on any number of threads."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, InvalidRollError
from bgdata.game.codec import Boards, flip_boards, pip_counts
from bgdata.game.dice import ORDERED_ROLLS, ROLLS, Roll
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, batch_plays, fill_plays, play_counts
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.game.strategies import boards
from tests.random_games import random_game_positions
from tests.reference.plays import boards_after

exhaustive = pytest.mark.skipif("BGDATA_EXHAUSTIVE" not in os.environ, reason="minutes; set BGDATA_EXHAUSTIVE=1 to run")
batches = st.lists(boards(), min_size=1, max_size=8).map(lambda rows: np.array(rows, np.int8))
rolls = st.sampled_from(ROLLS)


def parts(offsets: NDArray[np.int64], after_play: Boards) -> list[list[tuple[int, ...]]]:
    rows = list(map(tuple, after_play.tolist()))
    return [rows[begin:end] for begin, end in pairwise(offsets)]


def check_against_twin(positions: Boards, dice: NDArray[np.int8]) -> int:
    """Compare every row; returns how many there were."""
    found = parts(*batch_plays(positions, dice))
    for board, roll, plays in zip(positions.tolist(), dice.tolist(), found, strict=True):
        assert len(set(plays)) == len(plays), (board, roll)
        assert set(plays) == boards_after(board, *roll), (board, roll)
    return len(found)


def check_games(first: int) -> int:
    games = random_game_positions(500, seed=11, first=first)
    return check_against_twin(games.boards, games.rolls)


def test_same_plays_in_the_same_order_as_one_at_a_time() -> None:
    games = random_game_positions(30, seed=1)
    found = parts(*batch_plays(games.boards, games.rolls))
    for board, (die, other_die), plays in zip(games.boards.tolist(), games.rolls.tolist(), found, strict=True):
        roll = Roll(max(die, other_die), min(die, other_die))
        assert plays == [play.after_play.board for play in legal_plays(Position(board), roll)]


@given(batches, rolls)
def test_same_plays_on_boards_that_no_game_reaches(batch: Boards, roll: Roll) -> None:
    found = parts(*batch_plays(batch, np.tile([roll.low, roll.high], (len(batch), 1))))
    for board, plays in zip(batch.tolist(), found, strict=True):
        assert plays == [play.after_play.board for play in legal_plays(Position(board), roll)]


def test_all_36_ordered_rolls() -> None:
    positions = random_game_positions(100, seed=2).boards[::30]
    for first, second in ORDERED_ROLLS:
        dice = np.tile(np.array([first, second], np.int8), (len(positions), 1))
        if first >= second:
            check_against_twin(positions, dice)
        offsets, after_play = batch_plays(positions, dice)
        swapped_offsets, swapped = batch_plays(positions, dice[:, ::-1])
        assert np.array_equal(offsets, swapped_offsets)
        assert np.array_equal(after_play, swapped)


def test_thousands_of_positions_of_games() -> None:
    games = random_game_positions(150, seed=3)
    assert check_against_twin(games.boards, games.rolls) > 10_000


@pytest.mark.slow
@exhaustive
def test_millions_of_positions_of_games() -> None:
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as executor:
        assert sum(executor.map(check_games, range(0, 22_000, 500))) > 2_000_000


@pytest.mark.slow
@exhaustive
def test_what_tens_of_millions_of_plays_keep() -> None:
    for first in range(0, 20_000, 1000):
        games = random_game_positions(1000, seed=4, first=first)
        offsets, after_play = batch_plays(games.boards, games.rolls)
        before = np.repeat(games.boards, np.diff(offsets), axis=0)
        dice = np.repeat(games.rolls, np.diff(offsets), axis=0).astype(np.int64)
        assert (checkers(flip_boards(before)) == checkers(flip_boards(after_play))).all()
        assert (checkers(before) >= checkers(after_play)).all()
        pips, hit_pips = (pip_counts(before).astype(np.int64) - pip_counts(after_play)).T
        assert (hit_pips <= 0).all()
        assert (pips <= dice.sum(axis=1) * np.where(dice[:, 0] == dice[:, 1], 2, 1)).all()
        assert (pips >= 0).all()


def checkers(boards: Boards) -> NDArray[np.int64]:
    """Checkers on the board of the player on roll."""
    return np.maximum(boards[:, 1:], 0).sum(axis=1, dtype=np.int64)


def test_any_number_of_threads() -> None:
    games = random_game_positions(20, seed=5)
    results = []
    for count in (1, 2):
        with threads(count):
            results.append(batch_plays(games.boards, games.rolls))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


def test_counts() -> None:
    games = random_game_positions(20, seed=6)
    offsets, _ = batch_plays(games.boards, games.rolls)
    assert np.array_equal(play_counts(games.boards, games.rolls), np.diff(offsets))


def test_from_other_kernels() -> None:
    """`fill_plays` writes what there is room for, and counts all."""
    board = np.array(START.board, np.int8)
    notes = np.empty(MOST_NOTES, np.int64)
    _, expected = batch_plays(board[None], np.array([[3, 3]]))
    after = np.full((MOST_PLAYS, 26), 77, np.int8)
    assert fill_plays(board, 3, 3, after, notes) == len(expected) == 73
    assert np.array_equal(after[:73], expected)
    assert (after[73:] == 77).all()
    for scratch in (0, 1, 5):
        few = np.full((scratch + 1, 26), 77, np.int8)
        assert fill_plays(board, 3, 3, few[:scratch], notes) == 73
        assert np.array_equal(few[:scratch], expected[:scratch])
        assert (few[scratch] == 77).all()
    assert board.tolist() == list(START.board)


def test_the_widest_positions_have_room() -> None:
    """Fifteen single checkers with nothing in the way, and other boards with very many plays."""
    spread = np.zeros((3, 26), np.int8)
    spread[0, 10:25] = spread[1, 5:20] = spread[2, 2:25:2] = 1
    spread[2, 24] = 4
    spread[:, 0] = 1
    for die in range(1, 7):
        dice = np.full((3, 2), die, np.int8)
        check_against_twin(spread, dice)
        assert play_counts(spread, dice).max() <= MOST_PLAYS


def test_no_rows() -> None:
    offsets, after_play = batch_plays(np.empty((0, 26), np.int8), np.empty((0, 2), np.int8))
    assert offsets.tolist() == [0]
    assert after_play.shape == (0, 26)


def test_wrong_arrays() -> None:
    board = np.array([START.board], np.int8)
    with pytest.raises(InvalidPositionError, match=r"expected boards as int8\[n, 26\], got int64\[1, 26\]"):
        batch_plays(board.astype(np.int64), np.array([[3, 1]]))
    with pytest.raises(InvalidRollError, match=r"expected rolls as integers\[1, 2\], got int64\[1, 3\]"):
        batch_plays(board, np.array([[3, 1, 1]]))
    with pytest.raises(InvalidRollError, match=r"expected rolls as integers\[1, 2\], got float64\[1, 2\]"):
        batch_plays(board, np.array([[3.0, 1.0]]))
    with pytest.raises(InvalidRollError, match=r"expected dice from 1 to 6, got \[3, 7\] in row 0"):
        play_counts(board, np.array([[3, 7]]))
    with pytest.raises(
        InvalidPositionError, match=r"expected at most 15 checkers of the player on roll, got .* in row 0"
    ):
        batch_plays(board + np.int8(1), np.array([[3, 1]]))
