"""The trainers of one network of a run, and the trainer by kernels, which does gradient descent on batches of labelled
positions, with the same result on any number of threads.

A batch is learned in two phases. In the first phase every sample is an item: its units are computed forward, and their
deltas backward. In the second phase every block of units is an item: the gradient of each of its weights is the sum
over the samples of the batch in order, four at a time, and the weight is changed at once. The result of both does not
depend on how items are divided among threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import possible_outcomes
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.inference import LAYERS, SIZES
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import EXTRAS, fill_many_inputs
from bgdata.evaluation.networks.shots import ROLL_NUMBERS
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange
from bgdata.training.gradient import activate, backward, fill_errors
from bgdata.training.networks import FloatNetworks, Floats, Integers, numbers_of
from bgdata.training.recipes import SupervisedRecipe
from bgdata.training.supervised.examples import Examples

BLOCK = 32  # units of a layer whose weights one item changes; results do not depend on it
FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8  # the published settings of Adam
FIRST_LIMIT, LATER_LIMIT = np.float32(7.999), np.float32(15.998)  # largest weights, so that their integers fit int16
BIAS_LIMIT = np.float32(60)  # largest bias, so that its integer fits int32
_UNIT, _NONE, _ONE = np.float32(1 / UNIT), np.float32(0), np.float32(1)


class Sparse(NamedTuple):
    """The network inputs of positions that are not 0, in batches."""

    counts: Integers  # [position] number of inputs that are not 0, padded to a multiple of four
    columns: NDArray[np.int32]  # [position, item] index of each of these inputs, ascending, then 0
    values: Floats  # [position, item] values of these inputs, then 0
    starts: Integers  # [batch, input + 1] first item of each input in `samples` and `factors`
    samples: NDArray[np.int32]  # [batch, item] number of a position in the batch, ascending for each input
    factors: Floats  # [batch, item] value of the input in this position


def sparse_inputs(input_set: InputSet, inputs: int, boards: Boards, batch: int) -> Sparse:
    """Return the inputs that are not 0 of boards[row, slot], in batches of `batch` rows. `inputs` is the number of
    inputs of a position."""
    # one input for each checker, and the extra inputs; a multiple of four
    most, batches = -(-(2 * CHECKERS + EXTRAS[input_set]) // 4) * 4, -(-len(boards) // batch)
    sparse = Sparse(
        np.empty(len(boards), np.int64),
        np.empty((len(boards), most), np.int32),
        np.empty((len(boards), most), np.float32),
        np.empty((batches, inputs + 1), np.int64),
        np.empty((batches, batch * most), np.int32),
        np.empty((batches, batch * most), np.float32),
    )
    _fill_sparse(int(input_set), boards, batch, sparse)
    return sparse


@kernel(parallel=True)
def _fill_sparse(input_set: int, boards: Boards, batch: int, sparse: Sparse) -> None:
    """Fill the arrays of `sparse` with the inputs of boards[row, slot]."""
    for number in prange(len(sparse.starts)):
        _fill_batch(input_set, boards, batch, number, sparse)


@kernel()
def _fill_batch(input_set: int, boards: Boards, batch: int, number: int, sparse: Sparse) -> None:
    """Fill the arrays of `sparse` for batch `number`."""
    inputs, numbers = np.zeros((1, sparse.starts.shape[1] - 1), np.int16), np.zeros(ROLL_NUMBERS, np.int32)
    first, last = number * batch, min((number + 1) * batch, len(boards))
    for row in range(first, last):
        fill_many_inputs(input_set, boards[row : row + 1], 1, numbers, inputs)
        count = 0
        for item in range(inputs.shape[1]):
            if inputs[0, item] != 0:
                sparse.columns[row, count], sparse.values[row, count] = item, np.float32(inputs[0, item]) * _UNIT
                count += 1
        while count % 4:
            sparse.columns[row, count], sparse.values[row, count] = 0, _NONE
            count += 1
        sparse.counts[row] = count
    _sort_by_input(sparse, number, first, last)


@kernel(borrows=True)
def _sort_by_input(sparse: Sparse, number: int, first: int, last: int) -> None:
    """Sort the inputs of rows first:last of a batch by input (counting sort). Fills starts[number, input],
    samples[number, item] and factors[number, item] of `sparse`."""
    counts, columns, values = sparse.counts[first:last], sparse.columns[first:last], sparse.values[first:last]
    starts, samples, factors = sparse.starts[number], sparse.samples[number], sparse.factors[number]
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


class Learner(NamedTuple):
    """One network in training, and the state of its optimizer."""

    shape: Integers  # the network's row of `Networks.shapes`
    weights: Floats  # the network's weights, as in `FloatNetworks`
    biases: Floats
    means: Floats  # for Adam: the mean gradient of each weight, then of each bias
    squares: Floats  # for Adam: the mean square of each gradient
    values: Floats  # [layer, sample, unit] scratch: outputs of units
    deltas: Floats  # [layer, sample, unit] scratch: negative gradients of the loss
    average_weights: Floats  # moving average over batches; empty for no average
    average_biases: Floats


class Rule(NamedTuple):
    """How gradients change weights: the optimizer and its settings."""

    is_adam: bool  # Adam (Kingma and Ba, 2015), by the mean over a batch; else plain descent, by the sum
    is_squared: bool  # whether the loss is half the squared error of chances instead of their cross-entropy
    first_decay: np.float32  # decay of Adam's mean gradient
    second_decay: np.float32  # decay of the mean square of the gradient
    least: np.float32  # added to the root of the mean square


@kernel(parallel=True)
def learn_batches(
    learner: Learner, examples: Examples, sparse: Sparse, batch: int, rates: Floats, takes: Floats, rule: Rule
) -> None:
    """Train a network on examples, one batch after another, with learning rate rates[batch]. The share takes[batch] of
    the new weights enters the moving averages of the weights."""
    blocks = (learner.values.shape[2] + BLOCK - 1) // BLOCK
    for number in range(len(rates)):
        first = number * batch
        size = min(batch, len(examples.boards) - first)
        for sample in prange(size):
            weigh_sample(learner, examples, sparse, first + sample, sample, rule)
        for block in prange(blocks):
            change_block(learner, sparse, number, size, block * BLOCK, rates[number], rule, np.empty(BLOCK, np.float32))
        take_in(learner.weights, takes[number], learner.average_weights)
        take_in(learner.biases, takes[number], learner.average_biases)


@kernel(borrows=True)
def weigh_sample(learner: Learner, examples: Examples, sparse: Sparse, row: int, sample: int, rule: Rule) -> None:
    """Compute one position forward and backward: fill values[layer, sample, unit] and deltas[layer, sample, unit] of
    the learner for examples row `row`."""
    shape, weights, biases, values, deltas = (
        learner.shape,
        learner.weights,
        learner.biases,
        learner.values,
        learner.deltas,
    )
    columns, factors = sparse.columns[row], sparse.values[row]
    units = shape[SIZES]
    sums = values[0, sample, :units]
    for unit in range(units):
        sums[unit] = biases[unit]
    for item in range(0, sparse.counts[row], 4):
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
            above[unit] = biases[bias + unit] + product(
                given, weights[place + unit * below : place + (unit + 1) * below]
            )
        activate(shape, layer, above)
        place, bias = place + units * below, bias + units
    last, possible = shape[LAYERS] - 1, 2 * possible_outcomes(examples.boards[row]) + 1
    fill_errors(examples.targets[row], possible, rule.is_squared, values[last, sample], deltas[last, sample])
    backward(shape, weights, values, deltas, sample)


@kernel(borrows=True)
def product(values: Floats, row: Floats) -> np.float32:
    """Return the dot product of values[unit] and row[unit]: eight sums, each of every eighth unit, added in pairs."""
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
    """Update a block of BLOCK units from `begin` on after batch `number`. Three things change: the weights from all
    inputs to these units of the first layer, the weights from these units of any layer to the next layer, and their
    biases. gradient[0:BLOCK] is scratch."""
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
            for unit in range(len(part)):
                part[unit] = _NONE
            for sample in range(size):
                slopes = deltas[layer, sample, begin : begin + len(part)]
                for unit in range(len(part)):
                    part[unit] += slopes[unit]
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
    """Fill gradient[unit] with the sum over items first to last of factors[item] times
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
def fill_later_gradient(
    values: Floats, deltas: Floats, layer: int, size: int, above: int, begin: int, gradient: Floats
) -> None:
    """Fill gradient[unit] with the sum over samples of deltas[layer + 1, sample, above] times
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
    learner: Learner, numbers: Floats, offset: int, place: int, gradient: Floats,
    share: np.float32, rate: np.float32, rule: Rule, limit: np.float32,
) -> None:  # fmt: skip
    """Update numbers[place + unit], which are weights or biases, by share x gradient[unit] and the rule of the
    optimizer. Adam's means and squares from index offset + place on are updated too. No number exceeds `limit`."""
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
    """Move the moving averages averages[item], if there are any, towards numbers[item] by the share `take` of the
    difference."""
    for item in range(len(averages)):
        averages[item] += take * (numbers[item] - averages[item])


