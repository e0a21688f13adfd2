"""`bgdata query`: one SQL query, to the terminal or to a file, with gnubg's .bd files as views beside bgdata's
tables."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bgdata.cli.options import gnubg_option, output_option, value_option
from bgdata.errors import QueryError, UsageError, cite
from bgdata.formats.gnubg_bearoff import GnubgOneSided, GnubgTwoSided, open_gnubg_bearoff
from bgdata.process import when_cut_off
from bgdata.store.dataset import Dataset
from bgdata.store.names import identifier, sql_text
from bgdata.store.storage import storage_errors
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb

    from bgdata.store.locked_sql import QueryLimits


class FiniteRange(click.FloatRange):
    """A range of numbers, as the type of an option, that refuses `nan`."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        number = super().convert(value, parameter, context)
        if math.isnan(number):
            self.fail(f"expected a number, got {cite(str(value))}", parameter, context)
        return number


@click.command()
@click.argument("sql", required=False)
@click.option("--file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A file with the query.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    help="Output format.  [default: table; of a file the one that its name ends with, else csv]",
)
@output_option("standard output")
@gnubg_option
@click.option("--allow-files", is_flag=True, help="Allow any statement, which may read and write any file.")
@value_option("--seconds", 600.0, "S", "Stop the query after this many seconds.", type=FiniteRange(0.01, 86_400))
@click.option("--memory", type=FiniteRange(0.1, 65_536), metavar="GB", help="Maximum memory.  [default: half of all]")
@click.pass_obj
def query(
    warehouse: Warehouse,
    sql: str | None,
    file: Path | None,
    form: str | None,
    output: Path | None,
    gnubg_files: tuple[Path, ...],
    allow_files: bool,
    seconds: float,
    memory: float | None,
) -> None:
    """Run one SQL query on the tables.

    SQL is a query in DuckDB's dialect; - reads it from standard input. It can read the tables of the warehouse and
    nothing else, unless --allow-files is given. A gnubg file given with --bd becomes a view named after the file:
    gnubg_ts0.bd is gnubg_ts0. In JSON, NaN and infinities are null. The format parquet needs --output, table is for
    standard output.

    \b
      bgdata query "select * from versions" --format csv
      bgdata query "from match_equity where away = 3" --output three.parquet
    """
    from bgdata.store.locked_sql import QueryLimits

    limits = QueryLimits(seconds, round((memory or 0) * 1e9))
    if (sql is None) == (file is None):
        raise UsageError("expected either SQL or --file, got " + ("neither" if sql is None else "both"))
    try:
        if file is not None:
            with storage_errors("read", file):
                text = file.read_text("utf-8")
        else:
            text = sys.stdin.read() if sql == "-" else str(sql)
    except UnicodeDecodeError as error:
        raise UsageError(f"expected SQL as UTF-8 text, found other bytes in {file or 'standard input'}") from error
    run_query(warehouse, text, form, output, gnubg_files, allow_files=allow_files, limits=limits)


OPTIONS = {"csv": "format csv, header", "json": "format json, array", "parquet": "format parquet, compression zstd"}
MAX_ROWS_SHOWN = 40  # maximum number of rows on a terminal
ALL = 1 << 40  # a limit of rows or characters that shows all


def form_of(form: str | None, output: Path | None) -> str:
    """Return the output format: `form` if it is given, else the format of the file name's ending, else csv. Raises
    UsageError for parquet without a file, for a file with a table for people, and for a compressed file."""
    if output is None:
        if form == "parquet":
            raise UsageError("expected --output FILE with --format parquet, got none")
        return form or "table"
    if form == "table":
        raise UsageError("expected csv, json or parquet with --output, got table; try: --format csv")
    ending = output.suffix.lower().removeprefix(".")
    if ending in ("gz", "zst", "bz2", "xz", "zip"):
        raise UsageError(f"expected a file that is not compressed, got {output}; try: csv, json or parquet")
    return form or (ending if ending in OPTIONS else "csv")


