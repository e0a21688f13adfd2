"""Tests of `bgdata export onnx`, and of ONNX files as players."""

import json
import re
import sys
from hashlib import sha256
from pathlib import Path

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
    """A network that is named or the default one is exported as ONNX, with its name and version in the metadata."""
    path = tmp_path / "x.onnx"
    for arguments, name in ((["random"], "random"), ([], DEFAULT_NETWORK)):
        shown = output_of(root, "export", "onnx", *arguments, "-o", path)  # the second overwrites the first
        size = path.stat().st_size
        digest = sha256(path.read_bytes()).hexdigest()
        assert shown == f"wrote {path}: {size:,} bytes, SHA-256 {digest}\n"
        assert file_metadata(path)["name"] == name
    (version,) = (root / "network" / "random").glob("r1-*")
    output_of(root, "export", "onnx", f"random/{version.name}", "--output", path)
    assert file_metadata(path)["version"] == f"network/random/{version.name}"
    assert OnnxEvaluator(path).version == sha256(path.read_bytes()).hexdigest()
    assert [each.name for each in tmp_path.iterdir()] == ["x.onnx"]


def test_missing_and_damaged_networks_are_not_exported(root: Path, tmp_path: Path) -> None:
    """No file is written."""
    kept = tmp_path / "kept.onnx"
    kept.write_text("kept")
    for name, code, message in (
        ("nobody", 1, r"no network/nobody in .*warehouse \(have: random\); try: bgdata train td nobody"),
        ("random/r1-00000000", 1, r"no network/random/r1-00000000 in .*"),
        ("no/thing/at/all", 2, "expected network, network/NAME or network/NAME/VERSION, got network/no/thing/at/all"),
    ):
        assert re.fullmatch(message, error_of(run(root, "export", "onnx", name, "-o", kept), code))
        assert kept.read_text() == "kept"
    copy = tmp_path / "warehouse"
    path = tmp_path / "x.onnx"
    folder = write_network(copy, "random", random_networks(7))
    weights = folder / "weights.npy"
    weights.write_bytes(weights.read_bytes()[:-2])
    error = error_of(run(copy, "export", "onnx", "random", "-o", path), 1)
    assert "weights" in error
    assert not path.exists()
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


def test_onnx_file_evaluates_like_the_network(root: Path, file: Path) -> None:
    """A player with the exported ONNX file evaluates as one with the network."""
    for command in (["eval", "start"], ["hint", "start", "31"], ["hint", "start", "31", "--ply", "1"]):
        by_file, by_network = (
            json.loads(output_of(root, *command, "--network", network, "--format", "json"))
            for network in (str(file), "random")
        )
        numbers = [name for name, value in by_network[0].items() if isinstance(value, float)]
        assert len(numbers) >= 5
        if "--ply" not in command:  # networks look ahead at likely plays only, files at all plays
            assert [[row[name] for name in numbers] for row in by_file] == [
                [row[name] for name in numbers] for row in by_network
            ]
        assert len(by_file) == len(by_network)
        assert {row["accuracy"] for row in by_file} == {f"random-7.onnx, SHA-256 {OnnxEvaluator(file).version[:8]}"}


def test_onnx_file_plays_like_the_network(root: Path, tmp_path: Path) -> None:
    """Against itself and its network the result is 0, because each sequence of dice is played from both sides."""
    path = tmp_path / "x.onnx"
    other = tmp_path / "warehouse"
    output_of(root, "export", "onnx", "-o", path)
    write_network(other, "random", random_networks(7))
    for opponent, name in ((str(path), str(path)), ("network", f"network/{DEFAULT_NETWORK}")):
        arguments = ("benchmark", path, "--games", "4", "--against", opponent, "--format", "json")
        (row,) = json.loads(output_of(other, *arguments))
        assert row["player"] == str(path)
        assert row["opponent"] == name
        assert row["games"] == 4
        assert row["points_per_game"] == 0


@pytest.mark.slow
def test_onnx_file_is_scored_and_compared(warehouse: Warehouse, file: Path) -> None:
    root = warehouse.root
    name = str(file)
    shown = json.loads(output_of(root, "compare", f"{name}:0", "--split", "validation", "--format", "json"))
    assert {row["player"] for row in shown} == {name}
    assert {row["player_version"] for row in shown} == {OnnxEvaluator(file).version}
    amounts = ("--games", "4", "--luck-adjusted-games", "0", "--decisions", "20", "--no-programs")
    shown = json.loads(output_of(root, "score", name, *amounts, "--format", "json"))
    assert {"points_per_game", "equity_rmse"} <= {row["measure"] for row in shown}
    assert "onnx-random-7-0ply" in warehouse.variants("scores")


def test_onnx_file_plays_in_the_terminal(root: Path, file: Path) -> None:
    shown = output_of(root, "play", "--network", file, "--watch", file, "--seed", "3")
    assert "random-7-0ply" in shown


@pytest.mark.parametrize("command", [["eval", "start", "--network"], ["benchmark"], ["score"]], ids=str)
def test_invalid_onnx_files_are_refused(root: Path, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "x.onnx"
    versions = sorted(table.name for table in bgdata.open_warehouse(root).versions())
    assert error_of(run(root, *command, path), 1).startswith(f"expected an ONNX file, found nothing at {path}")
    path.write_text("text")
    error = error_of(run(root, *command, path), 1)
    assert error.startswith(f"expected an ONNX file that onnxruntime can run, got {path}: ")
    assert sorted(table.name for table in bgdata.open_warehouse(root).versions()) == versions
