"""Reads text files by lines (plain, .gz or .bz2), and accounts for every line.

Every line is exactly one of these: a row, a comment or blank line, or *quarantined* with its number, text and reason.
Reading never stops at a bad line, and no line is dropped silently. A `Ledger` has one verdict for each line, so the
three counts add up. Text may also be in UTF-16 or have the line ends of old Macs. Binary files of other programs are
refused.
"""

from __future__ import annotations

import bz2
import codecs
import copy
import gzip
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import BgdataError, CorruptFileError, InvalidParameterError, StorageError, UsageError, cite
from bgdata.formats.unpacking import cause, read_content
from bgdata.process import when_cut_off

BLOCK = 1 << 15  # number of lines in a block: some megabytes with its arrays
TEXT_LIMIT = 500  # number of characters of a quarantined line that are kept
T = TypeVar("T")
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LINE_FEED, _CARRIAGE_RETURN = 10, 13
_ROW, _COMMENT, _FIRST_REASON = 0, 1, 2  # verdicts
_PROGRAMS = (  # first bytes of binary files of matches or positions, and the programs
    (re.compile(rb"RGMH"), "eXtreme Gammon"),
    (re.compile(rb'\{"(?:format":"BGF"|version":"[^"]*","compression")'), "BGBlitz"),
    (re.compile(rb"OGXM"), "OpenGammon (OGXM)"),
)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A line that was quarantined: its number (from 1), its text made printable and cut if long, and the rule that it
    breaks."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}, got {self.text!r}"


@dataclass(frozen=True, slots=True)
class LineCounts:
    """The number of lines of each kind in a file. `lines` is the sum of the other three. `comments` includes blank
    lines."""

    lines: int
    rows: int
    comments: int
    quarantined: int


@dataclass(frozen=True)
class Lines:
    """The lines of a text file: line k is `data[starts[k]:ends[k]]`, without its line feed and a carriage return before
    it. A line ends at a line feed or at the end of the data. A UTF-8 byte order mark at the beginning is not part of a
    line. `numbers` contains the number of each line, from 1; None stands for 1, 2, 3 and so on."""

    data: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    numbers: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> bytes:
        return self.data[self.starts[index] : self.ends[index]]

    def number(self, index: int) -> int:
        """The number, from 1, of the line with index `index`."""
        return index + 1 if self.numbers is None else int(self.numbers[index])

    def blocks(self) -> list[Lines]:
        """Split the lines into one or more blocks that are small enough for caches. The blocks share the data and keep
        the line numbers."""
        numbers = np.arange(1, len(self) + 1) if self.numbers is None else self.numbers
        places = [slice(start, start + BLOCK) for start in range(0, max(len(self), 1), BLOCK)]
        return [Lines(self.data, self.starts[rows], self.ends[rows], numbers[rows]) for rows in places]

    def text(self, index: int) -> str:
        """Return the line with index `index` as a printable string: invalid UTF-8 and control characters are escaped,
        and the string is cut at TEXT_LIMIT."""
        start, end = int(self.starts[index]), int(self.ends[index])
        letters = self.data[start : min(end, start + 4 * TEXT_LIMIT)].decode("utf-8", "backslashreplace")[:TEXT_LIMIT]
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in letters)
        return text if end - start <= TEXT_LIMIT else f"{text}... ({end - start} bytes)"


