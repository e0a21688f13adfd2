"""catalog.duckdb: every table as a commented view over its Parquet file, with the SQL macros and views.

It is derived from the manifests, written aside and renamed, and can be deleted at any time. Views find their files
below the folder that the catalog was written in; where a warehouse was moved, `set variable warehouse = '<folder>'`
or `bgdata catalog` puts it right (connections opened here set the variable).
"""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from bgdata.errors import BgdataError, StorageError
from bgdata.store.checks import SQL, select_columns
from bgdata.store.dataset import Column, Dataset, Parameters, TableShape
from bgdata.store.leakage import leakage_views
from bgdata.store.storage import locked, storage_errors
from bgdata.store.table import Table

if TYPE_CHECKING:
    from bgdata.store.warehouse import Warehouse

# the oldest layout that holds all we write: clients from 1.2 on can open the catalog
STORAGE_VERSION = "v1.2.0"


def write_catalog(warehouse: Warehouse) -> None:
    """Write the catalog anew from the manifests, one process at a time; damaged versions are left out."""
    partial = warehouse.root / ".catalog.partial"
    with storage_errors("write", warehouse.catalog), locked(warehouse.staging / "catalog.lock"):
        partial.unlink(missing_ok=True)
        try:
            with duckdb.connect() as connection:
                connection.execute(f"attach {quoted(str(partial))} as catalog (storage_version '{STORAGE_VERSION}')")
                connection.execute("use catalog; begin transaction")  # each alone would wait for the disk
                fill_catalog(connection, warehouse)
                connection.execute("commit; use memory; detach catalog")
            partial.replace(warehouse.catalog)
        except duckdb.Error as error:
            raise StorageError(f"cannot write {warehouse.catalog}: {str(error).splitlines()[0]}") from error
        finally:
            partial.unlink(missing_ok=True)


def fill_catalog(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse) -> None:
    """Create every macro, view, table and comment."""
    readable = [table for table in warehouse.versions() if is_readable(table)]
    current = {table.folder for table in warehouse.current() if is_readable(table)}
    run_scripts(connection, "macros")
    create_manifests(connection, readable, current)
    shown = [table for table in readable if table.folder in current]
    selects: dict[str, list[str]] = {}
    for kind in warehouse.kinds.values():
        for shape in kind.tables:
            tables = [table for table in shown if table.manifest.dataset == kind.name]
            sources = selects.setdefault(shape.name, [])
            found = [create_source(connection, warehouse, kind, shape, table) for table in tables]
            sources += [source for source in found if source]
    for kind in warehouse.kinds.values():
        for shape in kind.tables:
            create_view(connection, shape, selects.pop(shape.name, None))
    for statement in leakage_views(warehouse.kinds.values()):
        connection.execute(statement)
    run_scripts(connection, "lookups")  # macros that look into tables
    run_scripts(connection, "views")


def is_readable(table: Table) -> bool:
    """Whether the version's manifest can be read; `bgdata verify` reports those that cannot."""
    try:
        return bool(table.manifest)
    except BgdataError:
        return False


