"""Networks that look ahead in a kernel, against the way that serves any evaluator."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities, turned_chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.lookahead_kernels import evaluations_ahead
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.roll_values import likely_plays
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import threads
from bgdata.play.random_games import random_game_positions
from tests.evaluation.sample_networks import random_networks
from tests.evaluation.test_lookahead import few_checkers
from tests.reference.pubeval import integer_weights, score

GAMES = random_game_positions(25, seed=37).boards
FINISHED = np.array([[0] * 6 + [-3] + [0] * 19, [0] * 20 + [5] + [0] * 4 + [1]], np.int8)
CONTACT = integer_weights(files("bgdata.evaluation").joinpath("weights", "pubeval_contact.txt").read_text())
PLAYER = NetworkPlayer(random_networks(0), NO_TABLES)


class Plain:
    """The same answers from an evaluator that does not look ahead by itself."""

    label, version, accuracy = "plain", "1", dict[AnswerSource, str]()

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return PLAYER.evaluate_many(boards)


@pytest.mark.parametrize(("ply", "boards"), [(1, GAMES[::40]), (2, few_checkers(12, 3)), (3, few_checkers(3, 4))])
def test_the_same_to_the_last_bit(ply: int, boards: Boards) -> None:
    boards = np.concatenate([boards, FINISHED])
    expected, found = evaluate_ahead(Plain(), boards, ply), evaluate_ahead(PLAYER.seeing_all(), boards, ply)
    assert np.array_equal(found.chances, expected.chances)
    assert np.array_equal(found.sources, expected.sources)
    assert not np.array_equal(found.chances, PLAYER.evaluate_many(boards).chances)


@pytest.mark.parametrize("most", [0, 4])
def test_two_ply_is_one_ply_after_the_best_replies(most: int) -> None:
    """One position by hand, from what the kernel says at 1-ply of every reply."""
    board, likely = GAMES[300], likely_plays(most)
    total = np.zeros(5)
    for roll in ROLLS:
        _, plays = batch_plays(board[None], np.array([[roll.high, roll.low]], np.int8))
        after = flip_boards(plays)
        if 0 < most < len(plays):
            after = after[scores_first(plays)[:most]]
        best = cubeless_equities(PLAYER.evaluate_many(after).chances).argmin()
        reply = evaluations_ahead(PLAYER.networks, NO_TABLES, after[[best]], 1, likely).chances
        total += roll.weight * turned_chances(reply)[0].astype(np.float64)
    found = evaluations_ahead(PLAYER.networks, NO_TABLES, board[None], 2, likely).chances[0]
    assert np.array_equal(found, (total / 36).astype(np.float32))


def scores_first(plays: Boards) -> np.ndarray:
    """The plays in the order of PubEval's scores, the highest first."""
    return np.argsort([-score(play, CONTACT) for play in plays.tolist()], kind="stable")


def test_likely_plays_unless_it_sees_all() -> None:
    boards = GAMES[::40]
    likely = evaluations_ahead(PLAYER.networks, NO_TABLES, boards, 1, likely_plays()).chances
    assert np.array_equal(PLAYER.evaluate_ahead(boards, 1).chances, likely)
    every = PLAYER.seeing_all().evaluate_ahead(boards, 1).chances
    assert np.array_equal(every, evaluations_ahead(PLAYER.networks, NO_TABLES, boards, 1).chances)
    assert not np.array_equal(every, likely)
    assert not PLAYER.sees_all


def test_the_same_on_any_threads() -> None:
    boards = GAMES[::30]
    with threads(1):
        alone = PLAYER.evaluate_ahead(boards, 1)
    with threads(2):
        together = PLAYER.evaluate_ahead(boards, 1)
    assert np.array_equal(alone.chances, together.chances)
    assert len(PLAYER.evaluate_ahead(boards[:0], 2).chances) == 0
