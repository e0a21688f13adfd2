"""Slow reference implementations of supervised learning: dense NumPy in double precision, and losses with
`math.log`."""

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np

from tests.reference.learning import loss, outputs
from tests.reference.networks import MAX_RECTIFIED, Layers, inputs, possible

Numbers = list[Any]  # arrays of float64
MIN_CHANCE = 1e-5


def matrices(layers: Layers) -> Numbers:
    """Weights [below, unit] and biases of each layer, in turn."""
    weights = [np.array(layers.first), *(np.array(rows).T for rows in layers.later)]
    return [part for pair in zip(weights, map(np.array, layers.biases), strict=True) for part in pair]


def gradients(layers: Layers, boards: Sequence[Sequence[int]], targets: Any, squared: bool) -> Numbers:
    """Negative gradient of the loss, summed over positions, in the shape of `matrices`."""
    numbers = matrices(layers)
    values = [np.array([inputs(layers.input_set, board) for board in boards]) / 64]
    for place in range(0, len(numbers), 2):
        sums = values[-1] @ numbers[place] + numbers[place + 1]
        is_hidden = place + 2 < len(numbers)
        is_clipped = layers.is_rectified and is_hidden
        values.append(sums.clip(0, MAX_RECTIFIED) if is_clipped else 0.5 + 0.5 * np.tanh(sums / 2))
    allowed = np.array([possible(board) for board in boards])
    delta = (np.array(targets) - values[-1]) * allowed
    if squared:
        delta = delta * values[-1] * (1 - values[-1])
    found: Numbers = []
    for place in range(len(numbers) - 2, -1, -2):
        below = values[place // 2]
        found = [below.T @ delta, delta.sum(axis=0), *found]
        slopes = (below > 0) & (below < MAX_RECTIFIED) if layers.is_rectified else below * (1 - below)
        delta = (delta @ numbers[place].T) * slopes
    return found


def trained(
    layers: Layers, boards: Sequence[Sequence[int]], targets: Any, batch: int, rate: float, *, adam: bool, squared: bool
) -> Numbers:
    """Weights and biases after learning each batch once, in order, in the shape of `matrices`."""
    numbers = matrices(layers)
    means, squares = ([np.zeros_like(part) for part in numbers] for _ in range(2))
    for step, first in enumerate(range(0, len(boards), batch), start=1):
        chosen = slice(first, first + batch)
        later = [rows.T.tolist() for rows in numbers[2::2]]
        biases = [biases.tolist() for biases in numbers[1::2]]
        now = Layers(layers.input_set, layers.is_rectified, numbers[0].tolist(), later, biases)
        for place, slope in enumerate(gradients(now, boards[chosen], targets[chosen], squared)):
            if adam:
                mean = slope / len(boards[chosen])
                means[place] = 0.9 * means[place] + 0.1 * mean
                squares[place] = 0.999 * squares[place] + 0.001 * mean**2
                size = sqrt(1 - 0.999**step) / (1 - 0.9**step)
                numbers[place] = numbers[place] + rate * size * means[place] / (np.sqrt(squares[place]) + 1e-8)
            else:
                numbers[place] = numbers[place] + rate * slope
    return numbers


def trained_averages(
    layers: Layers, boards: Sequence[Sequence[int]], targets: Any, batch: int, rate: float, keep: float
) -> Numbers:
    """Averages of weights and biases after learning each batch by plain gradient descent: the mean of all so far, until
    the newest would have a weight below 1 - keep."""
    averages = [np.zeros_like(part) for part in matrices(layers)]
    for step, first in enumerate(range(0, len(boards), batch), start=1):
        seen = slice(0, first + batch)
        now = trained(layers, boards[seen], targets[seen], batch, rate, adam=False, squared=False)
        take = max(1 - keep, 1 / step)
        averages = [(1 - take) * average + take * part for average, part in zip(averages, now, strict=True)]
    return averages


def cross_entropy(board: Sequence[int], chances: Sequence[float], target: Sequence[float]) -> float:
    """Cross-entropy of one position, over the chances that its board allows."""
    total = 0.0
    for chance, wanted, counts in zip(chances, target, possible(board), strict=True):
        if counts:
            held = min(max(chance, MIN_CHANCE), 1 - MIN_CHANCE)
            total -= wanted * log(held) + (1 - wanted) * log(1 - held)
    return total


def total_loss(layers: Layers, boards: Sequence[Sequence[int]], targets: Any, squared: bool) -> float:
    """Sum of the losses of positions, by the reference implementation of learning by self-play."""
    return sum(
        loss(layers, [value / 64 for value in inputs(layers.input_set, board)], possible(board), target, squared)
        for board, target in zip(boards, targets, strict=True)
    )


def answers(layers: Layers, boards: Sequence[Sequence[int]]) -> list[list[float]]:
    """Outputs of a network of floats before the rules are applied."""
    return [outputs(layers, [value / 64 for value in inputs(layers.input_set, board)]) for board in boards]
