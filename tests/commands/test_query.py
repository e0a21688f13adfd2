"""`bgdata query` and `bgdata catalog`."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import duckdb
import pytest

import bgdata
from bgdata.store.warehouse import Warehouse
from tests.commands.command_line import succeeds
from tests.formats.gnubg_files import two_sided_bytes
from tests.store import processes

QUERY = "select position_index, mean_rolls from bearoff_one_sided_3x15 where position_index < 3 order by all"


def test_query_as_a_table_csv_and_json(small_root: Path) -> None:
    table = bgdata.open_one_sided(small_root, 3)
    expected = [(index, table.probe_mean_rolls(index)) for index in range(3)]
    shown = succeeds(small_root, "query", QUERY)
    assert "position_index" in shown
    assert "1.0" in shown
    rows = list(csv.DictReader(io.StringIO(succeeds(small_root, "query", QUERY, "--format", "csv"))))
    assert [(int(row["position_index"]), float(row["mean_rolls"])) for row in rows] == expected
    records = json.loads(succeeds(small_root, "query", QUERY, "--format", "json"))
    assert [tuple(record.values()) for record in records] == expected


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_query_to_a_file(small_root: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"it's.{'csv' if form == 'table' else form}"
    path.write_text("before")
    assert succeeds(small_root, "query", QUERY, "--format", form, "-o", path) == ""
    with duckdb.connect() as connection:
        name = str(path).replace("'", "''")
        assert connection.sql(f"select sum(position_index), max(mean_rolls) from '{name}'").fetchall() == [(3, 1.0)]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_query_that_fails_late_keeps_the_old_file(small_root: Path, tmp_path: Path, form: str) -> None:
    """In a process that can be given up: DuckDB itself hangs now and then in such a COPY to CSV or JSON."""
    path = tmp_path / "x"
    path.write_text("before")
    sql = "select case when range = 9000 then error('late') else range end from range(10000)"
    result = processes.bgdata("--warehouse", small_root, "query", sql, "--format", form, "-o", path)
    assert (result.returncode, result.stderr) == (1, "error: expected a valid query: Invalid Input Error: late\n")
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    "sql", ["", "describe versions", "show tables", "explain select 1", "with x as (select 1) from x"]
)
def test_queries_that_are_no_select(small_root: Path, sql: str) -> None:
    for form in ("table", "csv"):
        assert bool(succeeds(small_root, "query", sql, "--format", form)) == bool(sql)


def test_query_of_gnubg_files(small_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "My-File.bd"
    path.write_bytes(two_sided_bytes(4))
    shown = succeeds(small_root, "query", "select count(*) as n from my_file", "--bd", path, "--format", "csv")
    assert shown == "n\n16\n"


def test_readers_may_stop_reading(small_root: Path) -> None:
    command = processes.bgdata_command(
        "--warehouse", small_root, "query", "select range, 'x' from range(1000000)", "--format", "csv"
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"range,'x'\n"
        process.stdout.close()
        assert process.stderr.read() == b""


def test_catalog(warehouse: Warehouse) -> None:
    warehouse.catalog.unlink()
    assert succeeds(warehouse.root, "catalog") == f"wrote {warehouse.catalog}\n"
    with duckdb.connect(str(warehouse.catalog), read_only=True) as connection:
        assert connection.sql("select count(*) from bearoff_two_sided_3x3").fetchall() == [(400,)]
