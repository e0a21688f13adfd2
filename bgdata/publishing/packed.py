"""Arrays that are not in the rows, packed into one file for each version: arrays.npz, which `numpy.load` reads."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bgdata.errors import CorruptFileError, cite
from bgdata.store.arrays import Array, read_header
from bgdata.store.storage import open_regular, storage_errors, sync

ARRAYS = "arrays.npz"
_DATE = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that files have the same bytes at any time
_ERRORS = (zipfile.BadZipFile, ValueError, LookupError, EOFError, NotImplementedError, RuntimeError)


def pack_arrays(arrays: Mapping[str, Array], path: Path) -> None:
    """Write arrays to one .npz file, and sync it. They are named after the files that they have in a version, such as
    `boards.npy`. Raises StorageError if the file cannot be written."""
    with storage_errors("write", path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, values in sorted(arrays.items()):
                with archive.open(_entry(name), "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(values), (1, 0), allow_pickle=False)
        sync(path)


def _entry(name: str) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name, _DATE)
    found.compress_type = zipfile.ZIP_DEFLATED
    return found


def unpack_array(path: Path, name: str, most_bytes: int) -> Array:
    """Read the array `name` from an .npz file. With its header it may have at most `most_bytes` bytes. Raises
    CorruptFileError if the file is damaged or the array is larger, and StorageError if the file cannot be read."""
    with storage_errors("read", path):
        try:
            with open_regular(path) as file, zipfile.ZipFile(file) as archive:
                size = archive.getinfo(name).file_size
                if size > most_bytes:
                    raise ValueError(f"{size:,} bytes of {name}")
                data = archive.read(name)
            header = io.BytesIO(data)
            shape, dtype = read_header(header, len(data))
            return np.frombuffer(data, dtype, offset=header.tell()).reshape(shape)
        except FileNotFoundError as error:
            raise CorruptFileError(f"expected {path}, found no such file") from error
        except _ERRORS as error:
            raise CorruptFileError(f"expected the packed array {name} in {path}, found: {cite(str(error))}") from error
