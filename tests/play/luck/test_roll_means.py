"""Positions at 1-ply: the kernel against any evaluator's way, and its twin in fractions."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities, turned_chances
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.roll_values import likely_plays
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.play.luck.roll_means import RollMeans, roll_means
from bgdata.play.random_games import random_game_positions
from tests.evaluation.sample_networks import random_networks
from tests.reference.lookahead import Board, Chances, chances_ahead
from tests.reference.pubeval import integer_weights, score

GAMES = random_game_positions(25, seed=31).boards
FINISHED = np.array([[0] * 6 + [-3] + [0] * 19, [0] * 20 + [5] + [0] * 4 + [1]], np.int8)  # won, lost
PLAYER = NetworkPlayer(random_networks(0), NO_TABLES)
CONTACT = integer_weights(files("bgdata.evaluation").joinpath("weights", "pubeval_contact.txt").read_text())


def means(player: NetworkPlayer, boards: Boards) -> RollMeans:
    return roll_means(player.networks, player.tables, boards)


def judged(player: NetworkPlayer, board: Board) -> tuple[Chances, bool]:
    """What the twin is told of a board."""
    found = player.evaluate_many(np.array([board], np.int8))
    return tuple(map(Fraction, found.chances[0].tolist())), AnswerSource(int(found.sources[0])).is_final


@pytest.mark.parametrize("number", [0, 1, 2])
def test_means_are_those_of_any_evaluator(number: int) -> None:
    player = NetworkPlayer(random_networks(number), NO_TABLES)
    boards = np.concatenate([GAMES[number::90], FINISHED])
    found, expected = means(player, boards), evaluate_ahead(player.seeing_all(), boards, 1)
    assert len(boards) > 15
    assert found.chances == pytest.approx(expected.chances, abs=3e-6)  # where the rules hold, and rounding
    assert np.array_equal(found.static_chances, player.evaluate_many(boards).chances)
    assert np.array_equal(found.sources, expected.sources)
    assert (np.abs(found.chances - found.static_chances).max(axis=1) > 0.001).sum() > 10


def test_means_are_those_of_the_twin() -> None:
    boards = np.array([START.board, GAMES[200], GAMES[-20]], np.int8)
    found = means(PLAYER, boards)
    for row, board in enumerate(boards.tolist()):
        expected = chances_ahead(lambda each: judged(PLAYER, each), tuple(board), 1)
        assert found.chances[row].tolist() == pytest.approx([float(chance) for chance in expected], abs=3e-6)


@pytest.mark.parametrize("most", [1, 3, 21])
def test_means_of_likely_plays(most: int) -> None:
    """The best, by the network, of the plays that the twin of PubEval scores highest; of all where contact is over."""
    boards = GAMES[::40]
    found = roll_means(PLAYER.networks, PLAYER.tables, boards, likely_plays(most)).chances
    expected = means(PLAYER, boards).chances
    is_contact = position_classes(boards) > PositionClass.RACE
    assert 5 < is_contact.sum() < len(boards)
    assert np.array_equal(found[~is_contact], expected[~is_contact])
    for row in np.flatnonzero(is_contact).tolist():
        assert found[row] == pytest.approx(mean_of_likely(boards[row], most), abs=3e-6)
    assert (np.abs(found - expected).max(axis=1) > 0.001).sum() > (5 if most < 21 else -1)


def mean_of_likely(board: Boards, most: int) -> NDArray[np.float64]:
    """The five chances, averaged over the rolls."""
    total = np.zeros(5)
    for roll in ROLLS:
        _, plays = batch_plays(board[None], np.array([[roll.high, roll.low]], np.int8))
        scores = [score(play, CONTACT) for play in plays.tolist()]
        kept = plays[np.argsort(-np.array(scores), kind="stable")[:most]]
        chances = turned_chances(PLAYER.evaluate_many(flip_boards(kept)).chances)
        total += roll.weight / 36 * chances[cubeless_equities(chances).argmax()]
    return total


def test_wrong_numbers_of_likely_plays() -> None:
    for most in (-1, 22):
        with pytest.raises(UsageError, match=f"^expected 1 to 21 likely plays of a roll, or 0 for all, got {most}$"):
            likely_plays(most)


def test_tables_and_rules_are_not_looked_beyond(player_root: object) -> None:
    bearoff = open_bearoff(bgdata.open_warehouse(str(player_root)))
    player = NetworkPlayer(random_networks(0), bearoff.arrays)
    short = [[0, 2] + [0] * 20 + [-1, 0, -2, 0], [0, 0, 0, 1] + [0] * 18 + [-2, 0, 0, 0]]  # three checkers at most
    boards = np.concatenate([GAMES, np.array(short, np.int8), FINISHED])
    _, sources = bearoff.evaluate_many(boards)
    covered = np.concatenate([np.flatnonzero(sources > 0)[-40:], len(boards) - np.arange(1, 3)])
    found = means(player, boards[covered])
    assert np.array_equal(found.chances, found.static_chances)
    assert np.array_equal(found.chances[:-2], bearoff.evaluate_many(boards[covered[:-2]]).chances)
    assert set(found.sources[:-2]) == {AnswerSource.EXACT, AnswerSource.COMBINED}
    assert found.sources[-2:].tolist() == [AnswerSource.OVER, AnswerSource.OVER]
    assert sorted(found.chances[-2:, 0].tolist()) == [0, 1]


def test_means_keep_the_rules() -> None:
    chances = means(PLAYER, GAMES[::20]).chances
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances.T
    assert (win <= 1).all()
    assert (win_gammon <= win).all()
    assert (lose_gammon <= np.float32(1) - win).all()
    assert (win_backgammon <= win_gammon).all()
    assert (lose_backgammon <= lose_gammon).all()
    assert chances.min() >= 0


def test_means_do_not_depend_on_threads_or_company() -> None:
    boards = GAMES[5::120]
    with threads(1):
        alone = [means(PLAYER, board[None]) for board in boards]
    together = means(PLAYER, boards)
    for name in RollMeans._fields:
        assert np.array_equal(np.concatenate([getattr(each, name) for each in alone]), getattr(together, name))


def test_of_no_positions() -> None:
    assert means(PLAYER, GAMES[:0]).chances.shape == (0, 5)


@pytest.mark.parametrize("boards", [np.zeros((2, 25), np.int8), np.zeros((2, 26)), np.full((1, 26), 3, np.int8)])
def test_what_is_no_position(boards: Boards) -> None:
    with pytest.raises(InvalidPositionError):
        means(PLAYER, boards)
