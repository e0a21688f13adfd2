"""Networks in a graph: inputs, layers in whole numbers, and the squashing functions, as in
`evaluation.networks.inference`.

Whole numbers are summed as float64, which holds them exactly in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.inference import (
    ACTIVATION,
    FIRST_SUM,
    LATER_WEIGHT,
    LOGISTIC_UNIT,
    RECTIFIED_LIMIT,
    Activation,
    NetworkArrays,
    Networks,
)
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import OF_COUNT, OF_OFF, UNIT
from bgdata.evaluation.networks.mapped import layer_sizes
from bgdata.formats.onnx.contact import contact_inputs
from bgdata.formats.onnx.graph import Value, joined
from bgdata.formats.onnx.race import race_inputs
from bgdata.formats.onnx.rules import limited, network_class, outcome_chances
from bgdata.formats.onnx.sides import Side, off_of, side_on_roll
from bgdata.game.board import CHECKERS

BOARDS, CHANCES = "boards", "chances"  # what goes in and comes out
_LIMIT, _FRACTION = 4.97, (135135, 17325, 378, 62370, 3150, 28)  # of `inference.half_tangent`


def chances_of(networks: Networks, boards: Value) -> Value:
    """float32[n, 5]: the chances of int8[n, 26] boards, by the rules or the network of their class."""
    side = side_on_roll(boards)
    classes, found = network_class(side), outcome_chances(side)
    for which in range(len(networks.shapes)):
        rows = rows_of(classes.equals(which))
        chances = network_chances(single_network(networks, which), boards.take(rows, axis=0))
        found = boards.graph.add("ScatterND", [found, rows.shaped(-1, 1), chances])
    return found


def chances_by_all(networks: Networks, boards: Value) -> Value:
    """The same chances, for programs in which the number of rows may not depend on the boards: every network evaluates
    all of them."""
    side = side_on_roll(boards)
    classes, found = network_class(side), outcome_chances(side)
    for which in range(len(networks.shapes)):
        chances = network_chances(single_network(networks, which), boards)
        found = classes.equals(which).where(chances, found)
    return found


def single_network(networks: Networks, which: int) -> NetworkArrays:
    """The arrays of the network at a place of NETWORK_CLASSES."""
    row = networks.shapes[which].tolist()
    sizes = np.array(layer_sizes(row))
    return NetworkArrays(row[0], row[1], row[ACTIVATION], sizes, networks.weights[row[2] :], networks.biases[row[3] :])


def rows_of(is_wanted: Value) -> Value:
    """int64[m]: the rows of bool[n, 1] that are true."""
    found = is_wanted.graph.add("NonZero", [is_wanted.shaped(-1)], np.int64)
    return found.shaped(-1)


def network_chances(network: NetworkArrays, boards: Value) -> Value:
    """float32[n, 5]: what one network says of boards, limited by the rules."""
    side = side_on_roll(boards)
    values = network_inputs(InputSet(network.input_set), boards, side).to(np.float64)
    return limited(side, outputs(network, values))


def network_inputs(input_set: InputSet, boards: Value, side: Side) -> Value:
    """int32[n, inputs] in units of 1/64: see `inputs.encode`."""
    points = (boards.to(np.int32).take(np.arange(1, 25)) + CHECKERS).lookup(OF_COUNT.astype(np.int32))
    sides = side, side.other()
    bars, offs = ([each.bar for each in sides], [off_of(each).lookup(OF_OFF.astype(np.int32)) for each in sides])
    found = [points.shaped(-1, 8 * 24), *(UNIT // 2 * each for each in bars), *offs]
    if input_set == InputSet.TESAURO_198:
        found += [0 * bars[0] + UNIT, 0 * bars[0]]
    elif input_set == InputSet.RACE:
        found.append(race_inputs(side))
    elif input_set == InputSet.CONTACT:
        found.append(contact_inputs(side))
    return joined(found)


def outputs(network: NetworkArrays, values: Value) -> Value:
    """float32[n, 5]: the outputs of a network for inputs float64[n, inputs] in units of 1/64."""
    activation, unit = Activation(network.activation), FIRST_SUM
    *hidden, last = layers(network)
    for weights, biases in hidden:
        sums = summed(values, weights, biases)
        values = rectified(sums, unit) if activation is Activation.RECTIFIED else logistic(sums, unit)
        unit = activation.later_sum
    return 0.5 + 0.5 * half_tangent(summed(values, *last), unit)


def layers(network: NetworkArrays) -> Iterator[tuple[NDArray[np.int16], NDArray[np.int32]]]:
    """The weights int16[below, unit] and biases int32[unit] of each layer."""
    weight = bias = 0
    for place, (below, units) in enumerate(pairwise([network.inputs, *network.sizes.tolist()])):
        weights = network.weights[weight : weight + below * units]
        weights = weights.reshape(units, below).T if place else weights.reshape(below, units)
        yield np.ascontiguousarray(weights), network.biases[bias : bias + units]
        weight, bias = weight + below * units, bias + units


def summed(values: Value, weights: NDArray[np.int16], biases: NDArray[np.int32]) -> Value:
    """float64[n, unit]: sums of whole numbers; the file holds 16 bits of a weight."""
    return values @ values.graph.constant(weights).to(np.float64) + biases


def rectified(sums: Value, unit: int) -> Value:
    """float64[n, unit]: rectified units, whole numbers, of sums in which 1 is `unit`."""
    size = unit * LATER_WEIGHT // Activation.RECTIFIED.later_sum
    return ((sums + size // 2) / size).floor().at_least(0).at_most(RECTIFIED_LIMIT)


def logistic(sums: Value, unit: int) -> Value:
    """float64[n, unit]: logistic units, whole numbers, of sums in which 1 is `unit`."""
    half = LOGISTIC_UNIT / 2
    return ((half + 0.5) + half * half_tangent(sums, unit)).floor().to(np.float64)


def half_tangent(sums: Value, unit: int) -> Value:
    """float32[n, unit]: tanh of half the sums, in which 1 is `unit`, as the same fraction and with the same rounding as
    `inference.half_tangent`."""
    y = (sums.to(np.float32) * (0.5 / unit)).at_least(-_LIMIT).at_most(_LIMIT)
    square = y * y
    a, b, c, d, e, f = _FRACTION
    return y * (a + square * (b + square * (c + square))) / (a + square * (d + square * (e + square * f)))
