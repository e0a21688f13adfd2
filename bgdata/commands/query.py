"""`bgdata query` and `bgdata export table`: one query, to the terminal or to a file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from bgdata.commands.gnubg_files import define_gnubg_view, view_name
from bgdata.errors import QueryError, UsageError
from bgdata.process import when_cut_off
from bgdata.store.locked_sql import Limits, first_lines, reading_query
from bgdata.store.names import identifier, quoted
from bgdata.store.reading import connect_tables
from bgdata.store.storage import storage_errors
from bgdata.warehouse import Warehouse

OPTIONS = {"csv": "format csv, header", "json": "format json, array", "parquet": "format parquet, compression zstd"}
MOST_ROWS_SHOWN = 40  # of a table on a terminal
ALL = 1 << 40  # rows, or characters


def query_text(sql: str | None, file: Path | None) -> str:
    """The query: as given, of a file, or of standard input for `-`. Raises UsageError or StorageError."""
    if (sql is None) == (file is None):
        raise UsageError("expected either SQL or --file, got " + ("neither" if sql is None else "both"))
    try:
        if file is not None:
            with storage_errors("read", file):
                return file.read_text("utf-8")
        return sys.stdin.read() if sql == "-" else str(sql)
    except UnicodeDecodeError as error:
        raise UsageError(f"expected SQL as UTF-8 text, found other bytes in {file or 'standard input'}") from error


def run_query(
    warehouse: Warehouse,
    sql: str,
    form: str,
    output: Path | None,
    gnubg_files: tuple[Path, ...] = (),
    *,
    allow_files: bool = False,
    limits: Limits | None = None,
) -> None:
    """Run one query that reads the tables and the gnubg files; `allow_files`: any statements, on any files.

    Raises QueryError with DuckDB's first line, and UsageError for parquet without a file.
    """
    if form == "parquet" and output is None:
        raise UsageError("expected --output FILE with --format parquet, got none")
    is_shown = form == "table" and output is None
    text = sql if allow_files else reading_query(sql)
    with written_aside(output, "csv" if form == "table" else form, is_needed=not is_shown) as path:
        outputs = [path] if path else []
        limits = limits or Limits()
        with warehouse.connect(limits=limits, allow_files=allow_files, outputs=outputs) as connection:
            for file in gnubg_files:
                define_gnubg_view(connection, file, view_name(file))
            try:
                relation = connection.sql(text) if text else None
                if relation is None:
                    return
                if path is not None:
                    copy_rows(connection, relation, form if form != "table" else "csv", path)
                else:
                    show_rows(relation)
            except duckdb.InterruptException as error:
                raise QueryError(
                    f"expected a query of at most {limits.seconds:g} seconds; try: --seconds N, or fewer rows"
                ) from error
            except duckdb.OutOfMemoryException as error:
                raise QueryError(f"{first_lines(error)}; try: --memory GB, or fewer rows") from error
            except duckdb.PermissionException as error:
                raise QueryError(f"{first_lines(error)}; try: --allow-files") from error
            except duckdb.Error as error:
                raise QueryError(first_lines(error)) from error


def export_version(warehouse: Warehouse, reference: str, form: str, output: Path) -> None:
    """Write the main table of `KIND/VARIANT` or `KIND/VARIANT/VERSION`. Raises UsageError, MissingTableError and
    QueryError."""
    table = warehouse.open_reference(reference)
    with written_aside(output, form, is_needed=True) as path:
        assert path is not None
        with connect_tables(warehouse.kinds, [table], outputs=[path]) as connection:
            try:
                name = warehouse.kind(table.manifest.dataset).tables[0].name
                copy_rows(connection, connection.sql(f"from {identifier(name)}"), form, path)
            except duckdb.Error as error:
                raise QueryError(first_lines(error)) from error


def show_rows(relation: duckdb.DuckDBPyRelation) -> None:
    """Draw a table: on a terminal its first rows, as wide as that is, elsewhere all of it."""
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns
        relation.show(max_rows=MOST_ROWS_SHOWN, max_width=width)
    except (OSError, ValueError):
        relation.show(max_rows=ALL, max_width=ALL, max_col_width=ALL)


@contextmanager
def written_aside(output: Path | None, form: str, *, is_needed: bool) -> Iterator[Path | None]:
    """An empty file to write rows to: renamed to `output`, or else copied to standard output, once the block is done.

    None where none is needed. DuckDB itself would truncate what standard output goes to.
    """
    if not is_needed:
        yield None
    elif output is None:
        with tempfile.NamedTemporaryFile(suffix=f".{form}") as file:
            path = Path(file.name).resolve()
            with when_cut_off(path.unlink):
                yield path
                with path.open("rb") as rows:
                    shutil.copyfileobj(rows, sys.stdout.buffer)
    else:
        partial = output.absolute().with_name(f".{output.name}.{os.getpid()}.partial")
        with storage_errors("write", output), when_cut_off(lambda: partial.unlink(missing_ok=True)):
            partial.touch()  # DuckDB's own words for a folder that cannot be written would blame the query
            try:
                yield partial.resolve()
                if partial.stat().st_size:  # a text without any query writes nothing
                    partial.replace(output)
            finally:
                partial.unlink(missing_ok=True)


def copy_rows(connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, form: str, path: Path) -> None:
    """Write the rows of a query to a file."""
    source = f"({relation.sql_query()})"
    if form == "json":
        types = zip(relation.columns, relation.types, strict=True)
        columns = ", ".join(f"{finite(identifier(name), type_)} as {identifier(name)}" for name, type_ in types)
        source = f"(select {columns} from {source})"
    if form != "parquet":  # DuckDB 2.0 may hang for ever where a query fails after its first rows were written as text
        connection.execute(f"create temp table finished as from {source}")
        source = "finished"
    connection.execute(f"copy {source} to {quoted(str(path))} ({OPTIONS[form]}, use_tmp_file false)")


def finite(value: str, type_: Any, depth: int = 0) -> str:
    """SQL for a value with null in the place of what JSON has no numbers for: NaN and the infinities, at any depth."""
    if "FLOAT" not in str(type_) and "DOUBLE" not in str(type_):
        return value
    item = f"item_{depth}"
    if type_.id in ("float", "double"):
        return f"case when isfinite({value}) then {value} end"
    if type_.id in ("list", "array"):
        inner = dict(type_.children)["child"]
        return f"list_transform({value}::{inner}[], lambda {item}: {finite(item, inner, depth + 1)})"
    if type_.id == "struct":
        parts = (
            f"{identifier(name)} := {finite(f'{value}.{identifier(name)}', part, depth)}"
            for name, part in type_.children
        )
        return f"case when {value} is not null then struct_pack({', '.join(parts)}) end"
    if type_.id == "map":
        inner = dict(type_.children)["value"]
        values = f"list_transform(map_values({value}), lambda {item}: {finite(item, inner, depth + 1)})"
        return f"case when {value} is not null then map(map_keys({value}), {values}) end"
    return f"{value}::varchar"  # a union
