"""Tests of `bgdata referee`: losses in exact bearoffs, and errors."""

import csv
import json
import re
from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from tests.command_line import error_of, output_of, run

FEW_DECISIONS = ("--decisions", "20")


@pytest.fixture
def root(memory_path: Path) -> Path:
    """A warehouse with two exact tables."""
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    for size in ((2, 2), (6, 4)):
        warehouse.build("bearoff_two_sided", TwoSidedParameters(*size))
    return warehouse.root


def test_mean_loss_and_worst_choices_are_printed(root: Path) -> None:
    """The command prints the mean loss, the losses of the worst shares, and the worst choices."""
    lines = output_of(root, "referee", "random", *FEW_DECISIONS).splitlines()
    assert lines[0] == "random (0-ply) in 20 bearoff decisions judged by bearoff_two_sided/6x4:"
    assert re.fullmatch(
        r"mean loss 0\.\d{6} \+/- 0\.\d{6} points per decision, \d+\.\d\d % of the choices wrong", lines[1]
    )
    assert lines[2].startswith("one in 10 loses at least ")
    assert re.fullmatch(r"position +loss +played +best", lines[4])
    losses = [float(line.split()[2]) for line in lines[5:]]
    assert 1 <= len(losses) <= 5
    assert losses == sorted(losses, reverse=True)
    assert f"the worst {losses[0]:.4f};" in lines[2]


def test_csv_has_a_row_for_the_player(root: Path) -> None:
    (row,) = csv.DictReader(
        output_of(root, "referee", "pubeval", *FEW_DECISIONS, "--table", "6x4", "--format", "csv").splitlines()
    )
    assert row["player"] == "pubeval"
    assert row["referee"] == "6x4"
    assert row["decisions"] == "20"
    assert row["has_tables"] == "true"


def test_network_is_judged_without_its_tables(root: Path) -> None:
    (row,) = json.loads(
        output_of(root, "referee", "network", "--no-tables", *FEW_DECISIONS, "--seed", "2", "--format", "json")
    )
    assert not row["has_tables"]
    assert row["mean_loss"] > 0
    assert ", without tables)" in output_of(root, "referee", "network", "--no-tables", *FEW_DECISIONS, "--seed", "2")


def test_network_with_tables_loses_nothing(root: Path) -> None:
    output = output_of(root, "referee", "network", *FEW_DECISIONS, "--seed", "2")
    assert "mean loss 0.000000 +/- 0.000000 points per decision, 0.00 % of the choices wrong" in output
    assert "best" not in output  # no wrong choice is listed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("pubeval", "--table", "6x5"), 1,
            r"expected bearoff_two_sided/6x5 in .* to judge by \(have: 2x2, 6x4\); "
            r"try: bgdata build bearoff_two_sided --points 6 --checkers 5",
        ),
        (("pubeval", "--table", "six"), 2, "expected a size such as 6x9, got 'six'"),
        (("pubeval", "--no-tables"), 2, "expected a network to play without tables, got pubeval, which plays as it is"),
        (("pubeval", "--decisions", "1"), 2, "expected 2 to 16,777,216 decisions, got 1"),
        (("pubeval", "--seed", "-1"), 2, "invalid value for '--seed': -1 is not in the range x>=0; see: bgdata .*"),
        (("nobody",), 2, "expected a player among random, pubeval, .*, got nobody"),
        (("pubeval", "--ply", "1"), 2, "expected --ply 0 for pubeval, which does not look ahead, got 1"),
        (("network/none",), 1, "no network/none in .*; try: bgdata train td none"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused(root: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert re.fullmatch(message, error_of(run(root, "referee", *arguments), code))


def test_missing_table_is_refused(memory_path: Path) -> None:
    message = error_of(run(memory_path, "referee", "pubeval"), 1)
    assert message == (
        f"expected bearoff_two_sided/6x9 in {memory_path} to judge by (have: none); "
        "try: bgdata build bearoff_two_sided --points 6 --checkers 9"
    )


@pytest.mark.gnubg
def test_gnubg_uses_its_own_tables(root: Path) -> None:
    (row,) = json.loads(output_of(root, "referee", "gnubg", *FEW_DECISIONS, "--format", "json"))
    assert row["mean_loss"] < 1e-3
