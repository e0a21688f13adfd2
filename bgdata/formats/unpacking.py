"""Reads files once: decompresses them as a stream, within limits, and hashes the compressed and uncompressed bytes
meanwhile.

Five kilobytes can unpack to gigabytes, so pieces are small and their total is limited: by size, and above FREE_BYTES
also by the ratio to the size of the file. Environment variables, which the errors name, raise the limits.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, BinaryIO
from zipfile import BadZipFile, ZipFile

from bgdata.errors import BgdataError, CorruptFileError, StorageError, TooLargeError, UsageError

CHUNK_BYTES = 1 << 18
FREE_BYTES = 1 << 24  # the ratio is not checked up to this size: short repetitive texts compress well
MAX_BYTES = 1 << 32  # greatest size of the content; published training files have hundreds of megabytes
MAX_RATIO = 200  # greatest ratio of content to file; published files have 3 to 10
BYTES_VARIABLE, RATIO_VARIABLE = "BGDATA_MOST_UNPACKED_BYTES", "BGDATA_MOST_UNPACKED_RATIO"
HEAD_BYTES = 512  # enough to recognize archives

_ZIP = b"PK\x03\x04"
_GZIP, _BZIP2 = "gzip", "bzip2"
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")  # bytes after the level: a block, or the end of an empty file
_ARCHIVES = (  # (offset, bytes, format): text never has these bytes at this offset
    (0, _ZIP, "a zip archive"),
    (0, b"PK\x05\x06", "an empty zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
)


@dataclass(frozen=True)
class FileFacts:
    """Facts about a file: its size, the SHA-256 of its bytes and of its decompressed content, and its modification
    day."""

    bytes: int
    sha256: str
    content_sha256: str
    date: str


def read_content(path: str | os.PathLike[str]) -> tuple[bytes, FileFacts]:
    """Read a file once, decompressed if it begins like a gzip or bzip2 file. Returns its content and its facts.

    Raises StorageError if the file cannot be read; CorruptFileError if compressed data are truncated, damaged or
    followed by other data, or if the file is an archive or compressed twice; TooLargeError if the content is beyond the
    limits; and UsageError if a limit is invalid."""
    buffer = io.BytesIO()
    facts = unpack(path, buffer.write)
    return buffer.getvalue(), facts  # the bytes share the buffer


def unpack(path: str | os.PathLike[str], take: Callable[[bytes], object]) -> FileFacts:
    """Read a file once and pass its decompressed content to `take`, piece by piece. Raises the same exceptions as
    `read_content`."""
    with _reading(path), Path(path).open("rb") as file:
        source, content = _Source(file, path), hashlib.sha256()
        for piece in _limit_pieces(_pieces(source), source):
            if source.packing:
                content.update(piece)
            take(piece)
        date = _date_of(file)
    found = source.sha256.hexdigest()
    return FileFacts(source.count, found, content.hexdigest() if source.packing else found, date)


def _date_of(file: BinaryIO) -> str:
    """Return the day on which an open file was modified, in UTC."""
    return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC).date().isoformat()


@contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Inside the `with` block, turn an OSError about a file into a StorageError."""
    try:
        yield
    except BgdataError:
        raise
    except OSError as error:
        raise StorageError(f"expected a file at {path}, found: {cause(error)}; check the path") from error


class _Source:
    """A file whose bytes are hashed and counted while they are read."""

    def __init__(self, file: BinaryIO, path: str | os.PathLike[str]) -> None:
        self._file, self.path = file, path
        self.sha256 = hashlib.sha256()
        self.count = 0
        self.packing: str | None = None

    def chunk(self) -> bytes:
        """Read the next bytes. The result is empty at the end."""
        with _reading(self.path):
            data = self._file.read(CHUNK_BYTES)
        self.sha256.update(data)
        self.count += len(data)
        return data


