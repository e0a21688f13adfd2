"""Flat arrays on disk (.npy): written whole or row by row, mapped read-only, and hashed by value. Needs NumPy alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.store.storage import storage_errors

Array = NDArray[Any]
_HASHED_AT_ONCE_BYTES = 1 << 24


def map_array(path: Path) -> Array:
    """Map a .npy file read-only as a plain array; nothing is read until it is asked for.

    Raises MissingTableError when there is no such file, CorruptFileError when it is truncated or no .npy file.
    """
    with storage_errors("read", path):
        try:
            # a plain view: probing through the np.memmap subclass is six times slower
            mapped: Array = np.lib.format.open_memmap(path, mode="r").view(np.ndarray)
            return mapped
        except FileNotFoundError as error:
            raise MissingTableError(f"expected the array {path}, found no such file; try: bgdata verify") from error
        except OSError:
            raise
        except Exception as error:  # numpy's parser of headers raises whatever Python's tokenizer does
            found = " ".join(str(error).split())
            raise CorruptFileError(
                f"expected a whole .npy array in {path}, found: {found}; try: bgdata verify"
            ) from error


class ArrayWriter:
    """Writes a .npy file of known shape through plain file writes, so a table larger than memory costs none."""

    def __init__(self, path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape
        self._path = path
        self._row_bytes = int(np.prod(shape[1:])) * self.dtype.itemsize
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        with storage_errors("write", path):
            self._file = path.open("wb")
            np.lib.format.write_array_header_1_0(self._file, header)
            self._start = self._file.tell()
            self._file.truncate(self._start + shape[0] * self._row_bytes)

    def write(self, row: int, values: Array) -> None:
        """Write one or more whole rows from `row` on; `values` has the row shape or a leading axis of rows."""
        data = np.ascontiguousarray(values, self.dtype)
        with storage_errors("write", self._path):
            self._file.seek(self._start + row * self._row_bytes)
            self._file.write(data.data if data.ndim else data.tobytes())

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with storage_errors("write", self._path):
            self._file.close()


def save_array(path: Path, values: Array) -> None:
    """Write a whole array as .npy."""
    with storage_errors("write", path):
        np.save(path, np.ascontiguousarray(values), allow_pickle=False)


def values_digest(arrays: Mapping[str, Array]) -> str:
    """SHA-256 over the names, dtypes, shapes and little-endian values of arrays, in order of name; 64 hex digits."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        values = arrays[name]
        little = values.dtype.newbyteorder("<")
        digest.update(json.dumps([name, little.str, list(values.shape)]).encode() + b"\n")
        step = max(1, _HASHED_AT_ONCE_BYTES * len(values) // max(1, values.nbytes))
        for row in range(0, len(values), step):
            digest.update(np.ascontiguousarray(values[row : row + step], little).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
