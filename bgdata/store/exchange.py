"""A store between machines that share no disk: it contains the versions that workers need, and the shards that they
have finished.

    given/<SHA-256 of a manifest>/...   a version, as in a warehouse; the manifest is written last
    shards/<hash of a key>/<name>       a shard, until the process that requested it has fetched it

Versions that `bgdata push` has written into the store are used too."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from bgdata.errors import BgdataError, MissingFileError
from bgdata.process import cache_folder
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.manifest import MAX_BYTES, load_manifest, parse_manifest, read_whole
from bgdata.store.places import Place, open_writable
from bgdata.store.storage import hold_lock, make_folder, storage_errors, write_file
from bgdata.store.table import Table
from bgdata.store.transfer import fetch_file


def write(address: str, name: str, data: bytes) -> None:
    """Write a file to the store at an address. Raises StorageError if it cannot be written."""
    open_writable(address).write(name, data)


def read_and_delete(address: str, name: str) -> bytes:
    """Read a file from the store at an address, delete it there, and return its bytes. Raises MissingFileError if it
    does not exist, and DownloadError or StorageError if the store does not respond."""
    place = open_writable(address)
    data = place.read(name)
    place.remove(name)
    return data


def names_in(address: str, folder: str) -> list[str]:
    """The names of the files in a folder of the store at an address. Raises DownloadError if the store does not
    respond."""
    return [name.rpartition("/")[2] for name in open_writable(address).entries(folder)]


def _places_of(name: str, digest: str) -> tuple[str, str]:
    return name, f"given/{digest[:32]}"


def _has(place: Place, folder: str, digest: str) -> bytes | None:
    """Return the manifest in a folder of the store if its SHA-256 is `digest`, otherwise None."""
    with suppress(MissingFileError):
        data = place.part(f"{folder}/{MANIFEST}", 0, MAX_BYTES).data
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    return None


def send_version(address: str, name: str, digest: str, folder: Path) -> int:
    """Copy the version in `folder` to the store at an address, from where workers fetch it. `digest` is the SHA-256 of
    its manifest. Returns the number of bytes sent. Raises StorageError if the store cannot be written to."""
    place = open_writable(address)
    _, given = _places_of(name, digest)
    if any(_has(place, each, digest) for each in _places_of(name, digest)):
        return 0
    entries = load_manifest(folder).files
    for entry in entries:
        place.send(folder / entry.name, f"{given}/{entry.name}")
    place.write(f"{given}/{MANIFEST}", read_whole(folder / MANIFEST))
    return sum(entry.bytes for entry in entries)


def fetch_version(address: str, name: str, digest: str) -> Path:
    """Return the folder of the version `name` in this user's cache. If the version is not there, one process fetches it
    from the store at an address, while other processes of this machine wait. `digest` is the SHA-256 of its manifest.
    Raises MissingFileError if the store does not contain it, DownloadError if the store does not respond,
    DigestMismatchError if a file has another hash, and StorageError if a file cannot be written."""
    root = cache_folder() / "versions"
    target = root / digest[:32] / name
    if _is_whole(target, digest):
        return target
    with hold_lock(root / f"{digest[:32]}.lock"):
        if _is_whole(target, digest):
            return target
        place = open_writable(address)
        for folder in _places_of(name, digest):
            if data := _has(place, folder, digest):
                break
        else:
            raise MissingFileError(f"expected {name} in {place.address}, found no such version")
        with storage_errors("write", target):
            make_folder(target)
            (target / MANIFEST).unlink(missing_ok=True)
        for entry in parse_manifest(data, place.where(f"{folder}/{MANIFEST}")).files:
            fetch_file(place, folder, entry, target, lambda _: None)
        write_file(target / MANIFEST, data)
    return target


def _is_whole(folder: Path, digest: str) -> bool:
    """Whether a folder contains the version whose manifest has the SHA-256 `digest`, with all files in their right
    size."""
    try:
        if hashlib.sha256(read_whole(folder / MANIFEST)).hexdigest() != digest:
            return False
        Table(folder).check_sizes()
    except (BgdataError, OSError):
        return False
    return True
