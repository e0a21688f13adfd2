"""A two-sided table in a warehouse at an address, of which only the requested rows are downloaded. The server must
answer requests for parts of files, as object stores and most servers of static files do. The digest of a large table
covers the hashes of its rows, so each row can be proven without the rest of the file."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.bearoff.tables import Equities, Layout, TwoSidedTable, index_pairs
from bgdata.errors import CorruptFileError
from bgdata.store.arrays import ROW_HASHES

if TYPE_CHECKING:
    from bgdata.store.remote import MirroredTable
    from bgdata.store.table import Table

ARRAY = "equities"


def open_pairs(table: Table) -> TwoSidedTable:
    """Open the two-sided table of a version. A large table at an address is read row by row; any other is
    memory-mapped. Raises CorruptFileError as `TwoSidedTable` does, and the exceptions of `RemoteTwoSidedTable`."""
    if hasattr(table, "mirror") and table.has_file(f"{ARRAY}{ROW_HASHES}.npy"):
        return RemoteTwoSidedTable(cast("MirroredTable", table))
    return TwoSidedTable(table)


class RemoteTwoSidedTable(TwoSidedTable):
    """A two-sided table at an address. Rows are downloaded when they are needed, checked against their hashes, and
    cached."""

    def __init__(self, table: MirroredTable) -> None:
        """Download the hashes of the rows. Raises DownloadError if that fails, ManifestFormatError or
        DigestMismatchError if the files are damaged, and UsageError if the table has no hashes."""
        self.table = table
        parameters = table.manifest.parameters
        self.points, self.checkers = int(parameters["points"]), int(parameters["checkers"])
        self.rows = table.rows(ARRAY)
        self._set_scale(self.rows.dtype)
        if self.rows.shape != (self._count, self._count, 4):
            raise CorruptFileError(
                f"expected {ARRAY} of {table.name} to have the size of its table, found {list(self.rows.shape)}"
            )

    def _repr_html_(self) -> str:
        """Show the name, address and digest of the table, without rows, because these would be downloaded."""
        manifest = self.table.manifest
        return (
            f"<p><b>{escape(self.table.name)}</b> at {escape(self.rows.place.address)}: {manifest.rows:,} rows</p>\n"
            f"<p>digest of the values: <code>{escape(manifest.digest)}</code></p>"
        )

    def probe(self, on_roll: Layout, opponent: Layout) -> Equities:
        """Look up the four equities of a position. The whole row of the player on roll is downloaded. Raises
        NotCoveredError if the table does not cover the position, InvalidPositionError if it is invalid, DownloadError
        if the download fails, and DigestMismatchError if the row does not match its hash."""
        index, other = self._indexes(on_roll, opponent)
        return self._equities(self.rows.row(index), other * self._record_bytes)

    def probe_unchecked(self, on_roll: Layout, opponent: Layout) -> Equities:
        """Look up the four equities of a position without checking them: only their bytes are downloaded. Raises
        NotCoveredError, InvalidPositionError and DownloadError as `probe` does."""
        index, other = self._indexes(on_roll, opponent)
        begin = (index * self._count + other) * self._record_bytes
        return self._equities(self.rows.read(begin, self._record_bytes), 0)

    def probe_stored(self, on_roll: ArrayLike, opponent: ArrayLike) -> NDArray[Any]:
        """Look up the stored values of n pairs of position indexes, as [n, 4]. One request is sent for each player on
        roll. Raises the same exceptions as `probe`, and UsageError if the shapes are not the same [n]."""
        indexes, others = index_pairs(on_roll, opponent, self._count, self.table)
        found = np.empty((len(indexes), 4), self.rows.dtype)
        for index in np.unique(indexes).tolist():
            is_here = indexes == index
            row = np.frombuffer(self.rows.row(index), self.rows.dtype).reshape(-1, 4)
            found[is_here] = row[others[is_here]]
        return found
