"""Stochastic gradient descent in float32, one position at a time in a given order, with the same result on any machine.

The networks of a player learn from positions of their own class only, so they are independent items: each has a thread
of its own and sees its positions one after the other. Sums over units are by halving (the first half plus the second,
and so on): a fixed order that suits vector instructions. The loss is the cross-entropy of each chance, or with
`squared` half the square of its error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, possible_outcomes
from bgdata.evaluation.networks.inference import LAYERS, SIZES
from bgdata.evaluation.networks.inputs import fill_many_inputs
from bgdata.evaluation.networks.shots import ROLL_NUMBERS
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange
from bgdata.training.gradient import activate, backward, fill_errors
from bgdata.training.networks import Floats

_ONE, _HALF, _UNIT = np.float32(1), np.float32(0.5), np.float32(1 / 64)


@kernel(parallel=True)
def learn(
    shapes: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    boards: Boards,
    targets: Chances,
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    rate: np.float32,
    squared: bool,
) -> None:
    """Fills the weights and biases of `FloatNetworks`: network `which` learns targets[row, 0:5] of boards[row, slot]
    for the rows order[ends[which]:ends[which + 1]], one after the other."""
    for which in prange(len(shapes)):
        shape = shapes[which]
        rows = order[ends[which] : ends[which + 1]]
        learn_rows(shape, weights[shape[2] :], biases[shape[3] :], boards, targets, rows, rate, squared)


@kernel()
def learn_rows(
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    boards: Boards,
    targets: Chances,
    rows: NDArray[np.int64],
    rate: np.float32,
    squared: bool,
) -> None:
    """Fills weights and biases of one network: it learns targets[row, 0:5] of boards[row, slot] for the given rows."""
    most = shape[SIZES:].max()
    all_inputs, numbers = np.empty((1, shape[1]), np.int16), np.zeros(ROLL_NUMBERS, np.int32)
    inputs, used = all_inputs[0], np.empty(shape[1] + 1, np.int64)
    values, deltas = np.empty((shape[LAYERS], 1, most), np.float32), np.empty((shape[LAYERS], 1, most), np.float32)
    outputs, errors = values[shape[LAYERS] - 1, 0], deltas[shape[LAYERS] - 1, 0]
    for row in rows:
        fill_many_inputs(shape[0], boards[row : row + 1], 1, numbers, all_inputs)
        count = fill_used(inputs, used)
        fill_layers(shape, weights, biases, inputs, used[:count], values, deltas[0, 0])
        fill_errors(targets[row], 2 * possible_outcomes(boards[row]) + 1, squared, outputs, errors)
        backward(shape, weights, values, deltas, 0)
        step(shape, weights, biases, inputs, used[:count], values, deltas, rate)


@kernel(borrows=True)
def fill_used(inputs: NDArray[np.int16], used: NDArray[np.int64]) -> int:
    """Fills used[0:n] with the inputs that are not 0, ascending; returns n."""
    count = 0
    for item in range(len(inputs)):
        used[count] = item
        count += inputs[item] != 0
    return count


@kernel(borrows=True)
def fill_layers(
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    inputs: NDArray[np.int16],
    used: NDArray[np.int64],
    values: Floats,
    scratch: Floats,
) -> None:
    """Fills values[layer, 0, unit] with the outputs of the units of one network for inputs[0:n], of which the rows in
    `used` are not 0. scratch[0:most] is overwritten."""
    units = shape[SIZES]
    first = values[0, 0, :units]
    for unit in range(units):
        first[unit] = biases[unit]
    for item in used:
        add_scaled(weights[item * units : (item + 1) * units], np.float32(inputs[item]) * _UNIT, first)
    activate(shape, 0, first)
    place, bias = shape[1] * units, units
    for layer in range(1, shape[LAYERS]):
        below, units = units, shape[SIZES + layer]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            values[layer, 0, unit] = biases[bias + unit] + weigh_floats(values[layer - 1, 0, :below], row, scratch)
        activate(shape, layer, values[layer, 0, :units])
        place, bias = place + units * below, bias + units


@kernel(borrows=True)
def add_scaled(row: Floats, factor: np.float32, sums: Floats) -> None:
    """Fills sums[unit] with itself plus factor times row[unit]."""
    for unit in range(len(sums)):
        sums[unit] += factor * row[unit]


@kernel(borrows=True)
def weigh_floats(values: Floats, row: Floats, scratch: Floats) -> np.float32:
    """Sum of values[unit] times row[unit], by halving; scratch[0:len(values)] is overwritten."""
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
def step(
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    inputs: NDArray[np.int16],
    used: NDArray[np.int64],
    values: Floats,
    deltas: Floats,
    rate: np.float32,
) -> None:
    """Fills weights and biases with themselves plus `rate` times their part in the deltas."""
    units = shape[SIZES]
    for item in used:
        row = weights[item * units : (item + 1) * units]
        add_scaled(deltas[0, 0], rate * np.float32(inputs[item]) * _UNIT, row)
    add_scaled(deltas[0, 0], rate, biases[:units])
    place, bias = shape[1] * units, units
    for layer in range(1, shape[LAYERS]):
        below, units = units, shape[SIZES + layer]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            add_scaled(values[layer - 1, 0], rate * deltas[layer, 0, unit], row)
        add_scaled(deltas[layer, 0], rate, biases[bias : bias + units])
        place, bias = place + units * below, bias + units
