"""Flat arrays on disk (.npy files). They are written whole or row by row, memory-mapped read-only, and hashed by value.
The module needs only NumPy."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bgdata.errors import CorruptFileError, MissingTableError, cite
from bgdata.store.storage import open_regular, storage_errors
from bgdata.system import map_bytes, release_map

Array = NDArray[Any]
_HASHED_AT_ONCE_BYTES = 1 << 24
ROW_HASHES = "_row_sha256"  # ending of an array with the SHA-256 of each row of another
_ALIGNMENT = 64  # alignment of the values in a file, as numpy writes it
LARGE = 1 << 30  # larger files are rarely in memory as a whole
# as numpy writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (6, 4), }
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z][\w\[\]]{0,12})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:-?\d{1,20}(?:, |,(?=\))|(?=\))))*)\), \} *\n"
)


def map_array(path: Path, *, scattered: bool = False) -> Array:
    """Map a .npy file read-only as a plain array. Values are read from disk when they are used. The file does not stay
    open.

    `scattered` is for access to single rows in random order: a large file is then read page by page. The default reads
    ahead, which helps to read a whole file, but makes each random access a hundred times slower.

    Raises MissingTableError if the file does not exist, and CorruptFileError if it is not a regular file, or is not a
    complete .npy file, as `save_array` writes it, of little-endian numbers or bytes."""
    with storage_errors("read", path):
        try:
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                shape, dtype = read_header(file, size)
                # a plain view: look-ups in the subclass np.memmap are six times slower
                values = np.frombuffer(
                    map_bytes(file.fileno(), size, is_random=scattered and size >= LARGE), dtype, offset=file.tell()
                )
                return values.reshape(shape)
        except FileNotFoundError as error:
            raise MissingTableError(f"expected the array {path}, found no such file; try: bgdata verify") from error
        except (OSError, MemoryError):
            raise
        except Exception as error:  # NumPy has many errors for invalid dtypes and shapes
            found = " ".join(str(error).split())
            raise CorruptFileError(
                f"expected a whole .npy array in {path}, found: {found}; try: bgdata verify"
            ) from error


def read_header(file: BinaryIO, size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype in the header of a .npy file of `size` bytes. Raises ValueError if the header differs in form
    from the headers that `save_array` writes. NumPy would evaluate the header with Python's parser. Here it is matched
    by a pattern, because the header is untrusted, and the parser occasionally fails in several threads (cpython issue
    106905)."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"format {version}")
    text = file.read(int.from_bytes(file.read(2), "little"))
    found = _HEADER.fullmatch(text)
    if found is None:
        raise ValueError(f"the header {cite(text.decode('latin-1').strip())}")
    dtype, is_fortran, lengths = np.dtype(found[1].decode()), found[2] == b"True", found[3].decode()
    if dtype.kind not in "biufS" or not dtype.itemsize or dtype.str[0] not in "<|":
        raise ValueError("objects, which are never read" if dtype.hasobject else f"values of type {dtype.str}")
    shape = tuple(int(length) for length in lengths.split(",") if length.strip())
    if is_fortran or not shape or not all(0 <= length <= size for length in shape) or 0 in shape[1:]:
        raise ValueError(f"the shape {cite(shape)}" + (" by columns" if is_fortran else ""))
    if file.tell() % _ALIGNMENT or file.tell() + math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{size} bytes for {dtype}{list(shape)} after a header of {file.tell()}")
    return shape, dtype


class PartedArray:
    """Several mapped arrays, joined along their first axis, as one array. A slice or a list of row numbers reads only
    those rows; `np.asarray` reads all of them. A slice that lies within one part is a view of that part."""

    def __init__(self, parts: Sequence[Array]) -> None:
        self.parts = parts
        self._ends = np.array([0, *accumulate(map(len, parts))], np.int64)
        self.dtype: np.dtype[Any] = parts[0].dtype
        self.shape: tuple[int, ...] = (int(self._ends[-1]), *parts[0].shape[1:])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes of all values."""
        return sum(part.nbytes for part in self.parts)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.concatenate(self.parts).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, key: Any) -> Any:
        rows, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        found = self._rows(rows)
        return found[rest if np.ndim(rows) == 0 and not isinstance(rows, slice) else (slice(None), *rest)]

    def _rows(self, rows: Any) -> Array:
        """The row that an integer `rows` names, or the rows that a slice, a mask or an array of row numbers names, in
        that order."""
        if isinstance(rows, slice):
            chosen = range(len(self))[rows]
            if chosen.step != 1:
                return self._rows(np.asarray(chosen))
            begin, end = chosen.start, chosen.stop
            first, last = (int(np.searchsorted(self._ends, place, side="right")) - 1 for place in (begin, end - 1))
            if first == last and begin < end:
                return self.parts[first][begin - self._ends[first] : end - self._ends[first]]
            pieces = [
                self.parts[n][max(0, begin - self._ends[n]) : end - self._ends[n]]
                for n in range(first, last + 1 if begin < end else first)
            ]
            return np.concatenate(pieces) if pieces else np.empty((0, *self.shape[1:]), self.dtype)
        places = np.asarray(rows)
        if places.dtype == np.bool_:
            places = np.flatnonzero(places)
        places = np.where(places < 0, places + len(self), places)
        if places.size and not (places.min() >= 0 and places.max() < len(self)):
            raise IndexError(f"expected rows below {len(self)}, got {int(places.max())}")
        if not places.ndim:
            part = int(np.searchsorted(self._ends, places, side="right")) - 1
            row: Array = self.parts[part][places - self._ends[part]]
            return row
        found = np.empty((*places.shape, *self.shape[1:]), self.dtype)
        parts = np.searchsorted(self._ends, places, side="right") - 1
        for part in np.unique(parts).tolist():
            is_here = parts == part
            found[is_here] = self.parts[part][places[is_here] - self._ends[part]]
        return found


