"""Inputs of positions that are not 0, by position and by input: few are, so learning looks at those alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.encoder import Encoder
from bgdata.evaluation.networks.inputs import EXTRAS, UNIT, fill_inputs
from bgdata.game.codec import Boards
from bgdata.game.position import CHECKERS
from bgdata.kernel import kernel, prange
from bgdata.training.temporal_difference.learning import Floats

_UNIT, _NONE = np.float32(1 / UNIT), np.float32(0)


class Sparse(NamedTuple):
    """Inputs that are not 0 of positions in batches."""

    counts: NDArray[np.int64]  # [position] how many it has, filled up to a multiple of four
    columns: NDArray[np.int32]  # [position, item] which; ascending, then 0
    values: Floats  # [position, item] what they are; then 0
    starts: NDArray[np.int64]  # [batch, input + 1] where the positions that have an input begin in the next two
    samples: NDArray[np.int32]  # [batch, item] positions, counted in the batch; ascending for each input
    factors: Floats  # [batch, item] what the input is there


def most_used(encoder: Encoder) -> int:
    """Room for the inputs that are not 0: at most one for each checker, and the extras; a multiple of four."""
    return -(-(2 * CHECKERS + EXTRAS[encoder]) // 4) * 4


def new_sparse(encoder: Encoder, inputs: int, rows: int, batch: int) -> Sparse:
    """Room for the inputs of so many positions."""
    most, batches = most_used(encoder), -(-rows // batch)
    return Sparse(
        np.empty(rows, np.int64),
        np.empty((rows, most), np.int32),
        np.empty((rows, most), np.float32),
        np.empty((batches, inputs + 1), np.int64),
        np.empty((batches, batch * most), np.int32),
        np.empty((batches, batch * most), np.float32),
    )


@kernel(parallel=True)
def fill_sparse(encoder: int, boards: Boards, batch: int, sparse: Sparse) -> None:
    """Fills a Sparse from boards[row, slot], `batch` rows at a time, on all threads."""
    for number in prange(len(sparse.starts)):
        fill_batch(encoder, boards, batch, number, sparse)


@kernel()
def fill_sparse_alone(encoder: int, boards: Boards, batch: int, sparse: Sparse) -> None:
    """Fills the same on the thread that calls, so that others can do something else."""
    for number in range(len(sparse.starts)):
        fill_batch(encoder, boards, batch, number, sparse)


@kernel()
def fill_batch(encoder: int, boards: Boards, batch: int, number: int, sparse: Sparse) -> None:
    """Fills one batch of a Sparse."""
    inputs = np.zeros(sparse.starts.shape[1] - 1, np.int16)
    first, last = number * batch, min((number + 1) * batch, len(boards))
    for row in range(first, last):
        fill_inputs(encoder, boards[row], inputs)
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
