"""SQL checks: found by name, and run before publishing."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from bgdata.errors import CheckFailedError
from bgdata.kinds import all_kinds
from bgdata.store import checks
from bgdata.store.checks import ColumnChange, Comparison, compare_views, define_version
from bgdata.store.dataset import Column
from bgdata.store.registry import Kinds, SqlFolders
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, Squares


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of checks to add to."""
    (tmp_path / "sql" / "checks").mkdir(parents=True)
    return tmp_path / "sql" / "checks"


@pytest.fixture
def warehouse(memory_path: Path, folder: Path) -> Warehouse:
    """A warehouse of squares whose checks may use our macros."""
    return Warehouse(
        memory_path / "warehouse", Kinds({"squares": Squares()}, sql=[*all_kinds().sql.folders, folder.parent])
    )


def test_checks_are_found_by_name(folder: Path) -> None:
    for name in ("squares__b_c.sql", "squares__a.sql", "square_sums__x.sql", "squares.sql"):
        (folder / name).write_text(name)
    assert list(SqlFolders((folder.parent,)).checks("squares")) == [
        ("a", "squares__a.sql"),
        ("b_c", "squares__b_c.sql"),
    ]


def test_failed_check_is_not_published(folder: Path, warehouse: Warehouse) -> None:
    (folder / "squares__below_fifty.sql").write_text("select number, square from squares where square >= 50;")
    message = r"expected below fifty in every row of squares/10, found \(8, 64\); the table is not published"
    with pytest.raises(CheckFailedError, match=message):
        warehouse.build("squares", Count(10))
    assert list(warehouse.versions()) == []
    warehouse.build("squares", Count(8))
    assert [table.name.split("/")[:2] for table in warehouse.versions()] == [["squares", "8"]]


def test_checks_may_use_macros(folder: Path, warehouse: Warehouse) -> None:
    (folder / "squares__macros.sql").write_text("select * from squares where epc(number) < 0")
    warehouse.build("squares", Count(8))


def test_declared_columns_are_selected_in_order(warehouse: Warehouse) -> None:
    squares = warehouse.kind("squares")
    assert checks.select_columns(squares, Count(8), squares.tables[0]) == ('\'8\' as variant, "number", "square"')


class Mixed(Squares):
    """A column of each type with its own comparison."""

    columns = (
        Column("number", "INTEGER", "", "Number"),
        Column("size", "FLOAT", "", "A number"),
        Column("chances", "FLOAT[]", "", "A list"),
        Column("name", "VARCHAR", "", "A text"),
        Column("gone", "INTEGER", "", "Only in one of them"),
    )


MAIN = Mixed().tables[0]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def compare_rows(connection: duckdb.DuckDBPyConnection, before: str, after: str) -> Comparison:
    """Compare rows given as VALUES (number, size, chances, name); only `before` has the column `gone`."""
    connection.execute(
        f"create view before as select *, 1 as gone from (values {before}) t(number, size, chances, name)"
    )
    connection.execute(f"create view after as select * from (values {after}) t(number, size, chances, name)")
    return compare_views(connection, MAIN)


def test_equal_tables_have_no_changes(connection: duckdb.DuckDBPyConnection) -> None:
    rows = "(1, 0.5, [0, 1], 'a'), (2, null, null, null), (3, -1, [], '')"
    comparison = compare_rows(connection, rows, rows)
    assert comparison.is_same
    assert comparison.changes == [ColumnChange(name, 3, 0, 0, 0, "") for name in ("size", "chances", "name")]


def test_largest_changes_and_their_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Two tables are compared column by column: how many rows changed, the largest and the mean change, and the row of
    the largest. The changes of lists are those of their entries."""
    comparison = compare_rows(
        connection,
        "(1, 0.5, [0, 1], 'a'), (2, 1.5, [1], 'b'), (3, 1, [], 'c'), (4, 1, [], '')",
        "(1, 0.25, [0, 1], 'a'), (2, 2.5, [0.5, 0.5], 'x'), (3, 1, [0], 'c'), (5, 1, [], '')",
    )
    size, chances, name = comparison.changes  # of the rows 1 to 3
    assert size == ColumnChange("size", 3, 2, 1.0, size.mean_absolute_change, "2")
    assert size.mean_absolute_change == pytest.approx((0.25 + 1) / 3)
    assert chances == ColumnChange("chances", 3, 2, 0.5, chances.mean_absolute_change, "2")
    assert chances.mean_absolute_change == pytest.approx(0.5 / 3)
    assert name == ColumnChange("name", 3, 1, 1, name.mean_absolute_change, "2")
    assert name.mean_absolute_change == pytest.approx(1 / 3)


def test_large_numbers_are_compared(toys: Warehouse) -> None:
    """The change of a large integer is computed without overflow."""
    with duckdb.connect() as connection:
        connection.execute("create view before as select 1 as number, 5::bigint as square")
        connection.execute("create view after as select 1 as number, 3000000005::bigint as square")
        (change,) = compare_views(connection, toys.kind("squares").tables[0]).changes
    assert change.largest_change == 3e9
    assert change.mean_absolute_change == 3e9


def test_tables_without_common_rows_are_not_compared(connection: duckdb.DuckDBPyConnection) -> None:
    comparison = compare_rows(connection, "(1, 0, [0], '')", "(2, 0, [0], '')")
    for change in comparison.changes:
        assert change.rows_compared == 0
        assert change.rows_changed == 0
    assert comparison.only_before == 1
    assert comparison.only_after == 1
    assert not comparison.has_common


def test_missing_rows_are_counted(connection: duckdb.DuckDBPyConnection) -> None:
    before = "(1, 0, [0], ''), (2, 0, [0], '')"
    after = "(2, 0, [0], ''), (3, 0, [0], ''), (4, 0, [0], '')"
    comparison = compare_rows(connection, before, after)
    assert [change.rows_compared for change in comparison.changes] == [1, 1, 1]
    assert comparison.only_before == 1
    assert comparison.only_after == 2


def test_versions_are_compared(toys: Warehouse) -> None:
    for count in (10, 20):
        toys.build("squares", Count(count))
    with toys.connect() as connection:
        (shape,) = toys.kind("squares").tables
        for name, count in (("before", 10), ("after", 20)):
            define_version(connection, name, toys.kind("squares"), shape, toys.open("squares", f"{count}"))
        comparison = compare_views(connection, shape)
        assert comparison == Comparison(shape, 0, 10, [ColumnChange("square", 10, 0, 0, 0, "")])
        assert not comparison.is_same
        assert connection.sql("select count(*), min(variant) from after").fetchall() == [(20, "20")]