class PreparedBatch(NamedTuple):
    """The positions of one batch that one network learns, with their inputs."""

    examples: Examples
    inputs: Any  # inputs of the boards, in the form that the trainer reads


class NetworkTrainer(ABC):
    """Base of trainers, each of which trains one network in place. All state is in arrays, which checkpoints save and
    load."""

    shares_threads: ClassVar[bool]  # whether one trainer can keep more than two threads busy

    def __init__(
        self, networks: FloatNetworks, which: int, recipe: SupervisedRecipe, averages: FloatNetworks | None = None
    ) -> None:
        self.recipe, self.shape = recipe, networks.shapes[which]
        self.weights, self.biases = numbers_of(networks, which)
        self.averages = numbers_of(averages, which) if averages else (np.empty(0, np.float32),) * 2
        self.means, self.squares = np.zeros((2, len(self.weights) + len(self.biases)), np.float32)
        self._decays = np.ones(2)  # Adam's decays, to the power of the number of steps
        self._steps = np.zeros(1)  # number of averaged steps

    def settings(self) -> AbstractContextManager[None]:
        """Return a context that must be active during training."""
        return nullcontext()

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that change in training, except the weights and their averages."""
        return {"means": self.means, "squares": self.squares, "decays": self._decays, "steps": self._steps}

    def load(self) -> None:  # noqa: B027
        """Copy the network's arrays into the trainer before the first batch of an epoch."""

    def store(self) -> None:  # noqa: B027
        """Copy the trainer's results into the network's arrays after the last batch of an epoch."""

    @abstractmethod
    def prepare(self, examples: Examples) -> PreparedBatch:
        """Compute the inputs of examples, for `learn`."""

    @abstractmethod
    def learn(self, prepared_batch: PreparedBatch, ends: list[float]) -> None:
        """Train on the examples in order, at learning rates that go from `ends[0]` to `ends[1]`."""

    def steps(self, positions: int, first_rate: float, last_rate: float) -> tuple[Floats, Floats]:
        """Return the learning rate of each batch of these positions (for Adam corrected for means that began at 0), and
        the share of the new weights in their average. The batches are counted as learned."""
        batches = -(-positions // self.recipe.batch_size)
        rates, takes = np.empty(batches, np.float32), np.zeros(batches, np.float32)
        for number in range(batches):
            rate = first_rate + (last_rate - first_rate) * number / batches
            if self.recipe.optimizer == "adam":
                self._decays *= (FIRST_DECAY, SECOND_DECAY)
                rate *= (1 - self._decays[1]) ** 0.5 / (1 - self._decays[0])
            rates[number] = rate
            if self.recipe.average_decay:
                self._steps += 1
                # a plain mean at first, so that initial weights have no influence
                takes[number] = max(1 - self.recipe.average_decay, 1 / self._steps[0])
        return rates, takes


class KernelTrainer(NetworkTrainer):
    """Trains one network by the project's own kernels, with the same result on any machine and number of threads."""

    shares_threads = True

    def __init__(
        self, networks: FloatNetworks, which: int, recipe: SupervisedRecipe, averages: FloatNetworks | None = None
    ) -> None:
        super().__init__(networks, which, recipe, averages)
        values, deltas = np.zeros((2, self.shape[LAYERS], recipe.batch_size, self.shape[SIZES:].max()), np.float32)
        learned, moments = (self.weights, self.biases), (self.means, self.squares)
        self._learner = Learner(self.shape, *learned, *moments, values, deltas, *self.averages)
        decays = map(np.float32, (FIRST_DECAY, SECOND_DECAY, EPSILON))
        self._rule = Rule(recipe.optimizer == "adam", recipe.loss == "squared", *decays)

    def prepare(self, examples: Examples) -> PreparedBatch:
        input_set, inputs = InputSet(int(self.shape[0])), int(self.shape[1])
        return PreparedBatch(examples, sparse_inputs(input_set, inputs, examples.boards, self.recipe.batch_size))

    def learn(self, prepared_batch: PreparedBatch, ends: list[float]) -> None:
        examples, sparse = prepared_batch
        steps = self.steps(len(examples.boards), *ends)
        learn_batches(self._learner, examples, sparse, self.recipe.batch_size, *steps, self._rule)
