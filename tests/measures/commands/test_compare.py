"""Tests of `bgdata compare`: players by theme and on the same decisions, as text, data and picture, and errors."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import bgdata
from bgdata.measures.commands.score import chosen_rows, error_lines, label_of, labels_of, rate_lines
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.reference_scores import GROUPS
from bgdata.measures.kinds.rollout_decisions import DATASET as DECISIONS
from bgdata.measures.steps.sets import best_first
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run

PLAYERS = ("network/tiny", "network/tiny:1")
OWN_SET = f"rollout_decisions/{DECISIONS.slug(DECISIONS.smallest)}"
SVG = "{http://www.w3.org/2000/svg}"


def texts(path: Path) -> set[str]:
    """All texts in an SVG picture."""
    return {"".join(text.itertext()) for text in ElementTree.parse(path).iter(f"{SVG}text")}


def compare_twice(warehouse: Warehouse, path: Path, *arguments: str) -> tuple[list[str], set[str]]:
    """Run the command twice and check that the second run builds nothing and prints and draws the same. Returns the
    printed lines, and the texts of the picture."""
    result = run(warehouse.root, *arguments, "--plot", path)
    assert result.exit_code == 0, result.output
    picture = path.read_bytes()
    repeated = run(warehouse.root, *arguments, "--plot", path)
    assert repeated.stdout == result.stdout
    assert path.read_bytes() == picture
    assert ": built " not in repeated.stderr
    return result.stdout.splitlines(), texts(path)


def test_themes_are_printed_and_drawn(warehouse: Warehouse, tmp_path: Path) -> None:
    """Errors by theme are printed for each player and drawn, as SVG or PNG."""
    (title, heads, *rows), picture = compare_twice(warehouse, tmp_path / "themes.svg", "compare", *PLAYERS)
    reference = warehouse.open("reference_positions", "2-by-tiny-seed-1").name
    assert title == f"RMSE of cubeless_equity (points), test split of {reference}"
    assert heads.split() == ["theme", "positions", "network/tiny:0", "network/tiny:1", "rollouts"]
    assert [row.split()[0] for row in rows] == [*THEMES, "all"]
    assert re.fullmatch(r"blitz +1 +\d\.\d{4} +\d\.\d{4} +\d\.\d{4}", rows[THEMES.index("blitz")])
    figure = r"\d\.\d{4} \+/- \d\.\d{4}"
    assert re.fullmatch(rf"all +14 +{figure} +{figure} +\d\.\d{{4}}", rows[-1])
    assert {title, "rollouts themselves", "network/tiny:0", "network/tiny:1", *THEMES, "all"} <= picture
    output_of(warehouse.root, "compare", "network/tiny", "--plot", tmp_path / "themes.png")
    assert (tmp_path / "themes.png").read_bytes().startswith(b"\x89PNG")


def test_theme_rows_are_written_as_json(warehouse: Warehouse) -> None:
    """JSON has the rows of the view `reference_errors` for the split and quantity, in the players' order."""
    options = ("compare", *reversed(PLAYERS), "--split", "validation", "--quantity", "lose_gammon")
    rows = json.loads(output_of(warehouse.root, *options, "--format", "json"))
    assert [(row["player"], row["ply"]) for row in rows[:: len(GROUPS)]] == [
        ("network/tiny", 1),
        ("network/tiny", 0),
    ]
    assert [row["theme"] for row in rows] == 2 * list(GROUPS)
    expected = warehouse.rows(
        "from reference_errors where split = 'validation' and quantity = 'lose_gammon' and has_tables"
    )
    order = [(row["player"], row["ply"], row["theme"]) for row in rows]
    expected.sort(key=lambda row: order.index((row["player"], row["ply"], row["theme"])))
    assert rows == expected


def test_default_players_by_theme_are_all_with_results(small_root: Path) -> None:
    heads = output_of(small_root, "compare", "--reference", "2-by-tiny-seed-1").splitlines()[1]
    assert re.split(r"  +", heads) == ["theme", "positions", "network/tiny:0 without tables", "rollouts"]


def theme_row(player: str, theme: str, rmse: float, *, has_tables: bool = True) -> dict[str, Any]:
    return {"player": player, "ply": 0, "has_tables": has_tables, "theme": theme, "rmse": rmse, "positions": 1}


