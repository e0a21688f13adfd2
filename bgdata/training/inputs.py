"""Inputs of positions for learning: dense rows of floats for matrix products, or sparse rows of those that are not
0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import EXTRAS, UNIT, fill_inputs
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange
from bgdata.training.networks import Floats

_UNIT, _NONE = np.float32(1 / UNIT), np.float32(0)


class Sparse(NamedTuple):
    """The inputs that are not 0, in batches of positions."""

    counts: NDArray[np.int64]  # [position] how many it has, filled up to a multiple of four
    columns: NDArray[np.int32]  # [position, item] which; ascending, then 0
    values: Floats  # [position, item] what they are; then 0
    starts: NDArray[np.int64]  # [batch, input + 1] where the positions that have an input begin in the next two
    samples: NDArray[np.int32]  # [batch, item] positions, counted in the batch; ascending for each input
    factors: Floats  # [batch, item] what the input is there


def most_used(input_set: InputSet) -> int:
    """The most inputs of a position that are not 0: one for each checker, and the extras; a multiple of four."""
    return -(-(2 * CHECKERS + EXTRAS[input_set]) // 4) * 4


def new_sparse(input_set: InputSet, inputs: int, rows: int, batch: int) -> Sparse:
    """An empty `Sparse` with room for this many positions."""
    most, batches = most_used(input_set), -(-rows // batch)
    return Sparse(
        np.empty(rows, np.int64),
        np.empty((rows, most), np.int32),
        np.empty((rows, most), np.float32),
        np.empty((batches, inputs + 1), np.int64),
        np.empty((batches, batch * most), np.int32),
        np.empty((batches, batch * most), np.float32),
    )


@kernel(parallel=True)
def fill_sparse(input_set: int, boards: Boards, batch: int, sparse: Sparse) -> None:
    """Fills a Sparse from boards[row, slot], `batch` rows at a time, on all threads."""
    for number in prange(len(sparse.starts)):
        fill_batch(input_set, boards, batch, number, sparse)


@kernel()
def fill_sparse_alone(input_set: int, boards: Boards, batch: int, sparse: Sparse) -> None:
    """`fill_sparse` on the calling thread only, so that the other threads are free."""
    for number in range(len(sparse.starts)):
        fill_batch(input_set, boards, batch, number, sparse)


@kernel()
def fill_batch(input_set: int, boards: Boards, batch: int, number: int, sparse: Sparse) -> None:
    """Fills one batch of a Sparse."""
    inputs = np.zeros(sparse.starts.shape[1] - 1, np.int16)
    first, last = number * batch, min((number + 1) * batch, len(boards))
    for row in range(first, last):
        fill_inputs(input_set, boards[row], inputs)
        sparse.counts[row] = fill_row(inputs, sparse.columns[row], sparse.values[row])
    fill_by_input(
        sparse.counts[first:last],
        sparse.columns[first:last],
        sparse.values[first:last],
        sparse.starts[number],
        sparse.samples[number],
        sparse.factors[number],
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


@kernel()
def fill_dense(input_set: int, boards: Boards, inputs: Floats) -> None:
    """Fills inputs[row, input] from boards[row, slot] on the calling thread only, so that the other threads can
    learn."""
    row_inputs = np.empty(inputs.shape[1], np.int16)
    for row in range(len(boards)):
        fill_inputs(input_set, boards[row], row_inputs)
        for item in range(len(row_inputs)):
            inputs[row, item] = np.float32(row_inputs[item]) * _UNIT
