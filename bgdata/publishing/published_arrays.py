"""The arrays of a published version, which are restored from rows by a recipe or unpacked, and the digest that they
must have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgdata.errors import CorruptFileError, DigestMismatchError
from bgdata.publishing.contents import PublishedTable, PublishedVersion
from bgdata.publishing.packed import ARRAYS, unpack_array
from bgdata.publishing.recovery import PublishedRows, restore
from bgdata.publishing.shards import row_groups
from bgdata.store.arrays import ROW_HASHES, Array, damaged_rows, values_digest
from bgdata.store.manifest import Manifest, is_part_file, part_file, parts_digest

_HEADER_BYTES = 4096  # more than the header of any .npy file


def part_number(file: str) -> int:
    """Return the number of the part to which a file of a version belongs, by its name; 0 if the version has no
    parts."""
    return int(file[5:10]) if is_part_file(file) else 0


class PublishedArrays:
    """The arrays of a published version, part by part, by the names that its kind declares."""

    def __init__(self, folder: Path, version: PublishedVersion, manifest: Manifest) -> None:
        self.version, self.manifest = version, manifest
        self._packed = folder / version.folder / ARRAYS
        self._sizes = {entry.name: entry.bytes for entry in manifest.files if entry.name.endswith(".npy")}
        self.rows = PublishedRows(folder, version.tables, self._order)

    def _order(self, name: str) -> NDArray[np.uint8]:
        rows = max(table.rows for table in self.version.tables)
        return unpack_array(self._packed, name, rows + _HEADER_BYTES)

    def codes(self, table: PublishedTable) -> NDArray[np.uint8] | None:
        """Return the split of each row of a table, as an index into its splits (uint8[rows]); None if the table has
        only one split. Raises CorruptFileError if the numbers of rows do not agree."""
        if not table.row_order:
            return None
        codes = self._order(table.row_order)
        counts = [split.rows for split in table.splits]
        if codes.ndim != 1 or np.bincount(codes, minlength=len(counts)).tolist() != counts:
            raise CorruptFileError(f"expected the split of each row of {table.config}, found others")
        return codes

    def file(self, name: str) -> Array:
        """Restore or read the array that the version has in the file `name`, such as `boards.npy`."""
        recipe = self.version.recipes.get(name)
        if recipe is not None:
            return restore(recipe, self.rows, part_number(name))
        return unpack_array(self._packed, name, self._sizes[name])

    @property
    def shared_files(self) -> list[str]:
        """The names of the array files that all parts share; of all array files if the version has no parts."""
        return [name for name in self._sizes if not is_part_file(name)]

    def part(self, number: int) -> dict[str, Array]:
        """Return the arrays of part `number`, by name. Arrays that all parts share are left out."""
        prefix = part_file("", number)
        names = [name for name in self._sizes if name.startswith(prefix)]
        return {name.removeprefix(prefix).removesuffix(".npy"): self.file(name) for name in names}

    def common(self) -> dict[str, Array]:
        """Return the arrays that all parts share, by name; all arrays if the version has no parts."""
        return {name.removesuffix(".npy"): self.file(name) for name in self.shared_files}

    def check_digest(self) -> str:
        """Compare the digest of all arrays with the digest in the manifest. Returns a description of what was compared.
        Raises DigestMismatchError if they differ."""
        parts = self.manifest.parts
        for number, part in enumerate(parts):
            self._compare(f"part {number}", _digest(self.part(number)), part.digest)
        shared = _digest(self.common())
        self._compare("its arrays", parts_digest(parts, shared) if parts else shared, self.manifest.digest)
        found = len(self.version.recipes)
        count = len(self._sizes)
        return f"digest {self.manifest.digest[:16]} of {count} array{'s' * (count != 1)}, {found} found in rows"

    def _compare(self, what: str, found: str, expected: str) -> None:
        if found != expected:
            raise DigestMismatchError(
                f"expected the digest {expected[:16]}... of {what} of {self.version.name}, found {found[:16]}..."
            )


def _digest(arrays: dict[str, Array]) -> str:
    """Return the digest of arrays. If rows have hashes, each row is compared with its hash. Raises DigestMismatchError
    if a row differs."""
    for name, values in arrays.items():
        if name + ROW_HASHES in arrays and damaged_rows(values, arrays[name + ROW_HASHES]):
            raise DigestMismatchError(f"expected the rows of {name} as their hashes say, found others")
    return values_digest(arrays)


class RowStream:
    """Reads the rows of several Parquet files in order."""

    def __init__(self, paths: list[Path]) -> None:
        self._groups = row_groups(paths)
        self._waiting: pa.Table | None = None

    def take(self, count: int) -> pa.Table:
        """Read the next `count` rows, or all remaining rows if there are fewer."""
        found, missing = [], count
        while missing:
            rows = self._waiting if self._waiting is not None and len(self._waiting) else next(self._groups, None)
            if rows is None:
                break
            found.append(rows.slice(0, missing))
            self._waiting = rows.slice(min(missing, len(rows)))
            missing -= len(found[-1])
        return pa.concat_tables(found) if found else pa.table({})
