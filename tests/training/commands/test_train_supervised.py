"""`bgdata train sl`: every parameter of the recipe, versions by name, pictures, and gnubg's training files."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path

import click
import numpy as np
import pytest

from bgdata.cli.recipes import SL_RECIPE as RECIPE
from bgdata.formats.lines import write_bytes
from bgdata.formats.position_files import format_gnubg_training
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.training.commands.train import sl
from bgdata.training.kinds.supervised_network import DATASET, SupervisedParameters
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, lacking, run, succeeds

CHOSEN = {
    "name",
    "start",
    "labels",
    "guard",
    "features",
    "platform",
}  # parameters that follow from what the warehouse holds
SMALL = ("--epochs", "2", "--batch-size", "32", "--learning-rate", "0.01", "--hidden", "12", "--test-games", "20")
TINY = ("train", "sl", "mine", "--start", "network/tiny", *SMALL, "--no-guard")


def reference(table: Table) -> dict[str, str]:
    """A version as manifests name it."""
    return vars(VersionRef.parse(table.name))


def test_every_parameter_is_an_option_with_its_default() -> None:
    options = {option.name: option for option in sl.params if isinstance(option, click.Option)}
    parameters = {field.name: field.default for field in fields(SupervisedParameters)}
    assert set(RECIPE) == set(parameters) - CHOSEN
    assert set(options) - {"warehouse"} == set(RECIPE) | {
        *("labels", "start", "guard", "threads", "force", "form"),
    }
    for name in RECIPE:
        assert options[name].default == parameters[name]
        assert options[name].help == RECIPE[name]
        assert options[name].show_default is (parameters[name] != "")


def test_it_trains_and_says_how_well(warehouse: Warehouse) -> None:
    result = run(warehouse.root, *TINY, "--labels", "selfplay_labels")
    assert result.exit_code == 0, result.stderr
    table = warehouse.open(DATASET.name, "mine")
    expected = warehouse.open(DATASET.name, DATASET.slug(DATASET.smallest))
    assert table.manifest.digest == expected.manifest.digest
    labels = next(warehouse.versions("selfplay_labels"))
    assert table.manifest.parameters["labels"] == [{"versions": [reference(labels)], "weight": 1.0}]
    assert table.manifest.parameters["start"] == reference(next(warehouse.versions("network")))
    assert table.manifest.parameters["features"] == ["race@1", "contact@1", "contact@1"]
    folder, epoch, kept = result.stdout.splitlines()
    assert folder == str(table.folder)
    assert epoch.startswith("epoch 2, rate 0: contact ")
    assert kept.startswith("kept epochs: race ")
    assert [line.partition(",")[0] for line in result.stderr.splitlines() if line.startswith("epoch")] == [
        "epoch 0", "epoch 1", "epoch 2",
    ]  # fmt: skip
    again = run(warehouse.root, *TINY, "--labels", "selfplay_labels:1.0")
    assert f"supervised_network/mine: already built ({table.folder.name})" in again.stderr
    games = ("benchmark", "network/mine", "--games", "4", "--against", "random")
    assert "network/mine" in succeeds(warehouse.root, *games)


def test_gnubg_training_files_with_one_command(warehouse: Warehouse, tmp_path: Path) -> None:
    """Those of all classes, imported before; then a wider network from two kinds of labels, starting from the first."""
    labels = next(warehouse.versions("selfplay_labels"))
    classes, boards, chances = (np.asarray(labels.array(name)) for name in ("classes", "boards", "chances"))
    for name, numbers in (("contact", (10,)), ("crashed", (9,)), ("race", (4, 6, 8))):
        rows = np.isin(classes, numbers)
        path = tmp_path / f"{name}-train-data"
        write_bytes(path, format_gnubg_training(boards[rows], chances[rows]))
        succeeds(warehouse.root, "import", "gnubg_training", path)
    succeeds(warehouse.root, *TINY, "--labels", "gnubg_training")
    table = warehouse.open(DATASET.name, "mine")
    (source,) = table.manifest.parameters["labels"]
    assert [version["kind"] for version in source["versions"]] == ["gnubg_training"] * 3
    assert (np.asarray(table.array("curve"))[1:, :, 1] > 10).all()
    succeeds(
        warehouse.root, "train", "sl", "wide", "--start", "network/mine", "--labels", "gnubg_training:2",
        "--labels", "selfplay_labels", "--epochs", "1", "--hidden", "20", "--test-games", "4",
    )  # fmt: skip
    wide = warehouse.open(DATASET.name, "wide")
    assert wide.manifest.parameters["start"] == reference(table)
    assert wide.array("shapes")[2, 5] == 20
    assert float(wide.array("curve")[0, 2, 3]) < float(table.array("curve")[0, 2, 3])  # it goes on where that one was


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--labels", "nothing"], 2, "expected a kind of dataset, got "),
        (["--labels", "selfplay"], 2, "expected a kind that has positions with chances: "),
        (["--labels", "selfplay_labels/none"], 1, "no selfplay_labels/none in "),
        (["--labels", "selfplay_labels:much"], 2, "expected labels KIND/VARIANT:WEIGHT, got 'selfplay_labels:much'"),
        (["--labels", "selfplay_labels:0"], 2, "expected labels KIND/VARIANT/VERSION:WEIGHT, got 'selfplay_labels/"),
        (
            ["--labels", "selfplay_labels", "--start", "pubeval"],
            2,
            "expected network, network/NAME or network/NAME/VERSION, got pubeval",
        ),
        (["--labels", "selfplay_labels", "--start", "network/none"], 1, "no network/none in "),
        (
            ["--labels", "selfplay_labels", "--learning-rate", "2"],
            2,
            "expected a learning_rate above 0, up to 0.1 for adam, got 2.0",
        ),
        (
            ["--labels", "selfplay_labels", "--device", "cuda"],
            2,
            "expected the trainer torch for the device cuda, got ",
        ),
        (
            ["--labels", "selfplay_labels", "--average-decay", "1"],
            2,
            "expected an average_decay of 0, or more and below 1, got 1.0",
        ),
        (["tiny", "--labels", "selfplay_labels"], 2, "expected a name that no network has that learned by self-play"),
    ],
)
def test_wrong_arguments(warehouse: Warehouse, arguments: list[str], code: int, message: str) -> None:
    name = [] if arguments[0] == "tiny" else ["other"]
    assert error_of(run(warehouse.root, "train", "sl", *name, *arguments), code).startswith(message)
    assert warehouse.variants(DATASET.name) == ["tiny-supervised"]


def test_pytorch_does_what_kernels_do(warehouse: Warehouse) -> None:
    """Another version of the same name, whose recipe says what it was computed on; again, it is there."""
    pytest.importorskip("torch", reason="PyTorch is an extra")
    from bgdata.training.supervised.torch_trainer import platform_name

    arguments = (*TINY, "--labels", "selfplay_labels", "--trainer", "torch")
    result = run(warehouse.root, *arguments)
    assert result.exit_code == 0, result.stderr
    table = warehouse.open(DATASET.name, "mine")
    assert table.manifest.parameters["platform"] == platform_name("cpu")
    assert table.manifest.digest != warehouse.open(DATASET.name, "tiny-supervised").manifest.digest
    again = run(warehouse.root, *arguments, "--threads", "1")
    assert f"supervised_network/mine: already built ({table.folder.name})" in again.stderr


def test_a_missing_gpu_is_refused(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is an extra")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = run(warehouse.root, *TINY, "--labels", "selfplay_labels", "--trainer", "torch", "--device", "cuda")
    assert re.fullmatch("expected a GPU for the device cuda, .* finds none; try: --device cpu", error_of(result, 2))
    assert warehouse.variants(DATASET.name) == ["tiny-supervised"]


def test_without_pytorch(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bgdata.training.supervised.torch_trainer", raising=False)
    result = run(warehouse.root, *TINY, "--labels", "selfplay_labels", "--trainer", "torch")
    assert error_of(result, 1) == f"expected torch for the trainer torch, {lacking('torch')}"
    assert warehouse.variants(DATASET.name) == ["tiny-supervised"]


def test_plot(small_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    assert run(small_root, "train", "plot", "tiny-supervised", "-o", path).stderr == f"wrote {path}\n"
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert path.stat().st_size > 20_000
