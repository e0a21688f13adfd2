"""`bgdata diff`: two tables, or the warehouse and its lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bgdata.commands.gnubg_files import define_gnubg_view
from bgdata.commands.rows import write_rows
from bgdata.errors import UsageError, shown
from bgdata.store.lockfile import LockEntry, load_lock
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb

    from bgdata.store.diff import ColumnChange

SAME = "same"


def compare_with_lock(warehouse: Warehouse, form: str = "table") -> bool:
    """Print one line for each locked variant; returns whether the warehouse holds exactly those digests."""
    warehouse.require()
    verdicts = [(entry, verdict_on(warehouse, entry)) for entry in load_lock(warehouse.lock)]
    if form != "table":
        write_rows(
            (vars(entry) | {"is_same": verdict == SAME, "verdict": verdict} for entry, verdict in verdicts), form
        )
    for entry, verdict in verdicts if form == "table" else ():
        click.echo(f"{entry.dataset}/{entry.variant}: locked {entry.digest[:16]}, {verdict}")
    return all(verdict == SAME for _, verdict in verdicts)


def verdict_on(warehouse: Warehouse, entry: LockEntry) -> str:
    """Whether the current version of a locked variant is the locked one, in words. Raises as Warehouse.open."""
    versions = list(warehouse.versions(entry.dataset, entry.variant))
    if not versions:
        return "not built"
    current = warehouse.open(entry.dataset, entry.variant)
    if current.manifest.digest == entry.digest:
        return SAME
    locked = [table for table in versions if table.folder.name.endswith(entry.digest[:8])]
    step = f"; try: bgdata use {locked[0].name}" if locked else ""
    return f"DIFFERS: current is {current.manifest.digest[:16]}{step}"


def compare_tables(warehouse: Warehouse, before: str, after: str, form: str = "table") -> bool:
    """Print, column by column, how many rows changed and by how much; returns whether none did."""
    from bgdata.store.diff import column_changes

    with warehouse.connect() as connection:
        kinds = [define_side(warehouse, connection, *side) for side in (("before", before), ("after", after))]
        if kinds[0] != kinds[1]:
            raise UsageError(f"expected two tables of one kind, got {' and '.join(kinds)}")
        kind = warehouse.kind(kinds[0])
        changes = list(column_changes(connection, kind))
    if not all(change.rows_compared for change in changes):
        raise UsageError(f"expected two tables with rows in common, got {before} and {after}")
    if form != "table":
        write_rows((change._asdict() for change in changes), form)
    else:
        click.echo(f"{before} -> {after}, by {', '.join(kind.key)}")
        click.echo("\n".join(map(described, changes)))
    return all(change.rows_changed == 0 for change in changes)


def described(change: ColumnChange) -> str:
    """How a column differs, in a line."""
    text = f"  {change.column:<16} {change.rows_changed:>12,} of {change.rows_compared:,} rows changed"
    if change.rows_changed:
        text += f", at most {change.largest_change:.6g} (row {change.key_of_largest}), "
        text += f"mean {change.mean_absolute_change:.3g}"
    return text


def define_side(warehouse: Warehouse, connection: duckdb.DuckDBPyConnection, view: str, name: str) -> str:
    """Create the view of KIND/VARIANT, KIND/VARIANT/VERSION or a gnubg .bd file; returns the kind."""
    from bgdata.store.diff import define_version

    if name.endswith(".bd"):
        return define_gnubg_view(connection, Path(name), view)
    if name.count("/") not in (1, 2):
        raise UsageError(f"expected KIND/VARIANT, KIND/VARIANT/VERSION or a .bd file, got {shown(name)}")
    table = warehouse.open_reference(name)
    define_version(connection, view, warehouse.kind(table.manifest.dataset), table)
    return table.manifest.dataset
