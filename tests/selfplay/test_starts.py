"""Where games to learn from begin."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.game.board import BAR, OPPONENT_BAR, START_BOARD
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards, check_legal_boards, flip_boards
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS
from bgdata.game.random import random_stream
from bgdata.selfplay.kinds.training_games import STARTS
from bgdata.selfplay.starts import SETUPS, Start, fill_start

COUNT = 400
each_start = pytest.mark.parametrize("start", Start, ids=lambda start: start.label)


def begun(start: Start, count: int = COUNT, seed: int = 7) -> Boards:
    """Boards of games 0 to count - 1 of a seed."""
    boards = np.empty((count, 26), np.int8)
    scratch = np.empty(1, np.int64), np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
    for game in range(count):
        fill_start(int(start), np.uint64(random_stream(seed, game)), boards[game], *scratch)
    return boards


def either_side(boards: Boards) -> np.ndarray:
    """int8[2, n, 26]: the boards seen by either player."""
    return np.stack([boards, flip_boards(boards)])


@each_start
def test_games_can_be_played(start: Start) -> None:
    boards = begun(start)
    check_legal_boards(boards)
    assert (game_outcomes(boards) == 0).all()


@each_start
def test_a_stream_always_begins_the_same(start: Start) -> None:
    assert np.array_equal(begun(start, 20), begun(start, 40)[:20])
    assert start is Start.OPENING or not np.array_equal(begun(start, 20), begun(start, 20, seed=8))


def test_openings() -> None:
    assert (begun(Start.OPENING, 5) == np.array(START_BOARD)).all()


@pytest.mark.parametrize("start", [Start.RANDOM_PLAYS, *SETUPS], ids=lambda start: start.label)
def test_games_differ(start: Start) -> None:
    assert len(np.unique(begun(start), axis=0)) > 0.9 * COUNT


@pytest.mark.parametrize("start", SETUPS, ids=lambda start: start.label)
def test_either_player_may_be_on_roll(start: Start) -> None:
    """Pips of both are about the same on average over sides, and no side has always fewer."""
    boards = begun(start).astype(np.int64)
    ours = np.where(boards[:, 1:] > 0, boards[:, 1:] * np.arange(1, 26), 0).sum(axis=1)
    theirs = np.where(boards[:, 1:25] < 0, -boards[:, 1:25] * np.arange(24, 0, -1), 0).sum(axis=1)
    theirs += 25 * boards[:, OPPONENT_BAR]
    assert 0.4 < (ours > theirs).mean() < 0.6


def test_back_games() -> None:
    """One side holds two of the other's home points; every pair of them comes up."""
    sides = either_side(begun(Start.BACK_GAME, 2000))
    anchors = sides[:, :, 19:25] >= 2
    assert (anchors.sum(axis=2).max(axis=0) >= 2).all()
    pairs = {tuple(np.flatnonzero(row).tolist()) for row in anchors.reshape(-1, 6) if row.sum() == 2}
    assert len(pairs) == 15


def test_ace_points() -> None:
    sides = either_side(begun(Start.ACE_POINT))
    assert (((sides[:, :, 24] >= 2) & (sides[:, :, 19:24] <= 0).all(axis=2)).any(axis=0)).all()


def test_late_hits() -> None:
    """One side has one or two checkers outside its home board, and may have borne off any number of the others."""
    sides = either_side(begun(Start.CONTAINMENT)).astype(np.int64)
    outside = np.maximum(sides[:, :, 7:], 0).sum(axis=2)
    on_board = np.maximum(sides[:, :, 1:], 0).sum(axis=2)
    is_hit = (outside >= 1) & (outside <= 2) & (on_board <= 15)
    assert is_hit.any(axis=0).all()
    assert {int(count) for count in on_board[is_hit]} >= set(range(2, 15))


def test_blitzes() -> None:
    sides = either_side(begun(Start.BLITZ)).astype(np.int64)
    attacked = sides[:, :, OPPONENT_BAR] + np.maximum(-sides[:, :, 1:7], 0).sum(axis=2)
    assert (attacked >= 1).any(axis=0).all()
    assert (sides[:, :, BAR].max(axis=0) > 0).mean() > 0.3


def test_random_plays_are_few_or_many() -> None:
    boards = begun(Start.RANDOM_PLAYS)
    changed = (boards != np.array(START_BOARD)).sum(axis=1)
    assert changed.min() >= 2
    assert changed.max() > 16


def test_declarations_have_the_same_names() -> None:
    """They write them down once more, as they import no kernels."""
    assert tuple(start.label for start in Start) == STARTS[:-1]
