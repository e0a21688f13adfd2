"""Write gnubg's bearoff databases: the bytes that makebearoff and makehyper write for the same numbers.

A file is written beside its place, as `.NAME.PROCESS.partial`, flushed to disk and renamed; a failure leaves nothing
behind and an old file untouched. Counts and codes may be memory maps: they are read in blocks.
Source: files made by makebearoff and makehyper of GNU Backgammon 1.07, byte for byte; no program text was used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import BgdataError, StorageError, TooLargeError, UsageError
from bgdata.formats.gnubg_bearoff_header import (
    CHANCE_SCALE,
    HYPERGAMMON_POINTS,
    ROLLS,
    BearoffHeader,
    entry_dtype,
    format_header,
)
from bgdata.formats.lines import write_beside
from bgdata.formats.unpacking import cause

_BLOCK_VALUES = 1 << 22  # values written at a time: bounds the memory
_MOST_COMPRESSED_VALUES = (1 << 32) - 1  # offsets have 32 bits
_SCALE_24_BIT = (1 << 24) - 1
_MOST_EQUITY = 3  # of hypergammon
HYPERGAMMON_EQUITIES = [1, 2, 4, 3]  # columns of `endgames.solver.COLUMNS` in the order of a record


def write_one_sided(
    path: str | os.PathLike[str],
    points: int,
    counts: NDArray[np.uint16],
    gammon_counts: NDArray[np.uint16] | None,
    *,
    compressed: bool,
) -> None:
    """Write the one-sided table of 15 checkers, as `makebearoff -o` does.

    counts, gammon_counts: uint16[positions, 32] in index order, chance of n rolls in units of 1/65535; every row sums
    to 65535. `gammon_counts` None leaves the gammon part out (`-g`); `compressed` False is `-c`.
    Raises UsageError for other shapes, types or sums, TooLargeError where the values of a compressed file cannot be
    counted in 32 bits, and StorageError where the file cannot be written.
    """
    header = BearoffHeader("one_sided", points, 15, gammon_counts is not None, compressed)
    parts = [counts] if gammon_counts is None else [counts, gammon_counts]
    for part in parts:
        check_array(part, (header.position_count, ROLLS), np.uint16)
        for rows in _blocks(part):
            sums = part[rows].sum(axis=1, dtype=np.int64)
            bad = np.flatnonzero(sums != CHANCE_SCALE)
            if bad.size:
                raise UsageError(
                    f"expected counts that sum to {CHANCE_SCALE}, got {sums[bad[0]]} for position {rows.start + bad[0]}"
                )
    # records of an uncompressed file: 32 counts, then 32 of the gammon part
    stacked = (np.stack([part[rows] for part in parts], axis=1).astype("<u2").tobytes() for rows in _blocks(counts))
    write_file(path, header, _compressed_chunks(parts) if compressed else stacked)


def write_one_sided_normal(path: str | os.PathLike[str], points: int, moments: NDArray[np.float32]) -> None:
    """Write the normal variant, as `makebearoff -o -n` does.

    moments: float32[positions, 4] in index order: mean and s.d. of the rolls to bear everything off, mean and s.d. of
    the rolls to bear the first of 15 checkers off. Raises UsageError and StorageError as `write_one_sided`.
    """
    header = BearoffHeader("one_sided", points, 15, has_gammon=True, is_normal=True)
    check_array(moments, (header.position_count, 4), np.float32)
    write_file(path, header, (moments[rows].astype("<f4").tobytes() for rows in _blocks(moments)))


def write_two_sided(path: str | os.PathLike[str], points: int, checkers: int, codes: NDArray[np.uint16]) -> None:
    """Write a two-sided table, as `makebearoff -t` does.

    codes: uint16[positions on roll, positions of the opponent, 4 or 1], equity = code / 32767.5 - 1 of the player on
    roll: cubeless, owned, centered, opponent_owned, or cubeless alone (`-C`). Raises UsageError for another shape or
    type and StorageError where the file cannot be written.
    """
    header = BearoffHeader("two_sided", points, checkers, is_cubeful=codes.shape[-1:] == (4,))
    count = header.position_count
    check_array(codes, (count, count, 4 if header.is_cubeful else 1), np.uint16)
    write_file(path, header, (codes[rows].astype("<u2").tobytes() for rows in _blocks(codes)))


def write_hypergammon(
    path: str | os.PathLike[str], checkers: int, chances: NDArray[np.float32], equities: NDArray[np.float32]
) -> None:
    """Write a file that gnubg reads as `hyper1.bd` to `hyper3.bd`.

    chances: float32[on roll, opponent, 5] as in gnubg, equities: float32[on roll, opponent, 4]: owned, centered,
    centered with the Jacoby rule, opponent_owned. NaN is written as zero: gnubg never reads it. Raises UsageError for
    another shape or type and StorageError where the file cannot be written.
    """
    header = BearoffHeader("hypergammon", HYPERGAMMON_POINTS, checkers)
    count = header.position_count
    check_array(chances, (count, count, 5), np.float32)
    check_array(equities, (count, count, 4), np.float32)
    write_file(path, header, map(hypergammon_records, chances, equities))


def hypergammon_records(chances: NDArray[np.float32], equities: NDArray[np.float32]) -> bytes:
    """The records of one position on roll: nine 24-bit numbers, lowest byte first, and a zero byte each."""
    shares = np.concatenate([chances, equities / (2 * _MOST_EQUITY) + 0.5], axis=1).astype(np.float64)
    numbers = np.rint(np.nan_to_num(np.clip(shares, 0, 1)) * _SCALE_24_BIT).astype("<u4")
    records = np.zeros((len(numbers), 28), np.uint8)
    records[:, :27] = numbers.view(np.uint8).reshape(len(numbers), 9, 4)[:, :, :3].reshape(len(numbers), 27)
    return records.tobytes()


def check_array(array: NDArray[Any], shape: tuple[int, ...], dtype: type[np.generic]) -> None:
    """Raise UsageError for another shape or type."""
    if array.shape != shape or array.dtype != dtype:
        raise UsageError(f"expected {np.dtype(dtype)}{list(shape)}, got {array.dtype}{list(array.shape)}")


def _blocks(array: NDArray[Any]) -> Iterator[slice]:
    rows = max(1, _BLOCK_VALUES * len(array) // array.size)
    return (slice(begin, begin + rows) for begin in range(0, len(array), rows))


def _compressed_chunks(parts: list[NDArray[np.uint16]]) -> Iterator[bytes]:
    """The index table, then the counts from the first to the last that is not zero."""
    entries = np.empty(len(parts[0]), entry_dtype(len(parts) == 2))
    for rows in _blocks(parts[0]):
        for number, part in enumerate(parts):
            is_stored = part[rows] != 0
            first = is_stored.argmax(axis=1)
            length = ROLLS - is_stored[:, ::-1].argmax(axis=1) - first
            entries["window"][rows, number] = np.stack([length, first], axis=1)
    ends = entries["window"][:, :, 0].sum(axis=1, dtype=np.int64).cumsum()
    if ends[-1] > _MOST_COMPRESSED_VALUES:
        raise TooLargeError(
            f"expected at most {_MOST_COMPRESSED_VALUES} values in a compressed file, got {ends[-1]}; do not compress"
        )
    entries["offset"][0], entries["offset"][1:] = 0, ends[:-1]
    yield entries.tobytes()
    for rows in _blocks(parts[0]):
        stacked = np.stack([part[rows] for part in parts], axis=1)
        place = np.arange(ROLLS) - entries["window"][rows, :, 1, np.newaxis].astype(np.int64)
        yield stacked[(place >= 0) & (place < entries["window"][rows, :, 0, np.newaxis])].astype("<u2").tobytes()


def write_file(path: str | os.PathLike[str], header: BearoffHeader, chunks: Iterable[bytes]) -> None:
    """Write header and chunks beside `path` and rename; StorageError names what failed."""
    path = Path(path)
    try:
        with write_beside(path) as file:
            file.write(format_header(header))
            file.writelines(chunks)
    except BgdataError:  # of what is written: some are an OSError too
        raise
    except OSError as error:
        raise StorageError(
            f"expected to write {header.name} to {path}, found: {cause(error)}; "
            "choose a folder that exists, can be written and has room"
        ) from error
