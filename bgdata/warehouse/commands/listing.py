"""`bgdata list` and `bgdata explain`: kinds of dataset, their versions, and every table, view and macro of SQL."""

from __future__ import annotations

import difflib
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bgdata.cli.completion import complete_explained, complete_scopes
from bgdata.cli.options import format_option
from bgdata.cli.output import write_rows
from bgdata.errors import UsageError, cite
from bgdata.rows import Column, Row, table_lines
from bgdata.store.dataset import Dataset
from bgdata.store.lockfile import missing_extra_variants
from bgdata.store.names import parse_scope
from bgdata.store.parameters import Parameters, value_text
from bgdata.store.plan import estimate_text
from bgdata.store.registry import SqlFolders
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.build import choose_parameters, parameter_options
from bgdata.warehouse.rows import Part, input_text, kind_parts, known_variants, listing_rows, part_rows, version_rows

if TYPE_CHECKING:
    import duckdb


@click.command(name="list")
@click.argument("kind", required=False, shell_complete=complete_scopes)
@format_option
@click.pass_obj
def list_(warehouse: Warehouse, kind: str | None, form: str) -> None:
    """List the kinds of dataset, and the versions that are there.

    KIND is a kind of dataset, KIND/VARIANT or KIND/VARIANT/VERSION; the default is all kinds. A * marks the current
    version of a variant.

    \b
      bgdata list
      bgdata list bearoff_two_sided
    """
    only, *parts = parse_scope(kind)
    if parts[0] is not None:
        warehouse.versions_in(kind)  # raises for a missing version
    known = known_variants(warehouse)
    kinds = [(only, warehouse.kind(only))] if only else list(warehouse.kinds.items())

    def is_wanted(row: Row) -> bool:
        return all(part in (None, row[column]) for part, column in zip(parts, ("variant", "version"), strict=True))

    if form != "table":
        write_rows((row for row in listing_rows(warehouse, [kind for _, kind in kinds]) if is_wanted(row)), form)
    for name, declared in kinds if form == "table" else ():
        defaults = ", ".join(declared.slug(parameters) for parameters in declared.defaults)
        lines = [f"{name}  [{defaults}]\n    {declared.summary}"]
        for row in filter(is_wanted, version_rows(warehouse, name, known)):
            if row["damage"]:
                what = f"{row['version']} is damaged" if row["version"] else "current is not there"
                lines.append(f"    {name}/{row['variant']}/{what}: {row['damage']}")
                continue
            mark = "*" if row["is_current"] else " "
            title = f"{row['variant']:<8} {row['version']}"
            lines.append(f"  {mark} {title}  {row['rows']:>12,} rows  {row['bytes'] / 1e6:>8,.1f} MB")
        click.echo("\n".join(lines))
        for title in missing_extra_variants(warehouse, name) if parts[0] is None else ():
            click.echo(f"    {title.partition('/')[2]:<8} is not built; try: bgdata build {name}")
    if not warehouse.root.is_dir():
        click.echo(f"no warehouse in {warehouse.root} yet; try: bgdata build", err=True)


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
        _print_kind(declared, choose_parameters(warehouse, declared, options, settings), warehouse.kinds.sql, form)
        return
    if settings or any(value is not None for value in options.values()):
        raise UsageError(f"expected a kind of dataset before its parameters, got {cite(name)}; see: bgdata list")
    with open_catalog(warehouse) as connection:
        found = explain_relation(connection, warehouse, name) or explain_macro(connection, name)
        if found is None:
            raise UsageError(unknown_name_message(connection, warehouse, name))
    if form != "table":
        write_rows(part_rows(name, found.parts), form)
        return
    click.echo(f"{found.name} ({found.what})\n{found.meaning}")
    if found.parts:
        columns = [Column(each, heading="", gap=1) for each in ("name", "type", "meaning")]
        rows = [
            part._asdict() | {"name": f"  {part.name}", "meaning": f"{part.meaning} [{part.unit}]".removesuffix(" []")}
            for part in found.parts
        ]
        click.echo("\n".join([f"\n{found.parts[0].part}s", *table_lines(columns, rows)]))
    click.echo("\n" + "\n".join(found.origin))


UNIT = re.compile(r"(.*?)(?: \[([^\[\]]+)\])?", re.DOTALL)  # a comment in the catalog, with a unit at its end


class Explanation(NamedTuple):
    """What `bgdata explain` says about a table, view or macro: its description, its columns or parameters, and where it
    comes from."""

    name: str
    what: str
    meaning: str
    parts: list[Part]
    origin: list[str]


