"""gnubg's bearoff databases (one-sided, two-sided, hypergammon), memory-mapped for reading, and written byte for byte
as gnubg writes them.

A file is a 40-byte ASCII header and little-endian binary data. Positions of one side have an index (the combinatorial
number system of `bgdata.bearoff.index`). Two-sided records are sorted by the index of the player on roll, then of the
opponent. Opening maps the file and reads the header; of a compressed file it also reads the last index entry, from
which its size follows. A look-up reads one record. Only NumPy is needed. Files are written atomically: after a failure
an old file is unchanged, and there is no new file. Counts and codes may be memory maps, because they are read in
blocks. Source: files made by makebearoff and makehyper of GNU Backgammon 1.07, byte for byte; no program text was used.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import whole_index
from bgdata.errors import (
    CorruptFileError,
    InvalidParameterError,
    NotCoveredError,
    StorageError,
    TooLargeError,
    UsageError,
)
from bgdata.formats.lines import write_beside
from bgdata.formats.unpacking import cause
from bgdata.game.integers import integer_array

HEADER_BYTES = 40
ROLLS = 32  # a distribution covers 0 to 31 rolls
CHANCE_SCALE = 65535  # the sum of the counts of a distribution
EQUITY_SCALE = 32767.5  # code 0 is equity -1, code 65535 is +1
HYPERGAMMON_POINTS = 25  # 24 points and the bar
HYPERGAMMON_EQUITIES = [1, 2, 4, 3]  # columns of `endgames.solver.COLUMNS`, in the order of a record
_MAX_EQUITY = 3  # largest equity of hypergammon
_BLOCK = 1 << 16  # positions read at a time, to limit memory
_BLOCK_VALUES = 1 << 22  # values written at a time
_MAX_COMPRESSED_VALUES = (1 << 32) - 1  # offsets have 32 bits
_SCALE_24_BIT = (1 << 24) - 1
_WEIGHTS_24_BIT = np.array([1, 1 << 8, 1 << 16])


@dataclass(frozen=True)
class BearoffHeader:
    """The header of a bearoff database: its kind, sizes and flags. Flags that its kind does not have are False.

    The normal variant (mean and s.d. instead of counts) always has the gammon part and is never compressed. Sizes are 1
    to 23 points and 1 to 15 checkers a side, and for hypergammon 25 "points" (24 and the bar) and 1 to 3 checkers.
    Raises InvalidParameterError for other sizes."""

    kind: Literal["one_sided", "two_sided", "hypergammon"]
    points: int
    checkers: int
    has_gammon: bool = False
    is_compressed: bool = False
    is_normal: bool = False
    is_cubeful: bool = False

    def __post_init__(self) -> None:
        is_hypergammon = self.kind == "hypergammon"
        fewest, most, checkers = (HYPERGAMMON_POINTS, HYPERGAMMON_POINTS, 3) if is_hypergammon else (1, 23, 15)
        if not (fewest <= self.points <= most and 1 <= self.checkers <= checkers):
            raise InvalidParameterError(
                f"expected {fewest} to {most} points and 1 to {checkers} checkers in a {self.kind} file, "
                f"got {self.points} and {self.checkers}"
            )
        if self.is_normal and (self.is_compressed or not self.has_gammon):
            raise InvalidParameterError("expected a normal variant with gammon part and uncompressed, got other flags")

    @property
    def name(self) -> str:
        """The text of the header, without padding, such as `gnubg-TS-06-06-1`."""
        return format_header(self).decode("ascii").rstrip("x\n")

    @property
    def position_count(self) -> int:
        """The number of positions that one side can have."""
        return comb(self.points + self.checkers, self.points)

    @property
    def record_count(self) -> int:
        """The number of records in the file: one for each position of one side, or for each pair of positions."""
        return self.position_count ** (1 if self.kind == "one_sided" else 2)

    @property
    def record_bytes(self) -> int:
        """The size of a record, in bytes. In a compressed file it is the size of an entry of the index table."""
        if self.kind == "hypergammon":
            return 28
        if self.kind == "two_sided":
            return 8 if self.is_cubeful else 2
        if self.is_compressed:
            return entry_dtype(self.has_gammon).itemsize
        return 16 if self.is_normal else 2 * ROLLS * (1 + self.has_gammon)


def entry_dtype(has_gammon: bool) -> np.dtype[np.void]:
    """The type of an entry in the index table of a compressed file. `offset` is where its values begin, counted in
    values from the end of the table. `window[part]` is (number of stored values, number of rolls of the first value).
    Part 0 is bearing off, part 1 is the gammon part, whose values follow those of part 0."""
    return np.dtype([("offset", "<u4"), ("window", "u1", (1 + has_gammon, 2))])


def format_header(header: BearoffHeader) -> bytes:
    """Write a header as the first 40 bytes of a file."""
    if header.kind == "hypergammon":
        text = f"gnubg-H{header.checkers}"
    elif header.kind == "two_sided":
        text = f"gnubg-TS-{header.points:02}-{header.checkers:02}-{header.is_cubeful:d}"
    else:
        flags = f"{header.has_gammon:d}-{header.is_compressed:d}-{header.is_normal:d}"
        text = f"gnubg-OS-{header.points:02}-{header.checkers:02}-{flags}"
    return text.ljust(HEADER_BYTES - 1, "x").encode("ascii") + b"\n"


def parse_header(data: bytes, source: str = "the header") -> BearoffHeader:
    """Parse the header of a file that begins with `data`; `source` names the file in errors. Raises CorruptFileError
    for fewer than 40 bytes and for an invalid header."""
    if len(data) < HEADER_BYTES:
        raise CorruptFileError(f"expected a header of {HEADER_BYTES} bytes in {source}, found {len(data)} bytes")
    head = bytes(data[:HEADER_BYTES])
    header = None
    try:
        kind, *numbers = head.decode("ascii").rstrip("x\n").removeprefix("gnubg-").split("-")
        if kind == "OS":
            points, checkers, gammon, compressed, normal = map(int, numbers)
            header = BearoffHeader("one_sided", points, checkers, bool(gammon), bool(compressed), bool(normal))
        elif kind == "TS":
            points, checkers, cubeful = map(int, numbers)
            header = BearoffHeader("two_sided", points, checkers, is_cubeful=bool(cubeful))
        else:
            header = BearoffHeader("hypergammon", HYPERGAMMON_POINTS, int(kind.removeprefix("H")))
    except (ValueError, InvalidParameterError):
        pass
    if header is None or format_header(header) != head:
        raise CorruptFileError(
            f"expected a header gnubg-OS-, gnubg-TS- or gnubg-H in {source}, found {head!r}; "
            "make the file with makebearoff, makehyper or bgdata"
        )
    return header


class TwoSidedEquities(NamedTuple):
    """The equities of the player on roll before the roll, in points per unit cube, if it does not double now. Gammons
    do not count. In `owned`, the player on roll owns the cube. If the file contains only cubeless equities, the other
    values are None."""

    cubeless: float
    owned: float | None
    centered: float | None
    opponent_owned: float | None


class HypergammonEvaluation(NamedTuple):
    """The cumulative chances of the player on roll before the roll, and its equities in points per unit cube if it does
    not double."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float
    owned: float
    centered: float
    centered_jacoby: float
    opponent_owned: float


