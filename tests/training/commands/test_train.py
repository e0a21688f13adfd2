"""`bgdata train`: every parameter of the recipe, the same network after Ctrl-C, and pictures."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import bgdata
from bgdata.cli.recipes import NEWEST, SL_RECIPE, TD_RECIPE
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.networks.inference import SIZES
from bgdata.evaluation.networks.player import open_networks
from bgdata.formats.lines import write_bytes
from bgdata.formats.position_files import format_gnubg_training
from bgdata.game.classes import PositionClass
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.training.commands.train import sl, td
from bgdata.training.kinds.network import DATASET, NetworkParameters, curve_line
from bgdata.training.kinds.supervised_network import DATASET as SUPERVISED
from bgdata.training.kinds.supervised_network import SupervisedParameters
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, missing_extra, output_of, run
from tests.random_games import random_game_positions
from tests.store import processes

# parameters that follow from the warehouse
SET_BY_COMMAND = {"name", "start", "labels", "guard", "features", "platform"}
TINY = [
    *("train", "td", "tiny", "--games", "400", "--round-games", "100", "--row-games", "200", "--test-games", "20"),
    *("--hidden", "8", "--crashed-hidden", "8", "--race-hidden", "8-4", "--td-lambda", "0"),
]


@pytest.mark.parametrize(
    ("command", "recipe", "helps", "chosen", "others"),
    [
        (td, NetworkParameters, TD_RECIPE, {"name", "start"}, {"start"}),
        (sl, SupervisedParameters, SL_RECIPE, SET_BY_COMMAND, {"labels", "start", "guard"}),
    ],
)
def test_every_parameter_is_an_option_with_its_default(
    command: click.Command, recipe: Any, helps: dict[str, str], chosen: set[str], others: set[str]
) -> None:
    """Every training parameter that users may choose is an option with the parameter's default and meaning."""
    options = {option.name: option for option in command.params if isinstance(option, click.Option)}
    defaults = {field.name: field.default for field in fields(recipe)} | {"feed_format": NEWEST["feed_format"]}
    assert set(helps) == {field.name for field in fields(recipe)} - chosen
    assert set(options) - {"warehouse"} == {*helps, *others, "threads", "force", "form"}
    for name, text in helps.items():
        assert options[name].default == defaults[name]
        assert options[name].help == text
        assert options[name].show_default is (defaults[name] != "")
    (argument,) = [argument for argument in command.params if isinstance(argument, click.Argument)]
    assert argument.default == recipe.name


def test_td_trains_and_prints_results(small_root: Path, memory_path: Path) -> None:
    """The command trains the smallest network, prints each row of the learning curve, and does not train twice unless
    forced."""
    expected = bgdata.open_warehouse(small_root).open("network", "tiny")
    result = run(memory_path, *TINY, "--threads", "1")
    assert result.exit_code == 0
    table = bgdata.open_warehouse(memory_path).open("network", "tiny")
    assert table.manifest.digest == expected.manifest.digest
    assert table.manifest.parameters == DATASET.smallest.to_json()
    first_row, last_row = (curve_line(row) for row in table.array("curve").tolist())
    assert result.stdout == f"{table.folder}\n{last_row}\n"
    notes = [re.sub(" in .* s", "", line) for line in result.stderr.splitlines()]
    assert notes[-3:] == [first_row, last_row, f"network/tiny: built {table.folder.name}, 2 rows"]
    repeated = run(memory_path, *TINY)
    assert repeated.stdout == result.stdout
    assert repeated.stderr.splitlines()[-1] == f"network/tiny: already built ({table.folder.name})"
    assert "network/tiny: built " in run(memory_path, *TINY, "--force").stderr


def test_td_trains_without_tables(memory_path: Path) -> None:
    output_of(memory_path, *TINY, "--no-tables")
    warehouse = bgdata.open_warehouse(memory_path)
    assert set(warehouse.open("network", "tiny").manifest.inputs) == {"two_sided"}
    assert warehouse.variants("bearoff_one_sided") == []