def run_query(
    warehouse: Warehouse,
    sql: str,
    form: str | None,
    output: Path | None,
    gnubg_files: tuple[Path, ...] = (),
    *,
    allow_files: bool = False,
    limits: QueryLimits | None = None,
) -> None:
    """Run one SQL query on the tables and on views of gnubg's files, and write its rows to `output` or standard output.
    If `allow_files` is true, any statement may run, on any file. Raises QueryError, with the first line of DuckDB's
    message, if the query fails; UsageError for the same reasons as `form_of`, or if the name of a gnubg file is already
    taken."""
    import duckdb

    from bgdata.store.locked_sql import QueryLimits, first_lines, read_only_query

    form = form_of(form, output)
    text = sql if allow_files else read_only_query(sql)
    with temporary_output(output, form, is_needed=form != "table") as path:
        outputs = [path] if path else []
        limits = limits or QueryLimits()
        named = "" if allow_files and not warehouse.is_remote else text
        with warehouse.connect(limits=limits, allow_files=allow_files, outputs=outputs, for_query=named) as connection:
            for file in gnubg_files:
                name = re.sub(r"\W", "_", file.stem.lower())
                taken = "select view_name from duckdb_views() union select table_name from duckdb_tables()"
                if (name,) in connection.execute(taken).fetchall():  # the view would hide this table
                    what = f"{file}, a second {name}; try: a link of another name"
                    raise UsageError(f"expected a file whose name no table has, got {what}")
                define_gnubg_view(connection, file, name)
            try:
                relation = connection.sql(text) if text else None
                if relation is None:
                    return
                if path is not None:
                    copy_rows(connection, relation, form, path)
                else:
                    try:  # on a terminal the first rows in its width, elsewhere all
                        width = os.get_terminal_size(sys.stdout.fileno()).columns
                        relation.show(max_rows=MAX_ROWS_SHOWN, max_width=width)
                    except (OSError, ValueError):
                        relation.show(max_rows=ALL, max_width=ALL, max_col_width=ALL)
                for line in notes_on_empty(warehouse, connection, relation, text):
                    click.echo(line, err=True)
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


FILLED_BY = {  # commands for kinds that are not usually built by `bgdata build KIND`
    "benchmark_scores": "benchmark PLAYER",
    "cube_benchmark_scores": "benchmark PLAYER --on cube",
    "cubeful_equities": "build cubeful_equities --set positions=20000",
    "cubeful_scores": "ladder --for money",
    "cubeful_selfplay": "selfplay --cube-model MODEL",
    "engine_labels": "label SOURCE",
    "game_scores": "score PLAYER",
    "ladder": "ladder",
    "lookahead_labels": "label SOURCE",
    "referee_scores": "referee PLAYER",
    "reference_checks": "check-reference",
    "reference_scores": "score PLAYER",
    "rollout_labels": "label SOURCE",
    "scores": "score PLAYER",
}


VIEWS = "select view_name, sql from duckdb_views() where not internal"
SOURCE = re.compile(r"\b(?:from|join)\s+\(*\"?(\w+)", re.IGNORECASE)  # names of tables; other words may be columns
BY_VARIANT = re.compile(r"\busing\s*\([^)]*\bvariant\b|\bnatural\b|\bvariant\s*=\s*\w+\.variant\b", re.IGNORECASE)
UNIONS = {"labelled_boards", "benchmark_boards"}  # unions of tables that may be missing


def notes_on_empty(
    warehouse: Warehouse, connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, text: str
) -> Iterator[str]:
    """Yield lines that tell the user why a query may have found nothing, with the commands that fill the tables. There
    is a line for each empty table that the query `text` names. If the query has no rows, there is a line for each view
    that reads an empty table. There is also a line for each join by `variant` of tables that have no variant in common;
    it is always given, because a count of no rows is a row."""
    if not (sources := SOURCE.findall(text)):
        return
    views = dict(connection.execute(VIEWS).fetchall())
    empty = {name for name, sql in views.items() if not re.search(r"\bfrom\b", sql, re.IGNORECASE)}
    named = [name for name in dict.fromkeys(sources) if name in views]
    for name in named:
        missing = {name} if name in empty else _made_from(name, views) & empty
        if missing and (name in empty or not relation.limit(1).fetchall()):
            kinds = [kind for kind in warehouse.kinds.values() if missing & {shape.name for shape in kind.tables}]
            steps = " or ".join(dict.fromkeys(f"bgdata {making_command(kind)}" for kind in kinds))
            names = ", ".join(kind.name for kind in kinds)
            yield f"{name} is empty, as nothing of {names} is here; try: {steps}"
    if BY_VARIANT.search(text):
        for name in filter(warehouse.kinds.__contains__, named):
            for join in warehouse.kinds[name].joins:
                if (table := join.partition(" ")[0]) in named:
                    yield f"{name} and {table} have no variant in common; try: join {join}"


def _made_from(name: str, views: Mapping[str, str]) -> set[str]:
    """Return the views that the view `name` reads, directly or indirectly. `views` contains the SQL of all views."""
    found, waiting = set[str](), [name]
    while waiting:
        words = set(SOURCE.findall(views[waiting.pop()]))
        waiting += (words & views.keys()) - UNIONS - found
        found |= words & views.keys()
    return found - UNIONS


