"""Tests of `bgdata benchmark`: error rates on imported benchmarks, games, and errors."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

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


def test_benchmark_files_are_imported_and_scored(imports: Imports) -> None:
    """Files given with --bm are imported and scored; later calls score the imported benchmarks."""
    files = [imports.file("contact.bm", "".join(ROWS[:2])), imports.file("race.bm", "".join(ROWS[2:5]))]
    options = [argument for path in files for argument in ("--bm", str(path))]
    result = run(imports.warehouse.root, "benchmark", "pubeval", *options, "--format", "csv")
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "lines read" in line] == [
        "2 lines read: 2 with rows, 0 of comment or blank, 0 quarantined",
        "3 lines read: 3 with rows, 0 of comment or blank, 0 quarantined",
    ]
    contact, race = csv.DictReader(result.stdout.splitlines())
    versions = [imports.warehouse.open("gnubg_benchmark", name).folder.name for name in ("contact", "race")]
    assert [row["version"] for row in (contact, race)] == versions
    assert [(row["player"], row["ply"], row["benchmark"], row["decisions"]) for row in (contact, race)] == [
        ("pubeval", "0", "gnubg_benchmark/contact", "2"),
        ("pubeval", "0", "gnubg_benchmark/race", "3"),
    ]
    assert float(contact["low"]) <= float(contact["error_rate"]) <= float(contact["high"])
    # again, on all imported sets, or on one
    rows = json.loads(output_of(imports.warehouse.root, "benchmark", "pubeval", "--format", "json"))
    assert [(row["benchmark"], row["error_rate"]) for row in rows] == [
        (row["benchmark"], pytest.approx(float(row["error_rate"]))) for row in (contact, race)
    ]
    rows = json.loads(output_of(imports.warehouse.root, "benchmark", "random", "--on", "race", "--format", "json"))
    assert [(row["player"], row["benchmark"]) for row in rows] == [("random", "gnubg_benchmark/race")]
    assert "percent best" in output_of(imports.warehouse.root, "benchmark", "pubeval")


def test_sets_are_found_by_name_and_version(imports: Imports) -> None:
    """A benchmark is found by variant, by kind and variant, and by version; without a name, all current ones."""
    tables = [
        imports.text("gnubg_benchmark", "".join(ROWS[begin:end]), name)
        for begin, end, name in ((0, 1, "contact.bm"), (1, 3, "contact2.bm"), (2, 5, "contact.bm"))
    ]
    root = imports.warehouse.root

    def scored(*sets: str) -> list[tuple[str, str, int]]:
        options = [argument for name in sets for argument in ("--on", name)]
        rows = json.loads(output_of(root, "benchmark", "pubeval", *options, "--format", "json"))
        return [(row["benchmark"], row["version"], row["decisions"]) for row in rows]

    old_contact, contact2, new_contact = (
        (*table.name.rsplit("/", 1), rows) for table, rows in zip(tables, (1, 2, 3), strict=True)
    )
    assert scored() == [new_contact, contact2]
    assert scored("contact2") == scored("gnubg_benchmark/contact2") == [contact2]
    assert scored("contact") == [new_contact]
    assert scored(tables[0].name) == [old_contact]
    assert sorted(scored(tables[0].name, tables[2].name)) == sorted([old_contact, new_contact])
    message = f"no gnubg_benchmark/contact/r2-00000000 in {root} "
    error = error_of(run(root, "benchmark", "pubeval", "--on", "gnubg_benchmark/contact/r2-00000000"), 1)
    assert error.startswith(message)


def test_file_of_several_classes_is_one_set(imports: Imports) -> None:
    rows = samples.shared_file("gnubg", "benchmark_samples.bm").read_bytes().splitlines(keepends=True)
    path = imports.file("all.bm", b"".join(row.split(b" ", 2)[2] for row in rows))
    (row,) = json.loads(output_of(imports.warehouse.root, "benchmark", "random", "--bm", path, "--format", "json"))
    assert (row["benchmark"], row["decisions"]) == ("gnubg_benchmark/all", 43)
    with imports.warehouse.connect() as connection:
        counted = connection.sql("select class, count(*) from benchmark_scores group by class order by class")
        assert counted.fetchall() == [("contact", 15), ("crashed", 14), ("race", 14)]
        assert connection.sql("select class from benchmark_summary").fetchall() == [("contact, crashed, race",)]


def test_games_print_points_and_shares(imports: Imports) -> None:
    """A series of games is printed as points and shares, as text, JSON and CSV, and stored by player, opponent and
    seed."""
    root = imports.warehouse.root
    output = output_of(root, "benchmark", "pubeval", "--against", "random", "--games", "40")
    assert re.fullmatch(
        r"pubeval \(0-ply\) against random \(0-ply\): \+\d\.\d{4} \+/- 0\.\d{4} points per game in 40 games of "
        r"\d+\.\d turns\nwon \d+\.\d %, with a gammon or more \d+\.\d %, with a backgammon \d+\.\d %; "
        r"lost a gammon or more \d+\.\d %, a backgammon \d+\.\d %\n",
        output,
    )
    (row,) = json.loads(output_of(root, "benchmark", "random", "--games", "40", "--seed", "3", "--format", "json"))
    assert row["player"] == "random"
    assert row["opponent"] == "pubeval"
    assert row["games"] == 40
    assert row["ply"] == 0
    assert row["points_per_game"] < -1
    entries = csv.DictReader(output_of(root, "benchmark", "random", "--games", "40", "--format", "csv").splitlines())
    (other_seed,) = entries
    assert other_seed["percent_gammons_lost"] != str(row["percent_gammons_lost"])
    assert sorted(imports.warehouse.variants("game_scores")) == [
        "pubeval-0ply-against-random-0ply-40-seed-2",
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
    (row,) = csv.DictReader(
        output_of(imports.warehouse.root, "benchmark", "network", "--bm", path, "--format", "csv").splitlines()
    )
    assert (row["player"], row["decisions"]) == (name, "2")
    output = output_of(imports.warehouse.root, "benchmark", "network", "--games", "4")
    assert output.startswith(f"{name} (0-ply) against pubeval (0-ply): ")


def test_invalid_game_options_are_refused(imports: Imports) -> None:
    """Invalid numbers, players and combinations of options are refused before a warehouse is made."""

    def error(code: int, *arguments: str | Path) -> str:
        return error_of(run(imports.warehouse.root, "benchmark", *arguments), code)

    root = imports.warehouse.root
    assert error(2, "pubeval", "--games", "5") == "expected an even number of at least 4 games, got 5"
    assert error(2, "pubeval", "--games", "0") == "expected an even number of at least 4 games, got 0"
    assert error(2, "pubeval", "--games", "4", "--seed", "-1").startswith("invalid value for '--seed': -1 is not in")
    assert error(2, "pubeval", "--against", "nobody").startswith("expected a player among random, pubeval, ")
    assert error(2, "network/A", "--games", "4") == (
        "expected network, network/NAME or network/NAME/VERSION, got network/A"
    )
    message = f"no network/x in {root} (have: none); try: bgdata train td x"
    assert error(1, "network/x", "--games", "4") == error(1, "pubeval", "--against", "network/x") == message
    message = "expected either decisions (--on, --bm) or games (--games, --against), got both"
    assert error(2, "pubeval", "--games", "4", "--on", "race") == message
    assert error(2, "pubeval", "--luck") == "expected games (--games, --against) with --luck, got none"
    assert not root.exists()


def test_missing_sets_and_files_are_refused(imports: Imports) -> None:
    """Missing warehouses, benchmarks, files and players give one-line errors that say what to try."""

    def error(code: int, *arguments: str | Path) -> str:
        return error_of(run(imports.warehouse.root, "benchmark", *arguments), code)

    root = imports.warehouse.root
    assert error(1, "pubeval") == (
        f"expected a benchmark in {root}, found none; try: bgdata build, or bgdata import gnubg_benchmark contact.bm"
    )
    assert error(1, "pubeval", "--on", "race").startswith(f"expected a warehouse in {root}, found no such folder; ")
    assert error(2, "nobody", "--on", "race").startswith("expected a player among random, pubeval, ")
    message = "expected a benchmark such as gnubg_benchmark/contact or rollout_decisions/NAME, got positions/x"
    assert error(2, "pubeval", "--on", "positions/x") == message
    assert error(2, "pubeval", "--on", "rollout_decisions/") == message.replace("positions/x", "rollout_decisions/")
    message = error(2, "pubeval", "--ply", "1", "--on", "race")
    assert message == "expected --ply 0 for pubeval, which does not look ahead, got 1"
    missing = imports.folder / "race.bm"
    assert error(1, "pubeval", "--bm", missing) == f"expected a file in {missing}, found none"
    assert not root.exists()
    assert error(1, "pubeval", "--bm", imports.file("y", "")).startswith("expected a row in y, found nothing at all")
    imports.text("gnubg_benchmark", ROWS[0])
    have = f"in {root} (have: contact); try: bgdata import gnubg_benchmark FILE..."
    assert error(1, "pubeval", "--on", "race") == f"no gnubg_benchmark/race {have}"
