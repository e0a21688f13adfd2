"""SQL over a few versions without a catalog; each table has the name that it has in the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.errors import QueryError
from bgdata.store.checks import check_columns, select_columns
from bgdata.store.dataset import Dataset
from bgdata.store.declaration import TableShape
from bgdata.store.names import identifier, parquet_source
from bgdata.store.registry import Kinds
from bgdata.store.table import Table

if TYPE_CHECKING:
    import duckdb


@contextmanager
def connect_tables(
    kinds: Kinds, tables: Iterable[Table], *, outputs: Iterable[Path] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with a view for each table of these versions, over all of its variants, and with the macros; it can
    open their files and the `outputs`, and no others."""
    from bgdata.store.locked_sql import keep_to, open_memory

    sources: dict[str, list[str]] = {}
    shapes = [(table, kinds[table.manifest.dataset], shape) for table in tables
              for shape in stored_tables(kinds[table.manifest.dataset], table)]  # fmt: skip
    files = [table.check_file(shape.file).resolve() for table, _, shape in shapes]
    with open_memory() as connection:
        keep_to(connection, [*files, *outputs])
        for (table, kind, shape), file in zip(shapes, files, strict=True):
            check_columns(connection, kind, shape, table)
            columns = select_columns(kind, kind.recorded(table.manifest), shape)
            sources.setdefault(shape.name, []).append(f"select {columns} from {parquet_source(file)}")
        connection.execute("set threads = 1")  # sums come out the same
        connection.execute("set enable_progress_bar = false")
        kinds.sql.run(connection, "macros")
        for name, selects in sources.items():
            connection.execute(f"create view {identifier(name)} as {' union all '.join(selects)}")
        yield connection


def stored_tables(kind: Dataset[Any], table: Table) -> tuple[TableShape, ...]:
    """The tables of a version that are in Parquet files."""
    return kind.tables_of(kind.recorded(table.manifest))


def only_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """The values of a query with exactly one row without nulls. Raises QueryError for any other."""
    import duckdb

    try:
        rows = connection.sql(query).limit(2).fetchall()
    except duckdb.Error as error:
        raise QueryError(f"expected a query that can be run, got {query!r}: {str(error).splitlines()[0]}") from error
    if len(rows) != 1 or None in rows[0]:
        raise QueryError(f"expected a query with one row of values, got {rows or 'no row'} from {query!r}")
    found: tuple[Any, ...] = rows[0]
    return found
