"""`bgdata list` and `bgdata explain`: kinds of dataset, their versions, and every table, view and macro of SQL."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bgdata.cli.build import chosen, parameter_options
from bgdata.cli.completion import complete_explained
from bgdata.cli.options import format_option
from bgdata.cli.output import Row, write_rows
from bgdata.errors import BgdataError, UsageError, shown
from bgdata.store.build import estimate_text
from bgdata.store.dataset import Dataset, Input
from bgdata.store.parameters import Parameters, VersionRef, value_text
from bgdata.store.scripts import sql_checks
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb


@click.command(name="list")
@format_option
@click.pass_obj
def list_(warehouse: Warehouse, form: str) -> None:
    """List the kinds of dataset, and the versions that are there."""
    print_kinds(warehouse, form)


@click.command()
@click.argument("name", shell_complete=complete_explained)
@parameter_options
@format_option
@click.pass_obj
def explain(warehouse: Warehouse, /, name: str, form: str, settings: tuple[str, ...], **options: int | None) -> None:
    """Explain NAME: a kind, table, view or macro of SQL.

    For a kind of dataset: its columns with units and meanings, arrays, parameters, checks, and what a build with the
    given parameters would need. For a table, view or macro of the catalog: its columns or parameters, and where it
    comes from.

    \b
      bgdata explain bearoff_two_sided --points 6 --checkers 9
      bgdata explain cube_decisions
      bgdata explain best_cube_action
    """
    if name in warehouse.kinds:
        declared = warehouse.kinds[name]
        print_kind(declared, chosen(warehouse, declared, options, settings), form)
        return
    if settings or any(value is not None for value in options.values()):
        raise UsageError(f"expected a kind of dataset before its parameters, got {shown(name)}; see: bgdata list")
    print_explanation(warehouse, name, form)


def print_kinds(warehouse: Warehouse, form: str = "table") -> None:
    """One line for each kind, and one for each of its versions; a `*` marks the current one of a variant."""
    if form != "table":
        write_rows(listed_rows(warehouse), form)
    for name, kind in warehouse.kinds.items() if form == "table" else ():
        defaults = ", ".join(kind.slug(parameters) for parameters in kind.defaults)
        click.echo(f"{name}  [{defaults}]\n    {kind.summary}")
        for row in version_rows(warehouse, name):
            if row["damage"]:
                click.echo(f"    {name}/{row['variant']}/{row['version']} is damaged: {row['damage']}")
                continue
            mark = "*" if row["is_current"] else " "
            title = f"{row['variant']:<8} {row['version']}"
            click.echo(f"  {mark} {title}  {row['rows']:>12,} rows  {row['bytes'] / 1e6:>8,.1f} MB")
    if not warehouse.root.is_dir():
        click.echo(f"no warehouse in {warehouse.root} yet; try: bgdata build", err=True)


def listed_rows(warehouse: Warehouse) -> Iterator[Row]:
    """A row for each version, and for each kind that has none."""
    for name, kind in warehouse.kinds.items():
        kept = list(version_rows(warehouse, name))
        for row in kept or [{}]:
            empty = dict.fromkeys(("variant", "version", "is_current", "rows", "bytes", "damage"))
            yield {"dataset": name, "summary": kind.summary, **empty, **row}


def version_rows(warehouse: Warehouse, name: str) -> Iterator[dict[str, Any]]:
    """The versions of a kind: the size of each, or what is wrong with it."""
    for table in warehouse.versions(name):
        variant, version = table.folder.parts[-2:]
        row = {"variant": variant, "version": version, "is_current": is_current(warehouse, table)}
        try:
            table.check_sizes()
            size = sum(entry.bytes for entry in table.manifest.files)
            yield row | {"rows": table.manifest.rows, "bytes": size, "damage": None}
        except BgdataError as error:
            yield row | {"rows": None, "bytes": None, "damage": str(error)}


def is_current(warehouse: Warehouse, table: Table) -> bool:
    """Whether a version is the current one of its variant; no version is where the file `current` is damaged."""
    try:
        return warehouse.open(*table.folder.parts[-3:-1]).folder == table.folder
    except BgdataError:
        return False


UNIT = re.compile(r"(.*?)(?: \[([^\[\]]+)\])?", re.DOTALL)  # a comment of the catalog, and the unit at its end


class Part(NamedTuple):
    """One line of an explanation, which is also one row of it as data."""

    part: str  # column, array, parameter, check or input
    name: str
    type: str = ""
    unit: str = ""
    meaning: str = ""


class Explained(NamedTuple):
    """A table, view or macro: what it is, its columns or parameters, and where it comes from."""

    name: str
    what: str
    meaning: str
    parts: list[Part]
    origin: list[str]


def print_kind(kind: Dataset[Any], parameters: Parameters, form: str) -> None:
    """Print the declaration of a kind, and what building a variant would need. Raises InvalidParameterError."""
    kind.check_parameters(parameters)
    if form != "table":
        write_rows(rows_of(kind.name, kind_parts(kind, parameters)), form)
        return
    click.echo(f"{kind.name} (revision {kind.revision})\n{kind.summary}\n{kind.source}. Licence: {kind.licence}.\n")
    for shape in kind.tables:
        click.echo(f"columns of {shape.name} (variant, then)")
        for column in shape.columns:
            click.echo(f"  {column.name:<18} {column.type:<10} {column.comment}")
    click.echo("\nflat arrays")
    for array in kind.arrays:
        click.echo(f"  {array.name:<18} {array.dtype:<10} [{array.axes}] {array.meaning}")
    click.echo("\nparameters [defaults of the builds by `make build`]")
    for field in fields(kind.parameters):
        values = ", ".join(value_text(getattr(default, field.name)) for default in kind.defaults)
        click.echo(f"  {field.name} [{values}]")
    click.echo("\nSQL checks: each returns the rows that break the claim")
    for shape in kind.tables:
        for claim, _ in sql_checks(shape.name):
            click.echo(f"  {claim.replace('_', ' ')}")
    for role, wanted in kind.inputs(parameters).items():
        click.echo(f"\ninput {role}: {input_text(wanted)}")
    click.echo(f"\na build of {kind.slug(parameters)}: {estimate_text(kind.estimate(parameters))}")


def kind_parts(kind: Dataset[Any], parameters: Parameters) -> Iterator[Part]:
    """The parts of the explanation of a kind: columns, arrays, parameters, checks."""
    for shape in kind.tables:
        for column in shape.columns:
            yield Part(f"column of {shape.name}", column.name, column.type, column.unit, column.meaning)
    for array in kind.arrays:
        yield Part("array", array.name, array.dtype, array.axes, array.meaning)
    for name, value in vars(parameters).items():
        yield Part("parameter", name, type(value).__name__, "", value_text(value))
    for shape in kind.tables:
        for claim, _ in sql_checks(shape.name):
            yield Part(f"check of {shape.name}", claim)
    for role, wanted in kind.inputs(parameters).items():
        yield Part("input", role, "", "", input_text(wanted))


def rows_of(name: str, parts: Iterable[Part]) -> Iterator[Row]:
    """The parts of an explanation as rows of data."""
    return ({"explained": name, **part._asdict()} for part in parts)


def input_text(wanted: Input) -> str:
    """An input of a kind as text: `KIND/VARIANT/VERSION`, or a kind with its parameters."""
    if isinstance(wanted, VersionRef):
        return str(wanted)
    return f"{wanted[0]} with {', '.join(f'{key} {value_text(value)}' for key, value in vars(wanted[1]).items())}"


def print_explanation(warehouse: Warehouse, name: str, form: str) -> None:
    """Print what a table, view or macro of SQL is, with its columns or parameters. Raises UsageError, with similar
    names, for an unknown one."""
    with open_catalog(warehouse) as connection:
        found = explained_relation(connection, warehouse, name) or explained_macro(connection, name)
        if found is None:
            raise UsageError(unknown(connection, warehouse, name))
    if form != "table":
        write_rows(rows_of(name, found.parts), form)
        return
    click.echo(f"{found.name} ({found.what})\n{found.meaning}")
    if found.parts:
        names, types = (max(len(getattr(part, key)) for part in found.parts) for key in ("name", "type"))
        click.echo(f"\n{found.parts[0].part}s")
        for part in found.parts:
            unit = f" [{part.unit}]" if part.unit else ""
            click.echo(f"  {part.name:<{names}} {part.type:<{types}} {part.meaning}{unit}".rstrip())
    click.echo("\n" + "\n".join(found.origin))


def open_catalog(warehouse: Warehouse) -> duckdb.DuckDBPyConnection:
    """A connection to the catalog of a warehouse, or to an empty catalog where there is no warehouse."""
    from bgdata.store.catalog import fill_catalog
    from bgdata.store.locked_sql import open_memory

    if warehouse.root.is_dir():
        return warehouse.connect()
    connection = open_memory()
    fill_catalog(connection, warehouse, [], is_file=False)
    return connection


def explained_relation(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse, name: str) -> Explained | None:
    """The table or view of this name."""
    kinds = [kind for kind in warehouse.kinds.values() for shape in kind.tables if shape.name == name]
    row = connection.execute(
        "select 'view', comment, sql from duckdb_views() where not internal and view_name = $1 "
        "union all select 'table', comment, sql from duckdb_tables() where not internal and table_name = $1",
        [name],
    ).fetchone()
    if row is None:
        return None
    columns = connection.execute(
        "select column_name, data_type, comment from duckdb_columns() where table_name = ? order by column_index",
        [name],
    ).fetchall()
    parts = [Part("column", column, type_, *reversed(with_unit(comment))) for column, type_, comment in columns]
    if kinds:
        named = ", ".join(f"{kind.name} (bgdata explain {kind.name})" for kind in kinds)
        origin = [f"filled by {named}", *dict.fromkeys(f"{kind.source}. Licence: {kind.licence}." for kind in kinds)]
    else:
        origin = [f"made from {', '.join(sources(connection, name, row[2])) or 'the manifests of all versions'}"]
    return Explained(name, "table" if kinds else row[0], row[1] or "", parts, origin)


def with_unit(comment: str | None) -> tuple[str, str]:
    """(meaning, unit) of the comment of a column."""
    found = UNIT.fullmatch(comment or "")
    assert found is not None  # it matches anything
    return found[1], found[2] or ""


def sources(connection: duckdb.DuckDBPyConnection, name: str, sql: str) -> list[str]:
    """The tables and views that a view reads, in the order in which its text names them."""
    known = set(relation_names(connection)) - {name}
    return [word for word in dict.fromkeys(re.findall(r"\w+", sql.partition(" AS ")[2])) if word in known]


def explained_macro(connection: duckdb.DuckDBPyConnection, name: str) -> Explained | None:
    """The macro of this name. Functions that bgdata adds to its connections have a macro of the same name each."""
    row = connection.execute(
        "select parameters, comment, macro_definition, function_type from duckdb_functions() where not internal and "
        "function_name = ? order by comment is null, function_oid limit 1",
        [name],
    ).fetchone()
    if row is None:
        return None
    parameters, comment, definition, kind = row
    parts = [Part("parameter", parameter) for parameter in parameters]
    what = kind.replace("_", " ")
    call = f"{name}({', '.join(parameters)})"
    return Explained(name, what, comment or "", parts, [f"{call} is", f"  {definition}"])


def relation_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The names of all tables and views of a connection."""
    query = "select view_name from duckdb_views() where not internal union all select table_name from duckdb_tables()"
    return [name for (name,) in connection.execute(query).fetchall()]


def unknown(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse, name: str) -> str:
    """The message for an unknown name, with similar names."""
    macros = connection.execute("select distinct function_name from duckdb_functions() where not internal").fetchall()
    known = [*warehouse.kinds, *relation_names(connection), *(macro for (macro,) in macros)]
    near = difflib.get_close_matches(name[:100].lower(), sorted(set(known)), n=3, cutoff=0.5)
    step = f"; do you mean {' or '.join(near)}?" if near else "; see: bgdata list"
    return f"expected a kind, table, view or macro, got {shown(name)}{step}"
