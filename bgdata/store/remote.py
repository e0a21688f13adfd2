"""A warehouse at an address. Its files are downloaded when they are used, into a folder of the user's cache. That
folder has the layout of a warehouse, so every reader can read it. Manifests are downloaded when the place is listed,
and other files when they are opened. Each file is checked against the hash in its manifest.

A file that was checked gets a modification time that is made from its hash. So a file that has changed since is checked
again, and downloaded again if it is damaged."""

from __future__ import annotations

import io
import json
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    DigestMismatchError,
    DownloadError,
    MissingFileError,
    MissingTableError,
    NotFetchedError,
    TooLargeError,
    UsageError,
    cite,
)
from bgdata.process import cache_folder
from bgdata.store import storage, transfer
from bgdata.store.arrays import LARGE, ROW_HASHES, Array, read_header, values_digest
from bgdata.store.dataset import PARQUET
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.manifest import FileEntry, canonical_json
from bgdata.store.names import CURRENT, check_name, is_name
from bgdata.store.places import open_place
from bgdata.store.table import Table

SEEN = "listing.json"  # file in the folder of a mirror with the tags of the downloaded manifests
HEADER_BYTES = 4096  # more than any header of an array
KEPT_ROWS = 64  # number of rows in memory: 28 MB of the largest array
TOLD_BYTES = 10_000_000  # downloads of larger files are reported


