"""The networks of a player from a version of the dataset `network`, mapped and checked: kernels check nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.evaluation.encoder import Encoder
from bgdata.evaluation.encoders import input_count
from bgdata.evaluation.network_kernels import OUTPUTS, SHAPE_COLUMNS, Networks
from bgdata.store.table import Table

NETWORKS = 3  # for race, crashed and contact positions: `answers.NETWORK_CLASSES`
_ARRAYS: dict[str, tuple[type[np.signedinteger[Any]], int]] = {
    "shapes": (np.int64, 2),
    "weights": (np.int16, 1),
    "biases": (np.int32, 1),
}


def open_networks(table: Table) -> Networks:
    """Map the arrays of a version read-only; weights are read when they are used, and never copied.

    Raises MissingTableError where an array is missing, and CorruptFileError for arrays that are no networks.
    """
    networks = Networks(*(table.array(name) for name in Networks._fields))
    check_networks(networks, table.name)
    return networks


def check_networks(networks: Networks, name: str) -> None:
    """Raise CorruptFileError, naming `name`, for arrays that kernels would read beyond their end or misunderstand."""
    for array, (dtype, axes) in _ARRAYS.items():
        values = getattr(networks, array)
        if values.dtype != dtype or values.ndim != axes or not values.flags.c_contiguous:
            raise CorruptFileError(
                f"expected {array} of {name} as {np.dtype(dtype).name} of {axes} axes, "
                f"found {values.dtype}{list(values.shape)}; try: bgdata verify"
            )
    if len(networks.shapes) != NETWORKS or networks.shapes.shape[1] < SHAPE_COLUMNS + 2:
        raise CorruptFileError(
            f"expected {NETWORKS} networks in the shapes of {name}, found {list(networks.shapes.shape)}"
        )
    weights = biases = 0
    for which, row in enumerate(networks.shapes.tolist()):
        sizes = _layer_sizes(row, f"network {which} of {name}")
        if row[2:4] != [weights, biases]:
            raise CorruptFileError(
                f"expected network {which} of {name} at weight {weights} and bias {biases}, found {row[2]} and {row[3]}"
            )
        weights += sum(below * units for below, units in zip([row[1], *sizes], sizes, strict=False))
        biases += sum(sizes)
    found = len(networks.weights), len(networks.biases)
    if found != (weights, biases):
        raise CorruptFileError(
            f"expected {weights} weights and {biases} biases in {name}, found {found[0]} and {found[1]}"
        )


def _layer_sizes(row: list[int], name: str) -> list[int]:
    """Units of the layers of a row of shapes, checked; `name` is that of the network."""
    encoder, inputs, _, _, layers, *sizes = row
    if encoder not in list(Encoder):
        raise CorruptFileError(f"expected an encoder from 0 to {max(Encoder):d} in {name}, found {encoder}")
    if inputs != input_count(Encoder(encoder)):
        raise CorruptFileError(
            f"expected {input_count(Encoder(encoder))} inputs for the encoder {Encoder(encoder).label} in {name}, "
            f"found {inputs}"
        )
    if not 2 <= layers <= len(sizes) or min(sizes[:layers]) < 1 or any(sizes[layers:]) or sizes[layers - 1] != OUTPUTS:
        raise CorruptFileError(
            f"expected at least 2 layers in {name}, the last of {OUTPUTS} units, found {layers} layers of {sizes}"
        )
    return sizes[:layers]


def packaged_network() -> Table:
    """The version of networks that comes with the package. Raises MissingTableError where it was left out."""
    folder = Path(__file__).parent / "networks"
    found = sorted(folder.glob("*/r*-*"))
    if not found:
        raise MissingTableError(f"expected networks in {folder}, found none; try: bgdata train td")
    return Table(found[-1])
