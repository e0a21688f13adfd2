"""`bgdata diff`."""

import csv
import json
import re
from pathlib import Path

import pytest

import bgdata
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.build import COMPUTED
from tests.command_line import error_of, output_of, run


@pytest.mark.usefixtures("small_defaults")
def test_diff_with_lock_reports_missing_variants(warehouse: Warehouse, tmp_path: Path) -> None:
    output_of(warehouse.root, "lock")
    (tmp_path / "empty").mkdir()
    warehouse.lock.rename(tmp_path / "empty" / "warehouse.lock")
    result = run(tmp_path / "empty", "diff")
    assert (result.exit_code, result.stdout.count("not built")) == (1, len(COMPUTED))


def test_diff_of_tables_counts_changed_rows(warehouse: Warehouse, tmp_path: Path) -> None:
    version = warehouse.open("bearoff_two_sided", "3x3").folder.name
    shown = output_of(warehouse.root, "diff", "bearoff_two_sided/3x3", f"bearoff_two_sided/3x3/{version}")
    assert shown.count("0 of 400 rows changed") == 4
    output_of(warehouse.root, "export", "gnubg-bd", "--two-sided", "3x3", "-o", tmp_path / "x.bd")
    result = run(warehouse.root, "diff", "bearoff_two_sided/3x3", tmp_path / "x.bd")
    assert result.exit_code == 1
    (largest,) = re.findall(r"cubeless +\d+ of 400 rows changed, at most (\S+) \(row \d+ \d+\), mean", result.stdout)
    assert float(largest) < 2e-4


def test_diff_compares_side_tables(memory_path: Path) -> None:
    """The tables are two imports of the same rows, one of them with bad lines."""
    root = memory_path / "warehouse"
    names = []
    for folder, more in (("one", ""), ("two", "nonsense\n")):
        path = memory_path / folder / "mine.txt"
        path.parent.mkdir()
        path.write_text(f"4HPwATDgc/ABMA\n{more}")
        output_of(root, "import", "positions", path)
        names.append(bgdata.open_warehouse(root).open("positions", "mine").name)
    before, after = names
    assert before != after
    result = run(root, "diff", before, after)
    assert result.exit_code == 1
    assert f"{before} -> {after}, by source, line\n  0 rows only in {before}, 0 only in {after}\n" in result.stdout
    assert result.stdout.endswith(f"quarantine, by source, line\n  0 rows only in {before}, 1 only in {after}\n")
    result = run(root, "diff", before, after, "--format", "json")
    assert result.exit_code == 1
    found = {(row["table"], row["rows_only_before"], row["rows_only_after"]) for row in json.loads(result.stdout)}
    assert found == {("positions", 0, 0), ("quarantine", 0, 1)}
    assert "quarantine" in output_of(root, "diff", after, after)


def test_diff_of_tables_without_common_rows_is_refused(memory_path: Path) -> None:
    for name in ("one", "two"):
        (memory_path / f"{name}.txt").write_text("4HPwATDgc/ABMA\n")
        output_of(memory_path / "warehouse", "import", "positions", memory_path / f"{name}.txt")
    message = error_of(run(memory_path / "warehouse", "diff", "positions/one", "positions/two"), 2)
    assert message == "expected two tables with rows in common, got positions/one and positions/two"


def test_diff_of_tables_of_other_points_is_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    """Equal indexes mean different layouts."""
    output_of(warehouse.root, "build", "bearoff_two_sided", "--points", "2", "--checkers", "3")
    output_of(warehouse.root, "export", "gnubg-bd", "--two-sided", "2x3", "-o", tmp_path / "x.bd")
    for other in ("bearoff_two_sided/2x3", tmp_path / "x.bd"):
        message = error_of(run(warehouse.root, "diff", "bearoff_two_sided/3x3", other), 2)
        assert message == "expected two tables of the same points, got 3 and 2"
    for tables in (("bearoff_two_sided/3x3", ""), ("", "bearoff_two_sided/3x3")):  # as from an unset variable
        message = error_of(run(warehouse.root, "diff", *tables), 2)
        assert message == "expected KIND/VARIANT, KIND/VARIANT/VERSION or a .bd file, got ''"


def test_diff_counts_rows_of_one_side(warehouse: Warehouse) -> None:
    """`bgdata diff` counts the rows that only the larger of two tables has, in every format."""
    output_of(warehouse.root, "build", "bearoff_two_sided", "--points", "3", "--checkers", "4")
    small = "bearoff_two_sided/3x3"
    large = "bearoff_two_sided/3x4"
    for before, after, only in ((small, large, (0, 825)), (large, small, (825, 0))):
        result = run(warehouse.root, "diff", before, after)
        assert result.exit_code == 1
        assert f"  {only[0]} rows only in {before}, {only[1]} only in {after}\n" in result.stdout
        assert result.stdout.count("0 of 400 rows changed") == 4
        result = run(warehouse.root, "diff", before, after, "--format", "json")
        assert result.exit_code == 1
        assert [(row["rows_only_before"], row["rows_only_after"]) for row in json.loads(result.stdout)] == [only] * 4
        result = run(warehouse.root, "diff", before, after, "--format", "csv")
        assert result.exit_code == 1
        rows = list(csv.DictReader(result.stdout.splitlines()))
        assert [(row["rows_only_before"], row["rows_only_after"]) for row in rows] == [tuple(map(str, only))] * 4
    assert f"  0 rows only in {small}, 0 only in {small}\n" in output_of(warehouse.root, "diff", small, small)
