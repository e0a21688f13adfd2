"""Games that reference positions come from."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.choices import Chooser, chosen_boards
from bgdata.evaluation.player import RandomPlayer
from bgdata.evaluation.pubeval import PubEval
from bgdata.game.board import START_BOARD
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import check_legal_boards
from bgdata.game.dice import ROLLS
from bgdata.kernel import threads
from bgdata.play.source_games import MOST_TURNS, SourceGames, source_games
from bgdata.play.starts import Start
from tests.evaluation.sample_networks import pips_player
from tests.play.test_starts import begun

PUBEVAL, RANDOM = PubEval().chooser, RandomPlayer(3).chooser
NUMBERS = np.arange(22)
STARTS = (NUMBERS % len(Start)).astype(np.int8)


def network() -> Chooser:
    return pips_player().chooser


def played(
    first: Chooser, second: Chooser, numbers: np.ndarray = NUMBERS, seed: int = 7, changed: bool = False
) -> SourceGames:
    return source_games((first, second), seed, numbers, STARTS[numbers], np.full(len(numbers), changed))


def test_the_same_on_any_threads_and_in_any_batch() -> None:
    with threads(1):
        alone = played(network(), PUBEVAL)
    with threads(2):
        together = played(network(), PUBEVAL)
    some = played(network(), PUBEVAL, NUMBERS[[3, 17]])
    assert np.array_equal(alone.boards, together.boards)
    assert np.array_equal(alone.offsets, together.offsets)
    rows = np.r_[slice(*alone.offsets[3:5].tolist()), slice(*alone.offsets[17:19].tolist())]
    assert np.array_equal(some.boards, alone.boards[rows])
    assert not np.array_equal(played(network(), PUBEVAL, seed=8).boards[:100], alone.boards[:100])


def test_games_begin_where_they_should() -> None:
    found = played(PUBEVAL, PUBEVAL)
    for start in Start:
        assert np.array_equal(found.boards[found.offsets[int(start)]], begun(start, int(start) + 1)[int(start)])


def test_games_go_on_to_the_end() -> None:
    """Every position follows from the one before by the play that a player chooses for some roll, up to one that can
    end the game."""
    found = played(PUBEVAL, PUBEVAL)
    rolls = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)
    check_legal_boards(found.boards)
    assert (game_outcomes(found.boards) == 0).all()
    for begin, end in zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True):
        assert 1 <= end - begin <= MOST_TURNS
        for row in range(begin, end):
            following = chosen_boards(PUBEVAL, np.repeat(found.boards[row : row + 1], len(rolls), axis=0), rolls)
            if row < end - 1:
                assert (following == found.boards[row + 1]).all(axis=1).any()
            elif end - begin < MOST_TURNS:
                assert (game_outcomes(following) != 0).any()


def test_openings_begin_with_two_different_dice() -> None:
    numbers = np.arange(200)
    found = source_games((PUBEVAL, PUBEVAL), 7, numbers, np.zeros(200, np.int8), np.zeros(200, np.bool_))
    second = {tuple(board) for board in found.boards[found.offsets[:-1] + 1].tolist()}
    rolls = np.array([(roll.high, roll.low) for roll in ROLLS if not roll.is_double], np.int8)
    after = chosen_boards(PUBEVAL, np.tile(np.array(START_BOARD, np.int8), (15, 1)), rolls)
    assert second == {tuple(board) for board in after.tolist()}


def test_either_player_begins() -> None:
    """With the same dice, games of two players begin as those of the one with itself, or as those of the other one."""
    mixed, pubeval, random = played(PUBEVAL, RANDOM), played(PUBEVAL, PUBEVAL), played(RANDOM, RANDOM)
    begins = [
        [np.array_equal(mixed.boards[mixed.offsets[game] + 1], each.boards[each.offsets[game] + 1]) for game in NUMBERS]
        for each in (pubeval, random)
    ]
    assert (np.array(begins).any(axis=0)).all()
    assert 3 < sum(begins[0]) < 22
    assert 3 < sum(begins[1]) < 22


def test_perturbed_positions() -> None:
    """One or two checkers of a position are elsewhere, nothing else is changed, and none comes off or onto the bar."""
    plain, changed = played(network(), network()), played(network(), network(), changed=True)
    assert np.array_equal(plain.offsets, changed.offsets)
    check_legal_boards(changed.boards)
    assert (game_outcomes(changed.boards) == 0).all()
    before, after = plain.boards.astype(np.int64), changed.boards.astype(np.int64)
    for sign, bar in ((1, 25), (-1, 0)):
        ours, ours_after = (np.maximum(sign * boards[:, 1:25], 0) for boards in (before, after))
        assert (ours.sum(axis=1) + before[:, bar] == ours_after.sum(axis=1) + after[:, bar]).all()
        assert (after[:, bar] <= before[:, bar]).all()
    moved = (np.abs(before - after).sum(axis=1) + 1) // 2
    assert set(moved.tolist()) == {0, 1, 2}
    assert 0.6 < (moved > 0).mean() < 1.0
    assert (moved == 2).sum() > 50


def test_wrong_numbers() -> None:
    with pytest.raises(UsageError, match="from 0 to 2"):
        played(PUBEVAL, PUBEVAL, seed=-1)
