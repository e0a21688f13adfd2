"""Runs untrusted queries in a separate process, which can be killed and whose memory is limited.

The process runs in an empty folder with a link to the warehouse, and uses relative file names, so that no query can
find out where files are. Queries of DuckDB settings that contain paths are refused.
"""

from __future__ import annotations

import csv
import io
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bgdata.errors import BgdataError, QueryError, TooBusyError, cite
from bgdata.process import data_segment_bytes
from bgdata.rows import csv_value, json_value
from bgdata.store.locked_sql import QueryLimits, first_lines, read_only_query
from bgdata.web.site import Limits, Site

if TYPE_CHECKING:
    import duckdb

NAME = "warehouse"  # name of the link to the warehouse
MAX_BYTES = 1 << 24  # largest size of an answer
PART = 64  # rows fetched at a time; few, because rows may be large
START_SECONDS = 120.0  # limit for opening the tables
TOO_LARGE = "expected a query that fits into its memory, found that it needs more; try: fewer rows, or shorter ones"
OUT_OF_MEMORY = re.compile("out of memory", re.IGNORECASE)
GRACE_SECONDS = 2.0  # time after the limit for DuckDB to stop the query itself
SETTINGS = re.compile(  # functions that show settings of DuckDB, or run SQL that may do so
    r"duckdb_settings|pg_settings|current_setting|allowed_paths|allowed_directories|json_execute_serialized_sql"
    r"""|\bquery(_table)?["\s\x80-\U0010ffff]*(\(|/\*|--)""",
    re.IGNORECASE,
)


class Result(NamedTuple):
    """The rows that a query has returned: the column names, the values in forms that JSON can express, and whether
    there were more rows than the limit."""

    names: list[str]
    rows: list[list[Any]]
    has_more: bool


class Failed(NamedTuple):
    """The error of a query: its message, and whether memory ran out, after which the process is replaced."""

    message: str
    is_spent: bool


class QueryProcess:
    """A separate process that runs one query at a time. It is started by the first query, and again after the warehouse
    has changed."""

    def __init__(self, site: Site) -> None:
        self._site, self._lock = site, threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._stamp: object = None

    def ask(self, sql: str, form: str = "rows") -> Any:
        """Run an SQL query in the process. Returns a `Result` if `form` is `rows`, else a file as bytes in the format
        csv or parquet. Raises QueryError if the query fails or takes too long, and TooBusyError if other queries keep
        the process busy."""
        limits = self._site.limits
        if not self._lock.acquire(timeout=limits.wait_seconds):
            raise TooBusyError("expected fewer queries at once; try again in a few seconds")
        try:
            pipe = self._start()
            pipe.send((sql, form))
            if not pipe.poll(limits.sql_seconds + GRACE_SECONDS):
                self.end()
                raise QueryError(f"expected a query of at most {limits.sql_seconds:g} seconds; try: fewer rows")
            found = pipe.recv()
            if isinstance(found, Failed) and found.is_spent:
                self.end()
        except BgdataError:  # before OSError, because some are OSErrors too, such as a missing warehouse
            raise
        except (EOFError, OSError) as error:
            self.end()
            raise QueryError("expected a query that fits into its limits, found that it ended its process") from error
        finally:
            self._lock.release()
        if isinstance(found, Failed):
            raise QueryError(self._site.public(found.message).partition("; try: --")[0])  # no options of commands
        return found

    def _start(self) -> Connection:
        stamp = self._site.stamp
        if self._pipe is not None and self._process and self._process.is_alive() and self._stamp == stamp:
            return self._pipe
        self.end()
        self._site.warehouse.require()
        # DuckDB cannot interrupt every function, so queries run in a process that can be killed
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="bgdata-", ignore_cleanup_errors=True)
        Path(self._folder.name, NAME).symlink_to(self._site.warehouse.root.resolve())
        given = self._folder.name, self._site.limits, theirs
        process = context.Process(target=serve_queries, args=given, daemon=True)
        with theirs:
            process.start()
        self._process = process
        self._pipe, self._stamp = ours, stamp
        if not ours.poll(START_SECONDS) or ours.recv() != "ready":
            raise EOFError
        return ours

    def end(self) -> None:
        """End the process, if it is running."""
        process, pipe, folder = self._process, self._pipe, self._folder
        self._process = self._pipe = self._folder = None
        if pipe:
            pipe.close()
        if process:
            process.kill()
            process.join()
        if folder:
            folder.cleanup()


