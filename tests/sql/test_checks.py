"""Tests that every SQL check passes good tables, and finds corrupted rows."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

import bgdata
from bgdata.kinds import SQL, all_kinds
from bgdata.store.checks import select_columns
from tests.sql.corruptions import corruptions
from tests.subtests import Subtests, each


@functools.cache
def queries() -> dict[str, str]:
    """The text of every check by its name."""
    return {path.stem: path.read_text() for path in sorted(SQL.glob("*/checks/*.sql"))}


@pytest.fixture(scope="module")
def tables(small_root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The smallest variant of every kind as writable tables, with the same scripts as in a build."""
    warehouse = bgdata.open_warehouse(small_root)
    with duckdb.connect() as connection:
        for path in sorted(SQL.glob("*/macros/*.sql")):
            connection.execute(path.read_text())
        for kind in warehouse.kinds.values():
            folder = warehouse.open(kind.name, kind.slug(kind.smallest)).folder
            for shape in kind.tables:
                columns = select_columns(kind, kind.smallest, shape)
                path = folder / shape.file
                query = f"select {columns} from read_parquet('{path}')"
                connection.execute(f"create table if not exists {shape.name} as {query} limit 0")
                connection.execute(f"insert into {shape.name} {query}")
        yield connection


@each("check", lambda: list(queries()))
def test_good_tables_pass(connection: duckdb.DuckDBPyConnection, check: str) -> None:
    """A check of good tables returns no rows, and every checked table has rows, except that a sample in .mat has no
    analysis."""
    table = check.partition("__")[0]
    assert table == "foreign_analysis" or connection.sql(f"select count(*) from {table}").fetchall() > [(0,)]
    assert connection.sql(queries()[check]).fetchall() == []


@each("check", lambda: list(queries()))
def test_corrupted_rows_are_found(tables: duckdb.DuckDBPyConnection, check: str) -> None:
    query = queries()[check]
    assert tables.sql(query).columns[0] == "variant"
    assert tables.sql(query).fetchall() == []
    with Subtests() as subtests:
        for corruption in corruptions()[check]:
            with subtests.test(corruption.damage), undo_changes(tables):
                tables.execute(corruption.damage)
                result = tables.sql(query)
                rows = [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]
                assert corruption.row in [{name: row[name] for name in corruption.row} for row in rows]
                assert len(rows) == corruption.rows


@contextmanager
def undo_changes(tables: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Undo changes at the end of the block."""
    tables.begin()
    try:
        yield
    finally:
        tables.rollback()


def test_every_check_has_a_corruption() -> None:
    assert sorted(corruptions()) == sorted(queries())
    assert all(corruptions().values())


def test_every_check_belongs_to_a_kind_and_every_kind_has_one() -> None:
    """Each check is among those of a kind, without which it would never run, and each kind has a check."""
    tables_of_kind = {kind.name: {shape.name for shape in kind.tables} for kind in all_kinds().values()}
    all_tables = set().union(*tables_of_kind.values())
    checks = [f"{table}__{claim}" for table in all_tables for claim, _ in all_kinds().sql.checks(table)]
    assert sorted(checks) == sorted(queries())
    checked_tables = {check.partition("__")[0] for check in queries()}
    for kind, tables in tables_of_kind.items():
        assert tables & checked_tables, kind
