"""Networks in float32 for learning: new ones, those of a version converted to floats, and back to the integers of
players."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError, InvalidParameterError, UsageError
from bgdata.evaluation.answers import NETWORK_CLASSES
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.inference import (
    ACTIVATION,
    FIRST_SUM,
    FIRST_WEIGHT,
    LATER_WEIGHT,
    LAYERS,
    OUTPUTS,
    RECTIFIED_LIMIT,
    RECTIFIED_UNIT,
    SIZES,
    Activation,
    Networks,
)
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import input_count
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import kernel, read_only

Floats = NDArray[np.float32]
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weights [below, unit], biases [unit]


class FloatNetworks(NamedTuple):
    """Networks that learn, laid out as in `Networks`, but in float32."""

    shapes: NDArray[np.int64]
    weights: Floats
    biases: Floats


def new_networks(
    input_sets: tuple[InputSet, ...],
    hidden: tuple[tuple[int, ...], ...],
    seed: int,
    activation: Activation = Activation.LOGISTIC,
) -> FloatNetworks:
    """Networks with small random weights and zero biases, one for each of NETWORK_CLASSES.

    Weights are uniform from -0.1 to 0.1; with rectified units from -x to x, x^2 being 6 / (number of units below),
    which keeps the size of what units give from layer to layer (He et al. 2015).
    """
    layers = max(map(len, hidden)) + 1
    shapes = np.zeros((len(input_sets), SIZES + layers), np.int64)
    biases, scales = 0, [np.empty(0, np.float32)]
    for row, input_set, units in zip(shapes, input_sets, hidden, strict=True):
        sizes = (*units, OUTPUTS)
        row[: SIZES + len(sizes)] = [
            *(input_set, input_count(input_set), sum(map(len, scales)), biases, activation, len(sizes)),
            *sizes,
        ]
        for below, above in pairwise((input_count(input_set), *sizes)):
            scale = (6 / below) ** 0.5 if activation is Activation.RECTIFIED else 0.1
            scales.append(np.full(below * above, scale, np.float32))
        biases += sum(sizes)
    weights = np.concatenate(scales)
    fill_uniform(seed, weights)
    return FloatNetworks(shapes, weights, np.zeros(biases, np.float32))


@kernel()
def fill_uniform(seed: int, values: Floats) -> None:
    """Fills values[item], positive before, with a random number from minus what it was to what it was."""
    stream = random_stream(seed, 0)
    for item in range(len(values)):
        share = np.float32(np.int64(random_bits(stream, item) >> np.uint64(40))) / np.float32(1 << 24)
        values[item] = np.float32(2) * values[item] * share - values[item]


def rounded_networks(networks: FloatNetworks) -> Networks:
    """The same networks in the integers that a player uses; weights beyond the range of int16 are cut off.

    Raises CheckFailedError for networks whose sums might not fit int32.
    """
    weight_units = np.full(len(networks.weights), LATER_WEIGHT, np.float32)
    bias_units = np.empty(len(networks.biases), np.float32)
    for row in networks.shapes.tolist():
        _, inputs, weights, biases, activation, _, hidden, *_ = row
        weight_units[weights : weights + inputs * hidden] = FIRST_WEIGHT
        bias_units[biases:] = Activation(activation).later_sum
        bias_units[biases : biases + hidden] = FIRST_SUM
    weights = np.clip(np.rint(networks.weights * weight_units), -32767, 32767).astype(np.int16)
    biases = np.clip(np.rint(networks.biases * bias_units), -(2.0**30), 2.0**30).astype(np.int32)
    found = Networks(*map(read_only, (networks.shapes.copy(), weights, biases)))
    check_sums(found)
    return found


def check_sums(networks: Networks) -> None:
    """Raise CheckFailedError if sums of later layers of a network might not fit int32.

    Units are never negative, so a sum is highest with all those at their limit that have positive weights, and lowest
    with all others.
    """
    for row, name in zip(networks.shapes.tolist(), NETWORK_CLASSES, strict=True):
        sizes, most = units_of(row), Activation(row[ACTIVATION]).most
        place, bias = row[2] + sizes[0] * sizes[1], row[3] + sizes[1]
        for below, units in pairwise(sizes[1:]):
            rows = networks.weights[place : place + below * units].astype(np.int64).reshape(units, below)
            biases = networks.biases[bias : bias + units]
            highest = (rows.clip(min=0).sum(axis=1) * most + biases).max()
            lowest = (rows.clip(max=0).sum(axis=1) * most + biases).min()
            if max(highest, -lowest) >= 1 << 31:
                raise CheckFailedError(
                    f"expected weights of the {name} network whose sums fit 32 bits, found "
                    f"{max(highest, -lowest) / 2**31:.2f} times as much; try a lower learning rate"
                )
            place, bias = place + below * units, bias + units


def numbers_of(networks: FloatNetworks, which: int) -> tuple[Floats, Floats]:
    """The weights and biases of one network, in place."""
    begin = networks.shapes[which, 2:4].tolist()
    end = networks.shapes[which + 1, 2:4].tolist() if which + 1 < len(networks.shapes) else (None, None)
    return networks.weights[begin[0] : end[0]], networks.biases[begin[1] : end[1]]


def copy_networks(networks: FloatNetworks) -> FloatNetworks:
    """A copy with arrays of its own."""
    return FloatNetworks(networks.shapes, networks.weights.copy(), networks.biases.copy())


def started_networks(
    networks: Networks, hidden: tuple[tuple[int, ...], ...], seed: int, added: InputSet | None = None
) -> FloatNetworks:
    """The networks in float32 with these numbers of hidden units; an empty tuple keeps the present ones. The crashed
    and the contact network get the inputs of the set `added`, if there is one.

    Added units have small random weights from the layer below and zero weights to the layer above, and added inputs
    have zero weights, so all answers stay the same (Net2Net, Chen et al. 2016). Added layers come last, and repeat the
    layer below, which only rectified units can do. Raises InvalidParameterError for fewer units or layers, more layers
    of logistic units, inputs that do not begin with the present ones, and inputs that both networks have already.
    """
    activation = Activation(int(networks.shapes[0, ACTIVATION]))
    rows = zip(NETWORK_CLASSES, hidden, strict=True)
    found = [deepen(layers_of(networks, which), activation, *row) for which, row in enumerate(rows)]
    sizes = tuple(wanted or hidden_sizes(layers) for wanted, layers in zip(hidden, found, strict=True))
    sets = wanted_sets = input_sets_of(networks)
    if added is not None:
        for present in sets[1:]:
            if present not in (added, InputSet.TESAURO_196):  # every set begins with these
                raise InvalidParameterError(
                    f"expected networks of {InputSet.TESAURO_196.label} or {added.label} inputs to start from, "
                    f"got {present.label}"
                )
        wanted_sets = (sets[0], added, added)
        if wanted_sets == sets:
            raise InvalidParameterError(
                f"expected networks without {added.label} inputs to add them to, got contact and crashed networks "
                "that have them"
            )
    started = new_networks(wanted_sets, sizes, seed, activation)
    for which, layers in enumerate(found):
        for (weights, biases), target in zip(layers, layer_views(started, which), strict=True):
            target[0][len(weights) :, : len(biases)] = 0  # of units below, or inputs, that are new
            target[0][: len(weights), : len(biases)] = weights
            target[1][: len(biases)] = biases
    return started


def deepen(layers: list[Layer], activation: Activation, name: str, wanted: tuple[int, ...]) -> list[Layer]:
    """The layers of a network, with more hidden layers if `wanted` has more, which change no answer. Raises
    InvalidParameterError for fewer units or layers, and for more layers of logistic units."""
    sizes = hidden_sizes(layers)
    added = max(len(wanted) - len(sizes), 0)
    least = (*sizes, *[sizes[-1]] * added)
    if wanted and (len(wanted) < len(sizes) or any(map(int.__lt__, wanted, least))):
        raise InvalidParameterError(
            f"expected at least the {'-'.join(map(str, sizes))} hidden units of the {name} network to start from, "
            f"got {'-'.join(map(str, wanted))}"
        )
    if added and activation is not Activation.RECTIFIED:
        raise InvalidParameterError(
            f"expected {len(sizes)} hidden layers, as the {name} network to start from has logistic units, "
            f"got {'-'.join(map(str, wanted))}"
        )
    same = np.eye(sizes[-1], dtype=np.float32), np.zeros(sizes[-1], np.float32)
    return [*layers[:-1], *[same] * added, layers[-1]]


def hidden_sizes(layers: list[Layer]) -> tuple[int, ...]:
    """The numbers of hidden units."""
    return tuple(len(biases) for _, biases in layers[:-1])


def revive(networks: FloatNetworks, which: int, inputs: NDArray[np.int16], seed: int) -> int:
    """Give hidden units that are 0 for all int16[n, input] inputs new random weights from the layer below, and zero
    weights to the layer above, so that all answers for these inputs stay the same. Returns how many there are.

    Rectified units that are 0 everywhere have no gradient: they would never learn again. Logistic networks have none.
    """
    found, revived = layers_of(rounded_networks(networks), which), 0
    if networks.shapes[which, ACTIVATION] != Activation.RECTIFIED:
        return revived
    sizes = tuple(tuple(units_of(row)[1:-1]) for row in networks.shapes.tolist())
    new = layer_views(new_networks(input_sets_of(networks), sizes, seed, Activation.RECTIFIED), which)
    views = layer_views(networks, which)
    hidden = inputs / UNIT  # all of this is exact in 64 bits: they are the units that a player has
    for place, (weights, biases) in enumerate(found[:-1]):
        units = np.floor((hidden @ weights.astype(np.float64) + biases) * RECTIFIED_UNIT + 0.5)
        hidden = np.clip(units, 0, RECTIFIED_LIMIT) / RECTIFIED_UNIT
        is_idle = ~hidden.any(axis=0)
        views[place][0][:, is_idle], views[place][1][is_idle] = new[place][0][:, is_idle], 0
        views[place + 1][0][is_idle] = 0
        revived += int(is_idle.sum())
    return revived


def input_sets_of(networks: Networks | FloatNetworks) -> tuple[InputSet, ...]:
    """The input set of each network."""
    return tuple(InputSet(row[0]) for row in networks.shapes.tolist())


def feature_names(networks: Networks) -> str:
    """The input sets of the networks with their revisions, such as "race@1 contact@1 contact@1"."""
    return " ".join(f"{input_set.label}@{input_set.revision}" for input_set in input_sets_of(networks))


def check_features(networks: Networks, features: str) -> None:
    """Raise UsageError unless the networks have the named inputs, in the same revisions; an empty name allows any."""
    found = feature_names(networks)
    if features and features != found:
        raise UsageError(f"expected networks with the inputs {features}, got {found}")


def units_of(row: list[int]) -> list[int]:
    """The inputs and the units of each layer, from a row of shapes."""
    return [row[1], *row[SIZES : SIZES + row[LAYERS]]]


def layers_of(networks: Networks, which: int) -> list[Layer]:
    """The layers of one network as floats."""
    later, layers = (LATER_WEIGHT, Activation(networks.shapes[which, ACTIVATION]).later_sum), []
    for place, (weights, biases) in enumerate(layer_views(networks, which)):
        weight, bias = later if place else (FIRST_WEIGHT, FIRST_SUM)
        layers.append((weights.astype(np.float32) / np.float32(weight), (biases / bias).astype(np.float32)))
    return layers


def layer_views(networks: Networks | FloatNetworks, which: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """The weights [below, unit] and biases [unit] of each layer of one network, in place."""
    row = networks.shapes[which].tolist()
    weight, bias, layers = row[2], row[3], []
    for place, (below, units) in enumerate(pairwise(units_of(row))):
        flat = networks.weights[weight : weight + below * units]
        weights = flat.reshape(below, units) if place == 0 else flat.reshape(units, below).T
        layers.append((weights, networks.biases[bias : bias + units]))
        weight, bias = weight + below * units, bias + units
    return layers
