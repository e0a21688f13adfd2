"""Checks of the tables of a version: the columns of their files, and the rows that violate a claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.errors import CheckFailedError, CorruptFileError, OlderTableError
from bgdata.store.dataset import Dataset
from bgdata.store.declaration import TableShape
from bgdata.store.names import identifier, parquet_source, quoted
from bgdata.store.parameters import Parameters
from bgdata.store.scripts import SqlFolders

if TYPE_CHECKING:
    import duckdb

    from bgdata.store.table import Table


def select_columns(kind: Dataset[Any], parameters: Parameters, shape: TableShape) -> str:
    """The select list of the declared columns, after `variant`: Parquet holds them as SQL shows them."""
    owner = [f"{quoted(kind.name)} as dataset"] if shape.shared else []
    columns = [identifier(column.name) for column in shape.columns]
    return ", ".join([*owner, f"{quoted(kind.slug(parameters))} as variant", *columns])


def check_columns(connection: duckdb.DuckDBPyConnection, kind: Dataset[Any], shape: TableShape, table: Table) -> None:
    """The Parquet file of a version has the declared columns. Raises OlderTableError where it has others and is of an
    older revision, CorruptFileError where it is not, and duckdb.Error for what is no Parquet file."""
    path = table.check_file(shape.file)  # as the warehouse was opened: errors show it
    relation = connection.sql(f"from {parquet_source(path)}")
    found = dict(zip(relation.columns, map(str, relation.types), strict=True))
    declared = {column.name: column.type for column in shape.columns}
    if found == declared:
        return
    wrong = ", ".join(name for name in {**declared, **found} if found.get(name) != declared.get(name))
    if table.manifest.revision < kind.revision:
        step = f"import {kind.name} FILE..." if kind.takes_files else f"build {kind.name}"
        raise OlderTableError(
            f"{table.name} was written by an older bgdata, with other columns: {wrong}; try: bgdata {step}"
        )
    raise CorruptFileError(f"expected columns as declared in {table.name}/{shape.file}, found other {wrong}")


def run_sql_checks(sql: SqlFolders, kind: Dataset[Any], parameters: Parameters, folder: Path) -> None:
    """Run every check of a kind on the tables in a folder; raises CheckFailedError naming the first offending row."""
    from bgdata.store.locked_sql import keep_to, open_memory

    shapes = kind.tables_of(parameters)
    checks = [(shape, *check) for shape in shapes for check in sql.checks(shape.name)]
    with open_memory() as connection:
        sources = {shape: (folder / shape.file).resolve() for shape in shapes}
        keep_to(connection, sources.values())
        sql.run(connection, "macros", wanted=sql.needed_by(" ".join(query for _, _, query in checks)))
        for shape, source in sources.items():
            columns = select_columns(kind, parameters, shape)
            query = f"select {columns} from {parquet_source(source)}"
            connection.execute(f"create view {identifier(shape.name)} as {query}")
        for shape, claim, query in checks:
            rows = connection.sql(query).limit(1).fetchall()
            if rows:
                table = "" if shape == kind.tables[0] else f"{shape.name} of "
                raise CheckFailedError(
                    f"expected {claim.replace('_', ' ')} in every row of "
                    f"{table}{kind.name}/{kind.slug(parameters)}, found {rows[0]}; the table is not published"
                )
