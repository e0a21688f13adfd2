"""Slow reference implementation of learning: gradients by finite differences of the loss, in double precision."""

from collections.abc import Sequence
from copy import deepcopy
from math import log

from tests.reference.networks import MAX_RECTIFIED, Layers, inputs, logistic, possible

STEP = 1e-5


def outputs(layers: Layers, values: Sequence[float]) -> list[float]:
    """Outputs of a network of floats for inputs."""
    sums = [
        bias + sum(value * row[unit] for value, row in zip(values, layers.first, strict=True) if value)
        for unit, bias in enumerate(layers.biases[0])
    ]
    for rows, biases in zip(layers.later, layers.biases[1:], strict=True):
        hidden = [min(max(total, 0), MAX_RECTIFIED) if layers.is_rectified else logistic(total) for total in sums]
        sums = [
            bias + sum(weight * value for weight, value in zip(row, hidden, strict=True))
            for row, bias in zip(rows, biases, strict=True)
        ]
    return [logistic(total) for total in sums]


def loss(
    layers: Layers, values: Sequence[float], allowed: Sequence[bool], target: Sequence[float], squared: bool
) -> float:
    """Cross-entropy of each chance that the rules allow, or half its squared error."""
    total = 0.0
    for chance, wanted, counts in zip(outputs(layers, values), target, allowed, strict=True):
        if counts:
            entropy = -wanted * log(chance) - (1 - wanted) * log(1 - chance)
            total += (chance - wanted) ** 2 / 2 if squared else entropy
    return total


def numbers(layers: Layers) -> list[list[float]]:
    """Every row of weights and biases of a network, as lists that can be changed in place."""
    return [*layers.first, *(row for rows in layers.later for row in rows), *layers.biases]


def learned(layers: Layers, board: Sequence[int], target: Sequence[float], rate: float, squared: bool) -> Layers:
    """The network after one step of gradient descent."""
    after, probe = deepcopy(layers), deepcopy(layers)
    values, allowed = [value / 64 for value in inputs(layers.input_set, board)], possible(board)
    used = [value != 0 for value in values]
    used += [True] * (len(numbers(layers)) - len(used))  # a weight of an input of 0 has no effect
    for row, changed, is_used in zip(numbers(probe), numbers(after), used, strict=True):
        for item in range(len(row) if is_used else 0):
            before, slope = row[item], 0.0
            for sign in (1, -1):
                row[item] = before + sign * STEP
                slope += sign * loss(probe, values, allowed, target, squared) / (2 * STEP)
            row[item] = before
            changed[item] -= rate * slope
    return after
