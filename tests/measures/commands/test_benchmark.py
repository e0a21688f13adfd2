"""Tests of `bgdata benchmark`: error rates on imported benchmarks, games, and errors."""

import csv
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bgdata.evaluation.players import DEFAULT_NETWORK
from tests.command_line import error_of, output_of, run
from tests.formats import samples
from tests.imports.importing import Imports

ROWS = samples.BENCHMARK_ROWS.decode().splitlines(keepends=True)


@pytest.fixture
def imports(memory_path: Path) -> Imports:
    """An empty warehouse into which files can be imported."""
    return Imports(memory_path)


def benchmark_rows(imports: Imports, *arguments: str | Path) -> list[dict[str, Any]]:
    """The rows that `bgdata benchmark` prints as JSON."""
    rows: list[dict[str, Any]] = json.loads(
        output_of(imports.warehouse.root, "benchmark", *arguments, "--format", "json")
    )
    return rows


def test_benchmark_files_are_imported_and_scored(imports: Imports) -> None:
    contact = imports.file("contact.bm", "".join(ROWS[:2]))
    race = imports.file("race.bm", "".join(ROWS[2:5]))
    files = ("--bm", contact, "--bm", race)
    result = run(imports.warehouse.root, "benchmark", "pubeval", *files, "--format", "csv")
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "lines read" in line] == [
        "2 lines read: 2 with rows, 0 of comment or blank, 0 quarantined",
        "3 lines read: 3 with rows, 0 of comment or blank, 0 quarantined",
    ]
    rows = list(csv.DictReader(result.stdout.splitlines()))
    for row, name, decisions in zip(rows, ("contact", "race"), ("2", "3"), strict=True):
        assert row["player"] == "pubeval"
        assert row["ply"] == "0"
        assert row["benchmark"] == f"gnubg_benchmark/{name}"
        assert row["version"] == imports.warehouse.open("gnubg_benchmark", name).folder.name
        assert row["decisions"] == decisions
        assert float(row["low"]) <= float(row["error_rate"]) <= float(row["high"])
    again = benchmark_rows(imports, "pubeval")  # on all imported benchmarks
    assert [row["error_rate"] for row in again] == pytest.approx([float(row["error_rate"]) for row in rows])
    assert "percent best" in output_of(imports.warehouse.root, "benchmark", "pubeval")


def test_sets_are_found_by_name_and_version(imports: Imports) -> None:
    """A benchmark is found by variant, by kind and variant, and by version; without a name, all current ones."""
    old_contact = imports.text("gnubg_benchmark", ROWS[0], "contact.bm").name
    contact2 = imports.text("gnubg_benchmark", "".join(ROWS[1:3]), "contact2.bm").name
    contact = imports.text("gnubg_benchmark", "".join(ROWS[2:5]), "contact.bm").name

    def scored_versions(*sets: str) -> list[str]:
        options = [argument for name in sets for argument in ("--on", name)]
        return [f"{row['benchmark']}/{row['version']}" for row in benchmark_rows(imports, "pubeval", *options)]

    assert scored_versions() == [contact, contact2]
    assert scored_versions("contact") == [contact]
    assert scored_versions("contact2") == [contact2]
    assert scored_versions("gnubg_benchmark/contact2") == [contact2]
    assert scored_versions(old_contact) == [old_contact]
    assert sorted(scored_versions(old_contact, contact)) == sorted([old_contact, contact])


def test_file_of_several_classes_is_one_set(imports: Imports) -> None:
    rows = samples.shared_file("gnubg", "benchmark_samples.bm").read_bytes().splitlines(keepends=True)
    path = imports.file("all.bm", b"".join(row.split(b" ", 2)[2] for row in rows))
    (row,) = benchmark_rows(imports, "random", "--bm", path)
    assert row["benchmark"] == "gnubg_benchmark/all"
    assert row["decisions"] == 43
    classes = Counter(row["class"] for row in imports.warehouse.rows("from benchmark_scores"))
    assert classes == {"contact": 15, "crashed": 14, "race": 14}
    (summary,) = imports.warehouse.rows("from benchmark_summary")
    assert summary["class"] == "contact, crashed, race"


def test_games_print_points_and_shares(imports: Imports) -> None:
    output = output_of(imports.warehouse.root, "benchmark", "pubeval", "--against", "random", "--games", "40")
    assert re.fullmatch(
        r"pubeval \(0-ply\) against random \(0-ply\): \+\d\.\d{4} \+/- 0\.\d{4} points per game in 40 games of "
        r"\d+\.\d turns\nwon \d+\.\d %, with a gammon or more \d+\.\d %, with a backgammon \d+\.\d %; "
        r"lost a gammon or more \d+\.\d %, a backgammon \d+\.\d %\n",
        output,
    )


def test_games_are_stored_by_player_opponent_and_seed(imports: Imports) -> None:
    (row,) = benchmark_rows(imports, "random", "--games", "40", "--seed", "3")
    assert (row["player"], row["ply"], row["opponent"], row["games"]) == ("random", 0, "pubeval", 40)
    assert row["points_per_game"] < -1
    (other_seed,) = benchmark_rows(imports, "random", "--games", "40")
    assert other_seed["percent_gammons_lost"] != row["percent_gammons_lost"]
    assert sorted(imports.warehouse.variants("game_scores")) == [
        "random-0ply-against-pubeval-0ply-40-seed-2",
        "random-0ply-against-pubeval-0ply-40-seed-3",
    ]


