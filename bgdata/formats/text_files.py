"""Reads long text files in blocks of whole lines, from any line on, so that only a block is in memory and never a whole
file.

A file is read once to hash it and to mark where lines begin. Its content is then kept in a `Spool`: up to HELD_BYTES of
all files in memory, the rest on disk. Large uncompressed files are not kept, but read again.
"""

from __future__ import annotations

import codecs
import os
import stat
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple

import numpy as np

from bgdata.errors import BgdataError, StorageError
from bgdata.formats.lines import UTF8_MARK, UTF16_MARKS, Lines, check_is_text, split_lines
from bgdata.formats.unpacking import FileFacts, cause, packing_of, unpack

BLOCK_BYTES = 1 << 20  # size of a block, unless a line is longer
MARK_BYTES = 1 << 22  # least number of bytes between marks
HELD_BYTES = 1 << 26  # most bytes of a spool in memory
_HEAD_BYTES = 16  # enough to recognize compressed files


class Mark(NamedTuple):
    """A recorded place where a line begins: the line's number from 0, the place in the content, and the nearest comment
    above it, if any."""

    line: int
    place: int
    comment: bytes


class Block(NamedTuple):
    """Consecutive lines of a file: the number of the first line, from 0, and the bytes of all lines with their line
    ends."""

    first_line: int
    data: bytes

    @property
    def text(self) -> bytes:
        """The bytes, without the byte order mark at the beginning of a file."""
        return self.data if self.first_line else self.data.removeprefix(UTF8_MARK)

    def lines(self) -> Lines:
        """The lines of the block, numbered from 1."""
        return split_lines(self.data, may_have_mark=not self.first_line)


class Spool:
    """Stores the decompressed contents of files, one after another: in memory, or, if they are large, in a file without
    a name, so that no file is left behind."""

    def __init__(self, folder: Path) -> None:
        self.file: IO[bytes] = SpooledTemporaryFile(HELD_BYTES, dir=str(folder))  # noqa: SIM115 (the opener closes it)
        self.folder, self.bytes = folder, 0

    def write(self, data: bytes) -> None:
        """Append bytes. Raises StorageError if they cannot be written."""
        try:
            self.file.seek(self.bytes)
            self.file.write(data)
        except OSError as error:
            raise StorageError(
                f"expected room in {self.folder} for the unpacked content, found: {cause(error)}; free some space"
            ) from error
        self.bytes += len(data)