def making_command(kind: Dataset[Any]) -> str:
    """Return the command, without `bgdata`, that makes a version of a kind."""
    return FILLED_BY.get(kind.name) or (f"import {kind.name} FILE..." if kind.takes_files else f"build {kind.name}")


@contextmanager
def temporary_output(output: Path | None, form: str, *, is_needed: bool) -> Iterator[Path | None]:
    """Yield the path of an empty file for the rows, or None if `is_needed` is false. When the `with` block ends, the
    file is renamed to `output`, or its content is copied to standard output if `output` is None. (DuckDB would truncate
    a file to which standard output is redirected.)"""
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
        with (
            storage_errors("write", output, "choose another file"),
            when_cut_off(lambda: partial.unlink(missing_ok=True)),
        ):
            partial.touch()  # DuckDB's error for an unwritable folder would blame the query
            try:
                yield partial.resolve()
                if partial.stat().st_size:  # if there is no query, nothing is written
                    partial.replace(output)
            finally:
                partial.unlink(missing_ok=True)


def copy_rows(connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, form: str, path: Path) -> None:
    """Write the rows of a query to a file, in the format `form`."""
    source = f"({relation.sql_query()})"
    if form != "parquet":  # DuckDB 2.0 may hang if a query fails after its first rows were written as text
        connection.execute(f"create temp table finished as from {source}")
        source = "finished"
    if form == "json":  # the table has unique column names
        described = connection.sql("from finished")
        types = zip(described.columns, described.types, strict=True)
        columns = ", ".join(f"{finite_sql(identifier(name), type_)} as {identifier(name)}" for name, type_ in types)
        source = f"(select {columns} from finished)"
    connection.execute(f"copy {source} to {sql_text(str(path))} ({OPTIONS[form]}, use_tmp_file false)")


def finite_sql(value: str, type_: Any, depth: int = 0) -> str:
    """Return an SQL expression for `value`, of the type `type_`, in which NaN and infinities are replaced by null, also
    inside lists and structs, because JSON cannot express them. `depth` is the number of lists around the value."""
    if "FLOAT" not in str(type_) and "DOUBLE" not in str(type_):
        return value
    item = f"item_{depth}"
    if type_.id in ("float", "double"):
        return f"case when isfinite({value}) then {value} end"
    if type_.id in ("list", "array"):
        inner = dict(type_.children)["child"]
        return f"list_transform({value}::{inner}[], lambda {item}: {finite_sql(item, inner, depth + 1)})"
    if type_.id == "struct":
        parts = (
            f"{identifier(name)} := {finite_sql(f'{value}.{identifier(name)}', part, depth)}"
            for name, part in type_.children
        )
        return f"case when {value} is not null then struct_pack({', '.join(parts)}) end"
    if type_.id == "map":
        inner = dict(type_.children)["value"]
        values = f"list_transform(map_values({value}), lambda {item}: {finite_sql(item, inner, depth + 1)})"
        return f"case when {value} is not null then map(map_keys({value}), {values}) end"
    return f"{value}::varchar"  # the type is a union


def define_gnubg_view(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> str:
    """Make the rows of a gnubg bearoff file readable as a view, with the column names of bgdata's tables. Returns the
    kind of dataset that has these columns. Raises CorruptFileError if the file is damaged, and UsageError if it
    contains no bearoff table."""
    import pyarrow as pa

    from bgdata.kinds.column_values import fixed_lists

    file = open_gnubg_bearoff(path)
    if isinstance(file, GnubgTwoSided):
        kind, count = "bearoff_two_sided", len(file)
        index = np.arange(count, dtype=np.int32)
        equities = (file.codes.reshape(count * count, -1) / np.float32(32767.5)) - np.float32(1)
        names = ("cubeless", "owned", "centered", "opponent_owned")[: equities.shape[1]]
        columns: dict[str, Any] = {"on_roll_index": np.repeat(index, count), "opponent_index": np.tile(index, count)}
        columns |= {name: np.ascontiguousarray(equities[:, n]) for n, name in enumerate(names)}
    elif isinstance(file, GnubgOneSided) and not file.header.is_normal:
        kind, (counts, gammons) = "bearoff_one_sided", file.read_all()
        columns = {
            "position_index": np.arange(len(counts), dtype=np.int32),
            "chances": fixed_lists((counts / np.float32(65535)).astype(np.float32)),
            "mean_rolls": counts @ np.arange(counts.shape[1]) / 65535,
        }
        if gammons is not None:
            columns["gammon_chances"] = fixed_lists((gammons / np.float32(65535)).astype(np.float32))
    else:
        raise UsageError(f"expected a one-sided or two-sided table of chances or equities, got {path}")
    connection.register(name, pa.table(columns))
    return kind
