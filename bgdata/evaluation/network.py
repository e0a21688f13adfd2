"""Networks of a dataset version, mapped for kernels. Needs NumPy alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.evaluation.encoders import input_count
from bgdata.evaluation.encoder import Encoder
from bgdata.evaluation.network_kernels import OUTPUTS, SHAPE_COLUMNS, Networks
from bgdata.store.table import Table

NETWORK_CLASSES = ("race", "crashed", "contact")


def packaged_network() -> Table:
    """The version of networks that comes with the package. Raises MissingTableError where it was left out."""
    folder = Path(__file__).parent / "networks"
    found = sorted(folder.glob("*/r*-*"))
    if not found:
        raise MissingTableError(f"expected networks in {folder}, found none; try: bgdata train td")
    return Table(found[-1])


def open_networks(table: Table) -> Networks:
    """The networks of a version, mapped read-only. Raises CorruptFileError when its arrays do not fit together."""
    networks = Networks(*(table.array(name) for name in Networks._fields))
    flaw = find_flaw(networks)
    if flaw:
        raise CorruptFileError(f"expected networks that kernels can read in {table.name}, found {flaw}; try: bgdata verify")
    return networks


def find_flaw(networks: Networks) -> str:
    """What would make kernels read beyond the arrays, or misread them; empty where nothing would."""
    shapes, weights, biases = networks
    if (shapes.dtype, weights.dtype, biases.dtype) != (np.int64, np.int16, np.int32):
        return f"arrays of {shapes.dtype}, {weights.dtype} and {biases.dtype}"
    if shapes.ndim != 2 or len(shapes) != len(NETWORK_CLASSES) or shapes.shape[1] <= SHAPE_COLUMNS:
        return f"shapes of {list(shapes.shape)}"
    weight = bias = 0
    for name, row in zip(NETWORK_CLASSES, shapes.tolist(), strict=True):
        encoder, inputs, first_weight, first_bias, layers, *sizes = row
        sizes = sizes[:layers]
        if encoder not in set(Encoder) or inputs != input_count(Encoder(encoder)):
            return f"unknown inputs of the {name} network: encoder {encoder}, {inputs} inputs"
        if (first_weight, first_bias) != (weight, bias) or len(sizes) != layers or sizes[-1:] != [OUTPUTS] or min(sizes) < 1:
            return f"the layers {sizes} of the {name} network"
        weight += sum(below * units for below, units in zip([inputs, *sizes], sizes, strict=False))
        bias += sum(sizes)
    if (weights.shape, biases.shape) != ((weight,), (bias,)):
        return f"{weights.size} weights and {biases.size} biases for {weight} and {bias}"
    return ""
