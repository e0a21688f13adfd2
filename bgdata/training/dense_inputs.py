"""Inputs of positions as rows of floats: what matrix products take."""

from __future__ import annotations

import numpy as np

from bgdata.evaluation.networks.inputs import UNIT, fill_inputs
from bgdata.game.codec import Boards
from bgdata.kernel import kernel
from bgdata.training.temporal_difference.learning import Floats

_UNIT = np.float32(1 / UNIT)


@kernel()
def fill_dense(encoder: int, boards: Boards, inputs: Floats) -> None:
    """Fills inputs[row, input] from boards[row, slot] on the thread that calls, so that others can learn."""
    row_inputs = np.empty(inputs.shape[1], np.int16)
    for row in range(len(boards)):
        fill_inputs(encoder, boards[row], row_inputs)
        for item in range(len(row_inputs)):
            inputs[row, item] = np.float32(row_inputs[item]) * _UNIT
