"""Gradient descent in float32 by kernels: output errors and backpropagation, which both ways of training share, and
temporal-difference learning, one position at a time in a given order, with the same result on any machine.

The two ways differ in the order of sums, which decides the last bits of weights, and so the digests of networks. In
temporal-difference learning, weights change after every position, by (learning rate x input) x delta. Sums over units
are by halving (the first half plus the second, and so on), a fixed order that suits vector instructions. In supervised
learning a batch is one step: gradients are summed over positions, four at a time, and then multiplied by the learning
rate. The loss is the cross-entropy of each chance, or, if `squared` is true, half the square of its error.

Each network of a player learns only from positions of its own class, so networks are independent items: each has its
own thread and learns its positions one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bgdata.evaluation.chances import Chances, possible_outcomes
from bgdata.evaluation.networks.contact_inputs import Inputs
from bgdata.evaluation.networks.inference import (
    ACTIVATION,
    LAYERS,
    MAX_RECTIFIED,
    OUTPUTS,
    SIZES,
    Activation,
    fast_tanh,
)
from bgdata.evaluation.networks.inputs import fill_many_inputs
from bgdata.evaluation.networks.shots import ROLL_NUMBERS
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange
from bgdata.training.networks import FloatNetworks, Floats, Integers

_ONE, _HALF, _NONE, _MAX = np.float32(1), np.float32(0.5), np.float32(0), np.float32(MAX_RECTIFIED)
_UNIT = np.float32(1 / 64)
_RECTIFIED = int(Activation.RECTIFIED)


class Network(NamedTuple):
    """The weights and biases of one network in training."""

    shape: Integers  # the network's row of `FloatNetworks.shapes`
    weights: Floats  # begins with the network's first weight
    biases: Floats


class Pass(NamedTuple):
    """The values that one network computes forward and backward for one position."""

    inputs: Inputs  # [input]
    used: Integers  # which inputs are not 0, ascending
    values: Floats  # [layer, 0, unit] outputs of units
    deltas: Floats  # [layer, 0, unit] negative gradients of the loss


@kernel(borrows=True)
def fill_errors(target: Chances, possible: int, squared: bool, outputs: Floats, errors: Floats) -> None:
    """Fill errors[0:5] with the negative gradient of the loss with respect to the sums of the output units. `squared`
    chooses half the squared error instead of cross-entropy. The gradient is 0 for a chance that the rules exclude (its
    bit of `possible` is 0), because players never use that output."""
    for output in range(OUTPUTS):
        error = (target[output] - outputs[output]) * np.float32(possible >> output & 1)
        errors[output] = error * outputs[output] * (_ONE - outputs[output]) if squared else error


@kernel(borrows=True)
def activate(shape: Integers, layer: int, sums: Floats) -> None:
    """Replace sums[unit] of a layer by the outputs of its units. Layers are numbered from 0; output units are
    logistic."""
    if shape[ACTIVATION] == _RECTIFIED and layer + 1 < shape[LAYERS]:
        for unit in range(len(sums)):
            sums[unit] = min(max(sums[unit], _NONE), _MAX)
    else:
        for unit in range(len(sums)):
            sums[unit] = _HALF + _HALF * fast_tanh(_HALF * sums[unit])


@kernel(borrows=True)
def backward(shape: Integers, weights: Floats, values: Floats, deltas: Floats, sample: int) -> None:
    """Backpropagate errors from the last layer: fill deltas[layer, sample, unit] of all layers before it."""
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
        for unit in range(below):
            if shape[ACTIVATION] == _RECTIFIED:
                lower[unit] *= np.float32(_NONE < given[unit] < _MAX)
            else:
                lower[unit] *= given[unit] * (_ONE - given[unit])


@kernel(parallel=True)
def learn(
    networks: FloatNetworks,
    boards: Boards,
    targets: Chances,
    order: Integers,
    ends: Integers,
    rate: np.float32,
    squared: bool,
) -> None:
    """Train networks by gradient descent, one position at a time. Network `which` learns targets[row, 0:5] of
    boards[row, slot] for the rows order[ends[which]:ends[which + 1]], at a learning rate in float32."""
    for which in prange(len(networks.shapes)):
        shape = networks.shapes[which]
        network = Network(shape, networks.weights[shape[2] :], networks.biases[shape[3] :])
        learn_rows(network, boards, targets, order[ends[which] : ends[which + 1]], rate, squared)


@kernel()
def learn_rows(
    network: Network, boards: Boards, targets: Chances, rows: Integers, rate: np.float32, squared: bool
) -> None:
    """Train one network by gradient descent: it learns targets[row, 0:5] of boards[row, slot] for each of `rows`, one
    after the other."""
    shape, given, numbers = network.shape, new_pass(network.shape), np.zeros(ROLL_NUMBERS, np.int32)
    last, inputs = shape[LAYERS] - 1, given.inputs.reshape((1, shape[1]))
    for row in rows:
        fill_many_inputs(shape[0], boards[row : row + 1], 1, numbers, inputs)
        count = fill_values(network, given)
        possible = 2 * possible_outcomes(boards[row]) + 1
        fill_errors(targets[row], possible, squared, given.values[last, 0], given.deltas[last, 0])
        backward(shape, network.weights, given.values, given.deltas, 0)
        step(network, given, count, rate)


@kernel()
def new_pass(shape: Integers) -> Pass:
    """Allocate memory for a `Pass` through a network of this shape."""
    size = shape[LAYERS], 1, shape[SIZES:].max()
    return Pass(
        np.zeros(shape[1], np.int16),
        np.empty(shape[1] + 1, np.int64),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
    )


@kernel(borrows=True)
def fill_values(network: Network, given: Pass) -> int:
    """Compute a network's outputs for given.inputs. Fills given.used with the inputs that are not 0, and
    given.values[layer, 0, unit]; returns the number of inputs that are not 0. The first deltas are scratch."""
    shape, weights, biases, count = network.shape, network.weights, network.biases, 0
    for item in range(len(given.inputs)):
        given.used[count] = item
        count += given.inputs[item] != 0
    units = shape[SIZES]
    first = given.values[0, 0, :units]
    for unit in range(units):
        first[unit] = biases[unit]
    for item in given.used[:count]:
        add_scaled(weights[item * units : (item + 1) * units], np.float32(given.inputs[item]) * _UNIT, first)
    activate(shape, 0, first)
    place, bias = shape[1] * units, units
    for layer in range(1, shape[LAYERS]):
        below, units = units, shape[SIZES + layer]
        lower, above = given.values[layer - 1, 0, :below], given.values[layer, 0, :units]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            above[unit] = biases[bias + unit] + weigh_floats(lower, row, given.deltas[0, 0])
        activate(shape, layer, above)
        place, bias = place + units * below, bias + units
    return count


@kernel(borrows=True)
def add_scaled(row: Floats, factor: np.float32, sums: Floats) -> None:
    """Add factor times row[unit] to sums[unit]."""
    for unit in range(len(sums)):
        sums[unit] += factor * row[unit]


@kernel(borrows=True)
def weigh_floats(values: Floats, row: Floats, scratch: Floats) -> np.float32:
    """Return the dot product of values[unit] and row[unit], summed by halving. Overwrites scratch[0:len(values)]."""
    count = len(values)
    for unit in range(count):
        scratch[unit] = values[unit] * row[unit]
    while count > 1:
        half = count // 2
        upper = scratch[count - half : count]
        for unit in range(half):
            scratch[unit] += upper[unit]
        count -= half
    total: np.float32 = scratch[0]
    return total


@kernel(borrows=True)
def step(network: Network, given: Pass, count: int, rate: np.float32) -> None:
    """Add `rate` times the gradient to the weights and biases of a network. The gradient follows from given.deltas and
    the inputs given.used[0:count]."""
    shape, weights, biases, values, deltas = network.shape, network.weights, network.biases, given.values, given.deltas
    units = shape[SIZES]
    for item in given.used[:count]:
        row = weights[item * units : (item + 1) * units]
        add_scaled(deltas[0, 0], rate * np.float32(given.inputs[item]) * _UNIT, row)
    add_scaled(deltas[0, 0], rate, biases[:units])
    place, bias = shape[1] * units, units
    for layer in range(1, shape[LAYERS]):
        below, units = units, shape[SIZES + layer]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            add_scaled(values[layer - 1, 0], rate * deltas[layer, 0, unit], row)
        add_scaled(deltas[layer, 0], rate, biases[bias : bias + units])
        place, bias = place + units * below, bias + units