class Mirror:
    """A local copy of a part of the warehouse at an address: its manifests, and those of its files that were opened."""

    def __init__(self, address: str, folder: Path | None = None) -> None:
        """Open the place without downloading anything. Files are downloaded to `folder`, by default in the user's
        cache. Raises UsageError, MissingExtraError or DownloadError as `open_place` does."""
        self._given = address
        self.place = open_place(address)
        self.address = self.place.address
        self.folder = folder or cache_folder() / "remote" / sha256(self.address.encode()).hexdigest()[:16]
        self.tell: Callable[[str], None] = lambda _: None  # called for large files
        self.may_fetch = True

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._given, self.folder)

    @cached_property
    def contents(self) -> transfer.Listing:
        """The listing of the place. The first use reads it, and downloads the manifests of all versions into the
        folder. Raises the errors of `listing` and `fetched_manifest`."""
        found = transfer.listing(self.place)
        seen = self._seen()
        wanted = [
            name
            for name, listed in found.versions.items()
            if seen.get(name) != listed.tag or not (self.folder / name / MANIFEST).is_file()
        ]
        with ThreadPoolExecutor(transfer.JOBS) as pool:
            manifests = list(pool.map(lambda name: self._manifest(name, found.versions[name]), wanted))
        with self._writing():
            for name, data in zip(wanted, manifests, strict=True):
                self._keep(name, data)
            titles = {name.rpartition("/")[0] for name in found.versions}
            for pattern, there in (("*/*", titles), ("*/*/*", found.versions)):
                for path in self.folder.glob(pattern):
                    if path.is_dir() and path.relative_to(self.folder).as_posix() not in there:
                        storage.remove_folder(path)
            for title in titles:
                self._point(title, found.current.get(title))
            storage.write_file(
                self.folder / SEEN, canonical_json({name: each.tag for name, each in found.versions.items()})
            )
        return found

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold a lock on the mirror's folder during the `with` block."""
        with storage.storage_errors("write", self.folder):
            storage.make_folder(self.folder)
            with storage.hold_lock(self.folder / ".lock"):
                yield

    def _seen(self) -> dict[str, str]:
        try:
            return dict(json.loads((self.folder / SEEN).read_bytes()))
        except (OSError, ValueError, TypeError):
            return {}

    def _manifest(self, name: str, listed: transfer.Listed) -> bytes:
        """Download the manifest of the version `name`, and return its bytes. A damaged manifest is returned too,
        because opening the version reports it. If the manifest has been deleted, the result is empty."""
        try:
            return transfer.fetched_manifest(self.place, name, listed)[0]
        except MissingFileError:  # the version was deleted meanwhile
            return b""
        except BgdataError:
            return self.place.read(f"{name}/{MANIFEST}")

    def _keep(self, name: str, data: bytes) -> None:
        """Write the manifest `data` of the version `name` to the folder. If it replaces a different one, all files of
        that version are deleted first."""
        path = self.folder / name / MANIFEST
        before = path.read_bytes() if path.is_file() else b""
        if data and before != data:
            if before:
                storage.remove_folder(path.parent)
            storage.make_folder(path.parent)
            storage.write_file(path, data)

    def _point(self, title: str, version: str | None) -> None:
        path = self.folder / title / CURRENT
        if version is None:
            path.unlink(missing_ok=True)
        elif not path.is_file() or path.read_text(errors="replace").strip() != version:
            storage.make_folder(path.parent)
            storage.write_file(path, f"{version}\n".encode())

    def open(self, kind: str, variant: str, version: str | None = None) -> MirroredTable:
        """Open a version of the place, the current one if `version` is None, without reading the whole listing. Raises
        MissingTableError if there is no such version, and the errors of `fetched_manifest`."""
        title = f"{check_name('kind', kind)}/{check_name('variant', variant)}"
        if version is None:
            try:
                version = self.place.part(f"{title}/{CURRENT}", 0, 100).data.decode(errors="replace").strip()
            except MissingFileError as error:
                raise MissingTableError(f"no {title} in {self.address}: {error}") from error
            if not is_name("version", version):
                where = self.place.where(f"{title}/{CURRENT}")
                raise CorruptFileError(f"expected the name of a version in {where}, got {cite(version)}")
        name = f"{title}/{check_name('version', version)}"
        try:
            data, _ = transfer.manifest_of(self.place, name)
        except MissingFileError as error:
            raise MissingTableError(f"no {name} in {self.address}: {error}") from error
        with self._writing():
            self._keep(name, data)
        return MirroredTable(self.folder / name, kind, self)

    def file(self, name: str, entry: FileEntry) -> Path:
        """The local path of a file of the version `name`. It is downloaded if it is missing, and its hash is checked.
        Raises NotFetchedError inside `fetching_nothing` if it is missing, TooLargeError if the disk is full, and the
        errors of `fetch_file`."""
        folder = self.folder / name
        path, mark = folder / entry.name, _mark(entry)
        if _is_marked(path, entry, mark):
            return path
        if not self.may_fetch:
            raise NotFetchedError(
                f"{name} is not there: of {self.address} those tables are fetched that a query names; name it, or try: "
                f"bgdata pull {self.address} {name}"
            )
        with storage.hold_lock(folder / f".{entry.name}.lock"):
            if not _is_marked(path, entry, mark):
                with storage.storage_errors("read", path):
                    is_damaged = path.exists() and storage.sha256_file(path) != entry.sha256
                    if is_damaged or path.is_symlink():
                        path.unlink()
                if not path.exists():
                    storage.check_room(self.folder, entry.bytes)
                    if entry.bytes >= TOLD_BYTES:
                        self.tell(f"fetching {name}/{entry.name}, {entry.bytes / 1e6:,.0f} MB")
                transfer.fetch_file(self.place, name, entry, folder, lambda _: None)
                with storage.storage_errors("write", path):
                    path.chmod(0o444)
                    os.utime(path, (mark, mark))
        return path

    @contextmanager
    def fetching_nothing(self) -> Iterator[None]:
        """Inside the `with` block, missing files are not downloaded: `file` raises NotFetchedError."""
        before, self.may_fetch = self.may_fetch, False
        try:
            yield
        finally:
            self.may_fetch = before


def _mark(entry: FileEntry) -> int:
    """Return the modification time, in seconds, that a file gets when its hash has been checked. It is made from the
    hash, and is between 2001 and 2010."""
    return 1_000_000_000 + int(entry.sha256[:7], 16)


