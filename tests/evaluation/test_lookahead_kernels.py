"""Networks that look ahead in a kernel, against the way that serves any evaluator."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource, Evaluations, Evaluator, cubeless_equities, turned_chances
from bgdata.evaluation.lookahead import LIKELY, evaluate_ahead
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.evaluation.roll_values import evaluations_ahead, likely_plays
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import threads
from tests.evaluation.sample_networks import random_networks, random_player
from tests.evaluation.test_lookahead import few_checkers
from tests.random_games import random_game_positions
from tests.reference.pubeval import likely_boards
from tests.together import each

FINISHED = np.array([[0] * 6 + [-3] + [0] * 19, [0] * 20 + [5] + [0] * 4 + [1]], np.int8)  # won, lost
SHORT = [[0, 2] + [0] * 20 + [-1, 0, -2, 0], [0, 0, 0, 1] + [0] * 18 + [-2, 0, 0, 0]]  # three checkers at most


@cache
def game_boards() -> Boards:
    return random_game_positions(25, seed=37).boards


class Plain:
    """The same answers from an evaluator that does not look ahead by itself."""

    label, version, accuracy = "plain", "1", dict[AnswerSource, str]()

    def __init__(self, player: Evaluator) -> None:
        self.player = player

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return self.player.evaluate_many(boards)


def check_same(player: NetworkPlayer, boards: Boards, ply: int) -> None:
    expected, found = evaluate_ahead(Plain(player), boards, ply), evaluate_ahead(player, boards, ply)
    assert np.array_equal(found.chances, expected.chances)
    assert np.array_equal(found.sources, expected.sources)
    is_final = np.array([AnswerSource(source).is_final for source in found.sources.tolist()])
    static = player.evaluate_many(boards).chances
    assert np.array_equal(found.chances[is_final], static[is_final])
    assert (found.chances != static).any(axis=1)[~is_final].all()
    assert is_final.any()


@each(
    ("ply", "boards"),
    lambda: {
        "1-ply": (1, game_boards()[::40]),
        "2-ply": (2, few_checkers(12, 3)),
        "3-ply": (3, few_checkers(3, 4)),
    },
)
def test_the_same_to_the_last_bit(ply: int, boards: Boards) -> None:
    check_same(random_player(0).seeing_all(), np.concatenate([boards, FINISHED]), ply)


def test_the_same_with_tables(player_root: object) -> None:
    """Positions that a table covers end the tree, at its root and within."""
    tables = open_bearoff(bgdata.open_warehouse(str(player_root))).arrays
    player = NetworkPlayer(random_networks(0), tables).seeing_all()
    last = np.flatnonzero(player.evaluate_many(game_boards()).sources > AnswerSource.COMBINED)[-4:]
    boards = np.concatenate([game_boards()[last], few_checkers(6, 5), np.array(SHORT, np.int8), FINISHED])
    sources = set(player.evaluate_many(boards).sources.tolist())
    assert sources >= {AnswerSource.OVER, AnswerSource.EXACT}
    check_same(player, boards, 2)


@pytest.mark.parametrize("most", [1, 3, 21])
def test_one_ply_of_likely_plays(most: int) -> None:
    """The best, by the network, of the plays that the twin of PubEval scores highest, in races by its weights for
    them."""
    boards = game_boards()[::40]
    found = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1, likely_plays(most)).chances
    expected = random_player(0).seeing_all().evaluate_ahead(boards, 1).chances
    is_contact = position_classes(boards) > PositionClass.RACE
    assert 5 < is_contact.sum() < len(boards) - 2
    for row in range(len(boards)):
        replies = [best_reply(boards[row], roll.high, roll.low, most) for roll in ROLLS]
        assert (
            found[row].tolist() == mean_after(random_player(0).evaluate_many(np.concatenate(replies)).chances).tolist()
        )
    assert (np.abs(found - expected).max(axis=1) > 0.001).sum() > (5 if most < 21 else -1)


@pytest.mark.parametrize("most", [0, 4])
def test_two_ply_is_one_ply_after_the_best_replies(most: int) -> None:
    boards, likely = game_boards()[[300, 40]], likely_plays(most)
    found = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 2, likely).chances
    for board, chances in zip(boards, found, strict=True):
        replies = np.concatenate([best_reply(board, roll.high, roll.low, most) for roll in ROLLS])
        expected = mean_after(evaluations_ahead(random_player(0).networks, NO_TABLES, replies, 1, likely).chances)
        assert chances.tolist() == expected.tolist()


def best_reply(board: Boards, die: int, other_die: int, most: int) -> Boards:
    """[1, 26]: after the best play of a roll, by the network, of those that PubEval's twin scores highest; the opponent
    on roll."""
    _, plays = batch_plays(board[None], np.array([[die, other_die]], np.int8))
    after = flip_boards(np.array(likely_boards(board.tolist(), plays.tolist(), most), np.int8))
    return after[[cubeless_equities(random_player(0).evaluate_many(after).chances).argmin()]]


def mean_after(chances: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32[5]: the mean over the rolls, from float32[21, 5] chances of the opponent after each."""
    total = np.zeros(5)
    for roll, own in zip(ROLLS, turned_chances(chances).astype(np.float64), strict=True):
        total += roll.weight * own
    return (total / 36).astype(np.float32)


