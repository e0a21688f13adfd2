"""Gradient descent on batches of labelled positions, on all cores for one network, the same on any number of them.

A batch is learned in two phases. First every sample is an item of its own: its units and by how much they should give
more. Then every block of units below is an item: the gradient of each of its weights is a sum over the samples of the
batch in order, four at a time, and the weight is changed at once. Neither depends on how items are shared out. Few
inputs of a position are not 0: the first layer is summed over those, and its gradients over the samples that have them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, possible_outcomes
from bgdata.evaluation.encoder import Encoder
from bgdata.evaluation.encoders import BASE_EXTRAS, EXTRAS, UNIT, fill_inputs
from bgdata.game.codec import Boards
from bgdata.game.position import CHECKERS
from bgdata.kernel import kernel, prange
from bgdata.training.learning import Floats, fill_errors, squash

BLOCK = 32  # units of a layer whose weights one thread changes: any number gives the same
_UNIT = np.float32(1 / UNIT)
_NONE = np.float32(0)
FIRST_LIMIT, LATER_LIMIT = np.float32(7.999), np.float32(15.998)  # of weights, so that int16 holds them: see learning


class Sparse(NamedTuple):
    """Inputs that are not 0 of the batches of a lesson, by sample and by input."""

    counts: NDArray[np.int64]  # [sample] how many it has, filled up to a multiple of four
    columns: NDArray[np.int32]  # [sample, item] which; ascending, then 0
    values: Floats  # [sample, item] what they are; then 0
    starts: NDArray[np.int64]  # [batch, input + 1] where the samples that have an input begin in the next two
    samples: NDArray[np.int32]  # [batch, item] of the batch, from 0; ascending for each input
    factors: Floats  # [batch, item] what the input is there


class Rule(NamedTuple):
    """How a gradient changes a weight."""

    is_adam: bool  # Kingma and Ba (2015), else plain descent
    is_squared: bool  # half the squared error of chances instead of their cross-entropy
    first_decay: np.float32  # of Adam's mean gradient
    second_decay: np.float32  # of its mean square
    least: np.float32  # what is added to its root


def most_used(encoder: Encoder) -> int:
    """Room for the inputs that are not 0: at most one for each checker, and the extras; a multiple of four."""
    return -(-(2 * CHECKERS + max(EXTRAS[encoder], BASE_EXTRAS)) // 4) * 4


def new_sparse(encoder: Encoder, inputs: int, rows: int, batch: int) -> Sparse:
    """Room for the inputs of so many rows in batches."""
    most, batches = most_used(encoder), -(-rows // batch)
    return Sparse(
        np.empty(rows, np.int64),
        np.empty((rows, most), np.int32),
        np.empty((rows, most), np.float32),
        np.empty((batches, inputs + 1), np.int64),
        np.empty((batches, batch * most), np.int32),
        np.empty((batches, batch * most), np.float32),
    )


@kernel(borrows=True)
def fill_row(inputs: NDArray[np.int16], columns: NDArray[np.int32], values: Floats) -> int:
    """Fills columns[item] and values[item] with the inputs that are not 0; returns how many, rounded up to fours."""
    count = 0
    for item in range(len(inputs)):
        if inputs[item] != 0:
            columns[count], values[count] = item, np.float32(inputs[item]) * _UNIT
            count += 1
    while count % 4:
        columns[count], values[count] = 0, _NONE
        count += 1
    return count


@kernel(borrows=True)
def fill_by_input(
    counts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    starts: NDArray[np.int64],
    samples: NDArray[np.int32],
    factors: Floats,
) -> None:
    """Fills starts[input], samples[item] and factors[item] of a batch: a counting sort of its rows by input."""
    for item in range(len(starts)):
        starts[item] = 0
    for row in range(len(counts)):
        for item in range(counts[row]):
            starts[columns[row, item]] += values[row, item] != _NONE
    total = 0
    for item in range(len(starts)):
        total, starts[item] = total + starts[item], total
    for row in range(len(counts)):
        for item in range(counts[row]):
            if values[row, item] != _NONE:
                place = starts[columns[row, item]]
                samples[place], factors[place] = row, values[row, item]
                starts[columns[row, item]] = place + 1
    for item in range(len(starts) - 1, 0, -1):
        starts[item] = starts[item - 1]
    starts[0] = 0


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
    """Fills values[layer, sample, unit] with what the units of one network give for the inputs `columns`,
    whose values are `factors`."""
    units = shape[5]
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
    squash(sums)
    place, bias = shape[1] * units, units
    for layer in range(1, shape[4]):
        below, units = units, shape[5 + layer]
        given, above = values[layer - 1, sample, :below], values[layer, sample, :units]
        for unit in range(units):
            row = weights[place + unit * below : place + (unit + 1) * below]
            above[unit] = biases[bias + unit] + product(given, row)
        squash(above)
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
def backward(shape: NDArray[np.int64], weights: Floats, values: Floats, deltas: Floats, sample: int) -> None:
    """Fills deltas[layer, sample, unit] of the layers before the last with how much more they should give."""
    end = shape[1] * shape[5]
    for layer in range(1, shape[4]):
        end += shape[5 + layer] * shape[4 + layer]
    for layer in range(shape[4] - 1, 0, -1):
        units, below = shape[5 + layer], shape[4 + layer]
        end -= units * below
        lower, given = deltas[layer - 1, sample, :below], values[layer - 1, sample, :below]
        for unit in range(below):
            lower[unit] = _NONE
        for unit in range(units):
            delta, row = deltas[layer, sample, unit], weights[end + unit * below : end + (unit + 1) * below]
            for item in range(below):
                lower[item] += delta * row[item]
        for unit in range(below):
            lower[unit] *= given[unit] * (np.float32(1) - given[unit])


@kernel(borrows=True)
def change_block(
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    means: Floats,
    squares: Floats,
    starts: NDArray[np.int64],
    samples: NDArray[np.int32],
    factors: Floats,
    values: Floats,
    deltas: Floats,
    size: int,
    begin: int,
    rate: np.float32,
    rule: Rule,
    gradient: Floats,
) -> None:
    """Fills, of one network, the weights that lead from all inputs to BLOCK units of the first layer from `begin` on,
    and from such units of any layer to the next, their biases, means and squares. gradient[0:BLOCK] is scratch."""
    units, offset = shape[5], len(weights)
    share = np.float32(1) / np.float32(size) if rule.is_adam else np.float32(1)
    stop = min(begin + BLOCK, units)
    if begin < stop:
        part = gradient[: stop - begin]
        for item in range(shape[1]):
            if starts[item] < starts[item + 1] or rule.is_adam:
                fill_first_gradient(samples, factors, deltas, starts[item], starts[item + 1], begin, part)
                place = item * units + begin
                change(weights, means, squares, place, place, part, share, rate, rule, FIRST_LIMIT)
    place, bias = shape[1] * units, 0
    for layer in range(shape[4]):
        units = shape[5 + layer]
        stop = min(begin + BLOCK, units)
        if begin < stop:
            part = gradient[: stop - begin]
            fill_bias_gradient(deltas, layer, size, begin, part)
            limit = np.float32(1000)  # biases have room
            change(biases, means, squares, bias + begin, offset + bias + begin, part, share, rate, rule, limit)
            for unit in range(shape[6 + layer] if layer + 1 < shape[4] else 0):
                fill_later_gradient(values, deltas, layer, size, unit, begin, part)
                row = place + unit * units + begin
                change(weights, means, squares, row, row, part, share, rate, rule, LATER_LIMIT)
        bias += units
        place += units * shape[6 + layer] if layer + 1 < shape[4] else 0


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
    weights: Floats,
    means: Floats,
    squares: Floats,
    place: int,
    moment: int,
    gradient: Floats,
    share: np.float32,
    rate: np.float32,
    rule: Rule,
    limit: np.float32,
) -> None:
    """Fills weights[place + unit], and means and squares[moment + unit], by the rule; no weight is beyond the limit."""
    row = weights[place : place + len(gradient)]
    if rule.is_adam:
        mean, square = means[moment : moment + len(gradient)], squares[moment : moment + len(gradient)]
        keep, keep_square = rule.first_decay, rule.second_decay
        take, take_square = np.float32(1) - keep, np.float32(1) - keep_square
        for unit in range(len(gradient)):
            slope = share * gradient[unit]
            mean[unit] = keep * mean[unit] + take * slope
            square[unit] = keep_square * square[unit] + take_square * slope * slope
            row[unit] += rate * mean[unit] / (np.sqrt(square[unit]) + rule.least)
    else:
        for unit in range(len(gradient)):
            row[unit] += rate * gradient[unit]
    for unit in range(len(gradient)):
        row[unit] = min(max(row[unit], -limit), limit)


def sparse_loop(
    encoder: int,
    boards: Boards,
    batch: int,
    counts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    starts: NDArray[np.int64],
    samples: NDArray[np.int32],
    factors: Floats,
) -> None:
    """Fills the arrays of a Sparse from boards[row, slot], `batch` rows at a time."""
    n_inputs = starts.shape[1] - 1
    for number in prange(len(starts)):
        inputs = np.zeros(n_inputs, np.int16)
        first, last = number * batch, min((number + 1) * batch, len(boards))
        for row in range(first, last):
            fill_inputs(encoder, boards[row], inputs)
            counts[row] = fill_row(inputs, columns[row], values[row])
        fill_by_input(
            counts[first:last],
            columns[first:last],
            values[first:last],
            starts[number],
            samples[number],
            factors[number],
        )


def batches_loop(
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    means: Floats,
    squares: Floats,
    boards: Boards,
    targets: Chances,
    sparse: Sparse,
    batch: int,
    rates: Floats,
    rule: Rule,
    values: Floats,
    deltas: Floats,
) -> None:
    """Fills weights, biases and, for both one after the other, means and squares of one network: it learns
    targets[row, 0:5] of boards[row, slot], a batch after the other at rates[batch]. values and deltas
    [layer, sample, unit] are overwritten."""
    layers, most = shape[4], shape[5:].max()
    blocks = (most + BLOCK - 1) // BLOCK
    for number in range(len(rates)):
        first = number * batch
        size = min(batch, len(boards) - first)
        for sample in prange(size):
            row = first + sample
            count = sparse.counts[row]
            forward(shape, weights, biases, sparse.columns[row, :count], sparse.values[row, :count], values, sample)
            possible = 2 * possible_outcomes(boards[row]) + 1
            outputs, errors = values[layers - 1, sample], deltas[layers - 1, sample]
            fill_errors(targets[row], possible, rule.is_squared, outputs, errors)
            backward(shape, weights, values, deltas, sample)
        for block in prange(blocks):
            gradient = np.empty(BLOCK, np.float32)
            change_block(
                shape, weights, biases, means, squares, sparse.starts[number], sparse.samples[number],
                sparse.factors[number], values, deltas, size, block * BLOCK, rates[number], rule, gradient,
            )  # fmt: skip


# on all threads; or on the one that calls, so that others can do something else: with the same results
fill_sparse, learn_batches = kernel(parallel=True)(sparse_loop), kernel(parallel=True)(batches_loop)
fill_sparse_alone, learn_batches_alone = kernel()(sparse_loop), kernel()(batches_loop)
