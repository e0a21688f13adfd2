"""Writes a two-sided table as Parquet parts, one Hive partition per number of checkers of the player on roll.

    DIR/on_roll_checkers=7/part-0.parquet

A part contains a range of players on roll against all opponents, with the columns of `table.parquet`. Layouts are
numbered by their checkers first, so a partition is a range of indexes. Each part contains the name of its version. It
is written to a temporary file, which is then renamed. A hidden file next to a part contains the part's SHA-256, so that
a run that was stopped can resume and report damaged parts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds.bearoff_two_sided import DATASET, ROW_HASHES
from bgdata.bearoff.kinds.bearoff_two_sided_compute import equity_batches
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import DigestMismatchError, TooLargeError, UsageError
from bgdata.process import keeping, when_cut_off
from bgdata.store.arrays import damaged_rows
from bgdata.store.build import footer
from bgdata.store.parquet import write_parquet
from bgdata.store.plan import readable_bytes
from bgdata.store.progress import Progress
from bgdata.store.storage import hold_lock, make_folder, sha256_file, storage_errors, sync, write_file

PARTITION = "on_roll_checkers"
PART_ROWS = 100_000_000  # greatest number of rows in a part
ROW_BYTES = {2: 10, 4: 16.2}  # at most, by bytes of an equity: four codes and dictionaries, or floats


class Part(NamedTuple):
    """A Parquet file of a two-sided table: its path in the folder, and its players on roll, position indexes begin to
    end - 1."""

    path: Path
    begin: int
    end: int


def parts_of(points: int, checkers: int) -> list[Part]:
    """Return the parts of a table of this size, in the order of the player on roll."""
    most = max(1, PART_ROWS // layout_count(points, checkers))
    ends = [1, *(layout_count(points, on_roll) for on_roll in range(1, checkers + 1))]
    return [
        Part(Path(f"{PARTITION}={on_roll}") / f"part-{number}.parquet", start, min(end, start + most))
        for on_roll, (begin, end) in enumerate(pairwise([0, *ends]))
        for number, start in enumerate(range(begin, end, most))
    ]


def write_parts(table: TwoSidedTable, folder: Path, progress: Progress) -> int:
    """Write the parts of a table that are missing in a folder, and return how many were written. Raises UsageError if
    the folder contains other Parquet files, TooLargeError if the disk is too small, DigestMismatchError if a row is
    damaged, and StorageError if a file cannot be written."""
    parts = parts_of(table.points, table.checkers)
    with hold_lock(folder / ".lock", lambda: progress.note(f"another process is writing into {folder}; waiting")):
        missing = missing_parts(table, parts, folder)
        need, have = rows_of(table, missing) * ROW_BYTES[table.stored.itemsize], shutil.disk_usage(folder).free
        if need > have:
            raise TooLargeError(
                f"expected {readable_bytes(need)} of free disk space for the Parquet of {table.table.name}, found "
                f"{readable_bytes(have)} in {folder}; choose a folder on another disk"
            )
        progress.start(f"{table.table.name}: writing Parquet", rows_of(table, missing), "rows")

        def kept_parts() -> str:
            count = sum((folder / part.path).exists() for part in parts)
            return f"{count:,} of {len(parts):,} parts are written" if count else ""

        with keeping(kept_parts):
            for part in missing:
                write_part(table, part, folder, progress)
    return len(missing)


def rows_of(table: TwoSidedTable, parts: list[Part]) -> int:
    """Return the number of rows in these parts of a table."""
    return sum(part.end - part.begin for part in parts) * len(table.stored)


def missing_parts(table: TwoSidedTable, parts: list[Part], folder: Path) -> list[Part]:
    """Return the parts of a table that are missing in a folder. Raises UsageError if the folder contains a Parquet file
    that is not part of the table."""
    known = {folder / part.path: part for part in parts}
    with storage_errors("read", folder):
        there = sorted(folder.glob("**/[!.]*.parquet"))
    for path in there:
        if path not in known or not is_part(table, known[path], path):
            raise UsageError(
                f"expected no Parquet but that of {table.table.name} in {folder}, found another file: "
                f"{path.relative_to(folder)}; delete it, or choose another folder"
            )
    return [part for path, part in known.items() if path not in there]


def is_part(table: TwoSidedTable, part: Part, path: Path) -> bool:
    """Whether a file is this part of the table. Its metadata, number of rows and seal (the hidden file) decide."""
    if not path.is_file():  # opening a pipe would block
        return False
    try:
        found = pq.read_metadata(path)
    except (pa.ArrowException, OSError):
        return False
    digest = (found.metadata or {}).get(b"bgdata.digest")
    if digest != table.table.manifest.digest.encode() or found.num_rows != rows_of(table, [part]):
        return False
    seal = path.with_name(f".{path.name}.sha256")
    with storage_errors("read", seal):
        if not os.path.lexists(seal):  # parts of older versions of bgdata have no seal
            return True
        return seal.is_file() and seal.read_bytes() == sha256_file(path).encode()


def write_part(table: TwoSidedTable, part: Part, folder: Path, progress: Progress) -> None:
    """Write one part to a temporary file, then rename it into place."""
    path = folder / part.path
    partial = path.with_name(f".{path.name}.partial")
    shape, manifest = DATASET.tables[0], table.table.manifest
    about = footer(DATASET, shape, manifest.variant, manifest.version, manifest.digest, manifest.recipe_key)
    with storage_errors("write", path), when_cut_off(lambda: partial.unlink(missing_ok=True)):
        make_folder(path.parent)
        try:
            write_parquet(partial, checked_batches(table, part.begin, part.end), shape, about, progress)
            sync(partial)
            write_file(path.with_name(f".{path.name}.sha256"), sha256_file(partial).encode())
            partial.replace(path)
            sync(path.parent)
        finally:
            partial.unlink(missing_ok=True)


def checked_batches(table: TwoSidedTable, begin: int, end: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the players on roll begin to end - 1, one row group at a time, with the columns of
    `table.parquet`. Raises DigestMismatchError if a row does not match its hash."""
    has_hashes = f"{ROW_HASHES}.npy" in {entry.name for entry in table.table.manifest.files}
    for rows, batch in equity_batches(table.stored, table.checkers, begin, end):
        first, last = int(rows[0]), int(rows[-1]) + 1
        wrong = has_hashes and damaged_rows(table.stored[first:last], table.table.array(ROW_HASHES)[first:last])
        if wrong:
            raise DigestMismatchError(
                f"expected row {first + wrong[0]} of {table.table.name} to match its hash, found it damaged; "
                "try: bgdata verify bearoff_two_sided --repair"
            )
        yield batch