def run_scripts(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    """Run every .sql file of bgdata/sql/<folder>, in order of name."""
    for path in sorted((SQL / folder).glob("*.sql")):
        connection.execute(path.read_text())


def create_manifests(connection: duckdb.DuckDBPyConnection, tables: list[Table], current: set[Any]) -> None:
    """The table behind the view `versions`: one row per version, its manifest as JSON."""
    connection.execute("create table manifests (version varchar, is_current boolean, manifest json)")
    connection.execute("comment on table manifests is 'Manifests of all versions as JSON; see the view versions'")
    for column, text in {
        "version": "Folder of the version: r<revision>-<digest8>",
        "is_current": "Whether the views show this version of its variant",
        "manifest": "The whole manifest.json",
    }.items():
        connection.execute(f"comment on column manifests.{column} is {quoted(text)}")
    for table in tables:
        row = [table.folder.name, table.folder in current, json.dumps(asdict(table.manifest))]
        connection.execute("insert into manifests values (?, ?, ?)", row)


def create_source(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Warehouse,
    kind: Dataset[Any],
    shape: TableShape,
    table: Table,
) -> str | None:
    """The query that shows one table of a version, behind a view of the variant's own unless the table is shared.

    None where the Parquet file or the manifest is damaged, which `bgdata verify` reports.
    """
    path = quoted("/" + table.folder.relative_to(warehouse.root).as_posix() + "/" + shape.file)
    root = f"coalesce(getvariable('warehouse'), {quoted(str(warehouse.root.resolve()))})"
    try:
        parameters: Parameters = kind.parameters.from_manifest(table.manifest.parameters)
        query = f"select {select_columns(kind, parameters, shape)} from read_parquet({root} || {path})"
        with connection.cursor() as aside:  # an error would end the transaction
            aside.execute(f"{query} limit 0")
    except (duckdb.Error, BgdataError):
        return None
    if shape.shared:
        return query
    name = f"{shape.name}_{table.manifest.variant.replace('-', '_')}"
    connection.execute(f"create view {name} as {query}")
    comment_on(connection, name, shape, f"{shape.summary} Variant {table.manifest.variant}, {table.folder.name}.")
    return f"select * from {name}"


def create_view(connection: duckdb.DuckDBPyConnection, shape: TableShape, selects: list[str] | None) -> None:
    """One view over all variants of a table, an empty one where there is none; `None`: a shared table that is done."""
    if selects is None:
        return
    columns = [(column.name, column.type) for column in (*leading_columns(shape), *shape.columns)]
    empty = "select " + ", ".join(f"null::{type_} as {name}" for name, type_ in columns) + " where false"
    connection.execute(f"create view {shape.name} as {' union all '.join(selects) or empty}")
    comment_on(connection, shape.name, shape, shape.summary)


def leading_columns(shape: TableShape) -> list[Column]:
    """The columns that tell versions apart."""
    variant = Column("variant", "VARCHAR", "", "Points x checkers, or other parameters")
    return [Column("dataset", "VARCHAR", "", "Dataset kind"), variant] if shape.shared else [variant]


def comment_on(connection: duckdb.DuckDBPyConnection, view: str, shape: TableShape, text: str) -> None:
    """Comment a view and its columns from the declaration."""
    connection.execute(f"comment on view {view} is {quoted(text)}")
    for column in (*leading_columns(shape), *shape.columns):
        connection.execute(f"comment on column {view}.{column.name} is {quoted(column.comment)}")


def quoted(text: str) -> str:
    """An SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def connect(warehouse: Warehouse) -> duckdb.DuckDBPyConnection:
    """A read-only connection to the catalog, rebuilt first where it is missing or older than a version.

    A warehouse that cannot be written is read with the catalog that it came with. Raises MissingWarehouseError or
    StorageError.
    """
    from bgdata.sql.functions import register_functions

    warehouse.require()
    if is_stale(warehouse):
        try:
            write_catalog(warehouse)
        except StorageError:
            if not warehouse.catalog.exists():
                raise
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    try:
        connection = duckdb.connect(str(warehouse.catalog), read_only=True, config=config)
    except duckdb.Error as error:
        raise StorageError(
            f"expected a DuckDB catalog in {warehouse.catalog}, found: {str(error).splitlines()[0]}; "
            "delete it, it is rebuilt from the manifests"
        ) from error
    connection.execute("set parquet_metadata_cache = true")  # versions never change, so their footers may be kept
    connection.execute("set variable warehouse = ?", [str(warehouse.root.resolve())])
    register_functions(connection)
    return connection


def is_stale(warehouse: Warehouse) -> bool:
    """Whether versions came or went after the catalog was written, or a newer bgdata declares its tables and views."""
    if not warehouse.catalog.exists():
        return True
    written = warehouse.catalog.stat().st_mtime_ns
    kinds = [warehouse.root / kind for kind in warehouse.kinds]
    variants = [warehouse.root / kind / variant for kind in warehouse.kinds for variant in warehouse.variants(kind)]
    declared = {Path(inspect.getfile(type(kind))) for kind in warehouse.kinds.values()}
    folders = [SQL / name for name in ("macros", "lookups", "views")]
    scripts = [path for folder in folders for path in (folder, *folder.glob("*.sql"))]
    return any(path.stat().st_mtime_ns >= written for path in (*kinds, *variants, *declared, *scripts) if path.exists())