class _GzipUnpacker:
    """Decompresses one gzip stream, and checks its checksum and length. It has the methods of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.eof, self.needs_input = False, True
        self.unused_data = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        unpacker = self._unpacker
        piece = unpacker.decompress(unpacker.unconsumed_tail + data, max_length)
        self.eof, self.unused_data = unpacker.eof, unpacker.unused_data
        # after a piece of maximum length, there may be more inside
        self.needs_input = not self.eof and len(piece) < max_length and not unpacker.unconsumed_tail
        return piece


def _pieces(source: _Source) -> Iterator[bytes]:
    """Yield the decompressed content in pieces of at most CHUNK_BYTES. Raises CorruptFileError if it is damaged, or
    begins like an archive or a file compressed twice."""
    data = source.chunk()
    packing = source.packing = packing_of(data)
    head = b""
    plain = (piece for piece in chain([data], iter(source.chunk, b"")) if piece)
    for piece in _streams(source, data, packing) if packing else plain:
        if len(head) < HEAD_BYTES:
            head = (head + piece)[:HEAD_BYTES]
            if found := _archive_form(head) or (packing_of(head) if packing else None):
                raise CorruptFileError(
                    f"expected text in {source.path}, plain or packed once with gzip or bzip2, "
                    f"found {found}{f' in {packing}' if packing else ''}; unpack it first"
                )
        yield piece


def _streams(source: _Source, data: bytes, packing: str) -> Iterator[bytes]:
    """Yield the content of all compressed streams in a file that begins with `data`; a gzip file may be followed by
    zeros, with which tapes are padded."""
    try:
        while data:
            unpacker = _GzipUnpacker() if packing == _GZIP else bz2.BZ2Decompressor()
            while not unpacker.eof:
                if unpacker.needs_input:
                    data = data or source.chunk()
                    if not data:
                        raise EOFError("the file is truncated")
                if piece := unpacker.decompress(data, CHUNK_BYTES):
                    yield piece
                data = b""
            data = unpacker.unused_data or source.chunk()
            while packing == _GZIP and data and not data.strip(b"\0"):
                data = source.chunk()
            data = data.lstrip(b"\0") if packing == _GZIP else data
    except BgdataError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        found = cause(error)
        raise CorruptFileError(f"expected packed data in {source.path}, found: {found}; fetch it again") from error


def packing_of(head: bytes) -> str | None:
    """Return how a file that begins with these bytes is compressed, None if it is not."""
    if head.startswith(b"\x1f\x8b\x08"):
        return _GZIP
    return _BZIP2 if head.startswith(b"BZh") and head[4:10] in _BZIP2_BLOCKS else None


def _archive_form(head: bytes) -> str | None:
    """Return the format of an archive that begins with these bytes, or of a compression that cannot be read. Returns
    None for other files."""
    return next((name for place, mark, name in _ARCHIVES if head[place : place + len(mark)] == mark), None)


def _limit_pieces(pieces: Iterator[bytes], source: _Source) -> Iterator[bytes]:
    """Yield the pieces while their total is within the limits. Raises TooLargeError when it exceeds them."""
    most, ratio = limit(BYTES_VARIABLE, MAX_BYTES), limit(RATIO_VARIABLE, MAX_RATIO)
    count = 0
    for piece in pieces:
        count += len(piece)
        if count > most:
            raise TooLargeError(
                f"expected at most {most:,} bytes of content in {source.path}, found more; "
                f"to allow it, set {BYTES_VARIABLE} to a larger number"
            )
        if count > max(FREE_BYTES, ratio * source.count):
            raise TooLargeError(
                f"expected at most {ratio:,} times as much content as file in {source.path}, found {count:,} bytes and "
                f"more in {source.count:,}; to allow it, set {RATIO_VARIABLE} to a larger number"
            )
        yield piece


def limit(variable: str, default: int) -> int:
    """Read a limit from an environment variable, `default` if it is not set. Raises UsageError if the variable is not a
    number."""
    text = os.environ.get(variable, str(default))
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        raise UsageError(f"expected a number in the environment variable {variable}, got {text!r}") from None


def cause(error: Exception) -> str:
    """The message of an error from the system or a library, in lower case."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive, or a tar archive, uncompressed or compressed with gzip or bzip2. It is false for
    a pipe, which can be read only once."""
    head = first_bytes(path) if path.is_file() else b""
    return head.startswith(_ZIP) or _is_tar(head)


def first_bytes(path: Path, count: int = HEAD_BYTES) -> bytes:
    """Return the first bytes of a file's content, at most `count`, decompressed if it is compressed. There are none if
    the beginning is damaged. Raises StorageError if the file cannot be read."""
    with _reading(path), path.open("rb") as file:
        data = file.read(max(count, CHUNK_BYTES))
    packing = packing_of(data)
    if not packing:
        return data[:count]
    try:
        return (_GzipUnpacker() if packing == _GZIP else bz2.BZ2Decompressor()).decompress(data, count)
    except (OSError, ValueError, zlib.error):
        return b""


def packing_error(path: Path) -> CorruptFileError | TooLargeError | None:
    """Return the reason why a compressed file or an archive cannot be read. A whole archive cannot be read as one file
    either. Returns None for other files, and for pipes. Raises StorageError if the disk refuses."""
    if not path.is_file():
        return None
    with _reading(path), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    try:
        if is_archive(path):
            with TemporaryDirectory() as folder:
                unpack_archive(path, Path(folder))
        if packing_of(head) or _archive_form(head):
            unpack(path, lambda _: None)
    except (CorruptFileError, TooLargeError) as error:
        return error
    return None


def packed_facts(path: Path) -> FileFacts:
    """Return the facts of a file without unpacking it. Raises StorageError if it cannot be read."""
    with _reading(path), path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return FileFacts(file.tell(), sha256, sha256, _date_of(file))


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def unpack_archive(path: Path, into: Path) -> list[Path]:
    """Unpack the files of an archive into a new folder in `into`, and return them in the order of their names.
    Unprintable letters of names become _. Hidden files and links are left out. An archive in the archive is not
    unpacked. Raises CorruptFileError if the archive is damaged or encrypted, or has a name outside its folder, and
    TooLargeError if its content is beyond the limits."""
    folder = into / str(len(list(into.iterdir()))) / path.name
    folder.mkdir(parents=True)
    most, ratio, count, found = limit(BYTES_VARIABLE, MAX_BYTES), limit(RATIO_VARIABLE, MAX_RATIO), 0, []
    most = min(most, max(FREE_BYTES, ratio * path.stat().st_size))
    try:
        with _reading(path), _open_archive(path, folder.parent / "unpacked.tar") as members:
            for name, read in sorted(members, key=lambda each: each[0]):
                printable = "".join(letter if letter.isprintable() else "_" for letter in name)
                parts = PurePosixPath(printable.replace("\\", "/")).parts
                if any(part.startswith((".", "__MACOSX")) for part in parts if part != ".."):
                    continue
                if not parts or ".." in parts or parts[0] == "/" or ":" in parts[0]:
                    raise CorruptFileError(f"expected names inside the archive {path}, found {name[:100]!r}")
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with read() as packed, target.open("wb") as file:
                    while piece := packed.read(CHUNK_BYTES):
                        count += len(piece)
                        if count > most:
                            raise TooLargeError(
                                f"expected at most {most:,} bytes of content in {path}, found more; to allow it, set "
                                f"{BYTES_VARIABLE} or {RATIO_VARIABLE} to a larger number"
                            )
                        file.write(piece)
                found.append(target)
    except (BadZipFile, tarfile.TarError, RuntimeError, NotImplementedError, EOFError, zlib.error) as error:
        if isinstance(error, BgdataError):  # zipfile raises a RuntimeError for an encrypted archive
            raise
        form = "tar" if _is_tar(first_bytes(path)) else "zip"
        raise CorruptFileError(f"expected a whole {form} archive in {path}, found: {cause(error)}") from error
    return found


@contextmanager
def _open_archive(path: Path, plain: Path) -> Iterator[list[tuple[str, Callable[[], IO[bytes]]]]]:
    """Yield the name of each file in an archive, and a function that opens it. A compressed tar archive is first
    decompressed to the file `plain`, within the limits, because its files are not read in their order."""
    if not _is_tar(first_bytes(path)):
        with ZipFile(path) as archive:
            yield [(each.filename, partial(archive.open, each)) for each in archive.infolist() if not each.is_dir()]
        return
    with path.open("rb") as file:
        source = _Source(file, path)
        data = source.chunk()
        if packing := packing_of(data):
            with plain.open("wb") as target:
                for piece in _limit_pieces(_streams(source, data, packing), source):
                    target.write(piece)
    with tarfile.open(plain if packing else path, "r:") as tar:
        yield [(each.name, partial(_open_member, tar, each)) for each in tar if each.isfile()]


def _open_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """Open a file in a tar archive for reading."""
    found = tar.extractfile(member)
    assert found, "expected a file, got a folder or link"
    return found
