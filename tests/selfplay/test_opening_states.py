"""The 330 positions in which a trailer can first double, when PubEval's choices are played."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.evaluation.chances import Evaluations
from bgdata.evaluation.player import PubEval
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.selfplay.opening_states import COUNT, FIRST_ROLLS, FirstDoubles, first_doubles


class Teller(PubEval):
    """Plays as PubEval, and says of a position its pips, which are no chances but can be recognised."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        pips = (np.maximum(boards, 0) * np.arange(26)).sum(axis=1)
        return Evaluations(np.tile(pips[:, None], (1, 5)).astype(np.float32), np.zeros(len(boards), np.int8))


@pytest.fixture(scope="module")
def found() -> FirstDoubles:
    return first_doubles(Teller())


def test_weights(found: FirstDoubles) -> None:
    assert len(found.boards) == len(found.weights) == len(found.chances) == COUNT == 330
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights[:15] == pytest.approx(1 / 30)
    assert sorted(set(np.round(1 / found.weights[15:]).astype(int))) == [30 * 18, 30 * 36]


def test_positions(found: FirstDoubles) -> None:
    """Each is a legal play of its roll, or of two, with the trailer on roll."""
    player = PubEval()
    for number, first in enumerate(FIRST_ROLLS):
        opened = Position(found.boards[number].tolist())
        assert opened in {play.next_position for play in legal_plays(START, first)}
        start, dice = np.array([START.board], np.int8), np.array([(first.high, first.low)], np.int8)
        assert (player.choose_plays(start, dice)[0] == found.boards[number]).all()
        for place, roll in enumerate(ROLLS):
            answered = Position(found.boards[15 + 21 * number + place].tolist())
            assert answered in {play.next_position for play in legal_plays(opened, roll)}
            weight = found.weights[15 + 21 * number + place]
            assert weight == pytest.approx(float(roll.chance) / 30)


def test_chances_are_of_the_side_on_roll(found: FirstDoubles) -> None:
    pips = (np.maximum(found.boards, 0) * np.arange(26)).sum(axis=1)
    assert (found.chances[:, 0] == pips).all()
