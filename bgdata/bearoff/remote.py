"""A two-sided table on a web server, of which only the requested rows are fetched.

The server has a warehouse as plain files and supports range requests, as most static file servers do. The digest of a
large table is a digest of its row hashes. So the digest in the manifest, which the version name contains, proves every
row without the rest of the file.
"""

from __future__ import annotations

import http.client
import io
import urllib.error
import urllib.request
from collections import OrderedDict
from functools import cached_property
from hashlib import sha256
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.bearoff.tables import Equities, Layout, TwoSidedTable, index_pairs
from bgdata.errors import DigestMismatchError, DownloadError, UsageError
from bgdata.store.arrays import ROW_HASHES, read_header, values_digest
from bgdata.store.download import FAILURES, TIMEOUT_SECONDS
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.manifest import MOST_BYTES, Manifest, parse_manifest
from bgdata.store.names import is_name

KEPT_ROWS = 64  # most recently requested rows: 28 MB of 6x15
HEADER_BYTES = 4096  # more than the header of an array needs
KIND, ARRAY = "bearoff_two_sided", "equities"


class Answer(NamedTuple):
    """A response with part of a file."""

    data: bytes
    size: int  # of the whole file
    tag: str  # of the state of the file; empty if the server sends none


class RemoteTwoSidedTable(TwoSidedTable):
    """A two-sided table of a warehouse at an http or https address. Rows are checked against their hashes, and the most
    recently requested rows are cached."""

    def __init__(self, root: str, points: int, checkers: int) -> None:
        """Opens the current version. Raises DownloadError, ManifestFormatError, DigestMismatchError, or UsageError for
        a table without row hashes."""
        variant = f"{root.rstrip('/')}/{KIND}/{points}x{checkers}"
        version = fetch(f"{variant}/current", 0, 100).data.decode(errors="replace").strip()
        if not is_name("version", version):
            raise DownloadError(f"expected the name of a version in {variant}/current, got {version[:100]!r}")
        self.points, self.checkers = points, checkers
        self.table = RemoteTable(f"{variant}/{version}")  # type: ignore[assignment]
        self._rows: OrderedDict[int, bytes] = OrderedDict()
        self._set_scale(self._remote.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        root = self._remote.address.rsplit("/", 3)[0]
        return type(self), (root, self.points, self.checkers)

    @property
    def _remote(self) -> RemoteTable:
        return self.table  # type: ignore[return-value]

    def _repr_html_(self) -> str:
        """Name, address and digest; showing rows would fetch them."""
        manifest = self._remote.manifest
        return (
            f"<p><b>{escape(self._remote.name)}</b> at {escape(self._remote.address)}: {manifest.rows:,} rows</p>\n"
            f"<p>digest of the values: <code>{escape(manifest.digest)}</code></p>"
        )

    def probe(self, on_roll: Layout, opponent: Layout) -> Equities:
        """The four equities of one position. Fetches the whole row of the player on roll. Raises NotCoveredError,
        InvalidPositionError, DownloadError, or DigestMismatchError if the row does not match its hash."""
        index, other = self._indexes(on_roll, opponent)
        return self._equities(self.row(index), other * self._record_bytes)

    def probe_unchecked(self, on_roll: Layout, opponent: Layout) -> Equities:
        """The four equities of one position. Fetches only their bytes, unchecked. Raises as `probe` does."""
        index, other = self._indexes(on_roll, opponent)
        begin = (index * self._count + other) * self._record_bytes
        return self._equities(self._remote.read(begin, self._record_bytes), 0)

    def probe_stored(self, on_roll: ArrayLike, opponent: ArrayLike) -> NDArray[Any]:
        """[n, 4]: stored values of n pairs of indexes. Sends one request per player on roll. Raises as `probe` does."""
        indexes, others = index_pairs(on_roll, opponent, self._count, self.table)
        found = np.empty((len(indexes), 4), self._remote.dtype)
        for index in np.unique(indexes).tolist():
            is_here = indexes == index
            row = np.frombuffer(self.row(index), self._remote.dtype).reshape(-1, 4)
            found[is_here] = row[others[is_here]]
        return found

    def row(self, index: int) -> bytes:
        """The stored values of a player on roll, checked. Raises DownloadError or DigestMismatchError."""
        if index not in self._rows:
            length = self._count * self._record_bytes
            data = self._remote.read(index * length, length)
            if sha256(data).digest() != self._remote.hashes[index].tobytes():
                raise DigestMismatchError(
                    f"expected row {index} of {self._remote.address}/{ARRAY}.npy to match its hash, found it changed "
                    "or damaged; open the table again, and if that does not help build your own"
                )
            self._rows[index] = data
        self._rows.move_to_end(index)
        while len(self._rows) > KEPT_ROWS:
            self._rows.popitem(last=False)
        return self._rows[index]


class RemoteTable:
    """A version at an address: its manifest, and the bytes of its equities."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.name = "/".join(address.rsplit("/", 3)[1:])
        hashed = ARRAY + ROW_HASHES
        if f"{hashed}.npy" not in {entry.name for entry in self.manifest.files}:
            raise UsageError(f"expected a large table, of which every row has a hash, got {address}")
        self._first = fetch(f"{address}/{ARRAY}.npy", 0, HEADER_BYTES)
        header = io.BytesIO(self._first.data)
        self.shape, self.dtype = read_header(header, self._first.size)
        self._start = header.tell()
        whole = fetch(f"{address}/{hashed}.npy", 0, None)
        header = io.BytesIO(whole.data)
        shape, dtype = read_header(header, whole.size)
        self.hashes = np.frombuffer(whole.data, dtype, offset=header.tell()).reshape(shape)
        stated = np.broadcast_to(np.zeros(1, self.dtype), self.shape)  # for the shape; values do not matter
        found = values_digest({ARRAY: stated, hashed: self.hashes})
        if found != self.manifest.digest:
            raise DigestMismatchError(f"expected the value digest {self.manifest.digest} in {address}, found {found}")

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest, which must be that of the version in the address."""
        path = f"{self.address}/{MANIFEST}"
        found = parse_manifest(fetch(path, 0, MOST_BYTES).data, path)
        if f"{found.dataset}/{found.variant}/{found.version}" != self.name:
            raise DigestMismatchError(f"expected the manifest of {self.name} in {path}, found that of {found.version}")
        return found

    def read(self, begin: int, length: int) -> bytes:
        """Some bytes of the equities. Raises DownloadError, also if the file changed since it was opened."""
        path = f"{self.address}/{ARRAY}.npy"
        answer = fetch(path, self._start + begin, length)
        if (answer.size, answer.tag) != (self._first.size, self._first.tag) or len(answer.data) != length:
            raise DownloadError(
                f"expected {path} not to change after it was opened, found it changed; open the table again"
            )
        return answer.data


def fetch(address: str, begin: int, length: int | None) -> Answer:
    """`length` bytes of a file from `begin` on, fewer at its end; the whole file if `length` is None. Raises
    DownloadError, also if the server ignores the requested range."""
    headers = {} if length is None else {"Range": f"bytes={begin}-{begin + length - 1}"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(address, headers=headers), timeout=TIMEOUT_SECONDS
        ) as answer:
            data = answer.read(MOST_BYTES if length is None else length + 1)
            size, is_part = int(answer.headers.get("Content-Length") or len(data)), False
            if answer.status == http.client.PARTIAL_CONTENT:
                size, is_part = int(answer.headers.get("Content-Range", "/0").rpartition("/")[2]), True
            tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
    except urllib.error.HTTPError as error:
        raise DownloadError(f"cannot read {address}: the server says {error.code} {error.reason}") from error
    except FAILURES as error:
        raise DownloadError(f"cannot read {address}: {getattr(error, 'reason', error)}") from error
    if length is not None and not is_part and (begin or size > length):
        raise DownloadError(
            f"expected a part of {address}, got the whole file: the server does not support range requests"
        )
    return Answer(data, size, tag)
