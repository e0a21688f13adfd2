"""`bgdata compare --benchmarks`: error rates side by side, differences on the same decisions, a picture; and errors."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import bgdata
from bgdata.measures.commands.compare import difference_text, labels_of, rate_lines, rate_text
from bgdata.measures.kinds.rollout_decisions import DATASET as DECISIONS
from bgdata.measures.steps.benchmarks import best_first
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, run, succeeds

OWN_SET = f"rollout_decisions/{DECISIONS.slug(DECISIONS.smallest)}"
SVG = "{http://www.w3.org/2000/svg}"


def texts(path: Path) -> set[str]:
    """All that is written in an SVG picture."""
    return {"".join(text.itertext()) for text in ElementTree.parse(path).iter(f"{SVG}text")}


def test_a_table_and_a_picture_of_several_players(warehouse: Warehouse, tmp_path: Path) -> None:
    """Those that only choose plays too."""
    picture = tmp_path / "rates.svg"
    given = ("compare", "network/tiny", "pubeval", "random", "--benchmarks")
    shown = run(warehouse.root, *given, "--plot", picture)
    assert shown.exit_code == 0, shown.output
    title, heads, *lines = shown.stdout.splitlines()
    assert title == (
        "error rate (thousandths of a point a decision), and difference from network/tiny:0 on the same decisions"
    )
    assert heads.split() == ["network/tiny:0", "pubeval:0", "random:0"]
    assert lines[::4] == ["gnubg_benchmark/contact, 1 decisions", f"{OWN_SET}, 3 decisions"]
    figure, difference = r"\d+\.\d\d \+/- \d+\.\d\d", r"[+-]\d+\.\d\d \+/- \d+\.\d\d"
    assert re.fullmatch(rf"  error rate +{figure} +{figure} +{figure}", lines[5])
    assert re.fullmatch(rf"  difference +{difference} +{difference}", lines[6])
    assert re.fullmatch(r"  same choices +[0-3] +[0-3]", lines[7])
    assert {"network/tiny:0", "pubeval:0", "random:0", "difference from network/tiny:0,", "below 0: better"} <= texts(
        picture
    )
    first = picture.read_bytes()
    again = run(warehouse.root, *given, "--plot", picture)
    assert again.stdout == shown.stdout
    assert ": built " not in again.stderr
    assert picture.read_bytes() == first
    succeeds(warehouse.root, *given[:2], "--benchmarks", "--plot", tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_rows_are_those_of_the_views(warehouse: Warehouse) -> None:
    options = ("compare", "pubeval", "random", "network/tiny", "--on", OWN_SET)
    shown = json.loads(succeeds(warehouse.root, *options, "--format", "json"))
    assert [(row["player"], row["benchmark"]) for row in shown] == [
        (name, OWN_SET) for name in ("pubeval", "random", "network/tiny")
    ]
    with warehouse.connect() as connection:
        rates = connection.sql(
            "select player, error_rate, standard_error, best_share from benchmark_summary "
            f"where benchmark = '{OWN_SET}'"
        ).fetchall()
        differences = connection.sql(
            "select player, same_choices, difference, standard_error, rollout_standard_error "
            f"from benchmark_differences where benchmark = '{OWN_SET}' and other_player = 'pubeval'"
        ).fetchall()
    names = ["player", "error_rate", "standard_error", "best_share"]
    assert {tuple(row[name] for name in names) for row in shown} == set(rates)
    names = ["player", "same_choices", "difference", "difference_standard_error", "rollout_standard_error"]
    assert {tuple(row[name] for name in names) for row in shown[1:]} == set(differences)
    assert [row["other_player"] for row in shown] == [None, "pubeval", "pubeval"]
    for row in shown[1:]:
        assert row["difference"] == pytest.approx(row["error_rate"] - shown[0]["error_rate"])
    rows = list(csv.DictReader(succeeds(warehouse.root, *options, "--format", "csv").splitlines()))
    assert [float(row["error_rate"]) for row in rows] == [row["error_rate"] for row in shown]


def test_default_players_are_all_scored_ones(warehouse: Warehouse) -> None:
    succeeds(warehouse.root, "compare", "random", "network/tiny", "--on", OWN_SET)
    _, heads, *lines = succeeds(warehouse.root, "compare", "--benchmarks").splitlines()
    rows = json.loads(succeeds(warehouse.root, "compare", "--on", OWN_SET, "--format", "json"))
    rates = [row["error_rate"] for row in rows]
    assert rates == sorted(rates)
    assert sorted(heads.split()) == ["network/tiny:0", "pubeval:0", "random:0"]
    assert len(lines) == 8
    (only,) = {line for line in lines[1:4] if line.startswith("  error rate")}
    assert len(re.findall(r"\+/-", only)) == 1  # of pubeval, which alone was scored on that set
    alone = succeeds(warehouse.root, "compare", "--on", "contact").splitlines()
    assert alone[0] == "error rate (thousandths of a point a decision)"
    assert len(alone) == 4


def row_of(player: str, benchmark: str, rate: float, **more: Any) -> dict[str, Any]:
    return {
        "player": player, "ply": 0, "benchmark": benchmark, "decisions": 1000, "error_rate": rate,
        "standard_error": 0.5, **more,
    }  # fmt: skip


def test_the_order_of_players() -> None:
    """Who was scored on most sets comes first, then who loses least."""
    rows = [row_of("a", "x", 3), row_of("b", "x", 2), row_of("b", "y", 4), row_of("a", "y", 2), row_of("c", "y", 0)]
    assert best_first(rows) == [("a", 0), ("b", 0), ("c", 0)]
    assert best_first([]) == []


def test_missing_figures_are_blank() -> None:
    """A player that was not scored on a set, and the error of a difference on a single decision."""
    other = {"other_player": "a", "other_ply": 0, "same_choices": 7, "difference": -1.0}
    rows = [
        row_of("a", "x", 3),
        row_of("b", "x", 2, difference_standard_error=None, **other),
        row_of("b", "y", 4),
    ]
    assert labels_of(rows) == ["a:0", "b:0"]
    assert [line.split() for line in rate_lines(rows)][2:] == [
        ["x,", "1,000", "decisions"],
        ["error", "rate", "3.00", "+/-", "0.50", "2.00", "+/-", "0.50"],
        ["difference", "-1.00"],
        ["same", "choices", "7"],
        ["y,", "1,000", "decisions"],
        ["error", "rate", "4.00", "+/-", "0.50"],
        ["difference"],
        ["same", "choices"],
    ]
    assert rate_text({}) == difference_text({}) == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nobody", "--benchmarks"), 2, "expected a player among random, pubeval, "),
        (("network:x", "--benchmarks"), 2, "expected a player such as gnubg or gnubg:2, got 'network:x'"),
        (("network/none", "--benchmarks"), 1, "no network/none in "),
        (("--on", "none"), 1, "no gnubg_benchmark/none in "),
        (("--on", "rollout_decisions/none"), 1, "no rollout_decisions/none in "),
        (("--on", "positions/sample"), 2, "expected a benchmark such as gnubg_benchmark/contact or "),
        (
            ("--benchmarks", "--split", "test"),
            2,
            "expected either benchmarks (--benchmarks, --on) or reference positions, got --split too",
        ),
        (("--on", "contact", "--quantity", "win"), 2, "expected either benchmarks (--benchmarks, --on) or "),
    ],
)
def test_wrong_arguments(small_root: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert error_of(run(small_root, "compare", *arguments), code).startswith(message)


def test_no_scored_players_is_an_error(warehouse: Warehouse, memory_path: Path) -> None:
    message = error_of(run(memory_path / "none", "compare", "--benchmarks"), 1)
    assert message.startswith(f"expected a benchmark in {memory_path / 'none'}, found none; try: ")
    shutil.rmtree(warehouse.root / "benchmark_scores")
    bgdata.open_warehouse(warehouse.root).connect().close()
    table = warehouse.open("gnubg_benchmark", "contact")
    message = error_of(run(warehouse.root, "compare", "--on", "contact"), 2)
    assert message == f"expected players that were scored on {table.name}, found none; try: bgdata benchmark network"


def test_an_older_version_of_a_benchmark(warehouse: Warehouse, tmp_path: Path) -> None:
    """SQL has no rows of it, and scores of it are of other decisions."""
    old = warehouse.open("gnubg_benchmark", "contact")
    kind = warehouse.kinds["gnubg_benchmark"]
    (path,) = kind.computation.write_sample(tmp_path)  # type: ignore[attr-defined]
    path.write_text(path.read_text() + "# another file\n")
    new = warehouse.build(kind.name, kind.smallest, files=[path])
    message = error_of(run(warehouse.root, "compare", "pubeval", "--on", old.name), 2)
    assert message == f"expected the current version {new.name}, got {old.name}; try: bgdata use"
    succeeds(warehouse.root, "benchmark", "random", "--on", old.name)
    shown = json.loads(succeeds(warehouse.root, "compare", "pubeval", "--on", "contact", "--format", "json"))
    assert [(row["player"], row["benchmark_version"]) for row in shown] == [("pubeval", new.folder.name)]
    shown = json.loads(succeeds(warehouse.root, "compare", "--on", "contact", "--format", "json"))
    assert [row["player"] for row in shown] == ["pubeval"]
