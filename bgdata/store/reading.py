"""SQL over some versions, without a catalog: each table under its name, as the catalog shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bgdata.errors import QueryError
from bgdata.store.checks import select_columns
from bgdata.store.dataset import Dataset
from bgdata.store.table import Table

if TYPE_CHECKING:
    import duckdb


@contextmanager
def connect_tables(kinds: Mapping[str, Dataset[Any]], tables: Iterable[Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with a view for each table of these versions, over all of its variants, and with the macros."""
    import duckdb

    from bgdata.store.catalog import quoted, run_scripts

    sources: dict[str, list[str]] = {}
    for table in tables:
        kind = kinds[table.manifest.dataset]
        parameters = kind.parameters.from_manifest(table.manifest.parameters)
        for shape in kind.tables:
            columns = select_columns(kind, parameters, shape)
            path = quoted(str(table.folder / shape.file))
            sources.setdefault(shape.name, []).append(f"select {columns} from read_parquet({path})")
    with duckdb.connect(config={"threads": 1}) as connection:  # sums come out the same
        connection.execute("set enable_progress_bar = false")
        run_scripts(connection, "macros")
        for name, selects in sources.items():
            connection.execute(f"create view {name} as {' union all '.join(selects)}")
        yield connection


def only_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """The values of a query with one row, of which none is null. Raises QueryError for any other."""
    import duckdb

    try:
        rows = connection.sql(query).limit(2).fetchall()
    except duckdb.Error as error:
        raise QueryError(f"expected a query that can be run, got {query!r}: {str(error).splitlines()[0]}") from error
    if len(rows) != 1 or None in rows[0]:
        raise QueryError(f"expected a query with one row of values, got {rows or 'no row'} from {query!r}")
    found: tuple[Any, ...] = rows[0]
    return found
