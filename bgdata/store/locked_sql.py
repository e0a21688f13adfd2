"""Locked SQL: an untrusted query can read certain files, and do nothing else.

DuckDB lets a connection read *and write* every file that it may open, and even a SELECT can write: `with a as (copy
...)`. So a query runs as a subquery, which DuckDB limits to reading, on a connection with limits and a locked
configuration, which can open no other files. A single long call of a function such as `sleep_ms` cannot be interrupted,
so a public server should run queries in a process that it can kill.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import psutil

from bgdata.errors import QueryError, cite

READING = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)  # a PIVOT is several statements
# functions that call others by name, or keep values for later queries
CALLING = re.compile(r"(create|register|deregister|destroy)_external_resource", re.IGNORECASE)
EXPLAIN = re.compile(r"\s*(explain(\s+analyze|\s*\([\w\s,]*\))?)\s", re.IGNORECASE)


@dataclass(frozen=True)
class QueryLimits:
    """Limits of a query: seconds; bytes of memory (0: half of this machine's memory); and bytes of temporary files (0:
    as much as the disk has free)."""

    seconds: float = 600.0
    memory_bytes: int = 0
    temporary_bytes: int = 0


def open_memory(*, is_relative: bool = False) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection to an empty database in memory, without extensions. Data that do not fit into memory go
    to a temporary folder while the connection is open. It is below the working directory if `is_relative` is true,
    otherwise in the temporary folder of the system."""
    place = Path() if is_relative else Path(tempfile.gettempdir())
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "temp_directory": str(place / f"bgdata-{uuid4().hex}"),
    }
    return duckdb.connect(config=config)


def keep_to(connection: duckdb.DuckDBPyConnection, files: Iterable[Path], *, folders: Iterable[Path] = ()) -> None:
    """Restrict a connection to these files and to the files in these folders. This cannot be undone."""
    connection.execute("set allowed_paths = $1", [list(map(str, files))])
    if within := list(map(str, folders)):
        connection.execute("set allowed_directories = $1", [within])
    connection.execute("set enable_external_access = false")


def lock(connection: duckdb.DuckDBPyConnection, limits: QueryLimits) -> None:
    """Set the limits of a connection's queries, then lock its configuration, so that no query can change it."""
    memory = limits.memory_bytes or psutil.virtual_memory().total // 2
    connection.execute("set python_enable_replacements = false")  # so that Python variables cannot be used as tables
    connection.execute(f"set memory_limit = '{memory // 1000} kB'")
    if limits.temporary_bytes:
        connection.execute(f"set max_temp_directory_size = '{limits.temporary_bytes // 1000} kB'")
    connection.execute(f"set max_execution_time = {max(1, round(limits.seconds * 1000))}")
    connection.execute("set lock_configuration = true")


def run_query(
    connection: duckdb.DuckDBPyConnection, query: str, given: Mapping[str, Any] | None = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run an SQL query with the values `given` for its parameters, and return the column names and the rows. Raises
    QueryError, with the first lines of DuckDB's message, if the query fails."""
    try:
        found = connection.execute(query, dict(given) if given else None)
        return [column[0] for column in found.description or ()], found.fetchall()
    except duckdb.Error as error:
        raise QueryError(first_lines(error)) from error


def read_only_query(sql: str) -> str:
    """Wrap an SQL query as a subquery, so that it can only read. The result is empty if `sql` contains no statement.
    Raises QueryError if it contains several statements, a statement that is not a query, or invalid SQL."""
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(first_lines(error)) from error
    if not statements:
        return ""
    if len(statements) > 1:
        raise QueryError(f"expected one query, got {len(statements)} statements: {cite(sql)}")
    explain, query = "", _without_semicolons(statements[0].query)
    if statements[0].type != duckdb.StatementType.SELECT and (found := EXPLAIN.match(query)):
        explain, query = found[1] + " ", query[found.end() :]
    # a SELECT can write (`with a as (copy ...)`), but DuckDB allows that only at the top level, not in a subquery
    read = f"from (\n{query}\n)"
    try:
        types = [[statement.type for statement in duckdb.extract_statements(text)] for text in (query, read)]
        if all(len(found) == 1 and found[0] in READING for found in types) and not CALLING.search(query):
            return explain + read
    except duckdb.Error:  # other statements cannot be subqueries
        pass
    raise QueryError(f"expected a query that only reads, got {cite(sql)}; try: --allow-files, which runs any statement")


def _without_semicolons(statement: str) -> str:
    text = statement.encode()  # DuckDB counts bytes
    for place, kind in reversed(duckdb.tokenize(statement)):
        if kind != duckdb.token_type.comment:
            if text[place : place + 1] != b";":
                break
            text = text[:place]
    return text.decode()


def first_lines(error: Exception) -> str:
    """Return DuckDB's error message in one line, without the excerpt of the query. If the error comes from the view of
    a damaged table, return only the message of that view."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("LINE ", "^"))]
    text = " ".join(kept[:3])
    damage = re.search(r"\S+ (is damaged: |is not there: |was written by an older bgdata).*", text)
    return damage[0] if damage else f"expected a valid query: {text}"


@contextmanager
def query_errors() -> Iterator[None]:
    """Inside the `with` block, raise QueryError, with the first line of DuckDB's message, if a query of bgdata fails
    because a table cannot be read."""
    try:
        yield
    except duckdb.Error as error:
        raise QueryError(f"expected tables that can be read, got {str(error).strip().splitlines()[0]}") from error
