"""`bgdata diff`."""

import csv
import json
import re
from pathlib import Path

import pytest

import bgdata
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run


def test_diff_of_tables_counts_changed_rows(warehouse: Warehouse, tmp_path: Path) -> None:
    version = warehouse.open("bearoff_two_sided", "3x3").folder.name
    output = output_of(warehouse.root, "diff", "bearoff_two_sided/3x3", f"bearoff_two_sided/3x3/{version}")
    assert output.count("0 of 400 rows changed") == 4
    assert f"  0 rows only in bearoff_two_sided/3x3, 0 only in bearoff_two_sided/3x3/{version}\n" in output
    output_of(warehouse.root, "export", "gnubg-bd", "--two-sided", "3x3", "-o", tmp_path / "x.bd")
    result = run(warehouse.root, "diff", "bearoff_two_sided/3x3", tmp_path / "x.bd")
    assert result.exit_code == 1
    (largest,) = re.findall(r"cubeless +\d+ of 400 rows changed, at most (\S+) \(row \d+ \d+\), mean", result.stdout)
    assert float(largest) < 2e-4


def test_diff_compares_side_tables(memory_path: Path) -> None:
    """The tables are two imports of the same rows, one of them with bad lines."""
    root = memory_path / "warehouse"

    def import_positions(text: str) -> str:
        path = memory_path / "mine.txt"
        path.write_text(text)
        output_of(root, "import", "positions", path)
        return bgdata.open_warehouse(root).open("positions", "mine").name

    before = import_positions("4HPwATDgc/ABMA\n")
    after = import_positions("4HPwATDgc/ABMA\nnonsense\n")
    assert before != after
    result = run(root, "diff", before, after)
    assert result.exit_code == 1
    assert f"{before} -> {after}, by source, line\n  0 rows only in {before}, 0 only in {after}\n" in result.stdout
    assert result.stdout.endswith(f"quarantine, by source, line\n  0 rows only in {before}, 1 only in {after}\n")
    result = run(root, "diff", before, after, "--format", "json")
    assert result.exit_code == 1
    rows = {row["table"]: (row["rows_only_before"], row["rows_only_after"]) for row in json.loads(result.stdout)}
    assert rows == {"positions": (0, 0), "quarantine": (0, 1)}
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


@pytest.mark.parametrize("tables", [("bearoff_two_sided/3x3", ""), ("", "bearoff_two_sided/3x3")])
def test_diff_with_an_empty_name_is_refused(small_root: Path, tables: tuple[str, str]) -> None:
    """An unset variable of a script gives an empty argument."""
    message = error_of(run(small_root, "diff", *tables), 2)
    assert message == "expected KIND/VARIANT, KIND/VARIANT/VERSION or a .bd file, got ''"


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_diff_counts_rows_of_one_side(memory_path: Path, form: str) -> None:
    """3x4 has 825 rows more than 3x3."""
    for checkers in ("3", "4"):
        output_of(memory_path, "build", "bearoff_two_sided", "--points", "3", "--checkers", checkers)
    small, large = "bearoff_two_sided/3x3", "bearoff_two_sided/3x4"
    for before, after, only_before, only_after in ((small, large, 0, 825), (large, small, 825, 0)):
        result = run(memory_path, "diff", before, after, "--format", form)
        assert result.exit_code == 1
        if form == "table":
            assert f"  {only_before} rows only in {before}, {only_after} only in {after}\n" in result.stdout
            assert result.stdout.count("0 of 400 rows changed") == 4
            continue
        rows = json.loads(result.stdout) if form == "json" else csv.DictReader(result.stdout.splitlines())
        counts = [(int(row["rows_only_before"]), int(row["rows_only_after"])) for row in rows]
        assert counts == [(only_before, only_after)] * 4
