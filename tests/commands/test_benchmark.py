"""`bgdata benchmark`: error rates on imported benchmarks, and one line for what is missing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.commands.command_line import error_of, run, succeeds
from tests.datasets.importing import Imports
from tests.formats import samples

ROWS = samples.BENCHMARK_ROWS.decode().splitlines(keepends=True)


@pytest.fixture
def imports(memory_path: Path) -> Imports:
    """Without a benchmark yet."""
    return Imports(memory_path)


def test_files_are_imported_and_scored(imports: Imports) -> None:
    files = [imports.file("contact.bm", "".join(ROWS[:2])), imports.file("race.bm", "".join(ROWS[2:5]))]
    options = [argument for path in files for argument in ("--file", str(path))]
    result = run(imports.warehouse.root, "benchmark", "pubeval", *options, "--format", "csv")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == [
        "2 lines read: 2 with rows, 0 of comment or blank, 0 quarantined",
        "3 lines read: 3 with rows, 0 of comment or blank, 0 quarantined",
    ]
    contact, race = csv.DictReader(result.stdout.splitlines()[2:])
    assert [(row["player"], row["ply"], row["class"], row["decisions"]) for row in (contact, race)] == [
        ("pubeval", "0", "contact", "2"),
        ("pubeval", "0", "race", "3"),
    ]
    assert float(contact["low"]) <= float(contact["error_rate"]) <= float(contact["high"])
    # again, of what is there, all or one set
    shown = json.loads(succeeds(imports.warehouse.root, "benchmark", "pubeval", "--format", "json"))
    assert [(row["class"], row["error_rate"]) for row in shown] == [
        (row["class"], pytest.approx(float(row["error_rate"]))) for row in (contact, race)
    ]
    shown = json.loads(succeeds(imports.warehouse.root, "benchmark", "random", "--set", "race", "--format", "json"))
    assert [(row["player"], row["class"]) for row in shown] == [("random", "race")]
    assert "percent_best" in succeeds(imports.warehouse.root, "benchmark", "pubeval")


def test_what_is_missing(imports: Imports) -> None:
    def error(code: int, *arguments: str | Path) -> str:
        return error_of(run(imports.warehouse.root, "benchmark", *arguments), code)

    root = imports.warehouse.root
    hint = "try: bgdata import gnubg_benchmark"
    assert error(1, "pubeval") == f"expected a benchmark in {root}, found none; {hint} contact.bm"
    assert (
        error(1, "pubeval", "--set", "race") == f"expected gnubg_benchmark/race in {root}, found none; {hint} race.bm"
    )
    assert error(2, "nobody", "--set", "race").startswith("expected a player among random, pubeval, ")
    assert error(2, "pubeval", "--set", "x") == "expected a class of contact, crashed, race, got x"
    message = error(2, "pubeval", "--ply", "1", "--set", "race")
    assert message == "expected --ply 0 for pubeval, which does not look ahead, got 1"
    missing = imports.folder / "race.bm"
    assert error(1, "pubeval", "--file", missing) == f"expected a file in {missing}, found none"
    assert error(2, "pubeval", "--file", imports.file("y", "")).startswith(
        "expected file names that begin with one of "
    )
    assert not root.exists()
