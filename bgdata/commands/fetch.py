"""`bgdata fetch gnubg`: the training data and benchmarks that the GNU Backgammon project publishes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from bgdata.commands.report import progress_bars
from bgdata.datasets import gnubg_benchmark, gnubg_training
from bgdata.errors import CorruptFileError, DigestMismatchError
from bgdata.formats.unpacking import unpack
from bgdata.store.download import download
from bgdata.store.lockfile import PinnedFile, load_pins, save_pin
from bgdata.store.storage import sha256_file
from bgdata.warehouse import Warehouse

RAW = "raw"  # folder of downloads in the warehouse


class Published(NamedTuple):
    """A file that somebody publishes; `content_sha256` of the unpacked content, empty where nobody published it."""

    kind: str
    name: str
    address: str
    content_sha256: str = ""


def published_files(address: str | None = None) -> list[Published]:
    """gnubg's files; `address` replaces the site, for a mirror."""
    site = address.rstrip("/") + "/" if address else None
    files = []
    for entry, content_sha256 in gnubg_benchmark.PUBLISHED.items():
        name = f"{entry}.bm.bz2"
        files.append(Published("gnubg_benchmark", name, (site or gnubg_benchmark.ADDRESS) + name, content_sha256))
        name = f"{entry}-train-data.bz2"
        files.append(Published("gnubg_training", name, (site or gnubg_training.ADDRESS) + name))
    return files


def fetch(warehouse: Warehouse, files: Sequence[Published]) -> None:
    """Download files into `raw/` of the warehouse and check each; prints how to import them.

    Raises DownloadError, StorageError, CorruptFileError, or DigestMismatchError for a file that is not the one known.
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
    """Compare a file with its published hash, or with what it was when it was first fetched, which is pinned."""
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
    """SHA-256 of the unpacked content. Raises CorruptFileError for a file that is not whole, or not packed at all."""
    try:
        facts = unpack(path, lambda _: None)
    except CorruptFileError as error:
        raise CorruptFileError(f"expected a whole packed file in {path}; delete it and fetch it again") from error
    if facts.content_sha256 == facts.sha256:
        raise CorruptFileError(f"expected a packed file in {path}, found something else; delete it and fetch it again")
    return facts.content_sha256
