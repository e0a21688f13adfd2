"""Networks in integer arithmetic: the first layer of a board can be updated from that of any other board, with the same
result, bit for bit.

Inputs are integers in units of 1/64, and weights of the first layer are int16 in units of 2^-12. So sums are int32 in
units of 2^-18, exact in any order, and the evaluation of a play only adds what the play changes. Later weights are
int16 in units of 2^-11. Hidden units are int16. Logistic units are in units of 2^-13, and later sums int32 in units of
2^-24. Rectified units, which reach 8 instead of 1, are in units of 2^-9, and later sums in units of 2^-20. The outputs
are logistic.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances
from bgdata.evaluation.networks.contact_inputs import Inputs
from bgdata.evaluation.networks.inputs import MAX_INPUTS
from bgdata.evaluation.networks.products import (
    LANES,
    STEP,
    UNITS,
    add_products_1,
    add_products_6,
    add_rows,
    collect_changes,
    count_changes,
    gather_active,
    shift_down,
)
from bgdata.kernel import kernel, read_only

Sums = NDArray[np.int32]
Units = NDArray[np.int16]
FIRST_WEIGHT, LATER_WEIGHT, FIRST_SUM = 1 << 12, 1 << 11, 1 << 18
OUTPUTS = 5


class Activation(IntEnum):
    """The activation function of hidden units; the number is stored with the network."""

    LOGISTIC = 0
    RECTIFIED = 1  # max(sum, 0), at most MAX_RECTIFIED

    @property
    def later_sum(self) -> int:
        """How many units a sum of 1 has in the layers after the first."""
        return LATER_WEIGHT << (_RECTIFIED_BITS if self is Activation.RECTIFIED else _LOGISTIC_BITS)

    @property
    def most(self) -> int:
        """The largest value of a hidden unit, as the integer that is stored."""
        return RECTIFIED_LIMIT if self is Activation.RECTIFIED else LOGISTIC_UNIT


_LOGISTIC_BITS, _RECTIFIED_BITS = 13, 9  # binary places of hidden units
LOGISTIC_UNIT = 1 << _LOGISTIC_BITS
RECTIFIED_UNIT = 1 << _RECTIFIED_BITS
RECTIFIED_LIMIT = 8 * RECTIFIED_UNIT - 1  # the maximum of a hidden unit, as an integer
MAX_RECTIFIED = RECTIFIED_LIMIT / RECTIFIED_UNIT
_RECTIFIED = int(Activation.RECTIFIED)
_FIRST_SHIFT, _LATER_SHIFT = np.int32(18 - _RECTIFIED_BITS), np.int32(11)  # from sums to rectified units
# half a unit per sum: the squashing function takes half of its argument
_FIRST_SCALE = np.float32(0.5 / FIRST_SUM)
_LATER_SCALE, _RECTIFIED_SCALE = (np.float32(0.5 / each.later_sum) for each in Activation)
_LIMIT = np.float32(4.97)  # above this, the fraction of `fast_tanh` would exceed 1
_A, _B, _C, _D, _E, _F = (np.float32(number) for number in (135135, 17325, 378, 62370, 3150, 28))
_HALF, _HALF_UNIT = np.float32(0.5), np.float32(1 << _LOGISTIC_BITS - 1)
_TO_NEAREST = _HALF_UNIT + _HALF


class NetworkArrays(NamedTuple):
    """The arrays of one network, as kernels use them."""

    input_set: int  # number of an `input_sets.InputSet`
    inputs: int
    activation: int  # number of an `Activation`
    sizes: NDArray[np.int64]  # [layers] units of each layer after the inputs; the last is 5
    weights: Units  # [input, unit] of the first layer in units of 2^-12, then [unit, unit below] of later ones in 2^-11
    biases: Sums  # [unit] in the units of sums


class Changes(NamedTuple):
    """Scratch memory for the inputs in which two boards differ: their indexes, and the differences."""

    rows: Inputs  # [INPUT_ROOM + STEP]
    values: Inputs


PACKED = 128  # number of units of the layer below that are packed together
INPUT_ROOM = -(-MAX_INPUTS // STEP) * STEP  # length for the inputs of a board, in whole vectors
RECENT = 3 * LANES  # cached first layers: with more, the nearest board is nearer, but takes longer to find


class ActiveUnits(NamedTuple):
    """Scratch memory for a layer: the hidden units that are not 0 in at least one lane, and their values in each
    lane."""

    units: Units  # [most + STEP]
    numbers: Units  # [LANES, most + STEP]


class Networks(NamedTuple):
    """The networks of a player, one after the other in flat arrays."""

    shapes: NDArray[np.int64]  # [network, column]: input set, inputs, first weight, first bias, activation, layers,
    # and the units of each layer
    weights: Units  # weights of all networks, concatenated
    biases: Sums


NO_NETWORKS = Networks(
    *(read_only(np.zeros(size, dtype)) for size, dtype in (((3, 7), np.int64), (0, np.int16), (0, np.int32)))
)
ACTIVATION, LAYERS, SIZES = 4, 5, 6  # columns of shapes


def layer_sizes(row: list[int]) -> list[int]:
    """The number of units of each layer after the inputs, from the row of a network in `Networks.shapes`. The list is
    empty if kernels do not support the shape: they need at least one hidden layer, five outputs, and zeros after these
    numbers."""
    layers, sizes = row[LAYERS], row[SIZES:]
    if not 2 <= layers <= len(sizes) or sizes[layers - 1] != OUTPUTS:
        return []
    return sizes[:layers] if min(sizes[:layers]) > 0 and not any(sizes[layers:]) else []


@kernel(borrows=True)
def network_at(networks: Networks, which: int) -> NetworkArrays:
    """The arrays of the network with index `which` in NETWORK_CLASSES, as views into `networks`."""
    shape = networks.shapes[which]
    sizes = shape[SIZES : SIZES + shape[LAYERS]]
    numbers = networks.weights[shape[2] :], networks.biases[shape[3] :]
    return NetworkArrays(shape[0], shape[1], shape[ACTIVATION], sizes, numbers[0], numbers[1])


@kernel(borrows=True)
def fast_tanh(y: np.float32) -> np.float32:
    """tanh(y) within 0.0001, as a continued fraction. It is twice the logistic function of 2y, minus 1."""
    y = min(max(y, -_LIMIT), _LIMIT)
    square = y * y
    return y * (_A + square * (_B + square * (_C + square))) / (_A + square * (_D + square * (_E + square * _F)))


@kernel(borrows=True)
def nearest_recent(inputs: Inputs, begin: int, end: int, first: int, lane: int) -> int:
    """Find the row of `inputs` that differs from row first + lane in the fewest of the inputs begin to end - 1, among
    the RECENT cached rows. Among equally near rows, it is the newest. The rows from `first` on are being filled again,
    one lane after another: the rows before `first` are older, and rows that are not filled yet are skipped."""
    row = first + lane
    best, fewest = row, end - begin + 1
    for steps in range(1, RECENT - LANES + lane + 1):
        other = row - steps
        if other < 0:
            other += RECENT
        changed = count_changes(inputs, row, other, begin, end)
        if changed < fewest:
            best, fewest = other, changed
    return best


@kernel(borrows=True)
def change_sums(
    network: NetworkArrays, before: Inputs, sums_before: Sums, inputs: Inputs, changes: Changes, sums: Sums
) -> None:
    """Fill `sums` of the first layer for `inputs`, by updating `sums_before`, which are the sums for the inputs
    `before`. If all inputs before are zero, the sums before are the biases. Both arrays of inputs have room for whole
    vectors."""
    n = collect_changes(before, inputs, network.inputs, changes.rows, changes.values)
    add_changes(network, n, changes.rows, changes.values, sums_before, sums)


@kernel(borrows=True)
def add_changes(network: NetworkArrays, n: int, rows: Inputs, values: Inputs, sums_before: Sums, sums: Sums) -> None:
    """Fill `sums` with `sums_before` plus the effect of n changed inputs: rows[0:n] are their indexes, values[0:n] the
    changes, which are multiplied by the weights. Both arrays have a zero after the first n items."""
    count = len(sums)
    even = n + n % 2  # pairs are added; a zero may complete the last pair
    add_rows(network.weights, rows, values, even, sums_before, sums)
    for unit in range(count - count % STEP, count):
        total = sums_before[unit]
        for item in range(n):
            total = np.int32(total + np.int32(values[item]) * np.int32(network.weights[rows[item] * count + unit]))
        sums[unit] = total


@kernel(borrows=True)
def fill_logistic(sums: Sums, scale: np.float32, hidden: Units) -> None:
    """Fill hidden units with the logistic function of their sums; a sum times `scale` is half the argument of the
    function."""
    for unit in range(len(sums)):
        tangent = fast_tanh(np.float32(sums[unit]) * scale)
        hidden[unit] = np.int16(np.int32(_TO_NEAREST + _HALF_UNIT * tangent))


@kernel(borrows=True)
def fill_rectified(sums: Sums, shift: np.int32, hidden: Units) -> None:
    """Fill hidden units with their sums, or with 0 for negative sums, rounded to units that are 2^shift times as
    large."""
    shift_down(sums, shift, RECTIFIED_LIMIT, hidden)
    half = np.int32(1) << (shift - np.int32(1))
    for unit in range(len(sums) - len(sums) % STEP, len(sums)):
        hidden[unit] = np.int16(min(max((sums[unit] + half) >> shift, 0), RECTIFIED_LIMIT))


@kernel(borrows=True)
def fill_first_hidden(network: NetworkArrays, sums: Sums, hidden: Units) -> None:
    """Fill the hidden units of the first layer from their sums."""
    if network.activation == _RECTIFIED:
        fill_rectified(sums, _FIRST_SHIFT, hidden[: len(sums)])
    else:
        fill_logistic(sums, _FIRST_SCALE, hidden[: len(sums)])


@kernel(borrows=True)
def later_size(network: NetworkArrays) -> int:
    """The length of the array that `pack_later` fills."""
    size = 0
    for layer in range(1, len(network.sizes)):
        size += network.sizes[layer - 1] * rounded_up(network.sizes[layer])
    return size


@kernel(borrows=True)
def rounded_up(count: int) -> int:
    """`count` rounded up to a multiple of STEP."""
    return (count + STEP - 1) // STEP * STEP


@kernel(borrows=True)
def pack_later(network: NetworkArrays, packed: Units) -> None:
    """Fill `packed` with the weights of all layers after the first, in the order in which `fill_outputs` reads them:
    [unit below, place], where each STEP units are in the order of UNITS."""
    place, at = network.inputs * network.sizes[0], 0
    for layer in range(1, len(network.sizes)):
        count, units = network.sizes[layer - 1], network.sizes[layer]
        width = rounded_up(units)
        for begin in range(0, count, PACKED):  # so many rows stay in the fastest cache
            for to in range(width):
                unit = to // STEP * STEP + UNITS[to % STEP]
                for below in range(begin, min(begin + PACKED, count)):
                    weight = network.weights[place + unit * count + below] if unit < units else np.int16(0)
                    packed[at + below * width + to] = weight
        place, at = place + units * count, at + width * count


@kernel(borrows=True)
def fill_outputs(
    network: NetworkArrays, packed: Units, n: int, gathered: ActiveUnits, hidden: Units, later: Sums, chances: Chances
) -> None:
    """Fill chances[lane, 0:5] of the first n lanes from the units of the first hidden layer, hidden[lane, unit]; the
    chances are not yet limited by the rules. `packed` is from `pack_later`. hidden and later are scratch, with room for
    LANES lanes of the largest layer in whole vectors."""
    count, is_rectified = network.sizes[0], network.activation == _RECTIFIED
    place, bias = 0, count
    for lane in range(n, LANES):  # zeros cost nothing
        for unit in range(count):
            hidden[lane, unit] = 0
    for layer in range(1, len(network.sizes)):
        units = network.sizes[layer]
        biases = network.biases[bias:]
        for lane in range(n):
            for unit in range(units):
                later[lane, unit] = biases[unit]
        m = gather_active(hidden, count, gathered.units, gathered.numbers)
        if n == 1:
            add_products_1(packed, place, units, gathered.units, gathered.numbers, m, later)
        else:
            add_products_6(packed, place, units, gathered.units, gathered.numbers, m, later)
        place, bias = place + rounded_up(units) * count, bias + units
        if layer + 1 < len(network.sizes):
            for lane in range(n):
                if is_rectified:
                    fill_rectified(later[lane, :units], _LATER_SHIFT, hidden[lane, :units])
                else:
                    fill_logistic(later[lane, :units], _LATER_SCALE, hidden[lane, :units])
        count = units
    scale = _RECTIFIED_SCALE if is_rectified else _LATER_SCALE
    for lane in range(n):
        for output in range(OUTPUTS):
            chances[lane, output] = _HALF + _HALF * fast_tanh(np.float32(later[lane, output]) * scale)