class ArrayWriter:
    """Writes a .npy file of known shape with ordinary file writes, so that the array may be larger than memory. If
    `keep` is true and the file exists with this shape, it keeps its rows until they are overwritten."""

    def __init__(self, path: Path, dtype: DTypeLike, shape: tuple[int, ...], *, keep: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape
        self._path, self._keep = path, keep
        self._row_bytes = int(np.prod(shape[1:])) * self.dtype.itemsize
        with storage_errors("write", path):
            self._file = path.open("r+b" if keep and path.exists() else "wb")
            self._write_header()
            self._start = self._file.tell()
            self._file.truncate(self._start + shape[0] * self._row_bytes)

    def _write_header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def write(self, row: int, values: Array) -> None:
        """Write one or more rows, the first of them as row number `row`. `values` has the shape of one row, or a
        leading axis of rows."""
        data = np.ascontiguousarray(values, self.dtype)
        with storage_errors("write", self._path):
            self._file.seek(self._start + row * self._row_bytes)
            self._file.write(data.data if data.ndim else data.tobytes())
            if self._keep:
                self._file.flush()  # a later kill must not lose the row

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with storage_errors("write", self._path):
            self._file.close()


class GrowingWriter(ArrayWriter):
    """Appends rows to a .npy file. The number of rows need not be known until the file is closed."""

    def __init__(self, path: Path, dtype: DTypeLike, row_shape: tuple[int, ...]) -> None:
        super().__init__(path, dtype, (0, *row_shape))

    def append(self, values: Array) -> None:
        """Write `values`, an array of rows, after the last row of the file."""
        self.write(self.shape[0], values)
        self.shape = (self.shape[0] + len(values), *self.shape[1:])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with storage_errors("write", self._path):
            self._file.seek(0)
            self._write_header()  # as long as the first one: numpy leaves room for the number of rows
        super().__exit__(kind, error, trace)


def release_pages(values: Any) -> None:
    """Let the operating system reclaim the pages that were read from an array of `map_array` or a `PartedArray`. They
    may stay in the page cache, but no longer count as memory of this process. Nothing happens for other arrays."""
    for part in getattr(values, "parts", [values]):
        base = part
        while isinstance(base, np.ndarray):
            base = base.base
        release_map(getattr(base, "obj", None))


def save_array(path: Path, values: Array) -> None:
    """Write an array to a .npy file. Raises StorageError if the file cannot be written."""
    with storage_errors("write", path), path.open("wb") as file:
        data = np.ascontiguousarray(values)
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(data))
        file.write(data.reshape(-1).view(np.uint8).data)  # `np.save` hides why a file cannot be written


def damaged_rows(values: Array, hashes: Array) -> list[int]:
    """Return the numbers of the rows of `values` whose SHA-256 differs from the hash in `hashes`, uint8[rows, 32], in
    ascending order."""
    little = values.dtype.newbyteorder("<")

    def is_damaged(row: int) -> bool:
        data = np.ascontiguousarray(values[row], little).data.cast("B")
        return hashlib.sha256(data).digest() != bytes(hashes[row])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [row for row, found in enumerate(pool.map(is_damaged, range(len(values)))) if found]


def values_digest(arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256, as 64 hex digits, over the names, dtypes, shapes and little-endian values of the arrays, in
    order of their names. If there is an array `X_row_sha256`, which contains the SHA-256 of each row of the array X, it
    is hashed instead of the values of X. So each row can be verified alone."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        values = arrays[name]
        little = values.dtype.newbyteorder("<")
        digest.update(json.dumps([name, little.str, list(values.shape)]).encode() + b"\n")
        if name + ROW_HASHES in arrays:
            continue
        step = max(1, _HASHED_AT_ONCE_BYTES * len(values) // max(1, values.nbytes))
        for row in range(0, len(values), step):
            digest.update(np.ascontiguousarray(values[row : row + step], little).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