class _BearoffFile:
    """Base class of bearoff databases of all kinds: the path, the header, and the mapped data after the header."""

    def __init__(self, path: Path, header: BearoffHeader, data: NDArray[np.uint8]) -> None:
        self.path = path
        self.header = header
        self.points = header.points
        self.checkers = header.checkers
        self._data = data

    def __len__(self) -> int:
        """The number of positions that one side can have."""
        return self.header.position_count

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.header.name} in {self.path}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return open_gnubg_bearoff, (self.path.resolve(),)

    def _check_index(self, index: int) -> int:
        """Return a position index as a Python int, which cannot overflow. Raises NotCoveredError if it is out of
        range."""
        found = whole_index(index)
        if not 0 <= found < len(self):
            raise NotCoveredError(f"expected a position index from 0 to {len(self) - 1} in {self.path}, got {found}")
        return found


class GnubgOneSided(_BearoffFile):
    """A one-sided bearoff database: the chances that a side needs 0 to 31 rolls to bear off. The "gammon" part is about
    the rolls until the first of 15 checkers is off, which are 0 if fewer than 15 are on the board."""

    def __init__(self, path: Path, header: BearoffHeader, data: NDArray[np.uint8]) -> None:
        super().__init__(path, header, data)
        count, parts = len(self), 1 + header.has_gammon
        table = count * header.record_bytes if header.is_compressed else 0
        self._entries = data[:table].view(entry_dtype(header.has_gammon))
        self._values = data[table:].view("<u2")  # values of all distributions
        if header.is_normal:
            self._moments: NDArray[np.float32] = data.view("<f4").reshape(count, 4)
        elif not header.is_compressed:
            self._records = self._values.reshape(count, parts, ROLLS)

    @property
    def moments(self) -> NDArray[np.float32]:
        """The records of the normal variant, as float32[positions, 4], a view of the file: mean and s.d. of the rolls
        to bear off all checkers, and of the rolls to bear off the first of 15. Raises NotCoveredError for a file with
        counts."""
        if not self.header.is_normal:
            raise NotCoveredError(f"expected the normal variant in {self.path}, found counts; use probe_counts")
        return self._moments

    def probe_counts(self, position_index: int, *, is_gammon: bool = False) -> NDArray[np.uint16]:
        """Look up the chances of bearing off all checkers in exactly n rolls, as uint16[32] in units of 1/65535. If
        `is_gammon` is true, they are the chances of bearing off the first of 15 checkers.

        Raises NotCoveredError for an index out of range, for a part that the file does not contain, and for the normal
        variant, which has no counts. Raises CorruptFileError for a record that does not sum to 65535."""
        index = self._check_index(position_index)
        self._check_part(is_gammon)
        return np.asarray(self._counts(slice(index, index + 1), int(is_gammon))[0])

    def probe_chances(self, position_index: int, *, is_gammon: bool = False) -> NDArray[np.float64]:
        """Look up the chances of `probe_counts` as float64[32]. The normal variant has chances too, those of gnubg
        1.07: the normal density at the integers, not normalized, so values can exceed 1 and their sum can differ from
        1. If the s.d. is 0, the chance of the mean is 1. Raises NotCoveredError for an index out of range and for a
        part that the file does not contain, and CorruptFileError for a record that does not sum to 65535."""
        if not self.header.is_normal:
            return self.probe_counts(position_index, is_gammon=is_gammon) / CHANCE_SCALE
        mean, deviation = self.moments[self._check_index(position_index)].tolist()[2 * is_gammon :][:2]
        rolls = np.arange(ROLLS)
        if deviation == 0:
            return np.where(rolls == round(mean), 1.0, 0.0)
        distance = (rolls - mean) / deviation
        return np.asarray(np.exp(-(distance**2) / 2) / (deviation * np.sqrt(2 * np.pi)))

    def mean_rolls(self, position_index: int) -> float:
        """Return the mean number of rolls to bear off all checkers. Raises NotCoveredError for an index out of range,
        and CorruptFileError for an invalid record."""
        if self.header.is_normal:
            return float(self.moments[self._check_index(position_index), 0])
        return float(self.probe_counts(position_index) @ np.arange(ROLLS)) / CHANCE_SCALE

    def read_all(self) -> tuple[NDArray[np.uint16], NDArray[np.uint16] | None]:
        """Read the counts of all positions into memory, as uint16[positions, 32], and those of the gammon part in the
        same form, or None if there is no gammon part. Raises NotCoveredError for the normal variant (use `moments`) and
        CorruptFileError for an invalid record."""
        self._check_part(False)
        parts = np.empty((1 + self.header.has_gammon, len(self), ROLLS), np.uint16)
        for part, counts in enumerate(parts):
            for begin in range(0, len(self), _BLOCK):
                rows = slice(begin, begin + _BLOCK)
                counts[rows] = self._counts(rows, part)
        return parts[0], parts[1] if self.header.has_gammon else None

    def _check_part(self, is_gammon: bool) -> None:
        if self.header.is_normal:
            raise NotCoveredError(f"expected counts in {self.path}, found the normal variant; use moments")
        if is_gammon and not self.header.has_gammon:
            raise NotCoveredError(f"expected a gammon part in {self.path}, found none; make it without option -g")

    def _counts(self, rows: slice, part: int) -> NDArray[np.uint16]:
        """Read and check the counts of part 0 (bearing off) or 1 (gammon), as uint16[rows, 32]."""
        counts: NDArray[np.uint16]
        if self.header.is_compressed:
            counts = self._scatter(self._entries[rows], part)
        else:
            counts = self._records[rows, part].astype(np.uint16)
        sums = counts.sum(axis=1, dtype=np.int64)
        bad = np.flatnonzero(sums != CHANCE_SCALE)
        if bad.size:
            raise CorruptFileError(
                f"expected counts that sum to {CHANCE_SCALE} for position {rows.start + bad[0]} in {self.path}, "
                f"found {sums[bad[0]]}: the file is damaged; write it again"
            )
        return counts

    def _scatter(self, entries: NDArray[np.void], part: int) -> NDArray[np.uint16]:
        """Decompress entries of a compressed file: put the stored values at their numbers of rolls, as uint16[entries,
        32]. Values outside their windows, and past the end of the file, are zero."""
        window = entries["window"].astype(np.int64)
        length, first = window[:, part].T
        start = entries["offset"] + window[:, :part, 0].sum(axis=1)  # the second part follows the first
        place = np.arange(ROLLS) - first[:, np.newaxis]
        source = start[:, np.newaxis] + place
        stored = (place >= 0) & (place < length[:, np.newaxis]) & (source < self._values.size)
        counts = np.zeros(stored.shape, np.uint16)
        counts[stored] = self._values[source[stored]]
        return counts