@dataclass(frozen=True)
class TextFile:
    """A text file that can be read from any line on. It is read at its path, as long as the file has the same `stamp`,
    or from byte `begin` on in a spool."""

    path: Path
    stamp: tuple[int, ...]  # stamp of the file when it was marked
    spool: Spool | None
    begin: int
    size: int  # in bytes
    lines: int
    marks: tuple[Mark, ...]
    first_letter: bytes  # the first letter that is not a blank
    has_old_ends: bool  # lines end with carriage returns, as on old Macs

    def blocks(self, begin: int = 0, end: int | None = None) -> Iterator[Block]:
        """Read the lines `begin` to `end` - 1, numbered from 0, in blocks. Raises StorageError if the file cannot be
        read or has changed since it was opened."""
        end = self.lines if end is None else end
        line, place, _ = self._mark(begin)
        started = list[bytes]()  # parts of a line that continues
        with self._content() as file:
            while line < end:
                file.seek(self.begin + place)
                data = file.read(min(BLOCK_BYTES, self.size - place))
                place += len(data)
                data = data.replace(b"\r", b"\n") if self.has_old_ends else data
                cut = data.rfind(b"\n") + 1
                if data and not cut:
                    started.append(data)
                    continue
                text = b"".join((*started, data[:cut]))
                started = [data[cut:]]
                if not text:
                    raise StorageError(self._change_text())
                count = text.count(b"\n") + (not text.endswith(b"\n"))
                first, last = max(begin, line), min(end, line + count)
                if first < last:
                    yield Block(first, text[_line_place(text, first - line) : _line_place(text, last - line)])
                line += count

    def comment_above(self, line: int) -> bytes:
        """Return the nearest comment above a line: a line that begins with #. It is empty if there is none."""
        mark = self._mark(line)
        comments = (last_comment(block.text) for block in self.blocks(mark.line, line))
        return [mark.comment, *filter(None, comments)][-1]

    def _mark(self, line: int) -> Mark:
        return self.marks[bisect_right(self.marks, line, key=lambda mark: mark.line) - 1]

    @contextmanager
    def _content(self) -> Iterator[IO[bytes]]:
        """Open the content of the file for reading, for the `with` block."""
        if self.spool:
            yield self.spool.file
            return
        try:
            with self.path.open("rb") as file:
                for is_read in (False, True):
                    if _stamp(os.fstat(file.fileno())) != self.stamp:
                        raise StorageError(self._change_text())
                    if not is_read:
                        yield file
        except BgdataError:
            raise
        except OSError as error:
            raise StorageError(f"expected a file at {self.path}, found: {cause(error)}; check the path") from error

    def _change_text(self) -> str:
        return f"expected {self.path} as it was when the import began, found it changed; try again"


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """The size, times and identity of a file, which change when its content does."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def last_comment(lines: bytes) -> bytes:
    """Return the last of these lines that begins with #, perhaps after blanks, without its line end. It is empty if
    there is none."""
    end = len(lines)
    while (place := lines.rfind(b"#", 0, end)) >= 0:
        begin = lines.rfind(b"\n", 0, place) + 1
        if lines[begin : place + 1].lstrip(b" \t").startswith(b"#"):
            stop = lines.find(b"\n", place)
            return lines[begin : len(lines) if stop < 0 else stop]
        end = begin
    return b""


def _line_place(text: bytes, line: int) -> int:
    """Return the place in a text where a line, counted from 0, begins, or the end of the text for one past the last
    line."""
    if not line:
        return 0
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    return int(ends[line - 1]) + 1 if line <= len(ends) else len(text)


def open_text_file(path: Path, spool: Spool, *, takes_others: bool, has_comments: bool) -> tuple[TextFile, FileFacts]:
    """Read a file once, mark its lines, and keep content that cannot be read again in `spool`. If `takes_others`, text
    in UTF-16 or with the line ends of old Macs is accepted, and converted as `lines.plain_text` does. If
    `has_comments`, lines that begin with # are comments. Raises the errors of `unpacking.unpack`, and CorruptFileError
    for a binary file of another program."""
    try:
        status = path.stat()
        is_again = stat.S_ISREG(status.st_mode) and status.st_size > HELD_BYTES - spool.bytes  # is read again
        if is_again:
            with path.open("rb") as file:
                head = file.read(_HEAD_BYTES)
            is_again = packing_of(head) is None and not (takes_others and head.startswith(UTF16_MARKS))
    except OSError as error:
        raise StorageError(f"expected a file at {path}, found: {cause(error)}; check the path") from error
    scan = _Scan(path, spool.bytes, None if is_again else spool, takes_others, has_comments)
    facts = unpack(path, scan.take)
    return scan.finish(_stamp(status)), facts


class _Scan:
    """Marks the lines of a file whose content arrives in pieces."""

    def __init__(self, path: Path, begin: int, spool: Spool | None, takes_others: bool, has_comments: bool) -> None:
        self.path, self.begin, self.spool = path, begin, spool
        self.takes_others, self.has_comments = takes_others, has_comments
        self.marks = [Mark(0, 0, b"")]
        self.bytes = self.line_feeds = self.returns = 0
        self.first_letter = self.comment = self.last = b""
        self.started = list[bytes]()  # parts of a line that continues
        self.decoder: codecs.IncrementalDecoder | None = None

    def take(self, piece: bytes) -> None:
        """Mark the lines in the next bytes of the content, and keep the bytes if they cannot be read again."""
        if not self.bytes:
            check_is_text(piece, self.path.name)
            if self.takes_others and piece.startswith(UTF16_MARKS):
                self.decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._add(self.decoder.decode(piece).encode(errors="replace") if self.decoder else piece)

    def _add(self, piece: bytes) -> None:
        if self.spool:
            self.spool.write(piece)
        self.first_letter = self.first_letter or piece.lstrip()[:1]
        self.returns += self.takes_others and piece.count(b"\r")
        cut = piece.rfind(b"\n") + 1
        if self.has_comments:
            self._look_for_comment(piece, cut)
        self.line_feeds += piece.count(b"\n")
        if cut and self.bytes + cut >= self.marks[-1].place + MARK_BYTES:
            self.marks.append(Mark(self.line_feeds, self.bytes + cut, self.comment))
        self.bytes += len(piece)
        self.last = piece[-1:] or self.last

    def _look_for_comment(self, piece: bytes, cut: int) -> None:
        """Remember the last comment among the lines that end before place `cut` of a piece."""
        if not cut:
            self.started.append(piece)
            return
        whole = Block(self.line_feeds, b"".join((*self.started, piece[:cut])))
        self.comment = last_comment(whole.text) or self.comment
        self.started = [piece[cut:]]

    def finish(self, stamp: tuple[int, ...]) -> TextFile:
        """Make the `TextFile` after all content has arrived."""
        if self.decoder:
            self._add(self.decoder.decode(b"", final=True).encode(errors="replace"))
        has_old_ends = not self.line_feeds and self.returns > 0
        ends, end = (self.returns, b"\r") if has_old_ends else (self.line_feeds, b"\n")
        lines = ends + (self.last not in (b"", end))
        marks = tuple(self.marks)
        return TextFile(
            self.path, stamp, self.spool, self.begin if self.spool else 0, self.bytes, lines, marks,
            self.first_letter, has_old_ends,
        )  # fmt: skip