def test_td_starts_from_other_networks(warehouse: Warehouse) -> None:
    """Training may start from a network with fewer units; wider networks change little at first, and the version names
    its start."""
    changes = ["--start", "network/tiny", "--hidden", "12", "--learning-rate", "1e-9", "--final-learning-rate", "1e-9"]
    output_of(warehouse.root, "train", "td", "wide", *TINY[3:], *changes)
    wide = warehouse.open("network", "wide")
    tiny = warehouse.open("network", "tiny")
    assert wide.manifest.parameters["start"] == vars(VersionRef("network", "tiny", tiny.folder.name))
    assert open_networks(wide).shapes[:, SIZES].tolist() == [8, 8, 12]
    boards = random_game_positions(500, seed=3).boards
    chances_of_wide = evaluations(open_networks(wide), NO_TABLES, boards).chances
    chances_of_tiny = evaluations(open_networks(tiny), NO_TABLES, boards).chances
    assert np.abs(chances_of_wide - chances_of_tiny).max() < 1e-3
    assert len(np.unique(chances_of_wide[:, 0])) > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--start", "network/tiny", "--hidden", "4"],
            "expected at least the 8 hidden units of the contact network to start from, got 4",
        ),
        (
            ["--start", "network/tiny", "--inputs", "race"],
            r"expected a recipe with the inputs race, contact, contact \(race, crashed, contact\) of "
            r"network/tiny/r1-\w+, got race, race, race$",
        ),
        (["--start", "pubeval"], "expected network, network/NAME or network/NAME/VERSION, got pubeval$"),
    ],
)
def test_start_of_another_shape_is_refused(warehouse: Warehouse, options: list[str], message: str) -> None:
    result = run(warehouse.root, "train", "td", "other", "--race-hidden", "8-4", *options)
    assert result.exit_code == 2
    error = result.stderr.splitlines()[-1]  # after lines about the tables that it needs
    assert re.match(f"error: {message}", error)
    assert warehouse.variants("network") == ["contact-160", "tiny"]


@pytest.mark.slow
def test_interrupted_training_resumes(small_root: Path, memory_path: Path) -> None:
    """Ctrl-C prints one line and exits with 130; the same command then gives the same network."""
    warehouse = bgdata.open_warehouse(memory_path)
    process = subprocess.Popen(
        processes.bgdata_command("--warehouse", memory_path, *TINY),
        env=os.environ | {"BGDATA_CHECKPOINT_SECONDS": "0"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in background jobs of a shell
    )
    while not list(warehouse.staging.glob("network-*/checkpoint-*")):
        assert process.poll() is None, "ended without a checkpoint"
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert output == ""
    message = r"error: interrupted; network/tiny is kept up to step \d, the same command goes on from there\n$"
    assert re.search(message, errors), errors
    assert warehouse.variants("network") == []
    assert re.search(r"going on with network/tiny after step \d of 4\n", run(memory_path, *TINY).stderr)
    expected = bgdata.open_warehouse(small_root).open("network", "tiny").manifest.digest
    assert warehouse.open("network", "tiny").manifest.digest == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--inputs", "colours"], "expected inputs among tesauro-196, tesauro-198, race, contact, got colours"),
        (["--td-lambda", "nan"], "expected finite numbers as td_lambda, got nan"),
        (["No Name"], "expected a name of small letters, digits and -, got 'No Name'"),
    ],
)
def test_invalid_recipes_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    assert error_of(run(tmp_path / "none", "train", "td", *arguments), 2) == message
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------- pictures


def test_plot_writes_a_picture_of_each_network(small_root: Path, tmp_path: Path) -> None:
    pictures = set()
    for network in ("tiny", "tiny-supervised", "network"):
        path = tmp_path / f"{network}.png"
        name = () if network == "network" else (network,)  # by default, that of the package
        assert run(small_root, "train", "plot", *name, "-o", path).stderr == f"wrote {path}\n"
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
        assert path.stat().st_size > 20_000
        pictures.add(path.read_bytes())
    assert len(pictures) == 3


def test_plot_into_a_missing_folder_is_refused(small_root: Path, tmp_path: Path) -> None:
    message = "invalid value for '-o' / '--output': expected a file in a folder that is there, got "
    assert error_of(run(small_root, "train", "plot", "-o", tmp_path / "none" / "x.png"), 2).startswith(message)


def test_plot_of_a_missing_network_is_refused(small_root: Path) -> None:
    message = f"no network/none in {small_root} (have: contact-160, tiny, tiny-supervised); try: bgdata train td none"
    assert error_of(run(small_root, "train", "plot", "none"), 1) == message


SMALL_LABELS = "--epochs 2 --batch-size 32 --learning-rate 0.01 --hidden 12 --test-games 20".split()  # noqa: SIM905
TINY_LABELS = ("train", "sl", "mine", "--start", "network/tiny", *SMALL_LABELS, "--no-guard")


