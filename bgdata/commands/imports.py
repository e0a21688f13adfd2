"""`bgdata import`: other people's files into versions, with a report of what became of every line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from bgdata.commands.report import print_built, progress_bars
from bgdata.errors import MissingFileError, MissingTableError, MissingWarehouseError, UsageError
from bgdata.store.dataset import ImportedDataset
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

REASON = "quarantined: "  # begins the names of the statistics that count reasons


def import_files(
    warehouse: Warehouse, kind: str, files: Sequence[Path], name: str | None, *, strict: bool, force: bool
) -> Table:
    """Import files as one version of a kind; says which version it replaces as the current one, if any.

    Raises UsageError for a kind that is computed, MissingFileError, NoRowsError, and what Warehouse.build raises.
    """
    declared = warehouse.kind(kind)
    if not isinstance(declared, ImportedDataset):
        raise UsageError(f"expected a kind that is imported from files, got {kind}; try: bgdata build {kind}")
    for path in files:
        if not path.is_file():
            raise MissingFileError(f"expected a file in {path}, found none")
    parameters = declared.parameters_of(files, name)
    before = current_version(warehouse, kind, declared.slug(parameters))
    with progress_bars() as progress:
        table = warehouse.build(kind, parameters, files=files, progress=progress, strict=strict, force=force)
    if before is not None and before.folder != table.folder:
        click.echo(f"replaces {before.folder.name}; `bgdata use {before.name}` goes back to it", err=True)
    return table


def current_version(warehouse: Warehouse, kind: str, variant: str) -> Table | None:
    """The version that answers for a variant, None where there is none."""
    try:
        return warehouse.open(kind, variant)
    except (MissingTableError, MissingWarehouseError):
        return None


def print_report(table: Table, form: str = "table", *, err: bool = False) -> None:
    """How many lines gave rows, are comments, or were set aside, and why; `err` prints on standard error, where the
    report goes too if its figures are printed as data."""
    manifest, err = table.manifest, err or form != "table"
    if form != "table":
        print_built(table, (), form)
    counts = {name: int(value) for name, value in manifest.statistics.items()}
    click.echo(
        f"{counts['lines_read']:,} lines read: {counts['lines_with_rows']:,} with rows, "
        f"{counts['lines_of_comment']:,} of comment or blank, {counts['lines_quarantined']:,} quarantined",
        err=err,
    )
    reasons = {name.removeprefix(REASON): count for name, count in counts.items() if name.startswith(REASON)}
    for reason, count in sorted(reasons.items(), key=lambda entry: -entry[1]):
        click.echo(f"  {count:>10,}  {reason}", err=err)
    if reasons:
        click.echo('  see them: bgdata query "from quarantine"', err=err)
    for warning in manifest.warnings:
        click.echo(f"warning: {warning}", err=True)