def test_players_are_in_given_order_or_best_first() -> None:
    """Named players come in that order, others best first. A network without tables is a separate player."""
    rows = [theme_row("a", "all", 0.2), theme_row("b", "all", 0.1), theme_row("b", "blitz", 0.5)]
    rows += [theme_row("a", "blitz", 0.0), theme_row("b", "all", 0.3, has_tables=False)]
    chosen = chosen_rows(rows, [])
    assert list(dict.fromkeys(map(label_of, chosen))) == ["b:0", "a:0", "b:0 without tables"]
    assert [row["theme"] for row in chosen[:2]] == ["blitz", "all"]
    assert list(dict.fromkeys(map(label_of, chosen_rows(rows, [("a", 0), ("b", 0)])))) == ["a:0", "b:0"]
    assert chosen_rows(rows, [("a", 1)]) == []
    _, _, blitz, _ = error_lines("", chosen_rows(rows, [("a", 0), ("b", 0)]))
    assert blitz.split() == ["blitz", "1", "0.0000", "0.5000"]  # missing rollouts and errors are blank


def test_missing_reference_scores_are_refused(warehouse: Warehouse, memory_path: Path) -> None:
    message = error_of(run(memory_path / "none", "compare", "network"), 1)
    assert message == f"expected reference positions in {memory_path / 'none'}, found none; try: bgdata reference"
    assert not (memory_path / "none").exists()
    (scores,) = warehouse.versions("reference_scores")
    output_of(warehouse.root, "rm", scores.name)
    message = error_of(run(warehouse.root, "compare"), 2)
    reference = warehouse.open("reference_positions", "2-by-tiny-seed-1").name
    assert message == f"expected players that were asked about {reference}, found none; try: bgdata compare network"