def plain_text(data: bytes) -> bytes:
    """Convert a text to UTF-8 with line feeds. UTF-16 is recognized by its byte order mark, and carriage returns are
    converted if nothing else ends lines. Invalid UTF-16 becomes U+FFFD."""
    if data.startswith(UTF16_MARKS):
        data = data.decode("utf-16", errors="replace").encode(errors="replace")
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def without_unprintable(text: str) -> str:
    """Replace unprintable characters, such as no-break spaces, by blanks."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def as_utf8(data: bytes, encoding: str) -> bytes:
    """Convert a text in an encoding to UTF-8, with U+FFFD for undefined bytes. Texts in UTF-8, or in UTF-16 with a byte
    order mark, do not change. If `encoding` is empty, no text changes."""
    if not encoding or is_utf8(data) or data.startswith(UTF16_MARKS):
        return data
    return data.decode(encoding, errors="replace").encode(errors="replace")


def encoding_name(text: str) -> str:
    """Return Python's name of an encoding that extends ASCII: `cp1250` for `windows-1250`. Raises InvalidParameterError
    for any other string."""
    ascii_text = "Game 1 : 0"
    try:
        if ascii_text.encode().decode(text) == ascii_text:
            return codecs.lookup(text).name
    except (LookupError, ValueError):  # ValueError includes UnicodeError
        pass
    raise InvalidParameterError(f"expected an encoding of text, such as cp1250, cp1251 or cp1253, got {cite(text)}")


def check_is_text(data: bytes, name: str) -> None:
    """Raise CorruptFileError if the data are a binary file of another program. `name` is the name of the file."""
    for begin, program in _PROGRAMS:
        if begin.match(data):
            raise CorruptFileError(
                f"expected text in {name}, found a file of {program}; export it there as .mat or other text"
            )


def split_lines(data: bytes, *, may_have_mark: bool = True) -> Lines:
    """Split a text into lines. Every byte is in exactly one line, except the byte order mark and line ends.
    `may_have_mark` must be false except at the beginning of a file."""
    letters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(letters == _LINE_FEED)
    if data and letters[-1] != _LINE_FEED:
        ends = np.append(ends, len(data))
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    if may_have_mark and data.startswith(UTF8_MARK):
        starts[0] = len(UTF8_MARK)
    ends -= (ends > starts) & (letters[ends - 1] == _CARRIAGE_RETURN)
    return Lines(data, starts, ends)


def comment_text(line: bytes) -> str:
    """Decode a line, such as a comment. Bytes that are not UTF-8 become single letters, such as `ÿ`."""
    return line.rstrip(b"\r").decode("utf-8", "backslashreplace")


def decode_text(data: bytes) -> str:
    """Decode text written by people: as UTF-8, otherwise as Windows code page 1252, otherwise as Latin-1."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def is_utf8(data: bytes) -> bool:
    """Whether these bytes are valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Ledger:
    """The verdict on every line of a file: it is a row, unless it is marked as a comment or rejected with a reason."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self._verdicts = np.full(len(lines), _ROW, np.int32)
        self._reasons: dict[str, int] = {}  # the verdict of each reason

    def __repr__(self) -> str:
        counts = self.counts
        return f"Ledger({counts.rows:,} rows, {counts.comments:,} comments, {counts.quarantined:,} quarantined)"

    @classmethod
    def join(cls, lines: Lines, ledgers: list[Ledger]) -> Ledger:
        """Join the ledgers of consecutive blocks into one."""
        ledger = cls(lines)
        for number, part in enumerate(ledgers):
            verdicts = np.array([_ROW, _COMMENT, *map(ledger._verdict, part._reasons)], np.int32)
            ledger._verdicts[number * BLOCK : (number + 1) * BLOCK] = verdicts[part._verdicts]
        return ledger

    def copy(self) -> Ledger:
        """Return a copy that can change independently."""
        other = copy.copy(self)
        other._verdicts, other._reasons = self._verdicts.copy(), self._reasons.copy()
        return other

    def set_aside(self, indexes: NDArray[np.integer] | list[int]) -> None:
        """Mark the lines with these indexes (from 0) as comments, except rejected lines."""
        self._mark(indexes, _COMMENT)

    def reject(self, indexes: NDArray[np.integer] | list[int], reason: str) -> None:
        """Quarantine the lines with these indexes (from 0) for a reason. Earlier reasons stay, and comments stay
        comments."""
        if len(indexes):
            self._mark(indexes, self._verdict(reason))

    def _verdict(self, reason: str) -> int:
        return self._reasons.setdefault(reason, _FIRST_REASON + len(self._reasons))

    def _mark(self, indexes: NDArray[np.integer] | list[int], verdict: int) -> None:
        places = np.asarray(indexes, np.int64)
        self._verdicts[places[self._verdicts[places] == _ROW]] = verdict

    def is_row(self, indexes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether the lines with these indexes (from 0) are rows, as bool[len(indexes)]."""
        return np.asarray(self._verdicts[indexes] == _ROW)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The indexes (from 0) of the lines that are rows, ascending, as int64[rows]."""
        return np.flatnonzero(self._verdicts == _ROW)

    @property
    def comments(self) -> NDArray[np.int64]:
        """The indexes (from 0) of comments and blank lines, ascending, as int64[comments]."""
        return np.flatnonzero(self._verdicts == _COMMENT)

    @property
    def counts(self) -> LineCounts:
        """The number of lines that are rows, comments (or blank lines) and quarantined."""
        total = len(self._verdicts)
        rows, comments = (int(np.count_nonzero(self._verdicts == verdict)) for verdict in (_ROW, _COMMENT))
        return LineCounts(total, rows, comments, total - rows - comments)

    @property
    def rejects(self) -> list[Quarantined]:
        """The quarantined lines in order. Each access collects them again."""
        places = np.flatnonzero(self._verdicts >= _FIRST_REASON).tolist()
        reasons, lines = list(self._reasons), self.lines
        found = (reasons[verdict - _FIRST_REASON] for verdict in self._verdicts[places].tolist())
        return [Quarantined(lines.number(k), lines.text(k), reason) for k, reason in zip(places, found, strict=True)]


@dataclass(frozen=True)
class Intake:
    """Base class of what readers of files return: valid rows, and the ledger of all lines."""

    ledger: Ledger

    @property
    def counts(self) -> LineCounts:
        """The number of lines that are rows, comments (or blank lines) and quarantined."""
        return self.ledger.counts

    @property
    def rejects(self) -> list[Quarantined]:
        """The quarantined lines, with their reasons."""
        return self.ledger.rejects


@dataclass(frozen=True)
class RowIntake(Intake):
    """Base class of what readers return if each row is one line. The first axis of every array of a subclass is rows.
    `lines`, int64[n], are line numbers, from 1."""

    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lines)

    def quarantine(self, is_bad: NDArray[np.bool_], reason: str) -> Self:
        """Return a copy without the rows where `is_bad`, bool[n], is True. Their lines are quarantined with this
        reason. This is for rules that need more than the row, such as the class of a file's positions. Raises
        UsageError for an array of another shape or type."""
        check_mask(is_bad, len(self))
        ledger = self.ledger.copy()
        ledger.reject(self.lines[is_bad] - 1, reason)
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        kept = {name: array[~is_bad] for name, array in arrays.items() if isinstance(array, np.ndarray)}
        return replace(self, ledger=ledger, **kept)