def _print_kind(kind: Dataset[Any], parameters: Parameters, sql: SqlFolders, form: str) -> None:
    """Print the declaration of a kind, and what building the variant with these parameters would need. Raises
    InvalidParameterError if no variant has them."""
    kind.check_parameters(parameters)
    if form != "table":
        write_rows(part_rows(kind.name, kind_parts(kind, parameters, sql)), form)
        return
    click.echo(f"{kind.name} (revision {kind.revision})\n{kind.summary}\n{kind.source}. Licence: {kind.licence}.")
    click.echo(f"Made again: {kind.made_again}.\n")
    for shape in kind.tables:
        click.echo(f"columns of {shape.name} (variant, then)")
        for column in shape.columns:
            click.echo(f"  {column.name:<18} {column.type:<10} {column.comment}")
        for join in shape.joins:
            click.echo(f"  joins {join}")
    click.echo("\nflat arrays")
    for array in kind.arrays:
        click.echo(f"  {array.name:<18} {array.dtype:<10} [{array.axes}] {array.meaning}")
    click.echo("\nparameters [defaults of the builds by `make build`]")
    for field in fields(kind.parameters):
        values = ", ".join(value_text(getattr(default, field.name)) for default in kind.defaults)
        click.echo(f"  {field.name} [{values}]")
    click.echo("\nSQL checks: each returns the rows that break the claim")
    for shape in kind.tables:
        for claim, _ in sql.checks(shape.name):
            click.echo(f"  {claim.replace('_', ' ')}")
    for role, wanted in kind.inputs(parameters).items():
        click.echo(f"\ninput {role}: {input_text(wanted)}")
    click.echo(f"\na build of {kind.slug(parameters)}: {estimate_text(kind.estimate(parameters))}")


def open_catalog(warehouse: Warehouse) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection with the tables and views of a warehouse. They are empty if the warehouse does not
    exist."""
    from bgdata.store.catalog import declared_index
    from bgdata.store.catalog_views import fill_catalog
    from bgdata.store.locked_sql import open_memory

    if warehouse.root.is_dir():
        return warehouse.connect()
    connection = open_memory()
    fill_catalog(connection, warehouse, declared_index(warehouse), is_file=False)
    return connection


def explain_relation(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse, name: str) -> Explanation | None:
    """Return what to explain about the table or view `name`; None if there is no such table or view."""
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
    parts = []
    for column, type_, comment in columns:
        found = UNIT.fullmatch(comment or "")
        assert found is not None  # the pattern matches any text
        parts.append(Part("column", column, type_, found[2] or "", found[1]))
    if kinds:
        named = ", ".join(f"{kind.name} (bgdata explain {kind.name})" for kind in kinds)
        origin = [f"filled by {named}", *dict.fromkeys(f"{kind.source}. Licence: {kind.licence}." for kind in kinds)]
    else:
        known = set(_relation_names(connection)) - {name}  # in the order of its text
        words = dict.fromkeys(re.findall(r"\w+", row[2].partition(" AS ")[2]))
        origin = [f"made from {', '.join(filter(known.__contains__, words)) or 'the manifests of all versions'}"]
    return Explanation(name, "table" if kinds else row[0], row[1] or "", parts, origin)


def explain_macro(connection: duckdb.DuckDBPyConnection, name: str) -> Explanation | None:
    """Return what to explain about the macro `name`; None if there is no such macro. The SQL functions of bgdata are
    explained by their macros, which have the same names."""
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
    return Explanation(name, what, comment or "", parts, [f"{call} is", f"  {definition}"])


def _relation_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of all tables and views that a connection has."""
    query = "select view_name from duckdb_views() where not internal union all select table_name from duckdb_tables()"
    return [name for (name,) in connection.execute(query).fetchall()]


def unknown_name_message(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse, name: str) -> str:
    """Return the error message for a name that is neither a kind, a table, a view nor a macro. It suggests similar
    names."""
    macros = connection.execute("select distinct function_name from duckdb_functions() where not internal").fetchall()
    known = [*warehouse.kinds, *_relation_names(connection), *(macro for (macro,) in macros)]
    near = difflib.get_close_matches(name[:100].lower(), sorted(set(known)), n=3, cutoff=0.5)
    step = f"; do you mean {' or '.join(near)}?" if near else "; see: bgdata list"
    return f"expected a kind, table, view or macro, got {cite(name)}{step}"
