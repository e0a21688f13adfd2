"""Queries of strangers run in a process of their own: it can be ended whatever a query does, and one that takes too
much memory takes nobody else with it."""

from __future__ import annotations

import csv
import io
import multiprocessing
import signal
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, NamedTuple

from bgdata.errors import BgdataError, QueryError, TooBusyError
from bgdata.rows.plain import as_cell, plain
from bgdata.store.locked_sql import QueryLimits, answered, reading_query
from bgdata.web.limits import Limits

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bgdata.web.site import Site

MOST_BYTES = 1 << 24  # of an answer
START_SECONDS = 120.0  # until the process has opened the tables
GRACE_SECONDS = 2.0  # that a query gets beyond its limit: DuckDB stops by itself what it can stop


class Result(NamedTuple):
    """Rows of a query: names of the columns, plain values, and whether there are more rows than these."""

    names: list[str]
    rows: list[list[Any]]
    has_more: bool


class QueryProcess:
    """A process that answers one query after the other; it is started when it is needed, and anew where the warehouse
    changed."""

    def __init__(self, site: Site) -> None:
        self._site, self._lock = site, threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._stamp: object = None

    def ask(self, sql: str, form: str = "rows") -> Any:
        """What a query answers: a `Result`, or bytes of `csv` or `parquet`. Raises QueryError, also for a query that
        takes too long, and TooBusyError."""
        limits = self._site.limits
        if not self._lock.acquire(timeout=limits.wait_seconds):
            raise TooBusyError("expected fewer queries at once; try again in a few seconds")
        try:
            pipe = self._started()
            pipe.send((sql, form))
            if not pipe.poll(limits.sql_seconds + GRACE_SECONDS):
                self.end()
                raise QueryError(f"expected a query of at most {limits.sql_seconds:g} seconds; try: fewer rows")
            found = pipe.recv()
        except (EOFError, OSError) as error:
            self.end()
            raise QueryError("expected a query that fits into its limits, found that it ended its process") from error
        finally:
            self._lock.release()
        if isinstance(found, str):
            raise QueryError(self._site.public(found).partition("; try: --")[0])  # options of commands
        return found

    def _started(self) -> Connection:
        stamp = self._site.stamp
        if self._pipe is not None and self._process and self._process.is_alive() and self._stamp == stamp:
            return self._pipe
        self.end()
        self._site.warehouse.require()
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        root = str(self._site.warehouse.root.resolve())
        self._process = context.Process(target=serve_queries, args=(root, self._site.limits, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe, self._stamp = ours, stamp
        if not ours.poll(START_SECONDS) or ours.recv() != "ready":
            raise EOFError
        return ours

    def end(self) -> None:
        """End the process, if there is one."""
        if self._pipe:
            self._pipe.close()
        if self._process:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None


def serve_queries(root: str, limits: Limits, pipe: Connection) -> None:
    """Answer queries that come through a pipe, until it is closed. An error is answered by its message."""
    import bgdata

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    given = QueryLimits(limits.sql_seconds, limits.sql_bytes)
    with bgdata.open_warehouse(root).connect(limits=given, mend=False) as connection:
        pipe.send("ready")
        while True:
            try:
                sql, form = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send(answer_query(connection, sql, form, limits, root))
            except BgdataError as error:
                pipe.send(str(error))


def answer_query(connection: duckdb.DuckDBPyConnection, sql: str, form: str, limits: Limits, root: str) -> Any:
    """A `Result`, or bytes of CSV or Parquet. `root` is hidden in texts. Raises QueryError."""
    text = reading_query(sql)
    if not text:
        raise QueryError("expected a query, got none")
    most = limits.sql_rows if form == "rows" else limits.file_rows
    limited = f"{text} limit {most + 1}" if text.startswith("from (") else text
    if form == "parquet":
        return as_parquet(connection, limited, most, root)
    names, found = answered(connection, limited)
    rows = [[hidden(plain(value), root) for value in row] for row in found[:most]]
    if sum(len(str(value)) for row in rows for value in row) > MOST_BYTES:
        raise QueryError(f"expected an answer of at most {MOST_BYTES:,} bytes, found more; try: fewer rows")
    return as_csv(names, rows) if form == "csv" else Result(names, rows, len(found) > most)


def hidden(value: Any, root: str) -> Any:
    """A plain value without the folder of the warehouse."""
    if isinstance(value, str):
        return value.replace(root, "warehouse")
    if isinstance(value, list):
        return [hidden(each, root) for each in value]
    return {name: hidden(each, root) for name, each in value.items()} if isinstance(value, dict) else value


def as_csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """Rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([as_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def as_parquet(connection: duckdb.DuckDBPyConnection, query: str, most: int, root: str) -> bytes:
    """The first rows of a query as a Parquet file, without `root` in texts. Raises QueryError."""
    import duckdb
    import pyarrow.parquet as pq

    from bgdata.store.locked_sql import first_lines

    try:
        table = connection.sql(query).to_arrow_table().slice(0, most)
    except duckdb.Error as error:
        raise QueryError(first_lines(error)) from error
    if table.nbytes > MOST_BYTES:
        raise QueryError(f"expected an answer of at most {MOST_BYTES:,} bytes, found more; try: fewer rows")
    file = io.BytesIO()
    pq.write_table(without(table, root), file, compression="zstd")
    return file.getvalue()


def without(table: pa.Table, root: str) -> pa.Table:
    """A table whose columns of text do not name the folder `root`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, column in enumerate(table.schema):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            shown = pc.replace_substring(table.column(place), pattern=root, replacement="warehouse")
            table = table.set_column(place, column.name, shown)
    return table
