"""What both ways of learning share: what hidden units give, errors of the outputs, and backpropagation.

The rest differs in the order of sums, on which the last bits of weights, and so the digests of networks, depend.
Temporal-difference learning takes one position at a time: weights change by (learning rate x input) x delta, and sums
are by halving. In supervised learning a batch is one step: gradients are summed over positions, four at a time, and
then multiplied by the learning rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances
from bgdata.evaluation.networks.inference import (
    ACTIVATION,
    LAYERS,
    OUTPUTS,
    RECTIFIED_MOST,
    SIZES,
    Activation,
    half_tangent,
)
from bgdata.kernel import kernel
from bgdata.training.networks import Floats

_ONE, _HALF, _NONE, _MOST = np.float32(1), np.float32(0.5), np.float32(0), np.float32(RECTIFIED_MOST)
_RECTIFIED = int(Activation.RECTIFIED)


@kernel(borrows=True)
def fill_errors(target: Chances, possible: int, squared: bool, outputs: Floats, errors: Floats) -> None:
    """Fills errors[0:5] with the negative gradient of the loss by the sums of the outputs. It is 0 for a chance that
    the rules exclude (its bit of `possible` is 0), since the network is never asked for it."""
    for output in range(OUTPUTS):
        error = (target[output] - outputs[output]) * np.float32(possible >> output & 1)
        errors[output] = error * outputs[output] * (_ONE - outputs[output]) if squared else error


@kernel(borrows=True)
def squash(sums: Floats) -> None:
    """Fills sums[unit] with its logistic function."""
    for unit in range(len(sums)):
        sums[unit] = _HALF + _HALF * half_tangent(_HALF * sums[unit])


@kernel(borrows=True)
def activate(shape: NDArray[np.int64], layer: int, sums: Floats) -> None:
    """Fills sums[unit] of a layer, numbered from 0, with what its units give for them: the outputs are logistic."""
    if shape[ACTIVATION] == _RECTIFIED and layer + 1 < shape[LAYERS]:
        for unit in range(len(sums)):
            sums[unit] = min(max(sums[unit], _NONE), _MOST)
    else:
        squash(sums)


@kernel(borrows=True)
def scale_by_slopes(activation: int, given: Floats, deltas: Floats) -> None:
    """Fills deltas[unit] with itself times the slope of a hidden unit that gives given[unit]."""
    if activation == _RECTIFIED:
        for unit in range(len(deltas)):
            deltas[unit] *= np.float32(_NONE < given[unit] < _MOST)
    else:
        for unit in range(len(deltas)):
            deltas[unit] *= given[unit] * (_ONE - given[unit])


@kernel(borrows=True)
def backward(shape: NDArray[np.int64], weights: Floats, values: Floats, deltas: Floats, sample: int) -> None:
    """Fills deltas[layer, sample, unit] of all layers before the last by backpropagation."""
    end = shape[1] * shape[SIZES]
    for layer in range(1, shape[LAYERS]):
        end += shape[SIZES + layer] * shape[SIZES - 1 + layer]
    for layer in range(shape[LAYERS] - 1, 0, -1):
        units, below = shape[SIZES + layer], shape[SIZES - 1 + layer]
        end -= units * below
        lower, given = deltas[layer - 1, sample, :below], values[layer - 1, sample, :below]
        for unit in range(below):
            lower[unit] = _NONE
        for unit in range(units):
            delta, row = deltas[layer, sample, unit], weights[end + unit * below : end + (unit + 1) * below]
            for item in range(below):
                lower[item] += delta * row[item]
        scale_by_slopes(shape[ACTIVATION], given, lower)
