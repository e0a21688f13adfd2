"""Learning by stochastic gradient descent: one position at a time, in a given order, float32, the same on any machine.

The networks of a player learn from positions of their own class only, so they are independent items: each has a thread
of its own and sees its positions one after the other. Sums over units are taken by halving (the first half plus the
second, and so on), which is fixed and which processors do in lanes. The error that is made smaller is the
cross-entropy of each chance, or with `squared` half the square of its difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, possible_outcomes
from bgdata.evaluation.networks.encoder import Encoder
from bgdata.evaluation.networks.inference import (
    FIRST_SUM,
    FIRST_WEIGHT,
    LATER_SUM,
    LATER_WEIGHT,
    OUTPUTS,
    SHAPE_COLUMNS,
    Networks,
    half_tangent,
)
from bgdata.evaluation.networks.inputs import fill_inputs, input_count
from bgdata.game.codec import Boards
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import kernel, prange, read_only

Floats = NDArray[np.float32]
_ONE, _HALF, _UNIT = np.float32(1), np.float32(0.5), np.float32(1 / 64)


class FloatNetworks(NamedTuple):
    """Networks that learn: laid out as in `Networks`, in float32."""

    shapes: NDArray[np.int64]
    weights: Floats
    biases: Floats


def new_networks(encoders: tuple[Encoder, ...], hidden: tuple[tuple[int, ...], ...], seed: int) -> FloatNetworks:
    """Networks with small random weights, even in -0.1 to 0.1, and no biases; one for each of NETWORK_CLASSES."""
    layers = max(map(len, hidden)) + 1
    shapes = np.zeros((len(encoders), SHAPE_COLUMNS + layers), np.int64)
    weights = biases = 0
    for row, encoder, units in zip(shapes, encoders, hidden, strict=True):
        sizes = (*units, OUTPUTS)
        row[: SHAPE_COLUMNS + len(sizes)] = [encoder, input_count(encoder), weights, biases, len(sizes), *sizes]
        weights += sum(above * below for below, above in zip((input_count(encoder), *units), sizes, strict=True))
        biases += sum(sizes)
    random = np.empty(weights, np.float32)
    fill_uniform(seed, random)
    return FloatNetworks(shapes, random, np.zeros(biases, np.float32))


@kernel()
def fill_uniform(seed: int, values: Floats) -> None:
    """Fills values[item] with random numbers from -0.1 to 0.1."""
    stream = random_stream(seed, 0)
    for item in range(len(values)):
        share = np.float32(np.int64(random_bits(stream, item) >> np.uint64(40))) / np.float32(1 << 24)
        values[item] = np.float32(0.2) * share - np.float32(0.1)


def rounded_networks(networks: FloatNetworks) -> Networks:
    """The same networks in the integers that a player uses; weights beyond the range of int16 are cut off."""
    weight_units = np.full(len(networks.weights), LATER_WEIGHT, np.float32)
    bias_units = np.full(len(networks.biases), LATER_SUM, np.float32)
    for _, inputs, weights, biases, _, hidden, *_ in networks.shapes.tolist():
        weight_units[weights : weights + inputs * hidden] = FIRST_WEIGHT
        bias_units[biases : biases + hidden] = FIRST_SUM
    weights = np.clip(np.rint(networks.weights * weight_units), -32767, 32767).astype(np.int16)
    biases = np.clip(np.rint(networks.biases * bias_units), -(2.0**30), 2.0**30).astype(np.int32)
    return Networks(*map(read_only, (networks.shapes.copy(), weights, biases)))


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
    most = shape[5:].max()
    inputs, used = np.empty(shape[1], np.int16), np.empty(shape[1] + 1, np.int64)
    values, deltas = np.empty((shape[4], most), np.float32), np.empty((shape[4], most), np.float32)
    outputs, errors = values[shape[4] - 1], deltas[shape[4] - 1]
    for row in rows:
        fill_inputs(shape[0], boards[row], inputs)
        count = fill_used(inputs, used)
        fill_layers(shape, weights, biases, inputs, used[:count], values, deltas[0])
        fill_errors(targets[row], 2 * possible_outcomes(boards[row]) + 1, squared, outputs, errors)
        fill_deltas(shape, weights, values, deltas)
        step(shape, weights, biases, inputs, used[:count], values, deltas, rate)


@kernel(borrows=True)
def fill_errors(target: Chances, possible: int, squared: bool, outputs: Floats, errors: Floats) -> None:
    """Fills errors[0:5] with how much more the sums of the outputs should give. What the rules forbid (its bit of
    `possible` is 0) is no error, since nobody asks the network for it."""
    for output in range(OUTPUTS):
        error = (target[output] - outputs[output]) * np.float32(possible >> output & 1)
        errors[output] = error * outputs[output] * (_ONE - outputs[output]) if squared else error


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
    """Fills values[layer, unit] with what the units of one network give for inputs[0:n], of which the rows in `used`
    are not 0. scratch[0:most] is overwritten."""
    units = shape[5]
    first = values[0, :units]
    for unit in range(units):
        first[unit] = biases[unit]
    for item in used:
        add_scaled(weights[item * units : (item + 1) * units], np.float32(inputs[item]) * _UNIT, first)
    squash(first)
    place, bias = shape[1] * units, units
    for layer in range(1, shape[4]):
        below, units = units, shape[5 + layer]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            values[layer, unit] = biases[bias + unit] + weigh_floats(values[layer - 1, :below], row, scratch)
        squash(values[layer, :units])
        place, bias = place + units * below, bias + units


@kernel(borrows=True)
def add_scaled(row: Floats, factor: np.float32, sums: Floats) -> None:
    """Fills sums[unit] with itself plus factor times row[unit]."""
    for unit in range(len(sums)):
        sums[unit] += factor * row[unit]


@kernel(borrows=True)
def squash(sums: Floats) -> None:
    """Fills sums[unit] with its logistic function."""
    for unit in range(len(sums)):
        sums[unit] = _HALF + _HALF * half_tangent(_HALF * sums[unit])


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
def fill_deltas(shape: NDArray[np.int64], weights: Floats, values: Floats, deltas: Floats) -> None:
    """Fills deltas[layer, unit] of the layers before the last with how much more they should give."""
    end = shape[1] * shape[5]
    for layer in range(1, shape[4]):
        end += shape[5 + layer] * shape[4 + layer]
    for layer in range(shape[4] - 1, 0, -1):
        units, below = shape[5 + layer], shape[4 + layer]
        end -= units * below
        lower = deltas[layer - 1, :below]
        for unit in range(below):
            lower[unit] = np.float32(0)
        for unit in range(units):
            add_scaled(weights[end + unit * below : end + (unit + 1) * below], deltas[layer, unit], lower)
        for unit in range(below):
            value = values[layer - 1, unit]
            lower[unit] *= value * (_ONE - value)


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
    units = shape[5]
    for item in used:
        row = weights[item * units : (item + 1) * units]
        add_scaled(deltas[0], rate * np.float32(inputs[item]) * _UNIT, row)
    add_scaled(deltas[0], rate, biases[:units])
    place, bias = shape[1] * units, units
    for layer in range(1, shape[4]):
        below, units = units, shape[5 + layer]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            add_scaled(values[layer - 1], rate * deltas[layer, unit], row)
        add_scaled(deltas[layer], rate, biases[bias : bias + units])
        place, bias = place + units * below, bias + units
