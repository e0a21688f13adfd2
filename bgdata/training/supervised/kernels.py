"""Gradient descent on batches of labelled positions, on all cores for one network, the same on any number of them.

A batch is learned in two phases. First every sample is an item: its units forward, and their deltas backward. Then
every block of units is an item: the gradient of each of its weights is the sum over the samples of the batch in order,
four at a time, and the weight is changed at once. Neither depends on how items are divided among threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, possible_outcomes
from bgdata.evaluation.networks.inference import LAYERS, SIZES
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange
from bgdata.training.gradient import activate, backward, fill_errors
from bgdata.training.networks import Floats
from bgdata.training.supervised.examples import Sparse

BLOCK = 32  # units of a layer whose weights one item changes: any number gives the same
_NONE, _ONE = np.float32(0), np.float32(1)
FIRST_LIMIT, LATER_LIMIT = np.float32(7.999), np.float32(15.998)  # of weights, so that int16 holds them: see learning
BIAS_LIMIT = np.float32(60)  # which int32 holds


class Learner(NamedTuple):
    """One network, and the state of its optimizer."""

    shape: NDArray[np.int64]  # its row of `Networks.shapes`
    weights: Floats  # its own, as in `FloatNetworks`
    biases: Floats
    means: Floats  # of Adam: the mean gradient of each weight, then of each bias
    squares: Floats  # and its mean square
    values: Floats  # [layer, sample, unit] scratch: what units give
    deltas: Floats  # and by how much they should give more
    average_weights: Floats  # over the batches so far, newer ones counting more; none to leave them out
    average_biases: Floats


class Rule(NamedTuple):
    """How gradients change weights: the optimizer and its settings."""

    is_adam: bool  # Kingma and Ba (2015), by the mean over a batch; else plain descent, by the sum
    is_squared: bool  # half the squared error of chances instead of their cross-entropy
    first_decay: np.float32  # of Adam's mean gradient
    second_decay: np.float32  # of its mean square
    least: np.float32  # what is added to its root


@kernel(parallel=True)
def learn_batches(
    learner: Learner,
    boards: Boards,
    targets: Chances,
    sparse: Sparse,
    batch: int,
    rates: Floats,
    takes: Floats,
    rule: Rule,
) -> None:
    """Fills the arrays of a learner: it learns targets[row, 0:5] of boards[row, slot], one batch after another at
    learning rates[batch], on all threads. Averages take the share takes[batch] of the new weights."""
    blocks = (learner.values.shape[2] + BLOCK - 1) // BLOCK
    for number in range(len(rates)):
        first = number * batch
        size = min(batch, len(boards) - first)
        for sample in prange(size):
            weigh_sample(learner, boards[first + sample], targets[first + sample], sparse, first + sample, sample, rule)
        for block in prange(blocks):
            change_block(learner, sparse, number, size, block * BLOCK, rates[number], rule, np.empty(BLOCK, np.float32))
        take_in(learner.weights, takes[number], learner.average_weights)
        take_in(learner.biases, takes[number], learner.average_biases)


@kernel()
def learn_batches_alone(
    learner: Learner,
    boards: Boards,
    targets: Chances,
    sparse: Sparse,
    batch: int,
    rates: Floats,
    takes: Floats,
    rule: Rule,
) -> None:
    """`learn_batches` on the calling thread only, so that the other threads are free."""
    blocks, gradient = (learner.values.shape[2] + BLOCK - 1) // BLOCK, np.empty(BLOCK, np.float32)
    for number in range(len(rates)):
        first = number * batch
        size = min(batch, len(boards) - first)
        for sample in range(size):
            weigh_sample(learner, boards[first + sample], targets[first + sample], sparse, first + sample, sample, rule)
        for block in range(blocks):
            change_block(learner, sparse, number, size, block * BLOCK, rates[number], rule, gradient)
        take_in(learner.weights, takes[number], learner.average_weights)
        take_in(learner.biases, takes[number], learner.average_biases)


@kernel(borrows=True)
def weigh_sample(
    learner: Learner, board: Boards, target: Chances, sparse: Sparse, row: int, sample: int, rule: Rule
) -> None:
    """Fills values[layer, sample, unit] and deltas[layer, sample, unit] of a learner for board[slot], whose inputs are
    in `row`."""
    shape, weights, biases = learner.shape, learner.weights, learner.biases
    last, count = shape[LAYERS] - 1, sparse.counts[row]
    forward(shape, weights, biases, sparse.columns[row, :count], sparse.values[row, :count], learner.values, sample)
    possible = 2 * possible_outcomes(board) + 1
    fill_errors(target, possible, rule.is_squared, learner.values[last, sample], learner.deltas[last, sample])
    backward(shape, weights, learner.values, learner.deltas, sample)


@kernel(borrows=True)
def forward(
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    columns: NDArray[np.int32],
    factors: Floats,
    values: Floats,
    sample: int,
) -> None:
    """Fills values[layer, sample, unit] with the outputs of the units of one network for the inputs `columns`, whose
    values are `factors`."""
    units = shape[SIZES]
    sums = values[0, sample, :units]
    for unit in range(units):
        sums[unit] = biases[unit]
    for item in range(0, len(columns), 4):
        a, b, c, d = factors[item], factors[item + 1], factors[item + 2], factors[item + 3]
        row_a = weights[columns[item] * units : (columns[item] + 1) * units]
        row_b = weights[columns[item + 1] * units : (columns[item + 1] + 1) * units]
        row_c = weights[columns[item + 2] * units : (columns[item + 2] + 1) * units]
        row_d = weights[columns[item + 3] * units : (columns[item + 3] + 1) * units]
        for unit in range(units):
            sums[unit] += (a * row_a[unit] + b * row_b[unit]) + (c * row_c[unit] + d * row_d[unit])
    activate(shape, 0, sums)
    place, bias = shape[1] * units, units
    for layer in range(1, shape[LAYERS]):
        below, units = units, shape[SIZES + layer]
        given, above = values[layer - 1, sample, :below], values[layer, sample, :units]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            above[unit] = biases[bias + unit] + product(given, row)
        activate(shape, layer, above)
        place, bias = place + units * below, bias + units


@kernel(borrows=True)
def product(values: Floats, row: Floats) -> np.float32:
    """Sum of values[unit] times row[unit]: eight sums, of every eighth unit each, added in pairs."""
    a = b = c = d = e = f = g = h = _NONE
    whole = len(values) // 8 * 8
    for unit in range(0, whole, 8):
        a += values[unit] * row[unit]
        b += values[unit + 1] * row[unit + 1]
        c += values[unit + 2] * row[unit + 2]
        d += values[unit + 3] * row[unit + 3]
        e += values[unit + 4] * row[unit + 4]
        f += values[unit + 5] * row[unit + 5]
        g += values[unit + 6] * row[unit + 6]
        h += values[unit + 7] * row[unit + 7]
    total: np.float32 = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for unit in range(whole, len(values)):
        total += values[unit] * row[unit]
    return total


@kernel(borrows=True)
def change_block(
    learner: Learner, sparse: Sparse, number: int, size: int, begin: int, rate: np.float32, rule: Rule, gradient: Floats
) -> None:
    """Fills, of one network, the weights that lead from all inputs to BLOCK units of the first layer from `begin` on,
    and from such units of any layer to the next, and their biases, after batch `number`. gradient[0:BLOCK] is
    scratch."""
    shape, values, deltas = learner.shape, learner.values, learner.deltas
    units, share = shape[SIZES], _ONE / np.float32(size) if rule.is_adam else _ONE
    starts, samples, factors = sparse.starts[number], sparse.samples[number], sparse.factors[number]
    part = gradient[: min(max(units - begin, 0), BLOCK)]
    for item in range(shape[1] if len(part) else 0):
        if starts[item] < starts[item + 1] or rule.is_adam:
            fill_first_gradient(samples, factors, deltas, starts[item], starts[item + 1], begin, part)
            change(learner, learner.weights, 0, item * units + begin, part, share, rate, rule, FIRST_LIMIT)
    place, bias = shape[1] * units, 0
    for layer in range(shape[LAYERS]):
        units, above = shape[SIZES + layer], shape[SIZES + 1 + layer] if layer + 1 < shape[LAYERS] else 0
        part = gradient[: min(max(units - begin, 0), BLOCK)]
        if len(part):
            fill_bias_gradient(deltas, layer, size, begin, part)
            change(learner, learner.biases, len(learner.weights), bias + begin, part, share, rate, rule, BIAS_LIMIT)
            for unit in range(above):
                fill_later_gradient(values, deltas, layer, size, unit, begin, part)
                row = place + unit * units + begin
                change(learner, learner.weights, 0, row, part, share, rate, rule, LATER_LIMIT)
        place, bias = place + units * above, bias + units


@kernel(borrows=True)
def fill_first_gradient(
    samples: NDArray[np.int32], factors: Floats, deltas: Floats, first: int, last: int, begin: int, gradient: Floats
) -> None:
    """Fills gradient[unit] with the sum over items first to last of factors[item] times
    deltas[0, samples[item], begin + unit]."""
    count = len(gradient)
    for unit in range(count):
        gradient[unit] = _NONE
    fours = first + (last - first) // 4 * 4
    for item in range(first, fours, 4):
        a, b, c, d = factors[item], factors[item + 1], factors[item + 2], factors[item + 3]
        row_a = deltas[0, samples[item], begin : begin + count]
        row_b = deltas[0, samples[item + 1], begin : begin + count]
        row_c = deltas[0, samples[item + 2], begin : begin + count]
        row_d = deltas[0, samples[item + 3], begin : begin + count]
        for unit in range(count):
            gradient[unit] += (a * row_a[unit] + b * row_b[unit]) + (c * row_c[unit] + d * row_d[unit])
    for item in range(fours, last):
        factor, row = factors[item], deltas[0, samples[item], begin : begin + count]
        for unit in range(count):
            gradient[unit] += factor * row[unit]


@kernel(borrows=True)
def fill_bias_gradient(deltas: Floats, layer: int, size: int, begin: int, gradient: Floats) -> None:
    """Fills gradient[unit] with the sum over samples of deltas[layer, sample, begin + unit]."""
    for unit in range(len(gradient)):
        gradient[unit] = _NONE
    for sample in range(size):
        row = deltas[layer, sample, begin : begin + len(gradient)]
        for unit in range(len(gradient)):
            gradient[unit] += row[unit]


@kernel(borrows=True)
def fill_later_gradient(
    values: Floats, deltas: Floats, layer: int, size: int, above: int, begin: int, gradient: Floats
) -> None:
    """Fills gradient[unit] with the sum over samples of deltas[layer + 1, sample, above] times
    values[layer, sample, begin + unit]."""
    count = len(gradient)
    for unit in range(count):
        gradient[unit] = _NONE
    fours = size // 4 * 4
    for sample in range(0, fours, 4):
        a, b = deltas[layer + 1, sample, above], deltas[layer + 1, sample + 1, above]
        c, d = deltas[layer + 1, sample + 2, above], deltas[layer + 1, sample + 3, above]
        row_a = values[layer, sample, begin : begin + count]
        row_b = values[layer, sample + 1, begin : begin + count]
        row_c = values[layer, sample + 2, begin : begin + count]
        row_d = values[layer, sample + 3, begin : begin + count]
        for unit in range(count):
            gradient[unit] += (a * row_a[unit] + b * row_b[unit]) + (c * row_c[unit] + d * row_d[unit])
    for sample in range(fours, size):
        delta, row = deltas[layer + 1, sample, above], values[layer, sample, begin : begin + count]
        for unit in range(count):
            gradient[unit] += delta * row[unit]


@kernel(borrows=True)
def change(
    learner: Learner,
    numbers: Floats,
    offset: int,
    place: int,
    gradient: Floats,
    share: np.float32,
    rate: np.float32,
    rule: Rule,
    limit: np.float32,
) -> None:
    """Fills numbers[place + unit], weights or biases, and means and squares from `offset` + place on, by the rule and
    `share` times gradient[unit]; no number is beyond the limit."""
    row = numbers[place : place + len(gradient)]
    if rule.is_adam:
        mean = learner.means[offset + place : offset + place + len(gradient)]
        square = learner.squares[offset + place : offset + place + len(gradient)]
        keep, keep_square = rule.first_decay, rule.second_decay
        take, take_square = _ONE - keep, _ONE - keep_square
        for unit in range(len(gradient)):
            slope = share * gradient[unit]
            mean[unit] = keep * mean[unit] + take * slope
            square[unit] = keep_square * square[unit] + take_square * slope * slope
            row[unit] += rate * mean[unit] / (np.sqrt(square[unit]) + rule.least)
    else:
        for unit in range(len(gradient)):
            row[unit] += rate * share * gradient[unit]
    for unit in range(len(gradient)):
        row[unit] = min(max(row[unit], -limit), limit)


@kernel(borrows=True)
def take_in(numbers: Floats, take: np.float32, averages: Floats) -> None:
    """Moves averages[item], if there are any, by the share `take` of the way to numbers[item]."""
    for item in range(len(averages)):
        averages[item] += take * (numbers[item] - averages[item])
