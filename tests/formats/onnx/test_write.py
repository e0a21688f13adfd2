"""ONNX files of our networks."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.player import NetworkPlayer, find_network, open_networks
from bgdata.formats.onnx.network import properties_of
from bgdata.game.codec import Boards
from bgdata.store.table import Table
from tests.evaluation.sample_networks import random_networks
from tests.formats.onnx.boards import all_boards
from tests.formats.onnx.runs import REASON, load_model


@pytest.fixture(scope="module")
def write() -> Any:
    """The module that writes files; importing it needs the extra."""
    pytest.importorskip("onnx", reason=REASON)
    return import_module("bgdata.formats.onnx.write")


@pytest.fixture(scope="module")
def boards() -> Boards:
    return all_boards(1500, seed=19)


@pytest.fixture(scope="module")
def table() -> Table:
    """The default network of the package."""
    return find_network("network", bgdata.open_warehouse("nowhere"))


@pytest.fixture(scope="module")
def content(table: Table, write: Any) -> bytes:
    return write.onnx_bytes(open_networks(table), properties_of(table))


def test_file_gives_our_answers(table: Table, content: bytes, boards: Boards) -> None:
    expected = NetworkPlayer(open_networks(table), BearoffEvaluator().arrays).evaluate_many(boards).chances
    np.testing.assert_array_equal(load_model(content)(boards), expected)


def test_answers_do_not_depend_on_threads(content: bytes, boards: Boards) -> None:
    few = boards[::3]
    np.testing.assert_array_equal(load_model(content, 3)(few), load_model(content, 1)(few))


def test_same_network_gives_the_same_bytes(write: Any, table: Table, content: bytes) -> None:
    assert write.onnx_bytes(open_networks(table), properties_of(table)) == content
    assert write.onnx_bytes(random_networks(1), {}) != write.onnx_bytes(random_networks(1, seed=2), {})


def test_file_has_properties(table: Table, content: bytes) -> None:
    import onnx

    model = onnx.load_from_string(content)
    onnx.checker.check_model(model, full_check=True)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert metadata["name"] == table.manifest.variant
    assert metadata["version"].endswith(f"/{table.manifest.variant}/{table.folder.name}")
    assert metadata["digest"] == table.manifest.digest
    assert metadata["licence"] == "CC0-1.0"
    assert metadata["opset"] == f"ai.onnx {model.opset_import[0].version}"
    assert metadata["boards"].startswith("int8[N, 26]")
    assert metadata["chances"].startswith("float32[N, 5]")
    assert "to the last bit" in metadata["bound"]
    assert [opset.domain for opset in model.opset_import] == [""]


def test_file_is_about_as_large_as_its_weights(table: Table, content: bytes) -> None:
    """The file has 16 bits for each weight, and little else."""
    networks = open_networks(table)
    assert len(content) < networks.weights.nbytes + networks.biases.nbytes + 300_000
