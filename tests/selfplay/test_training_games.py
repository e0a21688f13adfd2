"""Games played for training."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import turned_chances
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import MAX_LIKELY, evaluations_ahead, likely_plays
from bgdata.game.board import BAR, OPPONENT_BAR, START_BOARD
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards, check_legal_boards, flip_boards
from bgdata.game.play_kernels import MAX_NOTES, MAX_PLAYS
from bgdata.game.random import random_stream
from bgdata.kernel import threads
from bgdata.selfplay.kinds import training_games as declared
from bgdata.selfplay.training_games import GIVEN, MAX_TURNS, Start, TrainingGames, fill_start, training_games
from tests.evaluation.sample_networks import pips_networks, random_networks
from tests.reference.networks import limited

STARTS = np.array([*Start][:-1] * 2, np.int8)  # except given positions


def play_training_games(
    networks: Networks, starts: np.ndarray = STARTS, seed: int = 5, first: int = 0, **how: Any
) -> TrainingGames:
    """Play training games without bearoff tables."""
    return training_games(networks, NO_TABLES, starts, seed, first, **how)


def test_games_do_not_depend_on_threads_and_batches() -> None:
    networks = pips_networks()
    with threads(1):
        on_one_thread = play_training_games(networks, overlooked=0.3, td_lambda=0.7)
    with threads(2):
        on_two_threads = play_training_games(networks, overlooked=0.3, td_lambda=0.7)
    for name in TrainingGames._fields:
        assert np.array_equal(getattr(on_one_thread, name), getattr(on_two_threads, name)), name
    from_game_9 = play_training_games(networks, STARTS[9:], first=9, overlooked=0.3, td_lambda=0.7)
    assert np.array_equal(from_game_9.returns, on_one_thread.returns[on_one_thread.offsets[9] :])
    other_seed = play_training_games(networks, seed=6)
    assert not np.array_equal(other_seed.boards[:50], on_one_thread.boards[:50])


def test_positions_are_legal_and_games_end() -> None:
    games = play_training_games(pips_networks(), overlooked=0.5)
    check_legal_boards(games.boards)
    assert len(games.offsets) == len(STARTS) + 1
    assert games.offsets[-1] == len(games.boards)
    assert np.diff(games.offsets).max() <= MAX_TURNS


@pytest.mark.parametrize("likely", [0, 2])
def test_chances_equal_evaluations_by_the_network(likely: int) -> None:
    networks = random_networks(0)
    games = play_training_games(networks, STARTS[:6], likely=likely)
    assert np.array_equal(games.static, evaluations(networks, NO_TABLES, games.boards).chances)
    expected = evaluations_ahead(networks, NO_TABLES, games.boards, 1, likely_plays(likely)).chances
    assert np.abs(games.lookahead - expected).max() < 1e-6


@pytest.mark.parametrize("td_lambda", [0.0, 0.5, 1.0])
def test_returns_match_the_reference(td_lambda: float) -> None:
    """Returns equal those of a reference that goes from the last turn back in double precision."""
    games = play_training_games(random_networks(1), STARTS[:8], td_lambda=td_lambda)
    lookahead = games.lookahead.astype(np.float64)
    static = games.static.astype(np.float64)
    for begin, end in pairwise(games.offsets.tolist()):
        chances = lookahead[end - 1]
        for turn in range(end - 1, begin - 1, -1):
            if turn < end - 1:
                difference = turned_chances(chances[None])[0] - turned_chances(static[turn + 1][None])[0]
                chances = lookahead[turn] + td_lambda * difference
            expected = limited(chances.clip(0, 1).tolist(), games.boards[turn].tolist())
            assert games.returns[turn].tolist() == pytest.approx(expected, abs=1e-5)


def test_returns_stop_at_overlooked_plays() -> None:
    """If the player may overlook plays in every turn, no return reaches beyond the next turn."""
    far_sighted = play_training_games(random_networks(1), STARTS[:8], overlooked=1.0, td_lambda=1.0)
    near_sighted = play_training_games(random_networks(1), STARTS[:8], overlooked=1.0, td_lambda=0.0)
    assert np.array_equal(far_sighted.boards, near_sighted.boards)
    assert np.array_equal(far_sighted.returns, near_sighted.returns)


def test_games_begin_at_given_positions() -> None:
    positions = play_training_games(pips_networks(), STARTS[2:5]).boards[:3]
    starts = np.array([GIVEN, Start.OPENING, GIVEN], np.int8)
    games = play_training_games(pips_networks(), starts, positions=positions)
    first_boards = games.boards[games.offsets[:-1]].tolist()
    assert first_boards == [positions[0].tolist(), list(START_BOARD), positions[2].tolist()]
    with pytest.raises(UsageError, match=r"^expected 3 positions where games begin, got 0$"):
        play_training_games(pips_networks(), starts)
    with pytest.raises(UsageError, match=r"^expected 3 positions where games begin, got 2$"):
        play_training_games(pips_networks(), starts, positions=positions[:2])


def test_invalid_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to 2"):
        play_training_games(pips_networks(), seed=-1)


COUNT = 400
each_start = pytest.mark.parametrize("start", Start, ids=lambda start: start.label)


def start_boards(start: Start, count: int = COUNT, seed: int = 7) -> Boards:
    """The first boards of `count` games of a seed that begin with this kind of start."""
    boards = np.empty((count, 26), np.int8)
    scratch = np.empty(1, np.int64), np.empty((MAX_PLAYS, 26), np.int8), np.empty(MAX_NOTES, np.int64)
    for game in range(count):
        fill_start(int(start), np.uint64(random_stream(seed, game)), boards[game], *scratch)
    return boards


def either_side(boards: Boards) -> np.ndarray:
    """int8[2, n, 26]: the boards from either player's point of view."""
    return np.stack([boards, flip_boards(boards)])


