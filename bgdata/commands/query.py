"""`bgdata query` and `bgdata export table`: one SELECT, to the terminal or to a file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import duckdb

from bgdata.commands.gnubg_files import define_gnubg_view, view_name
from bgdata.errors import QueryError, UsageError
from bgdata.process import when_cut_off
from bgdata.store.catalog import quoted
from bgdata.store.reading import connect_tables
from bgdata.store.storage import storage_errors
from bgdata.store.warehouse import Warehouse

OPTIONS = {"csv": "format csv, header", "json": "format json, array", "parquet": "format parquet, compression zstd"}


def run_query(
    warehouse: Warehouse, sql: str, form: str, output: Path | None, gnubg_files: tuple[Path, ...] = ()
) -> None:
    """Run one query; raises QueryError with DuckDB's first line, and UsageError for parquet without a file."""
    if form == "parquet" and output is None:
        raise UsageError("expected --output FILE with --format parquet, got none")
    with warehouse.connect() as connection:
        for path in gnubg_files:
            define_gnubg_view(connection, path, view_name(path))
        try:
            relation = connection.sql(sql)
            if relation is None:
                return
            if form == "table" and output is None:
                relation.show(max_rows=40, max_width=terminal_width())
            else:
                write_rows(connection, relation, form if form != "table" else "csv", output)
        except duckdb.Error as error:
            raise QueryError(first_lines(error)) from error


def export_version(warehouse: Warehouse, reference: str, form: str, output: Path) -> None:
    """Write the main table of `KIND/VARIANT` or `KIND/VARIANT/VERSION`. Raises UsageError, MissingTableError and
    QueryError."""
    table = warehouse.open_reference(reference)
    with connect_tables(warehouse.kinds, [table]) as connection:
        try:
            relation = connection.sql(f"from {warehouse.kind(table.manifest.dataset).tables[0].name}")
            write_rows(connection, relation, form, output)
        except duckdb.Error as error:
            raise QueryError(first_lines(error)) from error


def write_rows(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, form: str, output: Path | None
) -> None:
    """Copy the rows to a file, written aside and renamed, or to standard output."""
    if output is None:
        with tempfile.NamedTemporaryFile(suffix=f".{form}") as file:  # DuckDB would truncate what stdout goes to
            path = Path(file.name)
            with when_cut_off(path.unlink):
                copy_rows(connection, relation, form, file.name)
                with path.open("rb") as rows:
                    shutil.copyfileobj(rows, sys.stdout.buffer)
        return
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    with storage_errors("write", output), when_cut_off(lambda: partial.unlink(missing_ok=True)):
        try:
            partial.touch()  # DuckDB's own words for a folder that cannot be written would blame the query
            copy_rows(connection, relation, form, str(partial))
            partial.replace(output)
        finally:
            partial.unlink(missing_ok=True)


def copy_rows(connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, form: str, path: str) -> None:
    """Write the rows of a query to a file."""
    source = f"({relation.sql_query()})"
    if form != "parquet":  # DuckDB 2.0 may hang for ever where a query fails after its first rows were written as text
        connection.execute(f"create temp table finished as from {source}")
        source = "finished"
    connection.execute(f"copy {source} to {quoted(path)} ({OPTIONS[form]})")


def terminal_width() -> int:
    """Columns to draw tables in: those of the terminal, or plenty when the output goes elsewhere."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 200


def first_lines(error: Exception) -> str:
    """DuckDB's message without the drawing of the query, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("LINE ", "^"))]
    return "expected a valid query: " + " ".join(kept[:3])
