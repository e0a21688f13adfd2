"""`bgdata diff`: compares two tables, or the warehouse with its lock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bgdata.cli.completion import complete_tables
from bgdata.cli.options import format_option
from bgdata.cli.output import write_rows
from bgdata.cli.query import define_gnubg_view
from bgdata.errors import UsageError, shown
from bgdata.store.diff import ColumnChange, column_changes, define_version, rows_only
from bgdata.store.lock_verdicts import lock_verdicts
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb


@click.command()
@click.argument("before", required=False, shell_complete=complete_tables)
@click.argument("after", required=False, shell_complete=complete_tables)
@format_option
@click.pass_obj
def diff(warehouse: Warehouse, before: str | None, after: str | None, form: str) -> None:
    """Compare two tables, or the warehouse with its lock.

    BEFORE and AFTER are KIND/VARIANT, KIND/VARIANT/VERSION, or a gnubg .bd file; without them the warehouse is compared
    with warehouse.lock. The exit code is 1 if they differ.

    \b
      bgdata diff
      bgdata diff bearoff_two_sided/6x6 gnubg_ts0.bd
    """
    if before is not None and after is None:
        raise UsageError(f"expected two tables to compare, got one: {shown(before)}")
    same = compare_tables(warehouse, before, after, form) if before and after else compare_with_lock(warehouse, form)
    if not same:
        sys.exit(1)


def compare_with_lock(warehouse: Warehouse, form: str = "table") -> bool:
    """Print one line for each locked variant; returns whether the warehouse holds exactly those digests."""
    verdicts = lock_verdicts(warehouse)
    if form == "table":
        click.echo("\n".join(map(str, verdicts)))
    else:
        write_rows((vars(each.entry) | {"is_same": each.is_same, "verdict": each.text} for each in verdicts), form)
    return all(each.is_same for each in verdicts)


def compare_tables(warehouse: Warehouse, before: str, after: str, form: str = "table") -> bool:
    """Print how many rows only one of the tables has, and for each column how many of the others differ and by how
    much; returns whether the tables are equal."""
    with warehouse.connect() as connection:
        kinds = [define_side(warehouse, connection, *side) for side in (("before", before), ("after", after))]
        if kinds[0] != kinds[1]:
            raise UsageError(f"expected two tables of one kind, got {' and '.join(kinds)}")
        kind = warehouse.kind(kinds[0])
        changes = list(column_changes(connection, kind))
        only = rows_only(connection, kind)
    if not all(change.rows_compared for change in changes):
        raise UsageError(f"expected two tables with rows in common, got {before} and {after}")
    if form != "table":
        alone = {"rows_only_before": only.before, "rows_only_after": only.after}
        write_rows((change._asdict() | alone for change in changes), form)
    else:
        click.echo(f"{before} -> {after}, by {', '.join(kind.key)}")
        click.echo(f"  {only.before:,} rows only in {before}, {only.after:,} only in {after}")
        click.echo("\n".join(map(described, changes)))
    return not any(only) and all(change.rows_changed == 0 for change in changes)


def described(change: ColumnChange) -> str:
    """One line about how a column differs."""
    text = f"  {change.column:<16} {change.rows_changed:>12,} of {change.rows_compared:,} rows changed"
    if change.rows_changed:
        text += f", at most {change.largest_change:.6g} (row {change.key_of_largest}), "
        text += f"mean {change.mean_absolute_change:.3g}"
    return text


def define_side(warehouse: Warehouse, connection: duckdb.DuckDBPyConnection, view: str, name: str) -> str:
    """Create the view of KIND/VARIANT, KIND/VARIANT/VERSION or a gnubg .bd file; returns the kind."""
    if name.endswith(".bd"):
        return define_gnubg_view(connection, Path(name), view)
    if name.count("/") not in (1, 2):
        raise UsageError(f"expected KIND/VARIANT, KIND/VARIANT/VERSION or a .bd file, got {shown(name)}")
    table = warehouse.open_reference(name)
    define_version(connection, view, warehouse.kind(table.manifest.dataset), table)
    return table.manifest.dataset
