"""Labelled positions for training, each for the network of its class, and the errors of networks on them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import Chances, cubeless_equities, possible_outcomes
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.inputs import fill_many_inputs
from bgdata.evaluation.networks.shots import ROLL_NUMBERS
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.kernel import kernel
from bgdata.training.networks import Floats

NETWORKS = 3
MIN_CHANCE = 1e-5  # replaces a chance of 0, which has no logarithm
_LN_2 = 0.6931471805599453
_TERMS = 17  # terms of the series of logarithms: the remaining terms are below 2^-53
# [gnubg's number of a class] its index in NETWORK_CLASSES, or NETWORKS for finished games, which are not learned
_NETWORK_OF = np.full(max(PositionClass) + 1, 0)
_NETWORK_OF[[PositionClass.OVER, PositionClass.CRASHED, PositionClass.CONTACT]] = NETWORKS, 1, 2


class LabelledBatches(Protocol):
    """What training needs from a feed: its batches by epoch and number."""

    @property
    def row_count(self) -> int: ...
    @property
    def class_counts(self) -> NDArray[np.int64]: ...
    def __len__(self) -> int: ...
    def batch(self, epoch: int, number: int) -> Any: ...  # with boards, targets and classes, as `feed.rows.Batch`


class Examples(NamedTuple):
    """Labelled positions for one network: boards and their chances."""

    boards: Boards  # [n, 26]
    targets: Chances  # [n, 5]


class MeanErrors(NamedTuple):
    """The mean errors of a network over labelled positions."""

    cross_entropy: float  # sum over possible chances; includes the entropy of the targets
    squared_error: float  # squared error of cubeless equities, in points squared


def examples_by_network(batch: Any) -> list[Examples]:
    """Divide a batch with boards, targets and classes into the examples of each network, in order."""
    networks = _NETWORK_OF[batch.classes]
    places = [np.flatnonzero(networks == which) for which in range(NETWORKS)]
    return [Examples(batch.boards.take(rows, axis=0), batch.targets.take(rows, axis=0)) for rows in places]


def read_examples(batches: LabelledBatches, most: int, *, of_each: bool = False) -> list[Examples]:
    """Return the examples of each network in the first batches of an epoch: as many batches as contain at least `most`
    positions, or all. If `of_each` is true, a network without examples in these batches also gets the examples of its
    first batch, because files may contain one class after another."""
    parts: list[list[Examples]] = [[] for _ in range(NETWORKS)]
    missing = set(_NETWORK_OF[np.flatnonzero(batches.class_counts)].tolist()) - {NETWORKS} if of_each else set()
    rows = 0
    for number in range(len(batches)):
        batch = batches.batch(0, number)
        for which, found in enumerate(examples_by_network(batch)):
            if rows < most or which in missing:
                parts[which].append(found)
        missing -= {which for which in missing if len(parts[which][-1].boards)}
        rows += len(batch.boards)
        if rows >= most and not missing:
            break
    return [Examples(*(np.concatenate(columns) for columns in zip(*part, strict=True))) for part in parts]


def error_of(networks: Networks, examples: Examples) -> MeanErrors:
    """Return the mean errors of integer networks on these examples, without bearoff tables; NaN if there are no
    examples."""
    if not len(examples.boards):
        return MeanErrors(np.nan, np.nan)
    chances = evaluations(networks, NO_TABLES, examples.boards).chances
    differences = cubeless_equities(chances).astype(np.float64) - cubeless_equities(examples.targets)
    return MeanErrors(
        float(cross_entropies(examples.boards, chances, examples.targets).mean()), float((differences**2).mean())
    )


def cross_entropies(boards: Boards, chances: Chances, targets: Chances) -> NDArray[np.float64]:
    """Return for each position the sum of -target log(chance) - (1 - target) log(1 - chance) over the chances that its
    board allows, as float64[n]."""
    answers = np.clip(chances.astype(np.float64), MIN_CHANCE, 1 - MIN_CHANCE)
    wanted = targets.astype(np.float64)
    each = -wanted * natural_logarithms(answers) - (1 - wanted) * natural_logarithms(1 - answers)
    is_possible = np.empty(chances.shape, np.bool_)
    fill_possible(boards, is_possible)
    each *= is_possible
    total: NDArray[np.float64] = each[:, 0] + each[:, 1] + each[:, 2] + each[:, 3] + each[:, 4]
    return total


def natural_logarithms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the natural logarithms of values above 0, within 2^-50. Each value is split into a power of two and a
    factor, whose logarithm is a series of the inverse hyperbolic tangent."""
    parts, powers = np.frexp(values)
    is_small = parts < np.sqrt(0.5)
    parts, powers = np.where(is_small, 2 * parts, parts), powers - is_small
    ratio = (parts - 1) / (parts + 1)  # at most 0.172
    square, series = ratio * ratio, np.zeros_like(ratio)
    for term in range(2 * _TERMS - 1, 0, -2):
        series = series * square + 1 / term
    return np.asarray(2 * ratio * series + powers * _LN_2)


@kernel()
def fill_possible(boards: Boards, is_possible: NDArray[np.bool_]) -> None:
    """Fill is_possible[row, chance] with whether the rules allow chances[0:5] of boards[row, slot] to be above 0; a win
    is always possible."""
    for row in range(len(boards)):
        possible = 2 * possible_outcomes(boards[row]) + 1
        for chance in range(5):
            is_possible[row, chance] = possible >> chance & 1


@kernel()
def fill_dense(input_set: int, boards: Boards, inputs: Floats) -> None:
    """Fill inputs[row, input] with the inputs of boards[row, slot], on the calling thread only, so that other threads
    can train."""
    row_inputs, numbers = np.empty((1, inputs.shape[1]), np.int16), np.zeros(ROLL_NUMBERS, np.int32)
    for row in range(len(boards)):
        fill_many_inputs(input_set, boards[row : row + 1], 1, numbers, row_inputs)
        for item in range(inputs.shape[1]):
            inputs[row, item] = np.float32(row_inputs[0, item]) * np.float32(1 / UNIT)
