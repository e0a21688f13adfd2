"""Tests of `bgdata reference` and `bgdata check-reference`: rows by theme, and errors."""

import json
from pathlib import Path

import numpy as np
import pytest

from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run

ROLLER = ("--network", "tiny", "--trials", "72", "--truncate", "2")
FEW_POSITIONS = (*ROLLER, "--positions", "2", "--until", "0.5", "--most-trials", "72", "--seed", "1")


def test_every_theme_has_a_row(warehouse: Warehouse) -> None:
    """The row has the theme's positions, standard error and games."""
    lines = output_of(warehouse.root, "reference", *FEW_POSITIONS).splitlines()
    version = warehouse.open("network", "tiny").folder.name
    table = warehouse.open("reference_positions", "2-by-tiny-seed-1")
    assert lines[0] == str(table.folder)
    assert lines[1].split() == ["theme", "positions", "mean", "standard", "error", "games", "found", "in", "games"]
    assert [line.split()[0] for line in lines[2:]] == list(THEMES)
    for line in lines[2:]:
        positions, games = line.split()[1:4:2]
        assert (positions, games) == ("2", "144")
    parameters = table.manifest.parameters
    assert parameters["network_version"] == version
    assert parameters["until"] == 0.5
    assert parameters["turns"] == 2


def test_rows_are_written_as_json(warehouse: Warehouse) -> None:
    rows = json.loads(output_of(warehouse.root, "reference", *FEW_POSITIONS, "--format", "json"))
    assert [row["theme"] for row in rows] == list(THEMES)
    assert set(rows[0]) == {"theme", "positions", "mean_standard_error", "reached_share", "games", "source_games"}
    assert {row["reached_share"] for row in rows} == {1.0}


def test_unreached_standard_errors_are_reported(warehouse: Warehouse) -> None:
    options = ("--positions", "2", "--until", "1e-30", "--most-trials", "144", "--seed", "1")
    lines = output_of(warehouse.root, "reference", *ROLLER, *options).splitlines()
    assert lines[-1].startswith("expected standard errors of at most 1e-30, got larger ones for ")
    assert lines[-1].endswith(" positions after 144 trials; try: --most-trials 576")


def test_sources_and_standard_error_have_defaults(warehouse: Warehouse) -> None:
    """Sources given by option, and the default standard error, are stored as parameters."""
    sources = ("--source", "network", "--source", "pubeval+random")
    output_of(warehouse.root, "reference", *ROLLER, *sources, "--positions", "2", "--most-trials", "72", "--seed", "4")
    parameters = warehouse.open("reference_positions", "2-by-tiny-seed-4").manifest.parameters
    assert parameters["sources"] == ["network", "pubeval+random"]
    assert parameters["until"] == 0.007


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (1, ("--network", "none"), "no network/none in"),
        (2, (*ROLLER, "--trials", "100"), "expected a multiple of 36 trials"),
        (2, (*ROLLER, "--most-trials", "72", "--positions", "3"), "expected an even number of positions of each theme"),
        (2, (*ROLLER, "--most-trials", "72", "--source", "gnubg"), "expected a source of one player or two"),
    ],
)
def test_invalid_arguments_are_refused(small_root: Path, code: int, arguments: tuple[str, ...], message: str) -> None:
    assert error_of(run(small_root, "reference", *arguments), code).startswith(message)


def test_too_few_positions_of_a_theme_are_refused(warehouse: Warehouse) -> None:
    result = run(warehouse.root, "reference", *ROLLER, "--most-trials", "72", "--positions", "20", "--most-games", "40")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("error: expected 20 positions of the theme opening in 40 games, ")
    assert warehouse.variants("reference_positions") == ["2-by-tiny-seed-1"]


CHECK = (*ROLLER, "--reference", "2-by-tiny-seed-1", "--checked", "14", "--seed", "3")


def test_another_player_rolls_out_a_sample(warehouse: Warehouse) -> None:
    """PubEval rolls out one position of each theme again, and the printed rows equal those of the view."""
    lines = output_of(warehouse.root, "check-reference", "pubeval", *CHECK).splitlines()
    table = warehouse.open("reference_checks", "14-of-2-by-tiny-seed-1-by-pubeval-0ply-seed-3")
    assert lines[0] == str(table.folder)
    assert lines[1].split()[:4] == ["theme", "positions", "mean", "difference"]
    assert [line.split()[0] for line in lines[2:]] == [*sorted(THEMES), "all"]
    assert [line.split()[1] for line in lines[2:]] == ["1"] * 14 + ["14"]
    rows = json.loads(output_of(warehouse.root, "check-reference", "pubeval", *CHECK, "--format", "json"))
    differences = np.asarray(table.array("differences"))
    assert rows[-1]["mean_difference"] == pytest.approx(differences.mean())
    assert rows[-1]["rms_difference"] == pytest.approx(table.manifest.statistics["rms_difference"])
    assert rows[-1]["rms_z_score"] == pytest.approx(table.manifest.statistics["rms_z_score"])
    errors = np.asarray(table.array("difference_errors"))
    assert rows[-1]["mean_standard_error"] == pytest.approx(np.sqrt((errors**2).sum()) / len(errors))
    by_theme = dict(zip(np.asarray(table.array("themes")).tolist(), differences.tolist(), strict=True))
    printed = {THEMES.index(row["theme"]): row["mean_difference"] for row in rows[:-1]}
    assert printed == pytest.approx(by_theme)


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ("nobody",), "expected a player among "),
        (2, ("pubeval:x",), "expected a player such as gnubg or gnubg:2, got 'pubeval:x'"),
        (1, ("pubeval", "--reference", "other"), "no reference_positions/other in"),
        (2, ("pubeval", *ROLLER, "--trials", "100"), "expected a multiple of 36 trials"),
        (2, ("pubeval", *ROLLER, "--play-ply", "1"), "expected the ply of the player, as in network:1, got --play-ply"),
    ],
)
def test_invalid_arguments_of_a_check_are_refused(
    small_root: Path, code: int, arguments: tuple[str, ...], message: str
) -> None:
    assert error_of(run(small_root, "check-reference", *arguments), code).startswith(message)
