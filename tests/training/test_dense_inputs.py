"""Inputs as rows of floats against the meanings of the inputs."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.evaluation.networks.encoder import Encoder
from bgdata.evaluation.networks.inputs import encode, input_count
from bgdata.play.random_games import random_game_positions
from bgdata.training.dense_inputs import fill_dense
from tests.reference.networks import inputs


@pytest.mark.parametrize("encoder", list(Encoder))
def test_rows_of_floats(encoder: Encoder) -> None:
    boards = random_game_positions(40, seed=12).boards
    assert len(boards) > 2000
    found = np.full((len(boards), input_count(encoder)), np.nan, np.float32)
    fill_dense(int(encoder), boards, found)
    assert np.array_equal(found * 64, encode(encoder, boards))
    for row in range(0, len(boards), 97):
        assert (found[row] * 64).tolist() == inputs(encoder.label, boards[row].tolist())
