"""`bgdata import` and `bgdata fetch`: files of other programs as versions, with an account of every line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from bgdata.cli.completion import complete_imported
from bgdata.cli.options import force_option, format_option
from bgdata.cli.output import print_built
from bgdata.datasets import gnubg_benchmark, gnubg_training
from bgdata.errors import (
    CorruptFileError,
    DigestMismatchError,
    MissingFileError,
    MissingTableError,
    MissingWarehouseError,
    UsageError,
    shown,
)
from bgdata.formats.unpacking import unpack
from bgdata.store.dataset import ImportedDataset
from bgdata.store.download import download
from bgdata.store.lockfile import PinnedFile, load_pins, save_pin
from bgdata.store.progress_bars import progress_bars
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@click.command(name="import")
@click.argument("kind", shell_complete=complete_imported)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the variant.  [default: the names of the files]")
@click.option("--strict", is_flag=True, help="Fail at a line that breaks a rule instead of setting it aside.")
@force_option
@format_option
@click.pass_obj
def import_(
    warehouse: Warehouse, /, kind: str, files: tuple[Path, ...], name: str | None, strict: bool, force: bool, form: str
) -> None:
    """Import FILES of other programs as one variant of a KIND.

    KIND is gnubg_training, gnubg_benchmark, wildbg_training, bgsage_rollouts, positions, matches or met_xml; FILES may
    be compressed with gzip or bzip2.

    Lines that break a rule go to the table `quarantine`. A file without a single good line is not imported.

    \b
    The variant is named after its files, without endings; several names are joined by -and-:
      bgdata import positions My_list.csv.gz          positions/my-list
      bgdata import positions a.csv b.csv             positions/a-and-b
      bgdata import positions --name wild *.csv       positions/wild

    All variants can be used side by side, in SQL and in training. Importing another file of the same name makes a new
    version of the variant, which becomes the current one; `bgdata use` goes back.
    """
    print_report(import_files(warehouse, kind, files, name, strict=strict, force=force), form)


@click.command()
@click.argument("source", type=click.Choice(["gnubg"]), metavar="SOURCE")
@click.argument("names", nargs=-1)
@click.option(
    "--address", metavar="URL", help="A mirror with all files in one folder.  [default: the publisher's site]"
)
@click.pass_obj
def fetch(warehouse: Warehouse, source: str, names: tuple[str, ...], address: str | None) -> None:  # noqa: ARG001
    """Download the files that a SOURCE publishes.

    SOURCE is gnubg: its training data and benchmarks. NAMES are names of its files; without NAMES all files are
    downloaded. Each file is checked against its known hash. A stopped download is resumed by the same command.

    \b
      bgdata fetch gnubg
      bgdata fetch gnubg contact.bm.bz2
    """
    files = published_files(address)
    known = [file.name for file in files]
    for name in names:
        if name not in known:
            raise UsageError(f"expected a file among {', '.join(known)}, got {shown(name)}")
    fetch_files(warehouse, [file for file in files if not names or file.name in names])


REASON = "quarantined: "  # begins the names of the statistics that count reasons


def import_files(
    warehouse: Warehouse, kind: str, files: Sequence[Path], name: str | None, *, strict: bool, force: bool
) -> Table:
    """Import files as one version of a kind; if it replaces a current version, says which.

    Raises UsageError for a kind that is computed, MissingFileError, NoRowsError, and what `Warehouse.build` raises.
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
    """The current version of a variant, or None."""
    try:
        return warehouse.open(kind, variant)
    except (MissingTableError, MissingWarehouseError):
        return None


def print_report(table: Table, form: str = "table", *, err: bool = False) -> None:
    """Print how many lines gave rows, are comments, or were set aside, and why. With `err` it goes to standard error,
    as it does when its figures are printed as data."""
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


RAW = "raw"  # folder of downloads in the warehouse


class Published(NamedTuple):
    """A published file; `content_sha256` is that of the uncompressed content, empty where none was published."""

    kind: str
    name: str
    address: str
    content_sha256: str = ""


def published_files(address: str | None = None) -> list[Published]:
    """The files of gnubg; `address` replaces the address of the site, for a mirror."""
    site = address.rstrip("/") + "/" if address else None
    files = []
    for entry, content_sha256 in gnubg_benchmark.PUBLISHED.items():
        name = f"{entry}.bm.bz2"
        files.append(Published("gnubg_benchmark", name, (site or gnubg_benchmark.ADDRESS) + name, content_sha256))
        name = f"{entry}-train-data.bz2"
        files.append(Published("gnubg_training", name, (site or gnubg_training.ADDRESS) + name))
    return files


def fetch_files(warehouse: Warehouse, files: Sequence[Published]) -> None:
    """Download files into `raw/` of the warehouse check each, and print how to import them.

    Raises DownloadError, StorageError, CorruptFileError, or DigestMismatchError for a file whose hash is not the known
    one.
    """
    folder = warehouse.root / RAW
    with progress_bars() as progress:
        for file in files:
            path = download(file.address, folder / file.name, progress)
            check(warehouse, file, path)
            progress.note(f"{file.name}: {path.stat().st_size:,} bytes, as it should be")
    for file in files:
        click.echo(f"next: bgdata import {file.kind} {folder / file.name}")


def check(warehouse: Warehouse, file: Published, path: Path) -> None:
    """Compare a file with its published hash, or with the hash that was pinned when it was first fetched."""
    if file.content_sha256:
        expected, found = file.content_sha256, unpacked_hash(path)
    else:
        pins = {pin.name: pin.sha256 for pin in load_pins(warehouse.lock)}
        found = sha256_file(path)
        expected = pins.get(file.name, found)
        if file.name not in pins:
            unpacked_hash(path)
            save_pin(warehouse.lock, PinnedFile(file.name, file.address, path.stat().st_size, found))
    if found != expected:
        raise DigestMismatchError(
            f"expected SHA-256 {expected[:16]}... of {path}, found {found[:16]}...; delete it and fetch it again"
        )


def unpacked_hash(path: Path) -> str:
    """SHA-256 of the uncompressed content. Raises CorruptFileError for a file that is cut off or not compressed at
    all."""
    try:
        facts = unpack(path, lambda _: None)
    except CorruptFileError as error:
        raise CorruptFileError(f"expected a whole packed file in {path}; delete it and fetch it again") from error
    if facts.content_sha256 == facts.sha256:
        raise CorruptFileError(f"expected a packed file in {path}, found something else; delete it and fetch it again")
    return facts.content_sha256