def _is_marked(path: Path, entry: FileEntry, mark: int) -> bool:
    with suppress(FileNotFoundError):
        status = path.lstat()
        return status.st_size == entry.bytes and status.st_mtime_ns == mark * 10**9 and path.is_file()
    return False


class MirroredTable(Table):
    """A version of the warehouse at an address. Each of its files is downloaded when it is opened."""

    def __init__(self, folder: Path, kind: str, mirror: Mirror) -> None:
        super().__init__(folder, kind)
        self.mirror = mirror

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen_mirrored, (self.mirror, self.name)

    def _fetch_file(self, name: str) -> Path:
        entry = next((entry for entry in self.manifest.files if entry.name == name), None)
        if entry is None:
            raise MissingTableError(f"expected {name} in the manifest of {self.name}, found no such file")
        return self.mirror.file(self.name, entry)

    @property
    def parquet(self) -> Path:
        """The path of the Parquet file of the main table. If the version has that file, it is downloaded."""
        return self.check_files(PARQUET)[0] if self.has_file(PARQUET) else super().parquet

    @property
    def parts(self) -> Sequence[Table]:
        """The parts of the version, or the version itself if it has none. If it has parts, all of its files are
        downloaded. Raises the errors of `Mirror.file`."""
        if self.manifest.parts:
            self.fetch_all()
        return super().parts

    def has_array(self, name: str) -> bool:
        return self.has_file(f"{name}.npy")

    def _map(self, file: str, *, scattered: bool) -> Array:
        """Download the file of an array, and map it. Raises TooLargeError if the array is large and its rows can be
        downloaded one by one, and the errors of `Mirror.file`."""
        size = sum(entry.bytes for entry in self.manifest.files if entry.name == file)
        hashed = f"{file.removesuffix('.npy')}{ROW_HASHES}.npy"
        if size >= LARGE and self.has_file(hashed) and not self._is_here(file):
            raise TooLargeError(
                f"expected {self.name} in a folder, as more than single rows of its {size / 1e9:,.1f} GB are "
                f"wanted, found it at {self.mirror.address}; try: bgdata pull {self.mirror.address} {self.name}"
            )
        self.check_files(file)
        return super()._map(file, scattered=scattered)

    def _is_here(self, name: str) -> bool:
        return any(
            _is_marked(self.folder / name, entry, _mark(entry)) for entry in self.manifest.files if entry.name == name
        )

    def check_sizes(self) -> None:
        """Compare the sizes of the files in the place with the manifest, if the place lists its files. Nothing is
        downloaded. Raises the errors of `Table.check_sizes`."""
        listed = self.mirror.contents.versions.get(self.name)
        for entry in self.manifest.files if listed and listed.files is not None else ():
            assert listed is not None
            assert listed.files is not None
            where = self.mirror.place.where(f"{self.name}/{entry.name}")
            if entry.name not in listed.files:
                raise MissingTableError(f"expected {where}, found no such file")
            if (size := listed.files[entry.name].size) != entry.bytes:
                raise CorruptFileError(f"expected {entry.bytes} bytes in {where}, found {size}")

    def check_file(self, name: str) -> Path:
        """The local path of a file that the manifest lists, downloaded and checked. Raises the errors of
        `Mirror.file`."""
        return self._fetch_file(name)

    def fetch_rows(self, file: str) -> None:
        """Download a Parquet file, such as `table.parquet`. If the version has none, download the hashes of its rows
        instead, for `rows`. Raises the errors of `Mirror.file`."""
        if self.has_file(file):
            self.check_files(file)
        else:
            for entry in self.manifest.files:
                if entry.name.endswith(f"{ROW_HASHES}.npy"):
                    self._fetch_file(entry.name)

    def rows(self, name: str) -> RemoteRows:
        """Open the rows of the array `name`, which are downloaded and checked one by one. Raises the errors of
        `RemoteRows`."""
        return RemoteRows(self, name)

    def fetch_all(self) -> Table:
        """Download all files of the version, and return it as an ordinary table in a folder. Raises the errors of
        `Mirror.file`."""
        with ThreadPoolExecutor(transfer.JOBS) as pool:
            list(pool.map(lambda entry: self._fetch_file(entry.name), self.manifest.files))
        return Table(self.folder, self._kind)


