"""`bgdata import`: other people's files into versions, with a report of what became of every line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bgdata.commands.report import progress_bars
from bgdata.errors import MissingFileError, UsageError
from bgdata.store.dataset import ImportedDataset
from bgdata.store.manifest import Manifest
from bgdata.store.warehouse import Warehouse

REASON = "quarantined: "  # begins the names of the statistics that count reasons


def import_files(
    warehouse: Warehouse, kind: str, files: Sequence[Path], given: Mapping[str, str], *, strict: bool, force: bool
) -> None:
    """Import files as one version of a kind, and print how their lines ended.

    Raises UsageError for a kind that is computed, MissingFileError, and what Warehouse.build raises.
    """
    declared = warehouse.kind(kind)
    if not isinstance(declared, ImportedDataset):
        raise UsageError(f"expected a kind that is imported from files, got {kind}; try: bgdata build {kind}")
    for path in files:
        if not path.is_file():
            raise MissingFileError(f"expected a file in {path}, found none")
    parameters = declared.parameters_of(files, given)
    with progress_bars() as progress:
        table = warehouse.build(kind, parameters, files=files, progress=progress, strict=strict, force=force)
    print_report(table.manifest)


def print_report(manifest: Manifest) -> None:
    """How many lines gave rows, are comments, or were set aside, and why."""
    counts = {name: int(value) for name, value in manifest.statistics.items()}
    click.echo(
        f"{counts['lines_read']:,} lines read: {counts['lines_with_rows']:,} with rows, "
        f"{counts['lines_of_comment']:,} of comment or blank, {counts['lines_quarantined']:,} quarantined"
    )
    reasons = {name.removeprefix(REASON): count for name, count in counts.items() if name.startswith(REASON)}
    for reason, count in sorted(reasons.items(), key=lambda entry: -entry[1]):
        click.echo(f"  {count:>10,}  {reason}")
    if reasons:
        click.echo('  see them: bgdata query "from quarantine"')
    for warning in manifest.warnings:
        click.echo(f"warning: {warning}", err=True)
