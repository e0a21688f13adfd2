"""The 330 positions in which a trailer can first double, when PubEval's choices are played."""

from __future__ import annotations

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


class Teller(PubEval):
    """Plays as PubEval, and says of a position its pips, which are no chances but can be recognised."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return Evaluations(np.tile(pips(boards)[:, None], (1, 5)).astype(np.float32), np.zeros(len(boards), np.int8))


def test_first_doubles() -> None:
    """Each is the chosen play of its roll, or of two, with the trailer on roll, and as frequent as these."""
    player: Any = Teller()
    boards, weights, chances = (first_doubles(player)[name] for name in STATES)
    assert (len(boards), weights.sum()) == (330, pytest.approx(1))
    assert (chances[:, 0] == pips(boards)).all()
    firsts = [roll for roll in ROLLS if not roll.is_double]
    for number, first in enumerate(firsts):
        opened, start = Position(boards[number].tolist()), np.array([START.board], np.int8)
        assert opened in {play.next_position for play in legal_plays(START, first)}
        chosen = player.choose_plays(start, np.array([(first.high, first.low)], np.int8))
        assert (chosen[0] == boards[number]).all()
        assert weights[number] == pytest.approx(1 / 30)
        for place, roll in enumerate(ROLLS, start=15 + 21 * number):
            assert Position(boards[place].tolist()) in {play.next_position for play in legal_plays(opened, roll)}
            assert weights[place] == pytest.approx(float(roll.chance) / 30)