class RemoteRows:
    """The rows of an array `X` at an address, which are downloaded one by one. Each row is checked against
    `X_row_sha256`. That array is checked against the digest in the manifest, whose first digits are in the version's
    name. The rows that were read last stay in memory, and all rows stay in the user's cache."""

    def __init__(self, table: MirroredTable, name: str) -> None:
        """Download the hashes of all rows of the array `name`, but no rows. Raises UsageError if the array has no such
        hashes, DigestMismatchError if they do not give the digest of the version, and CorruptFileError if the array's
        header is invalid."""
        self.place, self.path = table.mirror.place, f"{table.name}/{name}.npy"
        self.where = self.place.where(self.path)
        hashed = name + ROW_HASHES
        if not table.has_file(f"{hashed}.npy"):
            raise UsageError(f"expected a large table, of which every row has a hash, got {self.where}")
        self._first = self.place.part(self.path, 0, HEADER_BYTES)
        stated = next(entry.bytes for entry in table.manifest.files if entry.name == f"{name}.npy")
        header = io.BytesIO(self._first.data)
        try:
            self.shape, self.dtype = read_header(header, self._first.size or stated)
        except ValueError as error:
            raise CorruptFileError(f"expected a .npy array in {self.where}, found: {cite(str(error))}") from error
        self._start = header.tell()
        self.hashes = table.array(hashed)
        values = np.broadcast_to(np.zeros(1, self.dtype), self.shape)  # zeros in place of the values
        found = values_digest({name: values, hashed: self.hashes})
        if found != table.manifest.digest:
            raise DigestMismatchError(
                f"expected the value digest {table.manifest.digest} of {self.where}, found {found}"
            )
        self.row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        self._folder = table.folder / f"{name}.rows"
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def read(self, begin: int, length: int) -> bytes:
        """Download `length` bytes of the values from byte `begin` on, without checking them. Raises DownloadError if
        that fails, or if the file has changed since it was opened."""
        found = self.place.part(self.path, self._start + begin, length)
        if (found.size, found.tag) != (self._first.size, self._first.tag) or len(found.data) != length:
            raise DownloadError(
                f"expected {self.where} not to change after it was opened, found it changed; open the table again"
            )
        return found.data

    def row(self, index: int) -> bytes:
        """The bytes of row `index`, whose hash was checked. Raises DownloadError if the download fails, and
        DigestMismatchError if the row has another hash."""
        if index not in self._kept:
            self._kept[index] = self._row(index)
        self._kept.move_to_end(index)
        while len(self._kept) > KEPT_ROWS:
            self._kept.popitem(last=False)
        return self._kept[index]

    def _row(self, index: int) -> bytes:
        expected, path = self.hashes[index].tobytes(), self._folder / f"{index:09d}"
        with suppress(OSError):
            data = path.read_bytes()
            if sha256(data).digest() == expected:
                return data
        data = self.read(index * self.row_bytes, self.row_bytes)
        if sha256(data).digest() != expected:
            raise DigestMismatchError(
                f"expected row {index} of {self.where} to match its hash, found it changed or damaged; open the table "
                "again, and if that does not help build your own"
            )
        with suppress(OSError):  # on a full disk rows are not stored
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            try:
                partial.write_bytes(data)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
        return data


def reopen_mirrored(mirror: Mirror, name: str) -> MirroredTable:
    """Open the version `name` when a `MirroredTable` is unpickled."""
    return mirror.open(*name.split("/"))