def reference(table: Table) -> dict[str, str]:
    """The reference to a version as manifests contain it."""
    return vars(VersionRef.parse(table.name))


def test_sl_trains_and_prints_results(warehouse: Warehouse) -> None:
    """The command builds the smallest network under another name, names its labels and start by version, and is not
    repeated."""
    result = run(warehouse.root, *TINY_LABELS, "--labels", "selfplay_labels")
    assert result.exit_code == 0, result.stderr
    table = warehouse.open(SUPERVISED.name, "mine")
    expected = warehouse.open(SUPERVISED.name, SUPERVISED.slug(SUPERVISED.smallest))
    assert table.manifest.digest == expected.manifest.digest
    labels = next(warehouse.versions("selfplay_labels"))
    assert table.manifest.parameters["labels"] == [{"versions": [reference(labels)], "weight": 1.0}]
    assert table.manifest.parameters["start"] == reference(next(warehouse.versions("network", "tiny")))
    assert table.manifest.parameters["features"] == ["race@1", "contact@1", "contact@1"]
    folder, epoch, kept_epochs = result.stdout.splitlines()
    assert folder == str(table.folder)
    assert epoch.startswith("epoch 2, rate 0: contact ")
    assert kept_epochs.startswith("kept epochs: race ")
    assert [line.partition(",")[0] for line in result.stderr.splitlines() if line.startswith("epoch")] == [
        "epoch 0", "epoch 1", "epoch 2",
    ]  # fmt: skip
    repeated = run(warehouse.root, *TINY_LABELS, "--labels", "selfplay_labels:1.0")
    assert f"supervised_network/mine: already built ({table.folder.name})" in repeated.stderr
    games = ("benchmark", "network/mine", "--games", "4", "--against", "random")
    assert "network/mine" in output_of(warehouse.root, *games)


def test_sl_trains_from_gnubg_training_files(warehouse: Warehouse, tmp_path: Path) -> None:
    """The name of a kind means all its variants, here one for each class."""
    labels = next(warehouse.versions("selfplay_labels"))
    classes, boards, chances = (np.asarray(labels.array(name)) for name in ("classes", "boards", "chances"))
    file_classes = np.array([PositionClass(number).file_class for number in classes.tolist()])
    for name in ("contact", "crashed", "race"):
        rows = file_classes == PositionClass[name.upper()]
        path = tmp_path / f"{name}-train-data"
        write_bytes(path, format_gnubg_training(boards[rows], chances[rows]))
        output_of(warehouse.root, "import", "gnubg_training", path)
    output_of(warehouse.root, *TINY_LABELS, "--labels", "gnubg_training")
    table = warehouse.open(SUPERVISED.name, "mine")
    (source,) = table.manifest.parameters["labels"]
    assert [version["kind"] for version in source["versions"]] == ["gnubg_training"] * 3
    assert (np.asarray(table.array("curve"))[1:, :, 1] > 10).all()


def test_sl_starts_a_wider_network_and_learns_from_two_kinds_of_labels(warehouse: Warehouse) -> None:
    output_of(warehouse.root, *TINY_LABELS, "--labels", "selfplay_labels")
    labels = ("--labels", "selfplay_labels:2", "--labels", "bearoff_labels")
    settings = ("--epochs", "1", "--hidden", "20", "--test-games", "4")
    output_of(warehouse.root, "train", "sl", "wide", "--start", "network/mine", *labels, *settings)
    start = warehouse.open(SUPERVISED.name, "mine")
    wide = warehouse.open(SUPERVISED.name, "wide")
    assert wide.manifest.parameters["start"] == reference(start)
    assert [source["weight"] for source in wide.manifest.parameters["labels"]] == [2, 1]
    contact, validation_cross_entropy = 2, 3
    assert wide.array("shapes")[contact, 5] == 20
    first_error_of_wide = wide.array("curve")[0, contact, validation_cross_entropy]
    assert first_error_of_wide < start.array("curve")[0, contact, validation_cross_entropy]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--labels", "nothing"], 2, "expected a kind of dataset, got "),
        (["--labels", "selfplay"], 2, "expected a kind that has positions with chances: "),
        (["--labels", "selfplay_labels/none"], 1, "no selfplay_labels/none in "),
        (["--labels", "selfplay_labels:much"], 2, "expected labels KIND/VARIANT:WEIGHT, got 'selfplay_labels:much'"),
        (["--labels", "selfplay_labels:0"], 2, "expected labels KIND/VARIANT/VERSION:WEIGHT, got 'selfplay_labels/"),
        (["--labels", "selfplay_labels", "--start", "pubeval"], 2, "expected network, network/NAME or network/NAME/VE"),
        (["--labels", "selfplay_labels", "--start", "network/none"], 1, "no network/none in "),
        (["--labels", "selfplay_labels", "--device", "cuda"], 2, "expected the trainer torch for the device cuda, got"),
        (["tiny", "--labels", "selfplay_labels"], 2, "expected a name that no network has that learned by self-play"),
        (
            ["diverse-19", "--labels", "selfplay_labels"],
            2,
            "expected a name that no network has that comes with bgdata",
        ),
    ],
)
def test_invalid_labels_are_refused(warehouse: Warehouse, arguments: list[str], code: int, message: str) -> None:
    name = [] if arguments[0] in ("tiny", "diverse-19") else ["other"]
    assert error_of(run(warehouse.root, "train", "sl", *name, *arguments), code).startswith(message)
    assert warehouse.variants(SUPERVISED.name) == ["tiny-supervised"]


