"""Tests of `bgdata export onnx`, and of ONNX files as players."""

import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.evaluation.onnx_evaluator import OnnxEvaluator
from bgdata.evaluation.players import DEFAULT_NETWORK
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, missing_extra, output_of, run
from tests.evaluation.network_versions import random_networks, write_network


@pytest.fixture(scope="module", autouse=True)
def _extra() -> None:
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package, reason="the extra onnx is not installed")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A read-only warehouse with network/random and without tables."""
    folder = tmp_path_factory.mktemp("onnx") / "warehouse"
    write_network(folder, "random", random_networks(7))
    return folder


@pytest.fixture(scope="module")
def file(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """network/random as an ONNX file."""
    path = tmp_path_factory.mktemp("files") / "random-7.onnx"
    output_of(root, "export", "onnx", "random", "-o", path)
    return path


def file_metadata(path: Path) -> dict[str, str]:
    """The metadata of an ONNX file."""
    import onnx

    return {each.key: each.value for each in onnx.load(path).metadata_props}


def test_network_is_exported(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    for arguments, name in ((["random"], "random"), ([], DEFAULT_NETWORK)):
        output = output_of(root, "export", "onnx", *arguments, "-o", path)  # the second overwrites the first
        digest = sha256(path.read_bytes()).hexdigest()
        assert output == f"wrote {path}: {path.stat().st_size:,} bytes, SHA-256 {digest}\n"
        assert file_metadata(path)["name"] == name
    (version,) = (root / "network" / "random").glob("r1-*")
    output_of(root, "export", "onnx", f"random/{version.name}", "--output", path)
    assert file_metadata(path)["version"] == f"network/random/{version.name}"
    assert OnnxEvaluator(path).version == sha256(path.read_bytes()).hexdigest()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("nobody", 1, r"no network/nobody in .*warehouse \(have: random\); try: bgdata train td nobody"),
        ("random/r1-00000000", 1, r"no network/random/r1-00000000 in .*"),
        ("no/thing/at/all", 2, "expected network, network/NAME or network/NAME/VERSION, got network/no/thing/at/all"),
    ],
)
def test_missing_network_is_not_exported(root: Path, tmp_path: Path, name: str, code: int, message: str) -> None:
    path = tmp_path / "x.onnx"
    path.write_text("older")
    assert re.fullmatch(message, error_of(run(root, "export", "onnx", name, "-o", path), code))
    assert path.read_text() == "older"


def test_damaged_network_is_not_exported(tmp_path: Path) -> None:
    folder = write_network(tmp_path / "warehouse", "random", random_networks(7))
    weights = folder / "weights.npy"
    weights.write_bytes(weights.read_bytes()[:-2])
    path = tmp_path / "x.onnx"
    assert "weights" in error_of(run(tmp_path / "warehouse", "export", "onnx", "random", "-o", path), 1)
    assert not path.exists()


def test_output_in_a_missing_folder_is_refused(root: Path, tmp_path: Path) -> None:
    assert "expected to write" in error_of(run(root, "export", "onnx", "random", "-o", tmp_path / "no" / "x.onnx"), 1)
    result = run(root, "export", "onnx", "random", "-o", tmp_path)
    assert result.exit_code == 2
    assert "is a directory" in result.stderr


@pytest.mark.parametrize(
    ("form", "module", "message"),
    [
        ("onnx", "write", "expected onnx to write an ONNX file"),
        ("torch", "torch_program", "expected torch to write a program of it"),
    ],
)
def test_missing_extra_is_named(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, module: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, form, None)
    monkeypatch.delitem(sys.modules, f"bgdata.formats.onnx.{module}", raising=False)
    path = tmp_path / "x"
    path.write_text("kept")
    assert error_of(run(root, "export", form, "random", "-o", path), 1) == f"{message}, {missing_extra(form)}"
    assert path.read_text() == "kept"


@pytest.mark.parametrize("command", ["eval start", "hint start 31", "hint start 31 --ply 1"])
def test_onnx_file_evaluates_like_the_network(root: Path, file: Path, command: str) -> None:
    def rows(network: str) -> list[dict[str, Any]]:
        return json.loads(output_of(root, *command.split(), "--network", network, "--format", "json"))

    rows_by_file, rows_by_network = rows(str(file)), rows("random")
    assert {row["accuracy"] for row in rows_by_file} == {f"random-7.onnx, SHA-256 {OnnxEvaluator(file).version[:8]}"}
    assert len(rows_by_file) == len(rows_by_network)
    columns = [name for name, value in rows_by_network[0].items() if isinstance(value, float)]
    assert len(columns) >= 5
    if "--ply" not in command:  # networks look ahead at likely plays only, files at all plays
        for row, expected in zip(rows_by_file, rows_by_network, strict=True):
            assert [row[name] for name in columns] == [expected[name] for name in columns]


@pytest.mark.parametrize("is_file", [True, False], ids=["itself", "the network"])
def test_onnx_file_plays_like_the_network(root: Path, tmp_path: Path, is_file: bool) -> None:
    """Against itself and its network the result is 0, because each sequence of dice is played from both sides."""
    path = tmp_path / "x.onnx"
    output_of(root, "export", "onnx", "-o", path)
    write_network(tmp_path / "warehouse", "random", random_networks(7))
    opponent = str(path) if is_file else f"network/{DEFAULT_NETWORK}"
    arguments = ("benchmark", path, "--games", "4", "--against", opponent, "--format", "json")
    (row,) = json.loads(output_of(tmp_path / "warehouse", *arguments))
    assert (row["player"], row["opponent"]) == (str(path), opponent)
    assert row["games"] == 4
    assert row["points_per_game"] == 0


@pytest.mark.slow
def test_onnx_file_is_scored_and_compared(warehouse: Warehouse, file: Path) -> None:
    root = warehouse.root
    name = str(file)
    rows = json.loads(output_of(root, "compare", f"{name}:0", "--split", "validation", "--format", "json"))
    assert {row["player"] for row in rows} == {name}
    assert {row["player_version"] for row in rows} == {OnnxEvaluator(file).version}
    amounts = ("--games", "4", "--luck-adjusted-games", "0", "--decisions", "20", "--no-programs")
    rows = json.loads(output_of(root, "score", name, *amounts, "--format", "json"))
    assert {"points_per_game", "equity_rmse"} <= {row["measure"] for row in rows}
    assert "onnx-random-7-0ply" in warehouse.variants("scores")


def test_onnx_file_plays_in_the_terminal(root: Path, file: Path) -> None:
    output = output_of(root, "play", "--network", file, "--watch", file, "--seed", "3")
    assert "random-7-0ply" in output


@pytest.mark.parametrize("command", [["eval", "start", "--network"], ["benchmark"], ["score"]], ids=str)
def test_invalid_onnx_files_are_refused(root: Path, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "x.onnx"
    versions = sorted(table.name for table in bgdata.open_warehouse(root).versions())
    assert error_of(run(root, *command, path), 1).startswith(f"expected an ONNX file, found nothing at {path}")
    path.write_text("text")
    error = error_of(run(root, *command, path), 1)
    assert error.startswith(f"expected an ONNX file that onnxruntime can run, got {path}: ")
    assert sorted(table.name for table in bgdata.open_warehouse(root).versions()) == versions
