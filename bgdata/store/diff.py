"""What changed between two tables of one kind: which rows, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from bgdata.store.catalog import quoted
from bgdata.store.checks import select_columns
from bgdata.store.dataset import Dataset, Parameters
from bgdata.store.table import Table

if TYPE_CHECKING:
    import duckdb

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "FLOAT", "DOUBLE")


class ColumnChange(NamedTuple):
    """How one column differs over the rows that both tables have."""

    column: str
    rows_compared: int
    rows_changed: int
    largest_change: float | None  # None for lists and text
    mean_absolute_change: float | None
    key_of_largest: str


def define_versions(connection: duckdb.DuckDBPyConnection, kind: Dataset[Any], before: Table, after: Table) -> None:
    """Create temporary views `before` and `after` with the declared columns."""
    for name, table in (("before", before), ("after", after)):
        parameters: Parameters = kind.parameters(**table.manifest.parameters)
        source = f"read_parquet({quoted(str(table.parquet.resolve()))})"
        connection.execute(
            f"create or replace temp view {name} as select {select_columns(kind, parameters)} from {source}"
        )


def column_changes(connection: duckdb.DuckDBPyConnection, kind: Dataset[Any]) -> Iterator[ColumnChange]:
    """Compare the views `before` and `after` column by column over their common keys."""
    key = ", ".join(f"before.{name}" for name in kind.key)
    join = f"from before join after using ({', '.join(kind.key)})"
    for column in kind.columns:
        if column.name in kind.key:
            continue
        old, new = f"before.{column.name}", f"after.{column.name}"
        is_number = column.type in NUMBERS
        size = f"abs({new}::double - {old}::double)" if is_number else f"({new} is distinct from {old})::integer"
        row = connection.sql(
            f"select count(*), count(*) filter ({new} is distinct from {old}), max({size}), avg({size}), "
            f"arg_max(concat_ws(' ', {key}), {size}) filter ({new} is distinct from {old}) {join}"
        ).fetchall()[0]
        largest, mean = row[2:4] if is_number else (None, None)
        yield ColumnChange(column.name, row[0], row[1], largest, mean, row[4] or "")
