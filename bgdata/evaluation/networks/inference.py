"""Networks in integers: the first layer can be updated from that of another board, with the same result to the last
bit.

Inputs are integers in units of 1/64, weights of the first layer int16 in units of 2^-12, so sums are exact int32 in
units of 2^-18 in any order, and evaluating a play costs only what it changes. Hidden units are int16 in units of 2^-13,
later weights int16 in units of 2^-11, later sums int32 in units of 2^-24.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances
from bgdata.evaluation.networks.inputs import MOST_EXTRAS, OF_COUNT, POINT_INPUTS, Inputs, fill_extras
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, read_only

Sums = NDArray[np.int32]
Units = NDArray[np.int16]
FIRST_WEIGHT, LATER_WEIGHT, HIDDEN_UNIT = 1 << 12, 1 << 11, 1 << 13
FIRST_SUM, LATER_SUM = 64 * FIRST_WEIGHT, HIDDEN_UNIT * LATER_WEIGHT
OUTPUTS = 5
# halves of a unit: the squashing function takes half of its argument
_FIRST_SCALE, _LATER_SCALE = np.float32(0.5 / FIRST_SUM), np.float32(0.5 / LATER_SUM)
_LIMIT = np.float32(4.97)  # where the fraction below would pass 1
_A, _B, _C, _D, _E, _F = (np.float32(number) for number in (135135, 17325, 378, 62370, 3150, 28))
_HALF, _HALF_UNIT, _TO_NEAREST = np.float32(0.5), np.float32(HIDDEN_UNIT / 2), np.float32(HIDDEN_UNIT / 2 + 0.5)


class NetworkArrays(NamedTuple):
    """The arrays of one network, for kernels."""

    input_set: int  # of `input_sets.InputSet`
    inputs: int
    sizes: NDArray[np.int64]  # [layers] units of each layer after the inputs; the last is 5
    weights: Units  # [input, unit] of the first layer in units of 2^-12, then [unit, unit below] of later ones in 2^-11
    biases: Sums  # [unit] of the first layer in units of 2^-18, then of later ones in units of 2^-24


class Changes(NamedTuple):
    """Scratch: rows of changed inputs of the first layer, and the changes of their values."""

    rows: NDArray[np.int64]  # [MOST_CHANGES]
    values: NDArray[np.int32]


MOST_CHANGES = POINT_INPUTS + MOST_EXTRAS + 4  # all inputs, one that does not count, and three to fill the last four


class Networks(NamedTuple):
    """The networks of a player: flat arrays, since parallel kernels take no tuples of tuples."""

    shapes: NDArray[np.int64]  # [network, column]: input set, inputs, first weight, first bias, layers, their sizes
    weights: Units  # of all networks, one after the other
    biases: Sums


NO_NETWORKS = Networks(
    *(read_only(np.zeros(size, dtype)) for size, dtype in (((3, 6), np.int64), (0, np.int16), (0, np.int32)))
)
SHAPE_COLUMNS = 5  # of a row of shapes before the sizes of the layers


@kernel(borrows=True)
def network_at(networks: Networks, which: int) -> NetworkArrays:
    """The network at a place of NETWORK_CLASSES, as views of its part of the arrays."""
    shape = networks.shapes[which]
    sizes = shape[SHAPE_COLUMNS : SHAPE_COLUMNS + shape[4]]
    return NetworkArrays(shape[0], shape[1], sizes, networks.weights[shape[2] :], networks.biases[shape[3] :])


@kernel(borrows=True)
def half_tangent(y: np.float32) -> np.float32:
    """tanh(y) within 0.0001, as a continued fraction: twice the logistic function of 2y, minus 1."""
    y = min(max(y, -_LIMIT), _LIMIT)
    square = y * y
    return y * (_A + square * (_B + square * (_C + square))) / (_A + square * (_D + square * (_E + square * _F)))


@kernel(borrows=True)
def fill_sums(network: NetworkArrays, board: Boards, extras: Inputs, changes: Changes, sums: Sums) -> None:
    """Fills extras[0:n] with the extras of board[slot] and sums[0:hidden] with the sums of the first layer."""
    for unit in range(len(sums)):
        sums[unit] = network.biases[unit]
    n = 0
    for point in range(1, 25):
        if board[point] != 0:
            for item in range(8):
                n = note_change(changes, n, 8 * (point - 1) + item, OF_COUNT[board[point] + 15, item])
    fill_extras(network.input_set, board, extras)
    for item in range(network.inputs - POINT_INPUTS):
        n = note_change(changes, n, POINT_INPUTS + item, extras[item])
    add_changes(network.weights, changes, n, sums)


@kernel(borrows=True)
def change_sums(
    network: NetworkArrays,
    before: Boards,
    extras_before: Inputs,
    board: Boards,
    extras: Inputs,
    changes: Changes,
    sums: Sums,
) -> None:
    """Fills extras[0:n] with the extras of board[slot], and sums[0:hidden] with its sums of the first layer if they
    hold those of before[slot], whose extras are given."""
    n = 0
    for point in range(1, 25):
        if board[point] != before[point]:
            old, new = before[point] + 15, board[point] + 15
            for item in range(8):
                n = note_change(changes, n, 8 * (point - 1) + item, OF_COUNT[new, item] - OF_COUNT[old, item])
    fill_extras(network.input_set, board, extras)
    for item in range(network.inputs - POINT_INPUTS):
        n = note_change(changes, n, POINT_INPUTS + item, extras[item] - extras_before[item])
    add_changes(network.weights, changes, n, sums)


@kernel(borrows=True)
def note_change(changes: Changes, n: int, row: int, value: int) -> int:
    """Fills changes.rows[n] and changes.values[n], which count only if the value is not 0; returns how many do."""
    changes.rows[n], changes.values[n] = row, value
    return n + (value != 0)


@kernel(borrows=True)
def add_changes(weights: Units, changes: Changes, n: int, sums: Sums) -> None:
    """Fills sums[unit] with itself plus the first n changes times the weights of their inputs, four at a time: reading
    and writing the sums is half of the work of adding one."""
    for item in range(n, n + 3):  # up to three that change nothing fill the last four
        changes.rows[item], changes.values[item] = 0, 0
    count, rows, values = len(sums), changes.rows, changes.values
    for item in range(0, n, 4):
        first = weights[rows[item] * count : (rows[item] + 1) * count]
        second = weights[rows[item + 1] * count : (rows[item + 1] + 1) * count]
        third = weights[rows[item + 2] * count : (rows[item + 2] + 1) * count]
        fourth = weights[rows[item + 3] * count : (rows[item + 3] + 1) * count]
        a, b, c, d = values[item], values[item + 1], values[item + 2], values[item + 3]
        for unit in range(count):
            more = a * np.int32(first[unit]) + b * np.int32(second[unit])
            more += c * np.int32(third[unit]) + d * np.int32(fourth[unit])
            sums[unit] = np.int32(sums[unit] + np.int32(more))


@kernel(borrows=True)
def fill_hidden(sums: Sums, scale: np.float32, hidden: Units) -> None:
    """Fills hidden[0:n] with the logistic function of sums[0:n], of which `scale` is half a unit."""
    for unit in range(len(sums)):
        tangent = half_tangent(np.float32(sums[unit]) * scale)
        hidden[unit] = np.int16(np.int32(_TO_NEAREST + _HALF_UNIT * tangent))


@kernel(borrows=True)
def weigh(hidden: Units, weights: Units) -> np.int32:
    """Sum of hidden[unit] times weights[unit]."""
    total = np.int32(0)
    for unit in range(len(hidden)):
        total = np.int32(total + np.int32(hidden[unit]) * np.int32(weights[unit]))
    return total


@kernel(borrows=True)
def fill_outputs(network: NetworkArrays, sums: Sums, hidden: Units, later: Sums, chances: Chances) -> None:
    """Fills chances[0:5] from the sums of the first layer; not yet limited by the rules. hidden[0:most] and
    later[0:most] are scratch, for the largest layer."""
    count = network.sizes[0]
    fill_hidden(sums, _FIRST_SCALE, hidden[:count])
    place, bias = network.inputs * count, count
    for layer in range(1, len(network.sizes)):
        units = network.sizes[layer]
        for unit in range(units):
            row = network.weights[place + unit * count : place + (unit + 1) * count]
            later[unit] = network.biases[bias + unit] + weigh(hidden[:count], row)
        place, bias = place + units * count, bias + units
        if layer + 1 < len(network.sizes):
            fill_hidden(later[:units], _LATER_SCALE, hidden[:units])
        count = units
    for output in range(OUTPUTS):
        chances[output] = _HALF + _HALF * half_tangent(np.float32(later[output]) * _LATER_SCALE)