def test_likely_plays_unless_it_sees_all() -> None:
    boards = game_boards()[::40]
    likely = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1, likely_plays(LIKELY)).chances
    assert np.array_equal(random_player(0).evaluate_ahead(boards, 1).chances, likely)
    assert np.array_equal(LookaheadPlayer(random_player(0), 1).evaluate_many(boards).chances, likely)
    every = random_player(0).seeing_all().evaluate_ahead(boards, 1).chances
    assert np.array_equal(every, evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1).chances)
    assert not np.array_equal(every, likely)
    assert LookaheadPlayer(random_player(0), 1).version != LookaheadPlayer(random_player(0).seeing_all(), 1).version
    assert LookaheadPlayer(random_player(0), 0).version == LookaheadPlayer(random_player(0).seeing_all(), 0).version


def test_a_mapped_network_stays_what_it_is(player_root: object) -> None:
    player = open_network_player("network", 0, bgdata.open_warehouse(str(player_root)))
    assert isinstance(player, NetworkPlayer)
    assert pickle.loads(pickle.dumps(player)).likely == LIKELY
    seeing_all = player.seeing_all()
    assert (player.likely, seeing_all.likely) == (LIKELY, 0)
    found = pickle.loads(pickle.dumps(seeing_all))
    assert found.likely == 0
    assert np.array_equal(
        found.evaluate_ahead(game_boards()[:9], 1).chances, seeing_all.evaluate_ahead(game_boards()[:9], 1).chances
    )


@pytest.mark.parametrize("ply", [1, 2])
def test_the_same_on_any_threads_and_in_any_company(ply: int) -> None:
    boards = game_boards()[5 :: 60 * ply]
    with threads(1):
        alone = [random_player(0).evaluate_ahead(board[None], ply).chances for board in boards]
    with threads(2):
        together = random_player(0).evaluate_ahead(boards, ply).chances
    assert np.array_equal(np.concatenate(alone), together)
    assert random_player(0).evaluate_ahead(game_boards()[:0], ply).chances.shape == (0, 5)


# ----------------------------------------------------------------- wrong inputs


@pytest.mark.parametrize("ply", [0, -1])
def test_no_ply_to_look_ahead(ply: int) -> None:
    with pytest.raises(UsageError, match=f"^expected a ply of 1 or more to look ahead, got {ply}$"):
        random_player(0).evaluate_ahead(game_boards()[:2], ply)


@pytest.mark.parametrize("boards", [np.zeros((2, 25), np.int8), np.zeros((2, 26)), np.full((1, 26), 3, np.int8)])
def test_what_is_no_position(boards: Boards) -> None:
    with pytest.raises(InvalidPositionError):
        random_player(0).evaluate_ahead(boards, 1)


@pytest.mark.parametrize("most", [-1, 22])
def test_wrong_numbers_of_likely_plays(most: int) -> None:
    with pytest.raises(UsageError, match=f"^expected 1 to 21 likely plays of a roll, or 0 for all, got {most}$"):
        likely_plays(most)