def test_sl_trains_by_pytorch(warehouse: Warehouse) -> None:
    """A network trained by PyTorch names the platform in its parameters, and the same command finds it built."""
    pytest.importorskip("torch", reason="PyTorch is an extra")
    from bgdata.training.supervised.torch_trainer import platform_name

    arguments = (*TINY_LABELS, "--labels", "selfplay_labels", "--trainer", "torch")
    result = run(warehouse.root, *arguments)
    assert result.exit_code == 0, result.stderr
    table = warehouse.open(SUPERVISED.name, "mine")
    assert table.manifest.parameters["platform"] == platform_name("cpu")
    assert table.manifest.digest != warehouse.open(SUPERVISED.name, "tiny-supervised").manifest.digest
    repeated = run(warehouse.root, *arguments, "--threads", "1")
    assert f"supervised_network/mine: already built ({table.folder.name})" in repeated.stderr


def test_missing_gpu_is_refused(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is an extra")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = run(warehouse.root, *TINY_LABELS, "--labels", "selfplay_labels", "--trainer", "torch", "--device", "cuda")
    assert re.fullmatch("expected a GPU for the device cuda, .* finds none; try: --device cpu", error_of(result, 2))
    assert warehouse.variants(SUPERVISED.name) == ["tiny-supervised"]


def test_missing_pytorch_is_refused(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bgdata.training.supervised.torch_trainer", raising=False)
    result = run(warehouse.root, *TINY_LABELS, "--labels", "selfplay_labels", "--trainer", "torch")
    assert error_of(result, 1) == f"expected torch for the trainer torch, {missing_extra('torch')}"
    assert warehouse.variants(SUPERVISED.name) == ["tiny-supervised"]


TURN_INPUT = ("train", "turn-input", "--games", "5", "--units", "4", "--row-games", "2")


def test_turn_input_prints_a_line_for_each_row(small_root: Path) -> None:
    """The printed chances of each arm, by number of games, equal those of the table."""
    folder, message, head, *lines = output_of(small_root, *TURN_INPUT).splitlines()
    assert re.search(r"turn_input/5-units-4-rate-0-1-seed-1/r1-[0-9a-f]{8}$", folder)
    assert message == "chances at the start for the player on roll, in %: to win, to win a gammon, to lose a gammon"
    assert re.split("  +", head.strip()) == ["games", "dice kept", "dice passed", "no input"]
    rows = json.loads(output_of(small_root, *TURN_INPUT, "--format", "json"))
    for line, games in zip(lines, (2, 4, 5), strict=True):
        expected = [str(games)]
        for arm in ("dice kept", "dice passed", "no input"):
            (row,) = (row for row in rows if row["games"] == games and row["arm"] == arm)
            expected += [f"{100 * row[name]:.1f}" for name in ("win", "win_gammon", "lose_gammon")]
        assert line.split() == expected


def test_turn_input_data_equal_the_table(small_root: Path) -> None:
    rows = json.loads(output_of(small_root, *TURN_INPUT, "--format", "json"))
    query = "select * exclude (variant) from turn_input order by arm, games"
    assert rows == json.loads(output_of(small_root, "query", query, "--format", "json"))


def test_picture_of_turn_input_is_written(small_root: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / f"{name}.png" for name in "ab"]
    for picture in pictures:
        result = run(small_root, *TURN_INPUT, "--plot", picture)
        assert result.exit_code == 0, result.output
        assert result.stderr.splitlines()[-1] == f"wrote {picture}"
    assert pictures[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
