"""Networks to start from: those of a version as floats again, made wider where that is asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidParameterError, UsageError
from bgdata.evaluation.answers import NETWORK_CLASSES
from bgdata.evaluation.networks.encoder import Encoder
from bgdata.evaluation.networks.inference import (
    FIRST_SUM,
    FIRST_WEIGHT,
    LATER_SUM,
    LATER_WEIGHT,
    SHAPE_COLUMNS,
    Networks,
)
from bgdata.training.temporal_difference.learning import FloatNetworks, new_networks

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weights [below, unit], biases [unit]


def started_networks(networks: Networks, hidden: tuple[tuple[int, ...], ...], seed: int) -> FloatNetworks:
    """The networks in float32 with so many hidden units, nothing for as many as they have.

    Units that are added have small random weights below and none above, so that all answers stay the same. Raises
    InvalidParameterError for fewer units, or another number of layers.
    """
    found = [layers_of(networks, which) for which in range(len(networks.shapes))]
    sizes = [tuple(len(biases) for _, biases in layers[:-1]) for layers in found]
    for name, wanted, size in zip(NETWORK_CLASSES, hidden, sizes, strict=True):
        if wanted and (len(wanted) != len(size) or any(map(int.__lt__, wanted, size))):
            have = "-".join(map(str, size))
            raise InvalidParameterError(
                f"expected at least the {have} hidden units of the {name} network to start from, "
                f"got {'-'.join(map(str, wanted))}"
            )
    started = new_networks(encoders_of(networks), chosen(hidden, sizes), seed)
    for which, layers in enumerate(found):
        copy_layers(layers, started, which)
    return started


def encoders_of(networks: Networks) -> tuple[Encoder, ...]:
    """The inputs of each network."""
    return tuple(Encoder(row[0]) for row in networks.shapes.tolist())


def feature_names(networks: Networks) -> str:
    """The inputs of each network with their revisions, such as "race@1 contact@1 contact@1"."""
    return " ".join(f"{encoder.label}@{encoder.revision}" for encoder in encoders_of(networks))


def check_features(networks: Networks, features: str) -> None:
    """Raise UsageError unless the networks have the inputs that are named, of the same revisions; empty for any."""
    found = feature_names(networks)
    if features and features != found:
        raise UsageError(f"expected networks with the inputs {features}, got {found}")


def chosen(hidden: tuple[tuple[int, ...], ...], sizes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """What is wanted, or else what there is."""
    return tuple(wanted or size for wanted, size in zip(hidden, sizes, strict=True))


def layers_of(networks: Networks, which: int) -> list[Layer]:
    """The layers of one network as floats."""
    row = networks.shapes[which].tolist()
    sizes = [row[1], *row[SHAPE_COLUMNS : SHAPE_COLUMNS + row[4]]]
    weight, bias, layers = row[2], row[3], []
    for place, (below, units) in enumerate(pairwise(sizes)):
        weights = networks.weights[weight : weight + below * units].astype(np.float32)
        biases = networks.biases[bias : bias + units].astype(np.float64)
        weights = weights.reshape(below, units) if place == 0 else weights.reshape(units, below).T
        units_of = (FIRST_WEIGHT, FIRST_SUM) if place == 0 else (LATER_WEIGHT, LATER_SUM)
        layers.append((weights / np.float32(units_of[0]), (biases / units_of[1]).astype(np.float32)))
        weight, bias = weight + below * units, bias + units
    return layers


def copy_layers(layers: list[Layer], networks: FloatNetworks, which: int) -> None:
    """Write the layers into a network that is as wide or wider."""
    row = networks.shapes[which].tolist()
    sizes = [row[1], *row[SHAPE_COLUMNS : SHAPE_COLUMNS + row[4]]]
    weight, bias = row[2], row[3]
    for place, (weights, biases) in enumerate(layers):
        below, units = sizes[place : place + 2]
        flat = networks.weights[weight : weight + below * units]
        target = flat.reshape(below, units) if place == 0 else flat.reshape(units, below).T
        if place:
            target[len(weights) :, : len(biases)] = 0  # of units that are new
        target[: len(weights), : len(biases)] = weights
        networks.biases[bias : bias + len(biases)] = biases
        weight, bias = weight + below * units, bias + units
