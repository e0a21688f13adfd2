"""Inputs as rows of floats against the meanings of the inputs."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode, input_count
from bgdata.training.supervised.examples import fill_dense
from tests.random_games import random_game_positions
from tests.reference.networks import inputs


@pytest.mark.parametrize("input_set", list(InputSet))
def test_rows_of_floats(input_set: InputSet) -> None:
    boards = random_game_positions(40, seed=12).boards
    assert len(boards) > 2000
    found = np.full((len(boards), input_count(input_set)), np.nan, np.float32)
    fill_dense(int(input_set), boards, found)
    assert np.array_equal(found * 64, encode(input_set, boards))
    for row in range(0, len(boards), 97):
        assert (found[row] * 64).tolist() == inputs(input_set.label, boards[row].tolist())
