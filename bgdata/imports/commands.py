"""`bgdata import` and `bgdata fetch`: import files of other programs and account for every line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import click

from bgdata.cli.completion import complete_imported, complete_sources
from bgdata.cli.options import force_option, format_option
from bgdata.cli.output import print_built, show_rows
from bgdata.errors import MissingTableError, MissingWarehouseError, UsageError
from bgdata.imports.sources import at_mirror, load_sources
from bgdata.rows import Column, Quantity, table_lines
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@click.command(name="import")
@click.argument("kind", shell_complete=complete_imported)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the variant.  [default: the names of the files]")
@click.option(
    "--encoding",
    default="",
    metavar="NAME",
    help="Encoding of matches that are not UTF-8 or UTF-16, such as cp1250.  [default: cp1252]",
)
@click.option("--strict", is_flag=True, help="Fail at a line that breaks a rule instead of setting it aside.")
@force_option
@format_option
@click.pass_obj
def import_(
    warehouse: Warehouse,
    /,
    kind: str,
    files: tuple[Path, ...],
    name: str | None,
    encoding: str,
    strict: bool,
    force: bool,
    form: str,
) -> None:
    """Import FILES of other programs as one variant of a KIND.

    KIND is gnubg_training, gnubg_benchmark, wildbg_training, bgsage_rollouts, positions, matches or met_xml; FILES may
    be compressed with gzip or bzip2, folders, which are read with their subfolders, pipes, or - for standard input.
    Matches may be in zip and tar archives too.

    Lines that break a rule go to the table `quarantine`. A file without a single good line is not imported. What was
    repaired or read leniently in matches is in the table `game_notes`. A damaged packed file in a folder is left
    out: matches have it in `quarantine`.

    \b
    The variant is named after its files, without endings; several names are joined by -and-:
      bgdata import positions My_list.csv.gz          positions/my-list
      bgdata import positions a.csv b.csv             positions/a-and-b
      bgdata import positions --name wild *.csv       positions/wild
      bgdata import matches "My matches"              matches/my-matches, from a folder

    All variants can be used side by side, in SQL and in training. Importing another file of the same name makes a new
    version of the variant, which becomes the current one; `bgdata use` goes back.
    """
    print_report(import_files(warehouse, kind, files, name, encoding, strict=strict, force=force), form)


@click.command()
@click.argument("name", required=False, shell_complete=complete_sources)
@click.argument("files", nargs=-1)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to write into.  [default: raw in the warehouse]",
)
@click.option(
    "--address", metavar="URL", help="A mirror with all files in one folder.  [default: the publisher's site]"
)
@format_option
@click.pass_obj
def fetch(
    warehouse: Warehouse, name: str | None, files: tuple[str, ...], folder: Path | None, address: str | None, form: str
) -> None:
    """Download data that others publish; without NAME, list them.

    NAME is gnubg, wildbg, bgsage or arkadium; FILES are names of files from its list, all files without any. A stopped
    download is resumed by the same command, unless the file has changed meanwhile. If the disk has too little room,
    nothing is downloaded.

    A file is checked before it gets its name: that it is complete, and its hash. Where no hash is published, that of
    the first download is kept in SHA256SUMS of the folder, and later downloads are compared with it.

    Arkadium asks who downloads: accept its conditions on its page, and set HF_TOKEN to a token of Hugging Face.

    \b
      bgdata fetch
      bgdata fetch gnubg contact.bm.bz2
      bgdata fetch wildbg -o downloads
    """
    from bgdata.imports import steps

    if name is None:
        if folder or address:
            raise UsageError("expected NAME with --output and --address; try: bgdata fetch")
        show_rows(steps.source_rows(), form, source_lines())
        return
    source = at_mirror(steps.find_source(name), address)
    wanted, folder = steps.select_files(source, files), folder or warehouse.root / steps.RAW
    steps.check_free_disk(wanted, folder)
    rows = []
    with progress_bars() as progress:
        for file in wanted:
            path = steps.fetch_file(source, file, folder, progress)
            rows.append({"source": name, "file": file.name, "path": path, "next": steps.next_step(file, path)})
    lines = [f"next: {row['next']}" for row in rows if row["next"]]
    show_rows(rows, form, [*lines, f"licence: {source.licence}", f"cite: {source.citation}"])


def source_lines() -> list[str]:
    """Return lines for the user with all files that `bgdata fetch` can download, and a description of each
    publisher."""
    from bgdata.imports import steps

    rows = [
        {
            **row,
            "megabytes": row["bytes"] and row["bytes"] / 1e6,
            "hash": "known" if row["sha256"] or row["content_sha256"] else "none published",
        }
        for row in steps.source_rows()
    ]
    columns = [Column("source"), Column("file"), Column("megabytes", Quantity(1), "MB"), Column("hash")]
    sources = load_sources().values()
    about = [(f"{each.name}: {each.about}", f"  {each.home}", f"  licence: {each.licence}") for each in sources]
    return [*table_lines(columns, rows), "", *chain.from_iterable(about)]


NOTES, FIRST_NOTES = "notes", 5  # the statistic that counts notes, and how many notes are printed
MATCHES, DUPLICATES = "matches", "duplicates"  # statistics: matches, and files with one of them again
REASON = "quarantined: "  # prefix of the statistics that count reasons


def import_files(
    warehouse: Warehouse,
    kind: str,
    files: Sequence[Path],
    name: str | None,
    encoding: str = "",
    *,
    strict: bool,
    force: bool,
) -> Table:
    """Import files as one version of a kind, with progress bars. If another version was current, tell the user which.
    Raises the same exceptions as `steps.import_files`."""
    from bgdata.imports import steps

    parameters = steps.import_parameters(warehouse, kind, files, name, encoding)
    before = None
    with suppress(MissingTableError, MissingWarehouseError):
        before = warehouse.open(kind, warehouse.kind(kind).slug(parameters))
    with progress_bars() as progress:
        table = steps.import_files(
            warehouse, kind, files, progress, name=name, encoding=encoding, strict=strict, force=force
        )
    if before is not None and before.folder != table.folder:
        click.echo(f"replaces {before.folder.name}; `bgdata use {before.name}` goes back to it", err=True)
    return table


def print_report(table: Table, form: str = "table", *, err: bool = False) -> None:
    """Print how many lines of the imported files became rows, were comments, or were quarantined, and for what reasons.
    If `err` is true, print to standard error, because standard output is for data."""
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
    if DUPLICATES in counts:
        others = f"; {counts[DUPLICATES]:,} found again and left out" if counts[DUPLICATES] else ""
        click.echo(f"{counts[MATCHES]:,} match{'es' * (counts[MATCHES] != 1)}{others}", err=err)
    if counts.get(NOTES):
        from bgdata.matches.kinds.matches_compute import note_texts

        notes = note_texts(table.arrays())
        many = "s" * (len(notes) != 1)
        click.echo(f"{len(notes):,} note{many} on games that were repaired, read leniently or lack something", err=err)
        for note in notes[:FIRST_NOTES]:
            click.echo(f"  {note}", err=err)
        if len(notes) > FIRST_NOTES:
            click.echo(f"  ... and {len(notes) - FIRST_NOTES:,} more", err=err)
        click.echo('  see them: bgdata query "from game_notes"', err=err)
    for warning in manifest.warnings:
        click.echo(f"warning: {warning}", err=True)
