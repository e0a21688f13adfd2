"""`bgdata export`."""

import gzip
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import bgdata
from tests.command_line import error_of, output_of, run
from tests.subtests import each


@each(
    ("options", "size"),
    [
        (["--two-sided", "3x3"], 3_240),
        (["--two-sided", "3x3", "-C"], 840),
        (["--one-sided", "2"], 2_452),
        (["--one-sided", "2", "-g", "-c"], 40 + 136 * 64),
        (["--one-sided", "2", "-n"], 40 + 136 * 16),
    ],
)
def test_gnubg_file_has_size_and_hash(tmp_path: Path, options: list[str], size: int) -> None:
    path = tmp_path / "x.bd"
    output = output_of(tmp_path, "export", "gnubg-bd", *options, "--threads", "1", "-o", path)
    assert path.stat().st_size == size
    assert re.fullmatch(rf"wrote {path}: {size:,} bytes, SHA-256 [0-9a-f]{{64}}\n", output)


def test_letters_equal_the_rows_of_sql(small_root: Path, tmp_path: Path) -> None:
    """Letters are numbers of checkers, A for none, as SQL has them in lists."""
    path = tmp_path / "x.csv.gz"
    output = output_of(small_root, "export", "letters", "bearoff_two_sided/3x3", "-o", path)
    assert output == f"wrote {path}: {path.stat().st_size:,} bytes\n"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql(
            "select list_concat(o.points[1:3], p.points[1:3]), t.cubeless from bearoff_two_sided t "
            "join bearoff_one_sided o on o.position_index = t.on_roll_index and o.variant = '3x15' "
            "join bearoff_one_sided p on p.position_index = t.opponent_index and p.variant = '3x15' "
            "where t.variant = '3x3' order by t.on_roll_index, t.opponent_index"
        ).fetchall()
    assert len(lines) == 400
    for line, (points, cubeless) in zip(lines, rows, strict=True):
        letters, number = line.split(",")
        assert [ord(letter) - ord("A") for letter in letters] == points
        assert float(number) == pytest.approx(cubeless, abs=5e-7)


@each(
    ("table", "code", "message"),
    [
        ("3x3", 2, "expected KIND/VARIANT"),
        ("bearoff_error/3x3", 2, "expected a version of bearoff_two_sided, got bearoff_error/3x3/r"),
        ("bearoff_two_sided/4x4", 1, "no bearoff_two_sided/4x4 in "),
    ],
)
def test_letters_of_other_tables_are_refused(
    small_root: Path, tmp_path: Path, table: str, code: int, message: str
) -> None:
    assert error_of(run(small_root, "export", "letters", table, "-o", tmp_path / "x"), code).startswith(message)
    assert not (tmp_path / "x").exists()


def test_parquet_parts_are_written_once(small_root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    table = bgdata.open_warehouse(small_root).open("bearoff_two_sided", "3x3")
    for n_written in (4, 0):
        output = output_of(small_root, "export", "parquet", "bearoff_two_sided/3x3", "--into", folder)
        message = rf"wrote {n_written} of 4 parts of {table.name} into {folder}: 400 rows, [\d.]+ kB\n"
        assert re.fullmatch(message, output)
    assert sum(pq.read_metadata(path).num_rows for path in folder.glob("*/part-0.parquet")) == 400


def test_parquet_parts_of_other_tables_are_refused(small_root: Path, tmp_path: Path) -> None:
    error = error_of(run(small_root, "export", "parquet", "bearoff_error/3x3", "--into", tmp_path / "none"), 2)
    assert error.startswith("expected a version of bearoff_two_sided, got bearoff_error/3x3/r")
    assert not (tmp_path / "none").exists()
