"""`bgdata export parquet`: a two-sided bearoff table as Parquet in parts, the complete one too."""

from __future__ import annotations

from pathlib import Path

import click

from bgdata.cli.completion import complete_tables
from bgdata.errors import UsageError
from bgdata.store.build import readable_bytes
from bgdata.store.checks import stored_tables
from bgdata.store.progress_bars import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@click.command(name="parquet")
@click.argument("table", shell_complete=complete_tables)
@click.option(
    "--into",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to write the parts into; those that are there already are left as they are.",
)
@click.pass_obj
def export_parquet(warehouse: Warehouse, table: str, folder: Path) -> None:
    """Write a two-sided bearoff table as Parquet in parts.

    TABLE is bearoff_two_sided/VARIANT, or bearoff_two_sided/VARIANT/VERSION: tables that are too large for a Parquet
    file of their own, too. There is a folder for each number of checkers of the player on roll, as Hive lays them out,
    and any reader of Parquet reads them as one table. A command that was stopped goes on after the parts that it wrote.

    \b
      bgdata export parquet bearoff_two_sided/6x15 --into two_sided
    """
    click.echo(write_parquet_parts(warehouse.open_reference(table), folder))


def name_in_parquet(warehouse: Warehouse, table: Table) -> str:
    """The name of the main table of a version. Raises UsageError for a version that is too large for a Parquet file."""
    kind = warehouse.kind(table.manifest.dataset)
    if not stored_tables(kind, table):
        raise UsageError(f"expected a table in one file, got {table.name}; try: bgdata export parquet")
    return kind.tables[0].name


def write_parquet_parts(table: Table, folder: Path) -> str:
    """Write the parts that a folder lacks; returns a line that says what it holds. Raises UsageError for a table of
    another kind, and what `write_parts` raises."""
    from bgdata.bearoff.kinds.shared.two_sided_parquet import parts_of, write_parts
    from bgdata.bearoff.tables import TwoSidedTable

    if table.manifest.dataset != "bearoff_two_sided":
        raise UsageError(f"expected a version of bearoff_two_sided, got {table.name}")
    opened = TwoSidedTable(table)
    with progress_bars() as progress:
        written = write_parts(opened, folder, progress)
    paths = [folder / part.path for part in parts_of(opened.points, opened.checkers)]
    size = readable_bytes(sum(path.stat().st_size for path in paths))
    return f"wrote {written:,} of {len(paths):,} parts of {table.name} into {folder}: {len(opened):,} rows, {size}"