def serve_queries(folder: str, limits: Limits, pipe: Connection) -> None:
    """Answer the queries that come through a pipe until it is closed. This runs inside the separate process. If a query
    fails, the answer is the message of the error. The process may write only in `folder`, which contains a link to the
    warehouse."""
    import duckdb

    import bgdata

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    os.chdir(folder)
    os.environ["HOME"] = "."  # DuckDB looks for extensions there
    given = QueryLimits(limits.sql_seconds, limits.sql_bytes, limits.sql_disk_bytes)
    with bgdata.open_warehouse(NAME).connect(limits=given, mend=False, is_relative=True) as connection:
        if sys.platform == "linux":  # DuckDB's own limit excludes rows in progress
            import resource

            most = data_segment_bytes() + 2 * limits.sql_bytes
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        pipe.send("ready")
        while True:
            try:
                sql, form = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send(answer_query(connection, sql, form, limits))
            except BgdataError as error:
                pipe.send(Failed(str(error), is_spent=False))
            except (MemoryError, duckdb.OutOfMemoryException):
                pipe.send(Failed(TOO_LARGE, is_spent=True))


def answer_query(connection: duckdb.DuckDBPyConnection, sql: str, form: str, limits: Limits) -> Any:
    """Run a query. Returns a `Result`, or a file as bytes in the format csv or parquet. Raises QueryError if the query
    fails, and MemoryError or duckdb.OutOfMemoryException if memory runs out."""
    import duckdb

    text = read_only_query(sql)
    if not text:
        raise QueryError("expected a query, got none")
    if setting := SETTINGS.search(text):
        raise QueryError(f"expected a query of tables, not of settings or texts that are run, got {cite(setting[0])}")
    most = limits.sql_rows if form == "rows" else limits.file_rows
    limited = f"{text} limit {most + 1}" if text.startswith("from (") else text
    try:
        if form == "parquet":
            return as_parquet(connection, limited, most)
        found = connection.execute(limited)
        names, rows, size = [column[0] for column in found.description or ()], list[tuple[Any, ...]](), 0
        while len(rows) <= most and (part := found.fetchmany(PART)):
            rows += part
            size += sum(len(str(value)) for row in part for value in row)
            check_size(size)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise QueryError(first_lines(error)) from error
    plain_rows = [[json_value(value) for value in row] for row in rows[:most]]
    if form != "csv":
        return Result(names, plain_rows, len(rows) > most)
    text_file = io.StringIO()
    writer = csv.writer(text_file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([csv_value(value) for value in row] for row in plain_rows)
    return text_file.getvalue().encode()


def check_size(count: int) -> None:
    """Raise QueryError if an answer of `count` bytes is too long."""
    if count > MAX_BYTES:
        raise QueryError(f"expected an answer of at most {MAX_BYTES:,} bytes, found more; try: fewer rows")


def as_parquet(connection: duckdb.DuckDBPyConnection, query: str, most: int) -> bytes:
    """Return the first `most` rows of a query as the bytes of a Parquet file. Raises QueryError if there are too many
    bytes, MemoryError if memory runs out, and duckdb.Error if the query fails."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    reader, parts, size = connection.sql(query).to_arrow_reader(PART), [], 0
    try:
        for part in reader:
            parts.append(part)
            size += part.nbytes
            check_size(size)
    except OSError as error:  # an error of DuckDB, raised through Arrow
        if OUT_OF_MEMORY.search(str(error)):
            raise MemoryError from error
        raise QueryError(first_lines(error)) from error
    file = io.BytesIO()
    try:
        pq.write_table(pa.Table.from_batches(parts, reader.schema).slice(0, most), file, compression="zstd")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise QueryError(f"{first_lines(error)}; try: cast such columns to varchar") from error
    return file.getvalue()
