"""Networks in float32 for training: new networks, and conversion to and from the integers by which players evaluate."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.answers import NETWORK_CLASSES
from bgdata.evaluation.networks import inference
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.inference import ACTIVATION, LAYERS, SIZES, Activation, Networks
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import input_count
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import kernel, read_only

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weights [below, unit], biases [unit]


class FloatNetworks(NamedTuple):
    """Networks in training. Their arrays have the same layout as in `Networks`, but contain float32 numbers."""

    shapes: NDArray[np.int64]
    weights: Floats
    biases: Floats


def new_networks(
    input_sets: tuple[InputSet, ...],
    hidden: tuple[tuple[int, ...], ...],
    seed: int,
    activation: Activation = Activation.LOGISTIC,
) -> FloatNetworks:
    """Return new networks with small random weights and zero biases, one for each of NETWORK_CLASSES. Weights are
    uniform from -0.1 to 0.1. For rectified units they are uniform from -x to x with x^2 = 6 / (number of units below),
    which keeps the size of outputs constant from layer to layer (He et al. 2015)."""
    layers = max(map(len, hidden)) + 1
    shapes = np.zeros((len(input_sets), SIZES + layers), np.int64)
    biases, scales = 0, [np.empty(0, np.float32)]
    for row, input_set, units in zip(shapes, input_sets, hidden, strict=True):
        sizes = (*units, inference.OUTPUTS)
        row[: SIZES + len(sizes)] = [
            *(input_set, input_count(input_set), sum(map(len, scales)), biases, activation, len(sizes)),
            *sizes,
        ]
        for below, above in pairwise((input_count(input_set), *sizes)):
            scale = (6 / below) ** 0.5 if activation is Activation.RECTIFIED else 0.1
            scales.append(np.full(below * above, scale, np.float32))
        biases += sum(sizes)
    weights = np.concatenate(scales)
    _fill_uniform(seed, weights)
    return FloatNetworks(shapes, weights, np.zeros(biases, np.float32))


@kernel()
def _fill_uniform(seed: int, values: Floats) -> None:
    """Replace each positive values[item] by a random number between -values[item] and values[item]."""
    stream = random_stream(seed, 0)
    for item in range(len(values)):
        share = np.float32(np.int64(random_bits(stream, item) >> np.uint64(40))) / np.float32(1 << 24)
        values[item] = np.float32(2) * values[item] * share - values[item]


def rounded_networks(networks: FloatNetworks) -> Networks:
    """Return the networks with the integer weights by which players evaluate; weights beyond the range of int16 are
    clipped. Raises CheckFailedError if sums of a network might not fit int32."""
    units = FloatNetworks(networks.shapes, np.empty_like(networks.weights), np.empty_like(networks.biases))
    for which in range(len(networks.shapes)):
        activation = Activation(networks.shapes[which, ACTIVATION])
        for place, (layer_weights, layer_biases) in enumerate(layer_views(units, which)):
            layer_weights[:], layer_biases[:] = _layer_scales(activation, place)
    weights = np.clip(np.rint(networks.weights * units.weights), -32767, 32767).astype(np.int16)
    biases = np.clip(np.rint(networks.biases * units.biases), -(2.0**30), 2.0**30).astype(np.int32)
    found = Networks(*map(read_only, (networks.shapes.copy(), weights, biases)))
    # Units are never negative. So a sum is highest if all units with positive weights are at their limit and the others
    # are 0, and lowest in the opposite case.
    for which, name in enumerate(NETWORK_CLASSES):
        most = Activation(found.shapes[which, ACTIVATION]).most
        for later_weights, later_biases in layer_views(found, which)[1:]:
            wide = later_weights.astype(np.int64)
            highest = (wide.clip(min=0).sum(axis=0) * most + later_biases).max()
            lowest = (wide.clip(max=0).sum(axis=0) * most + later_biases).min()
            if max(highest, -lowest) >= 1 << 31:
                raise CheckFailedError(
                    f"expected weights of the {name} network whose sums fit 32 bits, found "
                    f"{max(highest, -lowest) / 2**31:.2f} times as much; try a lower learning rate"
                )
    return found


def numbers_of(networks: FloatNetworks, which: int) -> tuple[Floats, Floats]:
    """Return views of the weights and the biases of network `which`."""
    begin = networks.shapes[which, 2:4].tolist()
    end = networks.shapes[which + 1, 2:4].tolist() if which + 1 < len(networks.shapes) else (None, None)
    return networks.weights[begin[0] : end[0]], networks.biases[begin[1] : end[1]]


def copy_networks(networks: FloatNetworks) -> FloatNetworks:
    """Return a copy of the networks with arrays of its own."""
    return FloatNetworks(networks.shapes, networks.weights.copy(), networks.biases.copy())


def starting_networks(
    networks: Networks, hidden: tuple[tuple[int, ...], ...], seed: int, added: InputSet | None = None
) -> FloatNetworks:
    """Return networks in float32 that training starts from: `networks` with the numbers of hidden units in `hidden`. An
    empty tuple means the present numbers. The crashed and the contact network get the inputs of the set `added`, unless
    it is None.

    Added units have small random weights from the layer below and zero weights to the layer above, and added inputs
    have zero weights, so outputs stay the same (Net2Net, Chen et al. 2016). Added layers come last and repeat the layer
    below, which only rectified units can do. Raises InvalidParameterError if units or layers become fewer, if layers of
    logistic units become more, if inputs do not begin with the present ones, and if both networks already have the
    inputs."""
    activation = Activation(int(networks.shapes[0, ACTIVATION]))
    rows = zip(NETWORK_CLASSES, hidden, strict=True)
    found = [_deepen(_layers_of(networks, which), activation, *row) for which, row in enumerate(rows)]
    sizes = tuple(wanted or _hidden_sizes(layers) for wanted, layers in zip(hidden, found, strict=True))
    sets = wanted_sets = input_sets_of(networks)
    if added is not None:
        for present in sets[1:]:
            if present not in (added, InputSet.TESAURO_196):  # every set begins with these inputs
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
            target[0][len(weights) :, : len(biases)] = 0  # weights from new units below, or from new inputs
            target[0][: len(weights), : len(biases)] = weights
            target[1][: len(biases)] = biases
    return started


def _deepen(layers: list[Layer], activation: Activation, name: str, hidden: tuple[int, ...]) -> list[Layer]:
    """Return the layers of a network, with hidden layers added if `hidden` has more. Outputs stay the same. Raises
    InvalidParameterError if units or layers become fewer, or if layers of logistic units become more."""
    sizes = _hidden_sizes(layers)
    added = max(len(hidden) - len(sizes), 0)
    least = (*sizes, *[sizes[-1]] * added)
    if hidden and (len(hidden) < len(sizes) or any(map(int.__lt__, hidden, least))):
        raise InvalidParameterError(
            f"expected at least the {'-'.join(map(str, sizes))} hidden units of the {name} network to start from, "
            f"got {'-'.join(map(str, hidden))}"
        )
    if added and activation is not Activation.RECTIFIED:
        raise InvalidParameterError(
            f"expected {len(sizes)} hidden layers, as the {name} network to start from has logistic units, "
            f"got {'-'.join(map(str, hidden))}"
        )
    same = np.eye(sizes[-1], dtype=np.float32), np.zeros(sizes[-1], np.float32)
    return [*layers[:-1], *[same] * added, layers[-1]]


def _hidden_sizes(layers: list[Layer]) -> tuple[int, ...]:
    """Return the number of units in each hidden layer."""
    return tuple(len(biases) for _, biases in layers[:-1])


def revive(networks: FloatNetworks, which: int, inputs: NDArray[np.int16], seed: int) -> int:
    """Give new random input weights to hidden units that are 0 for all int16[n, input] inputs. Their weights to the
    layer above become zero, so outputs for these inputs stay the same. Returns the number of such units. Rectified
    units that are always 0 have no gradient, so they would never learn again. Logistic units are never 0."""
    found, revived = _layers_of(rounded_networks(networks), which), 0
    if networks.shapes[which, ACTIVATION] != Activation.RECTIFIED:
        return revived
    sizes = tuple(tuple(units_of(row)[1:-1]) for row in networks.shapes.tolist())
    new = layer_views(new_networks(input_sets_of(networks), sizes, seed, Activation.RECTIFIED), which)
    views = layer_views(networks, which)
    hidden = inputs / UNIT  # exact in 64 bits, like the units of a player
    for place, (weights, biases) in enumerate(found[:-1]):
        units = np.floor((hidden @ weights.astype(np.float64) + biases) * inference.RECTIFIED_UNIT + 0.5)
        hidden = np.clip(units, 0, inference.RECTIFIED_LIMIT) / inference.RECTIFIED_UNIT
        is_idle = ~hidden.any(axis=0)
        views[place][0][:, is_idle], views[place][1][is_idle] = new[place][0][:, is_idle], 0
        views[place + 1][0][is_idle] = 0
        revived += int(is_idle.sum())
    return revived


def input_sets_of(networks: Networks | FloatNetworks) -> tuple[InputSet, ...]:
    """Return the input set of each network, in order."""
    return tuple(InputSet(row[0]) for row in networks.shapes.tolist())


def feature_names(networks: Networks) -> str:
    """Return the names of the networks' input sets with revisions, in order, such as "race@1 contact@1 contact@1"."""
    return " ".join(f"{input_set.label}@{input_set.revision}" for input_set in input_sets_of(networks))