def test_error_rates_are_printed_and_drawn(warehouse: Warehouse, tmp_path: Path) -> None:
    """Error rates on benchmarks are printed and drawn, also of players that only choose plays."""
    arguments = ("compare", "network/tiny", "pubeval", "random", "--benchmarks")
    (title, heads, *lines), picture = compare_twice(warehouse, tmp_path / "rates.svg", *arguments)
    assert title == (
        "error rate (thousandths of a point per decision), and difference from network/tiny:0 on the same decisions"
    )
    assert heads.split() == ["network/tiny:0", "pubeval:0", "random:0"]
    judge = f"judge {warehouse.open('network', 'tiny').name}"
    assert lines[:8:4] == ["gnubg_benchmark/contact, 1 decisions", f"{OWN_SET}, 3 decisions, {judge}"]
    assert lines[8].endswith(", 3 decisions, judge network/tiny b49ded87")
    figure, difference = r"\d+\.\d\d \+/- \d+\.\d\d", r"[+-]\d+\.\d\d \+/- \d+\.\d\d"
    assert re.fullmatch(rf"  error rate +{figure} +{figure} +{figure}", lines[5])
    assert re.fullmatch(rf"  difference +{difference} +{difference}", lines[6])
    assert re.fullmatch(r"  same choices +[0-3] +[0-3]", lines[7])
    names = {"network/tiny:0", "pubeval:0", "random:0", "difference from network/tiny:0,", "below 0: better"}
    assert names <= picture
    output_of(warehouse.root, *arguments[:2], "--benchmarks", "--plot", tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_rows_equal_those_of_the_views(warehouse: Warehouse) -> None:
    players = ("pubeval", "random", "network/tiny")
    rows = json.loads(output_of(warehouse.root, "compare", *players, "--on", OWN_SET, "--format", "json"))
    assert [row["player"] for row in rows] == list(players)
    for row in rows:
        assert row["benchmark"] == OWN_SET
        (summary,) = warehouse.rows(
            f"from benchmark_summary where benchmark = '{OWN_SET}' and player = '{row['player']}'"
        )
        for column in ("error_rate", "standard_error", "best_share"):
            assert row[column] == summary[column]
    pubeval, *others = rows
    assert pubeval["other_player"] is None
    for row in others:
        assert row["other_player"] == "pubeval"
        (difference,) = warehouse.rows(
            f"from benchmark_differences where benchmark = '{OWN_SET}' and player = '{row['player']}' "
            "and other_player = 'pubeval'"
        )
        for column in ("same_choices", "difference", "rollout_standard_error"):
            assert row[column] == difference[column]
        assert row["difference_standard_error"] == difference["standard_error"]
        assert row["difference"] == pytest.approx(row["error_rate"] - pubeval["error_rate"])


def test_default_players_on_benchmarks_are_all_with_scores(warehouse: Warehouse) -> None:
    """Without named players, all that have scores are compared, the lowest error rate first."""
    output_of(warehouse.root, "compare", "random", "network/tiny", "--on", OWN_SET)
    _, heads, *lines = output_of(warehouse.root, "compare", "--benchmarks").splitlines()
    rows = json.loads(output_of(warehouse.root, "compare", "--on", OWN_SET, "--format", "json"))
    rates = [row["error_rate"] for row in rows]
    assert rates == sorted(rates)
    assert sorted(heads.split()) == ["network/tiny:0", "pubeval:0", "random:0"]
    assert len(lines) == 8
    (rates_of_contact,) = (line for line in lines[1:4] if line.startswith("  error rate"))
    assert rates_of_contact.count("+/-") == 1  # pubeval is the only player with a score on that set
    lines_of_one_set = output_of(warehouse.root, "compare", "--on", "contact").splitlines()
    assert lines_of_one_set[0] == "error rate (thousandths of a point per decision)"
    assert len(lines_of_one_set) == 4


def row_of(player: str, benchmark: str, rate: float, **more: Any) -> dict[str, Any]:
    return {
        "player": player, "ply": 0, "benchmark": benchmark, "judge": None, "decisions": 1000,
        "error_rate": rate, "standard_error": 0.5, **more,
    }  # fmt: skip


def test_players_are_ordered_by_sets_then_error_rate() -> None:
    rows = [row_of("a", "x", 3), row_of("b", "x", 2), row_of("b", "y", 4), row_of("a", "y", 2), row_of("c", "y", 0)]
    assert best_first(rows) == [("a", 0), ("b", 0), ("c", 0)]
    assert best_first([]) == []


def test_missing_figures_are_blank() -> None:
    """The figures of a benchmark without a score, and the error of a difference on a single decision, are blank."""
    difference = {"other_player": "a", "other_ply": 0, "same_choices": 7, "difference": -1.0}
    rows = [
        row_of("a", "x", 3),
        row_of("b", "x", 2, difference_standard_error=None, **difference),
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


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("pubeval",), 2, "expected a player that evaluates positions, got pubeval, which only chooses plays"),
        (("nobody",), 2, "expected a player among random, pubeval, "),
        (("network:x",), 2, "expected a player such as gnubg or gnubg:2, got 'network:x'"),
        (("network/none",), 1, "no network/none in "),
        (("--reference", "none"), 1, "no reference_positions/none in "),
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
def test_invalid_arguments_are_refused(small_root: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert error_of(run(small_root, "compare", *arguments), code).startswith(message)


def test_missing_benchmark_scores_are_refused(warehouse: Warehouse, memory_path: Path) -> None:
    message = error_of(run(memory_path / "none", "compare", "--benchmarks"), 1)
    assert message.startswith(f"expected a benchmark in {memory_path / 'none'}, found none; try: ")
    shutil.rmtree(warehouse.root / "benchmark_scores")
    bgdata.open_warehouse(warehouse.root).connect().close()
    table = warehouse.open("gnubg_benchmark", "contact")
    message = error_of(run(warehouse.root, "compare", "--on", "contact"), 2)
    assert message == f"expected players that were scored on {table.name}, found none; try: bgdata benchmark network"


def test_older_version_of_a_benchmark_is_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    """A version that is not current is refused, because SQL shows none of its rows."""
    old = warehouse.open("gnubg_benchmark", "contact")
    kind = warehouse.kinds["gnubg_benchmark"]
    (path,) = kind.computation.write_sample(tmp_path)  # type: ignore[attr-defined]
    path.write_text(path.read_text() + "# another file\n")
    new = warehouse.build(kind.name, kind.smallest, files=[path])
    message = error_of(run(warehouse.root, "compare", "pubeval", "--on", old.name), 2)
    assert message == f"expected the current version {new.name}, got {old.name}; try: bgdata use"
    output_of(warehouse.root, "benchmark", "random", "--on", old.name)
    rows = json.loads(output_of(warehouse.root, "compare", "pubeval", "--on", "contact", "--format", "json"))
    assert [(row["player"], row["benchmark_version"]) for row in rows] == [("pubeval", new.folder.name)]
    rows = json.loads(output_of(warehouse.root, "compare", "--on", "contact", "--format", "json"))
    assert [row["player"] for row in rows] == ["pubeval"]
