"""The 330 positions in which the trailer can first double after PubEval's plays."""

from typing import Any

import numpy as np
import pytest

from bgdata.equity.kinds.match_equity_compute import STATES, first_doubles
from bgdata.evaluation.chances import Evaluations
from bgdata.evaluation.player import PubEval
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position


def pips(boards: Boards) -> np.ndarray:
    return (np.maximum(boards, 0) * np.arange(26)).sum(axis=1)


class PipEvaluator(PubEval):
    """Plays like PubEval, but returns pip counts instead of chances, so that a test can recognise the positions."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return Evaluations(np.tile(pips(boards)[:, None], (1, 5)).astype(np.float32), np.zeros(len(boards), np.int8))


def test_first_doubles_follow_the_chosen_plays() -> None:
    """Each of the 330 positions follows from the chosen play of one roll, or of two, with the trailer on roll, and has
    the weight of these rolls."""
    player: Any = PipEvaluator()
    boards, weights, chances = (first_doubles(player)[name] for name in STATES)
    assert len(boards) == 330
    assert weights.sum() == pytest.approx(1)
    assert (chances[:, 0] == pips(boards)).all()
    start = np.array([START.board], np.int8)
    first_rolls = [roll for roll in ROLLS if not roll.is_double]
    for number, first_roll in enumerate(first_rolls):
        after_first = Position(boards[number].tolist())
        chosen = player.choose_plays(start, np.array([(first_roll.high, first_roll.low)], np.int8))
        assert after_first in {play.next_position for play in legal_plays(START, first_roll)}
        assert after_first == Position(chosen[0].tolist())
        assert weights[number] == pytest.approx(1 / 30)
        for row, roll in enumerate(ROLLS, start=15 + 21 * number):
            assert Position(boards[row].tolist()) in {play.next_position for play in legal_plays(after_first, roll)}
            assert weights[row] == pytest.approx(float(roll.chance) / 30)