def check_mask(is_bad: NDArray[np.bool_], count: int) -> None:
    """Raise UsageError unless `is_bad` is bool[count]."""
    if is_bad.dtype != np.bool_ or is_bad.shape != (count,):
        raise UsageError(f"expected bool[{count}], got {is_bad.dtype}{list(is_bad.shape)}")


def map_blocks(function: Callable[[Lines], T], lines: Lines) -> list[T]:
    """Call `function(block)` for each block of lines, with one thread per core, and return the results in order.
    Kernels and NumPy run in parallel. The result does not depend on the number of threads."""
    blocks = lines.blocks()
    if len(blocks) == 1:
        return [function(blocks[0])]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(function, blocks))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a file, decompressed if it begins like a gzip or bzip2 file. Raises StorageError, CorruptFileError and
    TooLargeError as `unpacking.read_content` does."""
    return read_content(path)[0]


def write_bytes(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write a file atomically, compressed if its name ends in .gz or .bz2. Equal content always gives equal bytes.
    Raises StorageError if the file cannot be written."""
    path = Path(path)
    with write_beside(path) as file, _packer(file, path.suffix) as packer:
        packer.writelines(chunks)


@contextmanager
def write_beside(path: Path, what: str = "") -> Iterator[BinaryIO]:
    """Open a temporary file for writing, which replaces `path` at the end of the `with` block. After an error in the
    block, the old file remains. Raises StorageError if it cannot be written; the message also says `what` was to be
    written."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with when_cut_off(lambda: partial.unlink(missing_ok=True)), partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, BgdataError) or not isinstance(error, OSError):  # errors about the content may be both
            raise
        raise StorageError(
            f"expected to write {what}{path}, found: {cause(error)}; "
            "choose a folder that exists, can be written and has room"
        ) from error


def _packer(file: BinaryIO, suffix: str) -> AbstractContextManager[Any]:
    """Open a file object that compresses by the suffix of the name. Closing it does not close `file`."""
    if suffix == ".gz":
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    return bz2.BZ2File(file, "wb") if suffix == ".bz2" else nullcontext(file)
