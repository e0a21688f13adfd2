"""Networks as graphs: inputs, integer layers and squashing functions as in `evaluation.networks.inference`, and rules
as in `game.board_kernels` and `evaluation.chances`.

Integers are summed as float64, which is exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.inference import (
    ACTIVATION,
    FIRST_SUM,
    LATER_WEIGHT,
    LOGISTIC_UNIT,
    RECTIFIED_LIMIT,
    Activation,
    NetworkArrays,
    Networks,
    layer_sizes,
)
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import OF_COUNT, OF_OFF
from bgdata.evaluation.networks.player import recorded_name
from bgdata.formats.onnx.graph import Value, concat
from bgdata.formats.onnx.inputs import SLOTS, Side, contact_inputs, race_inputs, side_on_roll
from bgdata.game.board import CHECKERS, HOME_POINTS
from bgdata.game.classes import CRASHED_CHECKERS, PASSED_PIPS
from bgdata.store.table import Table

BOARDS, CHANCES = "boards", "chances"  # names of input and output
MEANINGS = {
    BOARDS: "int8[N, 26], seen by the player on roll, before the roll: [0] checkers of the opponent on the bar, [1] to "
    "[24] checkers on the points of the player on roll, those of the opponent negative, [25] own checkers on the bar",
    CHANCES: "float32[N, 5] of the player on roll in cubeless money play: win, win_gammon, win_backgammon, "
    "lose_gammon, lose_backgammon; a gammon includes backgammons, a win both",
    "bound": "on a processor, equal to the last bit to what bgdata answers without bearoff tables",
}
OVER = -1  # the class of finished games; others are indexes of NETWORK_CLASSES
_BEHIND = SLOTS > 24 - HOME_POINTS  # points on the bar or in the other side's home board
_LIMIT, _FRACTION = 4.97, (135135, 17325, 378, 62370, 3150, 28)  # constants of `inference.fast_tanh`


def chances_of(networks: Networks, boards: Value, *, by_all: bool = False) -> Value:
    """Compute the chances of int8[n, 26] boards, from the rules or from the network for their class, as float32[n, 5].
    If `by_all` is true, every network evaluates all boards, for programs with a fixed number of rows."""
    side = side_on_roll(boards)
    classes, found = network_class(side), outcome_chances(side)
    for which in range(len(networks.shapes)):
        network, is_wanted = single_network(networks, which), classes.equals(which)
        if by_all:
            found = is_wanted.where(network_chances(network, boards), found)
        else:
            rows = boards.graph.add("NonZero", [is_wanted.reshape(-1)], np.int64).reshape(-1)
            chances = network_chances(network, boards.take(rows, axis=0))
            found = boards.graph.add("ScatterND", [found, rows.reshape(-1, 1), chances])
    return found


def single_network(networks: Networks, which: int) -> NetworkArrays:
    """Return the arrays of the network with index `which` in NETWORK_CLASSES. `inference.network_at` does not count
    references, so only kernels can call it."""
    row = networks.shapes[which].tolist()
    sizes = np.array(layer_sizes(row))
    return NetworkArrays(row[0], row[1], row[ACTIVATION], sizes, networks.weights[row[2] :], networks.biases[row[3] :])


def network_chances(network: NetworkArrays, boards: Value) -> Value:
    """Compute the chances that one network estimates for boards, limited by the rules, as float32[n, 5]."""
    side = side_on_roll(boards)
    values = network_inputs(InputSet(network.input_set), boards, side).to(np.float64)
    return limit(side, outputs(network, values))


def network_inputs(input_set: InputSet, boards: Value, side: Side) -> Value:
    """Compute the inputs of a network, as int32[n, inputs] in units of 1/64: see `inputs.encode`."""
    points = (boards.to(np.int32).take(np.arange(1, 25)) + CHECKERS).lookup(OF_COUNT.astype(np.int32))
    sides = side, side.other()
    bars, offs = ([each.bar for each in sides], [each.off.lookup(OF_OFF.astype(np.int32)) for each in sides])
    found = [points.reshape(-1, 8 * 24), *(UNIT // 2 * each for each in bars), *offs]
    if input_set == InputSet.TESAURO_198:
        found += [0 * bars[0] + UNIT, 0 * bars[0]]
    elif input_set == InputSet.RACE:
        found.append(race_inputs(side))
    elif input_set == InputSet.CONTACT:
        found.append(contact_inputs(side))
    return concat(found)


def outputs(network: NetworkArrays, values: Value) -> Value:
    """Compute the outputs of a network, float32[n, 5], from its inputs, float64[n, inputs] in units of 1/64."""
    activation, unit = Activation(network.activation), FIRST_SUM
    *hidden, last = layers(network)
    for weights, biases in hidden:
        sums = layer_sums(values, weights, biases)
        values = rectify(sums, unit) if activation is Activation.RECTIFIED else logistic(sums, unit)
        unit = activation.later_sum
    return 0.5 + 0.5 * tanh_of_half(layer_sums(values, *last), unit)


def layers(network: NetworkArrays) -> Iterator[tuple[NDArray[np.int16], NDArray[np.int32]]]:
    """Yield the weights, int16[below, hidden], and the biases, int32[hidden], of each layer."""
    weight = bias = 0
    for place, (below, units) in enumerate(pairwise([network.inputs, *network.sizes.tolist()])):
        weights = network.weights[weight : weight + below * units]
        weights = weights.reshape(units, below).T if place else weights.reshape(below, units)
        yield np.ascontiguousarray(weights), network.biases[bias : bias + units]
        weight, bias = weight + below * units, bias + units


def layer_sums(values: Value, weights: NDArray[np.int16], biases: NDArray[np.int32]) -> Value:
    """Compute the weighted sums plus biases of a layer, as float64[n, hidden], all integers. The file stores 16 bits
    for each weight."""
    return values @ values.graph.constant(weights).to(np.float64) + biases


def rectify(sums: Value, unit: int) -> Value:
    """Compute rectified hidden units, as integers in float64[n, hidden], from their sums in units of 1/`unit`."""
    size = unit * LATER_WEIGHT // Activation.RECTIFIED.later_sum
    return ((sums + size // 2) / size).floor().at_least(0).at_most(RECTIFIED_LIMIT)


def logistic(sums: Value, unit: int) -> Value:
    """Compute logistic hidden units, as integers in float64[n, hidden], from their sums in units of 1/`unit`."""
    half = LOGISTIC_UNIT / 2
    return ((half + 0.5) + half * tanh_of_half(sums, unit)).floor().to(np.float64)


def tanh_of_half(sums: Value, unit: int) -> Value:
    """Compute tanh of half of each sum, as float32[n, hidden], with the fraction and rounding of `inference.fast_tanh`.
    Sums are in units of 1/`unit`."""
    y = (sums.to(np.float32) * (0.5 / unit)).at_least(-_LIMIT).at_most(_LIMIT)
    square = y * y
    a, b, c, d, e, f = _FRACTION
    return y * (a + square * (b + square * (c + square))) / (a + square * (d + square * (e + square * f)))


def network_class(side: Side) -> Value:
    """Return the index in NETWORK_CLASSES of the network for each board, OVER if the game is over, as int32[n, 1]."""
    other = side.other()
    in_contact = side.rearmost + other.rearmost > PASSED_PIPS
    contact = 2 - (is_crashed(side) | is_crashed(other)).to(np.int32)
    is_over = (side.checkers.at_most(other.checkers)) <= 0
    return is_over.where(side.ours.like(np.array([[OVER]])), in_contact.where(contact, 0))


def is_crashed(side: Side) -> Value:
    """Return whether a side is crashed, as bool[n, 1]: see `board_kernels.is_crashed`."""
    ace, deuce = (side.ours.take(np.array([point])) for point in (1, 2))
    left = side.checkers
    by_deuce = (deuce >= 1) & (left - deuce < CRASHED_CHECKERS)
    on_ace = (left - ace <= CRASHED_CHECKERS) | ((deuce >= 2) & (left - ace - deuce < CRASHED_CHECKERS))
    return (left <= CRASHED_CHECKERS) | ((ace >= 2) & on_ace) | ((ace < 2) & by_deuce)


def outcome_chances(side: Side) -> Value:
    """Return the chances in finished games, and zeros for all other boards, as float32[n, 5]."""
    wins, loses = outcomes(side), outcomes(side.other())
    ours = [wins >= points for points in (1, 2, 3)]
    theirs = [(loses >= points) & (wins < 1) for points in (2, 3)]
    return concat([*ours, *theirs]).to(np.float32)


def outcomes(side: Side) -> Value:
    """Return the points that the side has won by bearing off, 0 if it has checkers left, as int32[n, 1]."""
    other = side.other()
    gammon = (other.checkers >= CHECKERS).to(np.int32)
    backgammon = gammon * (other.weigh(_BEHIND) > 0).to(np.int32)
    return (side.checkers <= 0).to(np.int32) * (gammon + backgammon + 1)


def limit(side: Side, chances: Value) -> Value:
    """Limit chances by the rules, as float32[n, 5]: see `chances.limit_chances`."""
    win = chances.take(np.array([0]))
    win_gammon, win_backgammon = limit_losses(side.other(), chances, (1, 2), win)
    lose_gammon, lose_backgammon = limit_losses(side, chances, (3, 4), 1 - win)
    return concat([win, win_gammon, win_backgammon, lose_gammon, lose_backgammon])


def limit_losses(loser: Side, chances: Value, columns: tuple[int, int], most: Value) -> tuple[Value, Value]:
    """Limit the gammon and backgammon chances against a side by the rules. Each result is float32[n, 1]. `columns` are
    their columns in `chances`, and `most` is the side's chance to lose."""
    gammon, backgammon = (chances.take(np.array([column])) for column in columns)
    has_all = loser.checkers.equals(CHECKERS)
    in_contact = loser.rearmost + loser.other().rearmost > PASSED_PIPS
    is_behind = in_contact | (loser.rearmost > 24 - HOME_POINTS)
    gammon = has_all.where(gammon.at_most(most), 0)
    return gammon, (has_all & is_behind).where(backgammon.at_most(gammon), 0)


def properties_of(table: Table) -> dict[str, str]:
    """The properties to write to a network file, by name, from a version of networks. Raises ManifestFormatError if its
    manifest is damaged."""
    found = table.manifest
    named = {"name": found.variant, "version": recorded_name(table), "digest": found.digest, "licence": found.licence}
    return named | MEANINGS
