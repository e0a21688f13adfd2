"""Games played to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import Chances, turned_chances
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import MOST_LIKELY, evaluations_ahead, likely_plays
from bgdata.game.board import BAR, OPPONENT_BAR, START_BOARD
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards, check_legal_boards, flip_boards
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS
from bgdata.game.random import random_stream
from bgdata.kernel import threads
from bgdata.selfplay.kinds import training_games as declared
from bgdata.selfplay.training_games import GIVEN, MOST_TURNS, SETUPS, Start, TrainingGames, fill_start, training_games
from tests.evaluation.sample_networks import pips_networks, random_networks
from tests.reference.networks import limited

STARTS = np.array([*Start][:-1] * 2, np.int8)  # but for positions that are given


def played(networks: Networks, starts: np.ndarray = STARTS, seed: int = 5, first: int = 0, **how: Any) -> TrainingGames:
    """Games without tables."""
    return training_games(networks, NO_TABLES, starts, seed, first, **how)


def test_the_same_on_any_threads_and_in_any_batch() -> None:
    networks = pips_networks()
    with threads(1):
        alone = played(networks, overlooked=0.3, td_lambda=0.7)
    with threads(2):
        together = played(networks, overlooked=0.3, td_lambda=0.7)
    for name in TrainingGames._fields:
        assert np.array_equal(getattr(alone, name), getattr(together, name))
    later = played(networks, STARTS[9:], first=9, overlooked=0.3, td_lambda=0.7)
    assert np.array_equal(later.returns, alone.returns[alone.offsets[9] :])
    assert not np.array_equal(played(networks, seed=6).boards[:50], alone.boards[:50])


def test_positions_follow_each_other() -> None:
    """Every position is one that a legal play of some roll leads to from the one before."""
    found = played(pips_networks(), overlooked=0.5)
    check_legal_boards(found.boards)
    assert len(found.offsets) == len(STARTS) + 1
    assert found.offsets[-1] == len(found.boards)
    assert np.diff(found.offsets).max() <= MOST_TURNS


def test_chances_are_those_of_the_network() -> None:
    networks = random_networks(0)
    for likely in (0, 2):
        found = played(networks, STARTS[:6], likely=likely)
        assert np.array_equal(found.static, evaluations(networks, NO_TABLES, found.boards).chances)
        expected = evaluations_ahead(networks, NO_TABLES, found.boards, 1, likely_plays(likely)).chances
        assert np.abs(found.lookahead - expected).max() < 1e-6


def test_returns_without_lambda_are_chances_of_1_ply() -> None:
    found = played(random_networks(0), STARTS[:6], overlooked=0.5)
    expected = [limited(row, board) for row, board in zip(found.lookahead.tolist(), found.boards.tolist(), strict=True)]
    assert np.abs(found.returns - np.array(expected)).max() < 1e-6


@pytest.mark.parametrize("td_lambda", [0.5, 1.0])
def test_returns_of_the_twin(td_lambda: float) -> None:
    """From the last turn back, in doubles."""
    found = played(random_networks(1), STARTS[:8], td_lambda=td_lambda)
    for begin, end in zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True):
        later: Chances | None = None
        for turn in range(end - 1, begin - 1, -1):
            value = found.lookahead[turn].astype(np.float64)
            if later is not None:
                ahead = (
                    turned_chances(later[None])[0] - turned_chances(found.static[turn + 1].astype(np.float64)[None])[0]
                )
                value = value + td_lambda * ahead
            later = value
            expected = limited(value.clip(0, 1).tolist(), found.boards[turn].tolist())
            assert found.returns[turn].tolist() == pytest.approx(expected, abs=1e-5)


def test_returns_stop_at_overlooked_plays() -> None:
    """If every turn may be overlooked, no return goes on."""
    found = played(random_networks(1), STARTS[:8], overlooked=1.0, td_lambda=1.0)
    plain = played(random_networks(1), STARTS[:8], overlooked=1.0, td_lambda=0.0)
    assert np.array_equal(found.boards, plain.boards)
    assert np.array_equal(found.returns, plain.returns)


def test_positions_that_are_given() -> None:
    networks, boards = pips_networks(), played(pips_networks(), STARTS[2:5]).boards[:3]
    starts = np.array([GIVEN, Start.OPENING, GIVEN], np.int8)
    found = played(networks, starts, positions=boards)
    expected = boards.copy()
    expected[1] = START_BOARD
    assert np.array_equal(found.boards[found.offsets[:-1]], expected)
    with pytest.raises(UsageError, match=r"^expected 3 positions where games begin, got 0$"):
        played(networks, starts)
    with pytest.raises(UsageError, match=r"^expected 3 positions where games begin, got 2$"):
        played(networks, starts, positions=boards[:2])


def test_wrong_numbers() -> None:
    with pytest.raises(UsageError, match="from 0 to 2"):
        played(pips_networks(), seed=-1)


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
def test_games_can_be_played_and_differ(start: Start) -> None:
    """A stream always begins the same."""
    boards = begun(start)
    check_legal_boards(boards)
    assert (game_outcomes(boards) == 0).all()
    assert np.array_equal(begun(start, 20), boards[:20])
    if start is Start.OPENING:
        assert (boards == np.array(START_BOARD)).all()
    else:
        assert not np.array_equal(begun(start, 20, seed=8), boards[:20])
        assert len(np.unique(boards, axis=0)) > 0.9 * COUNT


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


def test_declarations_say_the_same() -> None:
    """They write it down once more, as they import no kernels."""
    assert tuple(start.label for start in Start) == declared.STARTS[:-1]
    assert declared.MOST_LIKELY == MOST_LIKELY
