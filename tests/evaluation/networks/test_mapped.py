"""Networks of a version: mapped, and refused in one line when kernels could not read them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import CorruptFileError, MissingTableError, OlderTableError
from bgdata.evaluation.networks import input_sets
from bgdata.evaluation.networks.inference import NO_NETWORKS, Networks, layer_sizes
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.player import find_flaw, open_networks
from bgdata.evaluation.players import DEFAULT_NETWORK, SHIPPED
from bgdata.store.arrays import save_array
from bgdata.store.table import Table
from tests.evaluation.network_versions import HIDDEN, random_networks, write_network
from tests.together import each


@cache
def good_networks() -> Networks:
    return random_networks(3)


def test_networks_are_mapped(tmp_path: Path) -> None:
    opened = open_networks(Table(write_network(tmp_path, "good", good_networks())))
    for name, written in good_networks()._asdict().items():
        found = getattr(opened, name)
        assert np.array_equal(found, written)
        assert found.dtype == written.dtype
        assert not found.flags.writeable
        assert is_mapped(found)


def is_mapped(array: NDArray[np.generic]) -> bool:
    """Whether an array's memory is a file."""
    owner: object = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return isinstance(owner, ctypes.Array)  # over pages of a file: see store.arrays.mapped


def test_array_in_memory_is_not_mapped() -> None:
    assert not is_mapped(np.zeros(3))


def test_layers() -> None:
    assert [layer_sizes(row) for row in good_networks().shapes.tolist()] == [[*hidden, 5] for hidden in HIDDEN]


def corrupted_shapes(row: int, column: int, value: int) -> Callable[[Networks], Networks]:
    def corrupt(networks: Networks) -> Networks:
        shapes = networks.shapes.copy()
        shapes[row, column] = value
        return networks._replace(shapes=shapes)

    return corrupt


FLAWS: dict[str, tuple[Callable[[Networks], Networks], str]] = {
    "no such inputs": (corrupted_shapes(0, 0, 4), r"other inputs of the race network: \d+ of input set 4"),
    "no inputs below 0": (corrupted_shapes(1, 0, -1), r"other inputs of the crashed network: 198 of input set -1"),
    "other features": (corrupted_shapes(2, 0, int(InputSet.TESAURO_196)), r"other inputs of the contact network: \d+"),
    "other inputs": (corrupted_shapes(1, 1, 199), "other inputs of the crashed network: 199 of input set 1"),
    "first weight": (corrupted_shapes(1, 2, 0), r"the shape \[1, 198, 0, .* of the crashed network"),
    "first weight below 0": (corrupted_shapes(0, 2, -1), r"the shape \[2, \d+, -1, .* of the race network"),
    "first bias": (corrupted_shapes(2, 3, 1 << 40), r"the shape .* of the contact network"),
    "no such activation": (corrupted_shapes(2, 4, 2), "the shape .* of the contact network"),
    "no hidden layer": (corrupted_shapes(1, 5, 1), "the shape .* of the crashed network"),
    "no layers": (corrupted_shapes(1, 5, 0), "the shape .* of the crashed network"),
    "layers below 0": (corrupted_shapes(1, 5, -3), "the shape .* of the crashed network"),
    "layers beyond the columns": (corrupted_shapes(0, 5, 4), "the shape .* of the race network"),
    "no units": (corrupted_shapes(0, 6, 0), "the shape .* of the race network"),
    "units below 0": (corrupted_shapes(0, 7, -4), "the shape .* of the race network"),
    "six outputs": (corrupted_shapes(0, 8, 6), "the shape .* of the race network"),
    "units after the outputs": (corrupted_shapes(1, 8, 1 << 60), "the shape .* of the crashed network"),
    "more units than weights": (corrupted_shapes(2, 6, 8), r"weights of \[\d+\] for \d+ and biases of \[\d+\] for \d+"),
    "two networks": (lambda n: n._replace(shapes=n.shapes[:2]), r"shapes of \[2, 9\]"),
    "flat shapes": (lambda n: n._replace(shapes=n.shapes.reshape(-1)), r"shapes of \[27\]"),
    "narrow shapes": (lambda n: n._replace(shapes=np.ascontiguousarray(n.shapes[:, :7])), r"shapes of \[3, 7\]"),
    "shapes in columns": (lambda n: n._replace(shapes=np.asfortranarray(n.shapes)), r"the shape \(3, 9\) by columns"),
    "shapes of int32": (lambda n: n._replace(shapes=n.shapes.astype(np.int32)), r"shapes of int32\[3, 9\]"),
    "weights of float32": (lambda n: n._replace(weights=n.weights.astype(np.float32)), r"weights of float32\["),
    "weights of big end": (lambda n: n._replace(weights=n.weights.astype(">i2")), "values of type >i2"),
    "missing weight": (lambda n: n._replace(weights=n.weights[:-1]), r"weights of \[\d+\] for \d+"),
    "weights in a table": (lambda n: n._replace(weights=n.weights[None]), r"weights of \[1, \d+\] for \d+"),
    "bias too many": (lambda n: n._replace(biases=np.append(n.biases, np.int32(0))), "weights of .* and biases of"),
    "biases of int64": (lambda n: n._replace(biases=n.biases.astype(np.int64)), r"biases of int64\["),
    "none": (lambda _: NO_NETWORKS, r"shapes of \[3, 7\]"),
}  # fmt: skip


@each("name", list(FLAWS))
def test_flaws(tmp_path: Path, name: str) -> None:
    corrupt, message = FLAWS[name]
    assert find_flaw(good_networks()) == ""
    folder = write_network(tmp_path, "bad", corrupt(good_networks()))
    if name == "shapes in columns":  # saving would put them in rows
        np.save(folder / "shapes.npy", np.asfortranarray(good_networks().shapes))
    with pytest.raises(CorruptFileError) as caught:
        open_networks(Table(folder))
    text = str(caught.value)
    start, end = "expected networks that bgdata can read in network/bad/r1-0123abcd, found ", "; try: bgdata verify"
    if name in ("shapes in columns", "weights of big end"):  # no array of ours is like that
        assert re.match(
            rf"expected a whole \.npy array in {folder}/\w+\.npy, found: {message}; try: bgdata verify", text
        )
        return
    assert text.startswith(start)
    assert text.endswith(end)
    assert re.match(message, text.removeprefix(start)), text


def test_networks_of_older_inputs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (folder,) = (SHIPPED / DEFAULT_NETWORK).iterdir()
    open_networks(Table(folder))
    monkeypatch.setitem(input_sets._REVISIONS, InputSet.CONTACT, 2)
    with pytest.raises(OlderTableError, match=r"expected networks with the inputs contact@2 in .*, found contact@1"):
        open_networks(Table(folder))


def test_missing_and_cut_arrays_are_refused(tmp_path: Path) -> None:
    folder = write_network(tmp_path, "bad", good_networks())
    (folder / "biases.npy").unlink()
    with pytest.raises(MissingTableError, match=r"expected the array .*biases\.npy, found no such file"):
        open_networks(Table(folder))
    save_array(folder / "biases.npy", good_networks().biases)
    whole = (folder / "weights.npy").read_bytes()
    (folder / "weights.npy").write_bytes(whole[:-10])
    with pytest.raises(CorruptFileError, match=r"expected a whole \.npy array in .*weights\.npy"):
        open_networks(Table(folder))
