"""`bgdata train`: every parameter of the recipe, the same network after Ctrl-C, and pictures."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import fields
from pathlib import Path

import click
import numpy as np
import pytest

import bgdata
from bgdata.cli.recipes import TD_RECIPE as RECIPE
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.networks.inference import SIZES
from bgdata.evaluation.networks.player import open_networks
from bgdata.store.parameters import VersionRef
from bgdata.training.commands.train import td
from bgdata.training.kinds.network import DATASET, NetworkParameters, curve_line
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, run, succeeds
from tests.random_games import random_game_positions
from tests.store import processes

TINY = [
    *("train", "td", "tiny", "--games", "400", "--round-games", "100", "--row-games", "200", "--test-games", "20"),
    *("--hidden", "8", "--crashed-hidden", "8", "--race-hidden", "8-4", "--td-lambda", "0"),
]


def test_every_parameter_is_an_option_with_its_default() -> None:
    options = {option.name: option for option in td.params if isinstance(option, click.Option)}
    parameters = {field.name: field.default for field in fields(NetworkParameters) if field.name in RECIPE}
    assert {"name", "start", *RECIPE} == {field.name for field in fields(NetworkParameters)}
    assert {"start", *RECIPE} == set(options) - {"threads", "force", "form", "warehouse"}
    for name, default in parameters.items():
        assert options[name].default == default
        assert options[name].help == RECIPE[name]
        assert options[name].show_default
    (argument,) = [argument for argument in td.params if isinstance(argument, click.Argument)]
    assert argument.default == NetworkParameters.name


def test_it_trains_and_says_how_well(small_root: Path, memory_path: Path) -> None:
    expected = bgdata.open_warehouse(small_root).open("network", "tiny")
    result = run(memory_path, *TINY, "--threads", "1")
    assert result.exit_code == 0
    table = bgdata.open_warehouse(memory_path).open("network", "tiny")
    assert table.manifest.digest == expected.manifest.digest
    assert table.manifest.parameters == DATASET.smallest.to_json()
    first, last = (curve_line(row) for row in table.array("curve").tolist())
    assert result.stdout == f"{table.folder}\n{last}\n"
    notes = [re.sub(" in .* s", "", line) for line in result.stderr.splitlines()]
    assert notes[-3:] == [first, last, f"network/tiny: built {table.folder.name}, 2 rows"]
    again = run(memory_path, *TINY)
    assert again.stdout == result.stdout
    assert again.stderr.splitlines()[-1] == f"network/tiny: already built ({table.folder.name})"
    assert "network/tiny: built " in run(memory_path, *TINY, "--force").stderr


def test_without_tables(memory_path: Path) -> None:
    succeeds(memory_path, *TINY, "--no-tables")
    warehouse = bgdata.open_warehouse(memory_path)
    assert set(warehouse.open("network", "tiny").manifest.inputs) == {"two_sided"}
    assert warehouse.variants("bearoff_one_sided") == []


def test_on_from_other_networks(warehouse: Warehouse) -> None:
    """Wider ones: hardly changed they answer as the start does, and the version says where it came from."""
    changes = ["--start", "network/tiny", "--hidden", "12", "--learning-rate", "1e-9", "--final-learning-rate", "1e-9"]
    succeeds(warehouse.root, "train", "td", "wide", *TINY[3:], *changes)
    wide, tiny = (warehouse.open("network", name) for name in ("wide", "tiny"))
    assert wide.manifest.parameters["start"] == vars(VersionRef("network", "tiny", tiny.folder.name))
    assert open_networks(wide).shapes[:, SIZES].tolist() == [8, 8, 12]
    boards = random_game_positions(500, seed=3).boards
    answers = [evaluations(open_networks(table), NO_TABLES, boards).chances for table in (wide, tiny)]
    assert np.abs(answers[0] - answers[1]).max() < 1e-3
    assert len(np.unique(answers[0][:, 0])) > 100


def test_a_start_of_another_shape_is_refused(warehouse: Warehouse) -> None:
    def refused(*arguments: str) -> str:
        result = run(warehouse.root, "train", "td", "other", "--race-hidden", "8-4", *arguments)
        assert result.exit_code == 2
        return result.stderr.splitlines()[-1].removeprefix("error: ")  # after lines on tables that it needs

    assert refused("--start", "network/tiny", "--hidden", "4").startswith(
        "expected at least the 8 hidden units of the contact network to start from, got 4"
    )
    assert refused("--start", "network/tiny", "--inputs", "race") == (
        f"expected a recipe with the inputs race, contact, contact (race, crashed, contact) of "
        f"{warehouse.open('network', 'tiny').name}, got race, race, race"
    )
    assert refused("--start", "pubeval") == "expected network, network/NAME or network/NAME/VERSION, got pubeval"
    assert warehouse.variants("network") == ["tiny"]


@pytest.mark.slow
def test_interrupted(small_root: Path, memory_path: Path) -> None:
    """Ctrl-C: one line, exit code 130; the same command goes on to the same network."""
    warehouse = bgdata.open_warehouse(memory_path)
    process = subprocess.Popen(
        processes.bgdata_command("--warehouse", memory_path, *TINY),
        env=os.environ | {"BGDATA_CHECKPOINT_SECONDS": "0"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in what a shell runs in background
    )
    while not list(warehouse.staging.glob("network-*/checkpoint-*")):
        assert process.poll() is None, "ended without a checkpoint"
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=600)
    assert (process.returncode, shown) == (130, "")
    kept = r"network/tiny is kept up to step \d, the same command goes on from there"
    assert re.search(rf"error: interrupted; {kept}\n$", errors), errors
    assert warehouse.variants("network") == []
    assert re.search(r"going on with network/tiny after step \d of 4\n", run(memory_path, *TINY).stderr)
    expected = bgdata.open_warehouse(small_root).open("network", "tiny").manifest.digest
    assert warehouse.open("network", "tiny").manifest.digest == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--games", "0"], "expected games of at least 1, got 0"),
        (["--games", "1000000000000"], "expected up to 1,073,741,824 games, got 1000000000000"),
        (["--inputs", "colours"], "expected inputs among tesauro-196, tesauro-198, race, contact, got colours"),
        (["--hidden", "120,60"], "expected units such as 120 or 120-60, each from 1 to 2048, got '120,60'"),
        (["--race-hidden", "0"], "expected units such as 120 or 120-60, each from 1 to 2048, got '0'"),
        (["--td-lambda", "2"], "expected a td_lambda from 0 to 1, got 2.0"),
        (["--td-lambda", "nan"], "expected finite numbers as td_lambda, got nan"),
        (["--learning-rate", "0.01"], "expected 0 < final_learning_rate <= learning_rate <= 1, got 0.1 and 0.01"),
        (["--seed", "-1"], "expected a seed from 0 to 2^63 - 1, got -1"),
        (["--row-games", "1"], "expected at least 200 games a row and 4 test games, got 1 and 4000"),
        (["No Name"], "expected a name of small letters, digits and -, got 'No Name'"),
    ],
)
def test_wrong_recipes(tmp_path: Path, arguments: list[str], message: str) -> None:
    assert error_of(run(tmp_path / "none", "train", "td", *arguments), 2) == message
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------- pictures


def test_plot(small_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    assert run(small_root, "train", "plot", "tiny", "-o", path).stderr == f"wrote {path}\n"
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert path.stat().st_size > 20_000
    before = path.read_bytes()
    succeeds(tmp_path / "none", "train", "plot", "-o", path)  # the one that comes with bgdata
    assert path.read_bytes() != before
    message = "invalid value for '-o' / '--output': expected a file in a folder that is there, got "
    assert error_of(run(small_root, "train", "plot", "-o", tmp_path / "none" / "x.png"), 2).startswith(message)


def test_plot_of_a_missing_network_is_refused(small_root: Path) -> None:
    message = f"no network/none in {small_root} (have: tiny, tiny-supervised); try: bgdata train td none"
    assert error_of(run(small_root, "train", "plot", "none"), 1) == message