def units_of(row: list[int]) -> list[int]:
    """Return the number of inputs and the number of units in each layer, from a row of `Networks.shapes`."""
    return [row[1], *row[SIZES : SIZES + row[LAYERS]]]


def _layer_scales(activation: Activation, place: int) -> tuple[int, int]:
    """Return the integers that stand for a weight of 1 and a bias of 1 in layer `place`, counted from 0."""
    return (inference.LATER_WEIGHT, activation.later_sum) if place else (inference.FIRST_WEIGHT, inference.FIRST_SUM)


def _layers_of(networks: Networks, which: int) -> list[Layer]:
    """Return the weights and biases of each layer of network `which`, as floats."""
    activation, layers = Activation(networks.shapes[which, ACTIVATION]), []
    for place, (weights, biases) in enumerate(layer_views(networks, which)):
        weight, bias = _layer_scales(activation, place)
        layers.append((weights.astype(np.float32) / np.float32(weight), (biases / bias).astype(np.float32)))
    return layers


def layer_views(networks: Networks | FloatNetworks, which: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return views of the weights [below, unit] and biases [unit] of each layer of network `which`."""
    row = networks.shapes[which].tolist()
    return split_layers(networks.weights[row[2] :], networks.biases[row[3] :], units_of(row))


def split_layers(weights: Any, biases: Any, sizes: list[int]) -> list[tuple[Any, Any]]:
    """Return views of the weights [below, unit] and biases [unit] of each layer of a network. `weights` and `biases`,
    arrays or tensors, begin with those of the network; `sizes` are its numbers of units, as from `units_of`."""
    layers = []
    for place, (below, units) in enumerate(pairwise(sizes)):
        flat = weights[: below * units]
        layers.append((flat.reshape(units, below).T if place else flat.reshape(below, units), biases[:units]))
        weights, biases = weights[below * units :], biases[units:]
    return layers
