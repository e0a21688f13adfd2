"""Counts of the rows of each block of a version by split and class, and of the rows that the guard leaves out.

Pools and epochs follow from these counts. The counts of a large version are saved in the user's cache with a hash, so
that opening a feed of the version again reads no row. The name of the file depends on everything that the counts depend
on.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import StorageError
from bgdata.kernel import kernel, thread_count
from bgdata.process import cache_folder
from bgdata.selfplay.splits import SPLITS
from bgdata.store.manifest import canonical_json
from bgdata.store.storage import write_file
from bgdata.training.feed.rows import GUARDED, Bytes, Guard, LabelledRows, counted_place

Counts = NDArray[np.uint32]  # [blocks, splits, classes of COUNTED and then guarded rows]
KEPT_ROWS = 1 << 20  # counts of smaller versions are not saved, because counting takes hundredths of a second
READ_ROWS = 1 << 15  # rows that are read at a time, in whole blocks
FORMAT = 1  # format of the files
_HASH_BYTES = 32


def block_counts(rows: LabelledRows, guard: Guard | None, block_rows: int) -> Counts:
    """Return the number of rows of each split and class in every block of `block_rows` rows of a version. The counts
    are read from a file if the rows have been counted before. Raises the same exceptions as reading the version's
    arrays."""
    if len(rows) < KEPT_ROWS:
        return count_blocks(rows, guard, block_rows)
    shape, path = (-(-len(rows) // block_rows), len(SPLITS), GUARDED + 1), counts_file(rows, guard, block_rows)
    with suppress(OSError):
        data = path.read_bytes()
        seal, found = data[:_HASH_BYTES], data[_HASH_BYTES:]
        if hashlib.sha256(found).digest() == seal and len(found) == 4 * int(np.prod(shape)):
            return np.frombuffer(found, np.uint32).reshape(shape)
    counts = count_blocks(rows, guard, block_rows)
    with suppress(OSError, StorageError):  # counts that cannot be saved are counted again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, hashlib.sha256(counts.tobytes()).digest() + counts.tobytes())
    return counts


def counts_file(rows: LabelledRows, guard: Guard | None, block_rows: int) -> Path:
    """Return the path of the file with the saved counts of a version."""
    recipe = {
        "format": FORMAT,
        "version": rows.table.manifest.digest,
        "splits": rows.splits.manifest.digest if rows.splits else "",
        "guard": guard.digest if guard else "",
        "block_rows": block_rows,
        "rows": len(rows),
    }
    return cache_folder() / "feed" / hashlib.sha256(canonical_json(recipe)).hexdigest()


def count_blocks(rows: LabelledRows, guard: Guard | None, block_rows: int) -> Counts:
    """Count the rows of each block by reading all of them, on several threads if the arrays are memory-mapped."""
    counts = np.zeros((-(-len(rows) // block_rows), len(SPLITS), GUARDED + 1), np.uint32)
    at_once = max(READ_ROWS // block_rows, 1)

    def count(first: int) -> None:
        begin, end = first * block_rows, min((first + at_once) * block_rows, len(rows))
        block = rows.read(begin, end, guard)
        _fill_counts(block.splits, block.classes, block.is_guarded, block_rows, counts[first : first + at_once])
        rows.release()

    with ThreadPoolExecutor(1 if rows.from_parquet else thread_count()) as executor:
        for _ in executor.map(count, range(0, len(counts), at_once)):
            pass
    return counts


@kernel()
def _fill_counts(splits: Bytes, classes: Bytes, is_guarded: NDArray[np.bool_], block_rows: int, counts: Counts) -> None:
    """Add each row to counts[row // block_rows, split, class], or to the last column if the row is guarded. A row
    without a split is not read."""
    for row in range(len(splits)):
        if splits[row] < counts.shape[1]:
            counts[row // block_rows, splits[row], GUARDED if is_guarded[row] else counted_place(classes[row])] += 1
