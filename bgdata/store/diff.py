"""Differences between two versions of one kind: which rows of each of their tables differ, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from bgdata.errors import UsageError
from bgdata.store.checks import check_columns, select_columns
from bgdata.store.dataset import Dataset
from bgdata.store.declaration import Column, TableShape
from bgdata.store.names import identifier, parquet_source
from bgdata.store.parameters import Parameters
from bgdata.store.table import Table

if TYPE_CHECKING:
    import duckdb

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE")


class ColumnChange(NamedTuple):
    """How one column differs over the rows that both tables have."""

    column: str
    rows_compared: int
    rows_changed: int
    largest_change: float  # of lists the most that any entry changed, of other values 0 or 1
    mean_absolute_change: float
    key_of_largest: str


class RowsOnly(NamedTuple):
    """How many rows, by key, only one of two tables has."""

    before: int
    after: int


class Comparison(NamedTuple):
    """What is different in one of the tables of two versions."""

    shape: TableShape
    only: RowsOnly
    changes: list[ColumnChange]

    @property
    def is_same(self) -> bool:
        """Whether both have the same rows."""
        return not any(self.only) and all(change.rows_changed == 0 for change in self.changes)

    @property
    def has_common(self) -> bool:
        """Whether there are rows that both have, by key."""
        return all(change.rows_compared for change in self.changes)


def define_version(
    connection: duckdb.DuckDBPyConnection, name: str, kind: Dataset[Any], shape: TableShape, table: Table
) -> None:
    """Create a temporary view of one of the tables of a version, with the declared columns. Raises OlderTableError or
    CorruptFileError for a version with other columns."""
    parameters: Parameters = kind.recorded(table.manifest)
    if not kind.tables_of(parameters):
        raise UsageError(f"expected a version with Parquet files, got {table.name}, which is too large for them")
    check_columns(connection, kind, shape, table)
    columns = select_columns(kind, parameters, shape)
    source = parquet_source(table.check_file(shape.file).resolve())
    connection.execute(f"create or replace temp view {identifier(name)} as select {columns} from {source}")


def comparison(connection: duckdb.DuckDBPyConnection, shape: TableShape) -> Comparison:
    """Compare the views `before` and `after` of a table."""
    return Comparison(shape, rows_only(connection, shape), list(column_changes(connection, shape)))


def rows_only(connection: duckdb.DuckDBPyConnection, shape: TableShape) -> RowsOnly:
    """Count the rows whose keys only one of the views `before` and `after` has."""

    def count(one: str, other: str) -> int:
        rows = connection.sql(f"select count(*) from {one} anti join {other} on {same_key(shape)}").fetchall()
        return int(rows[0][0])

    return RowsOnly(count("before", "after"), count("after", "before"))


def same_key(shape: TableShape) -> str:
    """SQL for whether rows of `before` and `after` have the same key, also where a part of it is null."""
    names = map(identifier, shape.key)
    return " and ".join(f"before.{name} is not distinct from after.{name}" for name in names)


def column_changes(connection: duckdb.DuckDBPyConnection, shape: TableShape) -> Iterator[ColumnChange]:
    """Compare the views `before` and `after` over their common keys, for each declared column that both have."""
    common = set(connection.sql("from before").columns) & set(connection.sql("from after").columns)
    key = ", ".join(f"before.{identifier(name)}" for name in shape.key)
    join = f"from before join after on {same_key(shape)}"
    for column in shape.columns:
        if column.name in shape.key or column.name not in common:
            continue
        old, new = (f"{side}.{identifier(column.name)}" for side in ("before", "after"))
        size = change_size(column, old, new)
        row = connection.sql(
            f"select count(*), count(*) filter ({new} is distinct from {old}), max({size}), avg({size}), "
            f"arg_max(concat_ws(' ', {key}), {size}) filter ({new} is distinct from {old}) {join}"
        ).fetchall()[0]
        compared, changed, largest, mean, where = row
        yield ColumnChange(column.name, compared, changed, largest or 0.0, mean or 0.0, where or "")


def change_size(column: Column, old: str, new: str) -> str:
    """SQL for the size of a difference: of numbers how far they are apart, of lists the largest such difference, of
    other values 0 or 1."""
    if column.type in NUMBERS:
        return f"abs({new}::double - {old}::double)"
    if column.type.removesuffix("[]") in NUMBERS:
        return (
            f"list_max(list_transform(list_zip({new}, {old}), "
            "lambda pair: abs(coalesce(pair[1]::double, 0) - coalesce(pair[2]::double, 0))))"
        )
    return f"({new} is distinct from {old})::integer"
