"""Classes, outcomes and limits in a graph, against the kernels."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.evaluation.answers import network_of
from bgdata.evaluation.chances import fill_outcome_chances, limit_chances, possible_outcomes
from bgdata.formats.onnx.network import OVER, limited, network_class, outcome_chances
from bgdata.formats.onnx.sides import side_on_roll
from bgdata.game.board_kernels import game_outcomes, position_classes
from bgdata.game.codec import Boards
from tests.formats.onnx.boards import all_boards
from tests.formats.onnx.runs import computed


@pytest.fixture(scope="module")
def boards() -> Boards:
    return all_boards(2000, seed=11)


def test_classes(boards: Boards) -> None:
    found = computed(lambda value: network_class(side_on_roll(value)), boards)[:, 0]
    expected = [network_of(each) if each else OVER for each in position_classes(boards).tolist()]
    np.testing.assert_array_equal(found, expected)
    assert set(expected) == {OVER, 0, 1, 2}


def test_chances_of_finished_games(boards: Boards) -> None:
    found = computed(lambda value: outcome_chances(side_on_roll(value)), boards)
    expected, outcomes = np.zeros((len(boards), 5), np.float32), game_outcomes(boards)
    for row in np.flatnonzero(outcomes):
        fill_outcome_chances(int(outcomes[row]), expected[row])
    np.testing.assert_array_equal(found, expected)
    assert set(outcomes.tolist()) == set(range(-3, 4))


def test_limits(boards: Boards) -> None:
    """Of the same chances for every board: in part above what includes them."""
    given = np.array([0.4, 0.6, 0.3, 0.7, 0.8], np.float32)
    running = boards[game_outcomes(boards) == 0]
    found = computed(
        lambda value: limited(side_on_roll(value), (value.to(np.float32) * 0).take(np.arange(5)) + given), running
    )
    expected = np.tile(given, (len(running), 1))
    for board, chances in zip(running, expected, strict=True):
        limit_chances(possible_outcomes(board), chances)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(expected, axis=0)) >= 5
