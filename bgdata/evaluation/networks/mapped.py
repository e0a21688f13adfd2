"""The networks of a dataset version, memory-mapped for kernels and checked to be readable by them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CorruptFileError, OlderTableError
from bgdata.evaluation.answers import NETWORK_CLASSES
from bgdata.evaluation.networks.inference import ACTIVATION, LAYERS, OUTPUTS, SIZES, Activation, Networks
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import input_count
from bgdata.kernel import read_only
from bgdata.store.table import Table

_DTYPES = {"shapes": np.int64, "weights": np.int16, "biases": np.int32}


def open_networks(table: Table) -> Networks:
    """The networks of a version, mapped read-only. Raises MissingTableError or CorruptFileError for an array that is
    missing, truncated, or does not fit the others, and OlderTableError for networks of older inputs."""
    for features in table.manifest.parameters.get("features") or ():
        label, _, revision = str(features).partition("@")
        present = {each.label: str(each.revision) for each in InputSet}.get(label)
        if revision != present:
            raise OlderTableError(
                f"expected networks with the inputs {label}@{present} in {table.name}, found {features}, whose values "
                "were others; try: train it again"
            )
    shapes, weights, biases = (table.array(name) for name in Networks._fields)
    networks = Networks(with_activations(shapes), weights, biases)
    flaw = find_flaw(networks)
    if flaw:
        raise CorruptFileError(
            f"expected networks that bgdata can read in {table.name}, found {flaw}; try: bgdata verify"
        )
    return networks


def with_activations(shapes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Shapes of a version as kernels take them: where all networks are logistic, it has no column for the activation,
    and the layers (2 or more) in its place."""
    is_logistic = shapes.ndim == 2 and shapes.shape[1] > ACTIVATION and shapes[:, ACTIVATION].min(initial=2) >= 2
    return read_only(np.insert(shapes, ACTIVATION, Activation.LOGISTIC, axis=1)) if is_logistic else shapes


def stored(networks: Networks) -> dict[str, NDArray[np.generic]]:
    """Networks as versions hold them: see `with_activations`."""
    found = dict(networks._asdict())
    if (networks.shapes[:, ACTIVATION] == Activation.LOGISTIC).all():
        found["shapes"] = np.delete(networks.shapes, ACTIVATION, axis=1)
    return found


def find_flaw(networks: Networks) -> str:
    """In words, what would make kernels misread the arrays or read beyond them; empty if nothing does."""
    for name, values in networks._asdict().items():
        if values.dtype != _DTYPES[name] or not values.flags.c_contiguous:
            return f"{name} of {values.dtype}{list(values.shape)}"
    shapes, weights, biases = networks
    if shapes.ndim != 2 or len(shapes) != len(NETWORK_CLASSES) or shapes.shape[1] < SIZES + 2:
        return f"shapes of {list(shapes.shape)}"
    first_weight = first_bias = 0
    for name, row in zip(NETWORK_CLASSES, shapes.tolist(), strict=True):
        input_set, inputs = row[:2]
        if input_set not in set(InputSet) or inputs != input_count(InputSet(input_set)):
            return f"other inputs of the {name} network: {inputs} of input set {input_set}"
        sizes = layer_sizes(row)
        if not sizes or row[2:4] != [first_weight, first_bias] or row[ACTIVATION] not in set(Activation):
            return f"the shape {row} of the {name} network"
        first_weight += sum(below * units for below, units in pairwise([inputs, *sizes]))
        first_bias += sum(sizes)
    if (weights.shape, biases.shape) != ((first_weight,), (first_bias,)):
        return (
            f"weights of {list(weights.shape)} for {first_weight} and biases of {list(biases.shape)} for {first_bias}"
        )
    return ""


def layer_sizes(row: list[int]) -> list[int]:
    """The units of each layer after the inputs, from a row of shapes; empty for shapes that kernels cannot take: they
    need at least one hidden layer, five outputs, and zeros after them."""
    layers, sizes = row[LAYERS], row[SIZES:]
    if not 2 <= layers <= len(sizes) or sizes[layers - 1] != OUTPUTS:
        return []
    return sizes[:layers] if min(sizes[:layers]) > 0 and not any(sizes[layers:]) else []