def test_luck_option_adds_luck_adjusted_result(network_root: Path, tmp_path: Path) -> None:
    """`--luck` adds the luck-adjusted result to the same games, as text and as JSON."""
    root = tmp_path / "warehouse"
    shutil.copytree(network_root, root)
    series = ("benchmark", "pubeval", "--against", "random", "--games", "4")
    without_luck, with_luck = output_of(root, *series), output_of(root, *series, "--luck")
    assert with_luck.startswith(without_luck.removesuffix("\n"))
    assert re.fullmatch(
        r"\nluck-adjusted: \+\d\.\d{4} \+/- \d\.\d{4} points per game, \d+\.\d times less noise\n",
        with_luck.removeprefix(without_luck.removesuffix("\n")),
    )
    (row,) = json.loads(output_of(root, *series, "--luck", "--format", "json"))
    assert f"luck-adjusted: {row['hedged_points_per_game']:+.4f} +/- {row['hedged_standard_error']:.4f} " in with_luck
    (row,) = json.loads(output_of(root, *series, "--format", "json"))
    assert (row["hedged_points_per_game"], row["hedged_standard_error"]) == (None, None)


def test_network_is_scored_under_its_full_name(imports: Imports) -> None:
    name = f"network/{DEFAULT_NETWORK}"
    path = imports.file("contact.bm", "".join(ROWS[:2]))
    (row,) = benchmark_rows(imports, "network", "--bm", path)
    assert row["player"] == name
    assert row["decisions"] == 2
    output = output_of(imports.warehouse.root, "benchmark", "network", "--games", "4")
    assert output.startswith(f"{name} (0-ply) against pubeval (0-ply): ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("pubeval", "--games", "5"), 2, "expected an even number of at least 4 games, got 5"),
        (("pubeval", "--games", "0"), 2, "expected an even number of at least 4 games, got 0"),
        (("pubeval", "--games", "4", "--seed", "-1"), 2, "invalid value for '--seed': -1 is not in"),
        (("pubeval", "--against", "nobody"), 2, "expected a player among random, pubeval, "),
        (("pubeval", "--against", "network/x"), 1, "no network/x in {root} (have: none); try: bgdata train td x"),
        (("network/x", "--games", "4"), 1, "no network/x in {root} (have: none); try: bgdata train td x"),
        (("network/A", "--games", "4"), 2, "expected network, network/NAME or network/NAME/VERSION, got network/A"),
        (
            ("pubeval", "--games", "4", "--on", "race"),
            2,
            "expected either decisions (--on, --bm) or games (--games, --against), got both",
        ),
        (("pubeval", "--luck"), 2, "expected games (--games, --against) with --luck, got none"),
        (
            ("pubeval",),
            1,
            "expected a benchmark in {root}, found none; "
            "try: bgdata build, or bgdata import gnubg_benchmark contact.bm",
        ),
        (("pubeval", "--on", "race"), 1, "expected a warehouse in {root}, found no such folder; "),
        (("nobody", "--on", "race"), 2, "expected a player among random, pubeval, "),
        (
            ("pubeval", "--on", "positions/x"),
            2,
            "expected a benchmark such as gnubg_benchmark/contact or rollout_decisions/NAME, got positions/x",
        ),
        (
            ("pubeval", "--on", "rollout_decisions/"),
            2,
            "expected a benchmark such as gnubg_benchmark/contact or rollout_decisions/NAME, got rollout_decisions/",
        ),
        (
            ("pubeval", "--ply", "1", "--on", "race"),
            2,
            "expected --ply 0 for pubeval, which does not look ahead, got 1",
        ),
        (("pubeval", "--bm", "none.bm"), 1, "expected a file in none.bm, found none"),
    ],
)
def test_invalid_arguments_are_refused(imports: Imports, arguments: tuple[str, ...], code: int, message: str) -> None:
    root = imports.warehouse.root
    assert error_of(run(root, "benchmark", *arguments), code).startswith(message.replace("{root}", str(root)))
    assert not root.exists()


def test_empty_file_is_refused(imports: Imports) -> None:
    error = error_of(run(imports.warehouse.root, "benchmark", "pubeval", "--bm", imports.file("y", "")), 1)
    assert error.startswith("expected a row in y, found nothing at all")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("race", "no gnubg_benchmark/race in {root} (have: contact); try: bgdata import gnubg_benchmark FILE..."),
        ("gnubg_benchmark/contact/r2-00000000", "no gnubg_benchmark/contact/r2-00000000 in {root} "),
    ],
)
def test_missing_set_is_refused(imports: Imports, name: str, message: str) -> None:
    imports.text("gnubg_benchmark", ROWS[0], "contact.bm")
    root = imports.warehouse.root
    error = error_of(run(root, "benchmark", "pubeval", "--on", name), 1)
    assert error.startswith(message.replace("{root}", str(root)))