@each_start
def test_starts_are_playable_and_different(start: Start) -> None:
    """Starts are legal positions of unfinished games, nearly all different; the same stream gives the same start."""
    boards = start_boards(start)
    check_legal_boards(boards)
    assert (game_outcomes(boards) == 0).all()
    assert np.array_equal(start_boards(start, 20), boards[:20])
    if start is Start.OPENING:
        assert (boards == np.array(START_BOARD)).all()
    else:
        assert not np.array_equal(start_boards(start, 20, seed=8), boards[:20])
        assert len(np.unique(boards, axis=0)) > 0.9 * COUNT


@pytest.mark.parametrize("start", [start for start in Start if start >= Start.BACK_GAME], ids=lambda start: start.label)
def test_sides_are_treated_alike(start: Start) -> None:
    """Players on roll and opponents have about the same mean pip count, and neither is always ahead."""
    boards = start_boards(start).astype(np.int64)
    pips = (np.maximum(boards[:, 1:], 0) * np.arange(1, 26)).sum(axis=1)
    opponent_pips = (np.maximum(-boards[:, :25], 0) * np.arange(25, 0, -1)).sum(axis=1)
    assert 0.4 < (pips > opponent_pips).mean() < 0.6


def test_back_games_hold_two_home_points() -> None:
    """Back games hold two home points of the other side; every pair of points occurs."""
    sides = either_side(start_boards(Start.BACK_GAME, 2000))
    anchors = sides[:, :, 19:25] >= 2
    assert (anchors.sum(axis=2).max(axis=0) >= 2).all()
    pairs = {tuple(np.flatnonzero(row).tolist()) for row in anchors.reshape(-1, 6) if row.sum() == 2}
    assert len(pairs) == 15


def test_ace_points_hold_the_ace_point() -> None:
    sides = either_side(start_boards(Start.ACE_POINT))
    has_ace_point = sides[:, :, 24] >= 2
    has_no_other_anchor = (sides[:, :, 19:24] <= 0).all(axis=2)
    assert (has_ace_point & has_no_other_anchor).any(axis=0).all()


def test_containment_starts_leave_one_or_two_checkers_outside() -> None:
    """Containment starts leave one or two checkers of a side outside its home board; any number of the others may be
    off."""
    sides = either_side(start_boards(Start.CONTAINMENT)).astype(np.int64)
    outside = np.maximum(sides[:, :, 7:], 0).sum(axis=2)
    on_board = np.maximum(sides[:, :, 1:], 0).sum(axis=2)
    is_contained = (outside >= 1) & (outside <= 2) & (on_board <= 15)
    assert is_contained.any(axis=0).all()
    assert set(on_board[is_contained].tolist()) >= set(range(2, 15))


def test_blitzes_attack_checkers_without_an_anchor() -> None:
    sides = either_side(start_boards(Start.BLITZ)).astype(np.int64)
    attacked = sides[:, :, OPPONENT_BAR] + np.maximum(-sides[:, :, 1:7], 0).sum(axis=2)
    assert (attacked >= 1).any(axis=0).all()
    assert (sides[:, :, BAR].max(axis=0) > 0).mean() > 0.3


def test_random_starts_are_near_the_opening_or_far_from_it() -> None:
    boards = start_boards(Start.RANDOM_PLAYS)
    n_changed_points = (boards != np.array(START_BOARD)).sum(axis=1)
    assert 2 <= n_changed_points.min() <= 6
    assert n_changed_points.max() > 16


def test_declarations_equal_the_kernels() -> None:
    """The declarations of the kind repeat the kernels' constants, which they cannot import, without a difference."""
    assert tuple(start.label for start in Start) == declared.STARTS[:-1]
    assert declared.MAX_LIKELY == MAX_LIKELY