class GnubgTwoSided(_BearoffFile):
    """A two-sided bearoff database: both sides bear off, without contact. It contains equities of the player on
    roll."""

    @property
    def codes(self) -> NDArray[np.uint16]:
        """The equities as they are stored, a view of the file, as uint16[positions on roll, positions of the opponent,
        4 or 1]. They are cubeless, and in a cubeful file also owned, centered, opponent_owned. Equity = code / 32767.5
        - 1."""
        return self._data.view("<u2").reshape(len(self), len(self), 4 if self.header.is_cubeful else 1)

    def probe(self, on_roll_index: int, opponent_index: int) -> TwoSidedEquities:
        """Look up the equities of a position, given by the position index of each side. Raises NotCoveredError for an
        index out of range."""
        cubeless, *cubeful = self.probe_many([on_roll_index], [opponent_index])[0].tolist()
        owned, centered, opponent_owned = cubeful or (None, None, None)
        return TwoSidedEquities(cubeless, owned, centered, opponent_owned)

    def probe_many(
        self,
        on_roll_indexes: Sequence[int] | NDArray[np.integer],
        opponent_indexes: Sequence[int] | NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """Look up the equities of n positions, as float64[n, 4 or 1], with columns as in `codes`. Raises
        NotCoveredError for an index out of range."""
        what = "position indexes as integers[n]"
        on_roll, opponent = integer_array(on_roll_indexes, what), integer_array(opponent_indexes, what)
        if on_roll.shape != opponent.shape:
            shapes = f"{on_roll.shape} and {opponent.shape}"
            raise UsageError(f"expected position indexes of both sides in the same shape (n,), got {shapes}")
        for indexes in (on_roll, opponent):
            if indexes.size:
                self._check_index(int(indexes.min()))
                self._check_index(int(indexes.max()))
        return np.asarray(self.codes[on_roll, opponent] / EQUITY_SCALE - 1, np.float64)


class GnubgHypergammon(_BearoffFile):
    """A hypergammon database: backgammon with one to three checkers a side. The 25th point of a layout is the bar.
    Records of impossible positions, with both sides on one point, are meaningless."""

    def probe(self, on_roll_index: int, opponent_index: int) -> HypergammonEvaluation:
        """Look up the evaluation of a position, given by the position index of each side. Raises NotCoveredError for an
        index out of range."""
        on_roll, opponent = self._check_index(on_roll_index), self._check_index(opponent_index)
        size = self.header.record_bytes
        start = (on_roll * len(self) + opponent) * size
        numbers = self._data[start : start + size - 1].reshape(9, 3) @ _WEIGHTS_24_BIT / _SCALE_24_BIT  # last byte: 0
        return HypergammonEvaluation(*numbers[:5].tolist(), *(6 * numbers[5:] - 3).tolist())


def open_gnubg_bearoff(path: str | os.PathLike[str]) -> GnubgOneSided | GnubgTwoSided | GnubgHypergammon:
    """Map a bearoff database of gnubg, made by makebearoff, makehyper or the functions of this module. Raises
    StorageError for a missing or unreadable file, and CorruptFileError for an unknown header or a wrong size."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
            header = parse_header(head, str(path))
            mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except CorruptFileError:
        raise
    except OSError as error:
        raise StorageError(f"expected a gnubg bearoff file at {path}, found: {cause(error)}; check the path") from error
    data = mapped[HEADER_BYTES:]
    _check_size(path, header, data)
    if header.kind == "one_sided":
        return GnubgOneSided(path, header, data)
    return GnubgTwoSided(path, header, data) if header.kind == "two_sided" else GnubgHypergammon(path, header, data)


def _check_size(path: Path, header: BearoffHeader, data: NDArray[np.uint8]) -> None:
    """Raise CorruptFileError unless the data after the header have the size that the header implies."""
    expected = header.record_count * header.record_bytes
    least = ""
    if header.is_compressed and data.size < expected:
        least = "more than "  # the exact size is unknown, since it is in the missing part
    elif header.is_compressed:  # the last index entry gives the end of the values
        last = data[expected - header.record_bytes : expected].view(entry_dtype(header.has_gammon))[0]
        expected += 2 * (int(last["offset"]) + int(last["window"][:, 0].sum()))
    if data.size != expected:
        reason = "the file is truncated" if data.size < expected else "something was appended or the file is damaged"
        raise CorruptFileError(
            f"expected {least}{HEADER_BYTES + expected} bytes for {header.name} in {path}, "
            f"found {HEADER_BYTES + data.size}: {reason}; write it again"
        )


def write_one_sided(
    path: str | os.PathLike[str],
    points: int,
    counts: NDArray[np.uint16],
    gammon_counts: NDArray[np.uint16] | None,
    *,
    compressed: bool,
) -> None:
    """Write the one-sided table of 15 checkers, as `makebearoff -o` does.

    `counts` and `gammon_counts` are the chances of n rolls, uint16[positions, 32] in index order, in units of 1/65535.
    Every row sums to 65535. If `gammon_counts` is None, the file has no gammon part (option `-g`); `compressed=False`
    is option `-c`. Raises UsageError for other shapes, types or sums, TooLargeError if a compressed file has more
    values than 32 bits can count, and StorageError if the file cannot be written.
    """
    header = BearoffHeader("one_sided", points, 15, gammon_counts is not None, compressed)
    parts = [counts] if gammon_counts is None else [counts, gammon_counts]
    for part in parts:
        _check_array(part, (header.position_count, ROLLS), np.uint16)
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
    """Write the normal variant of a one-sided database, as `makebearoff -o -n` does. `moments` are mean and s.d. of the
    rolls to bear off all checkers, and of the rolls to bear off the first of 15, as float32[positions, 4] in index
    order. Raises UsageError and StorageError as `write_one_sided` does."""
    header = BearoffHeader("one_sided", points, 15, has_gammon=True, is_normal=True)
    _check_array(moments, (header.position_count, 4), np.float32)
    write_file(path, header, (moments[rows].astype("<f4").tobytes() for rows in _blocks(moments)))


def write_two_sided(path: str | os.PathLike[str], points: int, checkers: int, codes: NDArray[np.uint16]) -> None:
    """Write a two-sided table, as `makebearoff -t` does. `codes`, uint16[positions on roll, positions of the opponent,
    4 or 1], are the equities of the player on roll: cubeless, owned, centered, opponent_owned, or only cubeless (option
    `-C`). Equity = code / 32767.5 - 1. Raises UsageError for another shape or type and StorageError if the file cannot
    be written."""
    header = BearoffHeader("two_sided", points, checkers, is_cubeful=codes.shape[-1:] == (4,))
    count = header.position_count
    _check_array(codes, (count, count, 4 if header.is_cubeful else 1), np.uint16)
    write_file(path, header, (codes[rows].astype("<u2").tobytes() for rows in _blocks(codes)))


def write_hypergammon(
    path: str | os.PathLike[str], checkers: int, chances: NDArray[np.float32], equities: NDArray[np.float32]
) -> None:
    """Write a hypergammon database that gnubg reads as `hyper1.bd` to `hyper3.bd`.

    `chances` are those of gnubg, float32[on roll, opponent, 5]. `equities` are owned, centered, centered with the
    Jacoby rule, and opponent_owned, float32[on roll, opponent, 4]. NaN is written as zero, in records that gnubg never
    reads. Raises UsageError for another shape or type and StorageError if the file cannot be written."""
    header = BearoffHeader("hypergammon", HYPERGAMMON_POINTS, checkers)
    count = header.position_count
    _check_array(chances, (count, count, 5), np.float32)
    _check_array(equities, (count, count, 4), np.float32)

    def records(chances: NDArray[np.float32], equities: NDArray[np.float32]) -> bytes:
        """Encode the records of all positions in which the player on roll has one layout: nine 24-bit numbers each,
        lowest byte first, and a zero byte."""
        shares = np.concatenate([chances, equities / (2 * _MAX_EQUITY) + 0.5], axis=1).astype(np.float64)
        numbers = np.rint(np.nan_to_num(np.clip(shares, 0, 1)) * _SCALE_24_BIT).astype("<u4")
        found = np.zeros((count, 28), np.uint8)
        found[:, :27] = numbers.view(np.uint8).reshape(count, 9, 4)[:, :, :3].reshape(count, 27)
        return found.tobytes()

    write_file(path, header, map(records, chances, equities))


def _check_array(array: NDArray[Any], shape: tuple[int, ...], dtype: type[np.generic]) -> None:
    if array.shape != shape or array.dtype != dtype:
        raise UsageError(f"expected {np.dtype(dtype)}{list(shape)}, got {array.dtype}{list(array.shape)}")


def _blocks(array: NDArray[Any]) -> Iterator[slice]:
    rows = max(1, _BLOCK_VALUES * len(array) // array.size)
    return (slice(begin, begin + rows) for begin in range(0, len(array), rows))


def _compressed_chunks(parts: list[NDArray[np.uint16]]) -> Iterator[bytes]:
    """Yield the index table, then the counts of each part, from the first to the last nonzero count."""
    entries = np.empty(len(parts[0]), entry_dtype(len(parts) == 2))
    for rows in _blocks(parts[0]):
        for number, part in enumerate(parts):
            is_stored = part[rows] != 0
            first = is_stored.argmax(axis=1)
            length = ROLLS - is_stored[:, ::-1].argmax(axis=1) - first
            entries["window"][rows, number] = np.stack([length, first], axis=1)
    ends = entries["window"][:, :, 0].sum(axis=1, dtype=np.int64).cumsum()
    if ends[-1] > _MAX_COMPRESSED_VALUES:
        raise TooLargeError(
            f"expected at most {_MAX_COMPRESSED_VALUES} values in a compressed file, got {ends[-1]}; do not compress"
        )
    entries["offset"][0], entries["offset"][1:] = 0, ends[:-1]
    yield entries.tobytes()
    for rows in _blocks(parts[0]):
        stacked = np.stack([part[rows] for part in parts], axis=1)
        place = np.arange(ROLLS) - entries["window"][rows, :, 1, np.newaxis].astype(np.int64)
        yield stacked[(place >= 0) & (place < entries["window"][rows, :, 0, np.newaxis])].astype("<u2").tobytes()


def write_file(path: str | os.PathLike[str], header: BearoffHeader, chunks: Iterable[bytes]) -> None:
    """Write a header and chunks of data to a file atomically. Raises StorageError if the file cannot be written."""
    path = Path(path)
    with write_beside(path, f"{header.name} to ") as file:
        file.write(format_header(header))
        file.writelines(chunks)
