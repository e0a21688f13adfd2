"""`bgdata diff`: two tables, or the warehouse and its lock."""

from __future__ import annotations

import click

from bgdata.errors import UsageError
from bgdata.store.lockfile import load_lock
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse


def compare_with_lock(warehouse: Warehouse) -> bool:
    """Print one line for each locked variant; returns whether the warehouse holds exactly those digests."""
    warehouse.require()
    same = True
    for entry in load_lock(warehouse.lock):
        digests = [table.manifest.digest for table in warehouse.versions(entry.dataset, entry.variant)]
        verdict = "same" if entry.digest in digests else "not built" if not digests else f"DIFFERS: {digests[-1][:16]}"
        same &= entry.digest in digests
        click.echo(f"{entry.dataset}/{entry.variant}: locked {entry.digest[:16]}, {verdict}")
    return same


def compare_tables(warehouse: Warehouse, before: str, after: str) -> bool:
    """Print, column by column, how many rows changed and by how much; returns whether none did."""
    from bgdata.store.diff import column_changes, define_versions

    tables = [opened(warehouse, name) for name in (before, after)]
    kinds = {table.manifest.dataset for table in tables}
    if len(kinds) > 1:
        raise UsageError(f"expected two tables of one kind, got {' and '.join(sorted(kinds))}")
    kind = warehouse.kind(kinds.pop())
    same = True
    with warehouse.connect() as connection:
        define_versions(connection, kind, *tables)
        click.echo(f"{tables[0].name} -> {tables[1].name}, by {', '.join(kind.key)}")
        for change in column_changes(connection, kind):
            same &= change.rows_changed == 0
            text = f"  {change.column:<18} {change.rows_changed:>12,} of {change.rows_compared:,} rows changed"
            if change.rows_changed and change.largest_change is not None:
                text += f", at most {change.largest_change:.6g} (row {change.key_of_largest}), "
                text += f"mean {change.mean_absolute_change:.3g}"
            click.echo(text)
    return same


def opened(warehouse: Warehouse, name: str) -> Table:
    """The table named KIND/VARIANT or KIND/VARIANT/VERSION."""
    parts = name.split("/")
    if len(parts) not in (2, 3):
        raise UsageError(f"expected KIND/VARIANT or KIND/VARIANT/VERSION, got {name}")
    return warehouse.open(*parts)
