"""Places with the files of a warehouse: a folder, a web server (only for reading), or a store of fsspec, such as S3.

A place finds files by name (`kind/variant/version/manifest.json`), and reads whole files and parts of them. Versions
are the subject of `transfer`. Addresses and messages of libraries are shown without names and passwords.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import threading
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    DownloadError,
    MissingExtraError,
    MissingFileError,
    StorageError,
    UsageError,
    cite,
    needing,
    without_secrets,
)
from bgdata.process import when_cut_off
from bgdata.store.download import FAILURES, TIMEOUT_SECONDS
from bgdata.store.names import is_name
from bgdata.store.storage import is_shortage_of_memory, make_folder, open_regular, storage_errors, sync, write_file

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
LEVELS = ("kind", "variant", "version")  # levels of the folders of a warehouse
CHUNK = 1 << 23  # size of a request, in bytes, while a whole file is downloaded
MAX_LETTERS = 200  # greatest length of a message of a library
S3 = ("s3", "s3a")
EXTRA, PURPOSE = "remote", "for a warehouse at an address"
Advance = Callable[[int], None]  # called with the number of new bytes


class Entry(NamedTuple):
    """A file in a place: its size in bytes, and a tag that changes when the file does."""

    size: int
    tag: str


class Part(NamedTuple):
    """Bytes that were read from a file in a place, with the size and tag of the file."""

    data: bytes
    size: int | None  # size of the whole file, if known
    tag: str  # tag of the state of the file; may be empty


def is_address(text: object) -> bool:
    """Whether a value is a string with a scheme, such as s3://BUCKET/PATH, and not the path of a folder."""
    return isinstance(text, str) and "://" in text


def folder_of(address: str) -> Path | None:
    """Return the folder of a path or an address `file:///...`, None for an address with another scheme. Raises
    UsageError if the address names another machine."""
    if not is_address(address):
        return Path(address)
    parts = urlsplit(address)
    if parts.scheme.lower() != "file":
        return None
    if parts.netloc not in ("", "localhost"):
        raise UsageError(f"expected file:///PATH, got {cite(without_secrets(address))}")
    return Path(unquote(parts.path) or "/")


class Place(ABC):
    """A source of files by name, at an address. Every method raises DownloadError or StorageError if the place does not
    respond, and MissingFileError if the file does not exist."""

    address: str  # for messages

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def where(self, name: str) -> str:
        """The full address of a file, for messages."""
        return f"{self.address}/{name}"

    @abstractmethod
    def part(self, name: str, begin: int, length: int | None) -> Part:
        """Read `length` bytes of a file from byte `begin` on, or fewer at its end; if `length` is None, all bytes from
        there."""

    def read(self, name: str) -> bytes:
        """Read all bytes of a small file."""
        return self.part(name, 0, None).data

    def fetch(self, name: str, path: Path, size: int, advance: Advance) -> None:
        """Download the file `name`, of `size` bytes, to `path`. Bytes that are already at `path` are kept, and the rest
        is appended. `advance` is called with the number of new bytes. Raises CorruptFileError if the file in the place
        is shorter than `size`."""
        with path.open("ab") as file:
            while (begin := file.tell()) < size:
                data = self.part(name, begin, min(CHUNK, size - begin)).data
                if not data:
                    raise CorruptFileError(f"expected {size:,} bytes in {self.where(name)}, got {begin:,}")
                file.write(data)
                advance(len(data))


class OpenPlace(Place):
    """A place that can list its files and be written to."""

    @abstractmethod
    def entries(self, below: str = "") -> dict[str, Entry]:
        """All files in the place, or those below the folder `below`, by their full names."""

    @abstractmethod
    def send(self, path: Path, name: str) -> None:
        """Upload the file at `path` to the place, as `name`."""

    @abstractmethod
    def write(self, name: str, data: bytes, *, is_new: bool = False) -> bool:
        """Write a small file; if `is_new` is true, only if no such file exists. Returns whether it was written."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a file if it exists."""


class Folder(OpenPlace):
    """A folder on this machine."""

    def __init__(self, root: Path) -> None:
        self.root, self.address = root, str(root)

    def entries(self, below: str = "") -> dict[str, Entry]:
        found = {}
        with storage_errors("read", self.root):
            for path in self._files(self.root / below, len(Path(below).parts)):
                with suppress(FileNotFoundError):  # a file may be deleted meanwhile
                    status = path.stat()
                    name = path.relative_to(self.root).as_posix()
                    found[name] = Entry(status.st_size, str(status.st_mtime_ns))
        return found

    def _files(self, folder: Path, depth: int) -> Iterator[Path]:
        """The regular files below a folder. Only folders whose names are valid in a warehouse are entered: the name of
        a kind, a variant or a version, by level. `depth` is the level of `folder`, 0 for the root."""
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.is_file() and not path.is_symlink():
                yield path
            elif depth < len(LEVELS) and is_name(LEVELS[depth], path.name):
                yield from self._files(path, depth + 1)

    def part(self, name: str, begin: int, length: int | None) -> Part:
        path = self.root / name
        with storage_errors("read", path):
            try:
                with open_regular(path) as file:
                    file.seek(begin)
                    return Part(file.read(-1 if length is None else length), None, "")
            except FileNotFoundError as error:
                raise MissingFileError(f"expected {path}, found no such file") from error

    def write(self, name: str, data: bytes, *, is_new: bool = False) -> bool:
        path = self.root / name
        if is_new and path.exists():
            return False
        with storage_errors("write", path):
            make_folder(path.parent)
        write_file(path, data)
        return True

    def remove(self, name: str) -> None:
        path = self.root / name
        with storage_errors("delete", path):
            path.unlink(missing_ok=True)

    def send(self, path: Path, name: str) -> None:
        target = self.root / name
        partial = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.partial")
        with storage_errors("write", target), when_cut_off(lambda: partial.unlink(missing_ok=True)):
            make_folder(target.parent)
            try:
                shutil.copyfile(path, partial)
                sync(partial)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
            sync(target.parent)


class Web(Place):
    """A web server with the files of a warehouse, only for reading. It cannot list files, so `index.json` lists its
    versions."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        user, at, host = parts.netloc.rpartition("@")
        self._login = b64encode(unquote(user).encode()).decode() if at else ""
        self.address = parts._replace(netloc=host, query="", fragment="").geturl().rstrip("/")

    def part(self, name: str, begin: int, length: int | None) -> Part:
        headers = {} if length is None else {"Range": f"bytes={begin}-{begin + length - 1}"}
        with self._answer(name, headers) as answer:
            is_part = answer.status == http.client.PARTIAL_CONTENT
            data = answer.read(-1 if length is None else length + 1)
            stated = answer.headers.get("Content-Range" if is_part else "Content-Length", "").rpartition("/")[2]
            size = int(stated) if stated.isdecimal() else None
            tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        if length is not None and not is_part and (begin or (size or len(data)) > length):
            raise DownloadError(
                f"expected a part of {self.where(name)}, got the whole file: the server does not support range requests"
            )
        return Part(data if length is None else data[:length], size, tag)

    def fetch(self, name: str, path: Path, size: int, advance: Advance) -> None:
        with path.open("ab") as file:
            begin = file.tell()
            if begin == size:
                return
            with self._answer(name, {"Range": f"bytes={begin}-"} if begin else {}) as answer:
                if answer.status != http.client.PARTIAL_CONTENT:  # the answer is the whole file instead of the rest
                    file.truncate(0)
                while data := answer.read(CHUNK):
                    file.write(data)
                    advance(len(data))
            if file.tell() < size:
                raise CorruptFileError(f"expected {size:,} bytes in {self.where(name)}, got {file.tell():,}")

    @contextmanager
    def _answer(self, name: str, headers: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
        address = self.where(name)
        request = urllib.request.Request(address, headers=dict(headers))
        if self._login:
            request.add_unredirected_header("Authorization", f"Basic {self._login}")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            message = f"cannot read {address}: the server says {error.code} {error.reason}"
            raise (MissingFileError if error.code in (404, 410) else DownloadError)(message) from error
        except FAILURES as error:
            raise DownloadError(f"cannot read {address}: {getattr(error, 'reason', error)}") from error


class Store(OpenPlace):
    """An object store such as S3, or any other store that fsspec supports."""

    def __init__(self, address: str) -> None:
        self.address = without_secrets(address).rstrip("/")
        scheme = self.address.partition("://")[0]
        login = address.removeprefix(f"{scheme}://").rpartition("@")[0]
        if login and scheme in S3:
            raise UsageError(
                f"expected keys of S3 in the environment or in ~/.aws, got some in the address of {self.address}"
            )
        self._secrets = [word for word in re.split("[:@/]", login) if len(word) > 1]
        with needing(EXTRA, PURPOSE):
            import fsspec
        with self._errors("open", self.address):
            try:
                with needing(EXTRA, PURPOSE) if scheme in S3 else nullcontext():
                    self._files, root = fsspec.url_to_fs(address)
            except MissingExtraError:
                raise
            except ImportError as error:  # the error names the missing package
                text = str(error)[:1].lower() + str(error)[1:MAX_LETTERS]
                raise MissingExtraError(f"expected a package for addresses {scheme}://, found none; {text}") from error
            except ValueError as error:
                known = "s3, http, https, file, and what fsspec has a package for"
                raise UsageError(
                    f"expected an address of a scheme that is known ({known}), got {cite(scheme)}"
                ) from error
        self._root = str(root).rstrip("/")

    def entries(self, below: str = "") -> dict[str, Entry]:
        root = f"{self._root}/{below}".rstrip("/")
        with self._errors("list", self.where(below).rstrip("/")):
            self._files.invalidate_cache()
            try:
                found = self._files.find(root, detail=True)
            except FileNotFoundError as error:
                if " " in str(error):  # a missing bucket; for a missing folder the text is its name
                    raise
                return {}
        before = len(self._root.lstrip("/"))
        return {
            str(name).lstrip("/")[before:].lstrip("/"): Entry(int(info["size"] or 0), _tag(info))
            for name, info in found.items()
        }

    def part(self, name: str, begin: int, length: int | None) -> Part:
        path, end = f"{self._root}/{name}", None if length is None else begin + length
        with self._errors("read", self.where(name)):
            return Part(bytes(self._files.cat_file(path, start=begin or None, end=end)), None, "")

    def send(self, path: Path, name: str) -> None:
        target = f"{self._root}/{name}"
        with self._errors("write", self.where(name), StorageError):
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(path), target)

    def write(self, name: str, data: bytes, *, is_new: bool = False) -> bool:
        target = f"{self._root}/{name}"
        with self._errors("write", self.where(name), StorageError):
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            try:
                self._files.pipe_file(target, data, mode="create" if is_new else "overwrite")
            except FileExistsError:
                return False
        return True

    def remove(self, name: str) -> None:
        with self._errors("delete", self.where(name), StorageError), suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{name}")

    @contextmanager
    def _errors(self, action: str, where: str, kind: type[BgdataError] = DownloadError) -> Iterator[None]:
        """Inside the `with` block, turn an error of a library into a one-line error of class `kind`, without user names
        and passwords."""
        try:
            yield
        except (BgdataError, ImportError):
            raise
        except FileNotFoundError as error:
            message = self._error_text(error)
            found = f"found: {message[:1].lower()}{message[1:]}" if " " in message else "found no such file"
            raise MissingFileError(f"expected {where}, {found}") from error
        except Exception as error:  # every library has its own errors
            if is_shortage_of_memory(error):
                raise
            raise kind(f"cannot {action} {where}: {self._error_text(error) or type(error).__name__}") from error

    def _error_text(self, error: Exception) -> str:
        """The message of a library's error in one line, without the secrets that the address may contain."""
        message = without_secrets(" ".join(str(error).split()))
        for word in self._secrets:
            message = message.replace(word, "...")
        return message[:MAX_LETTERS]


def _tag(info: Mapping[str, Any]) -> str:
    """Return a tag that changes when a file changes, from the store's information about the file."""
    return next((str(info[name]) for name in ("ETag", "etag", "mtime", "LastModified", "created") if name in info), "")


def open_place(address: str) -> Place:
    """Open the place at an address: a path or file:///..., http or https, or a scheme for which fsspec has a package.
    Raises UsageError if the scheme is unknown, MissingExtraError if its package is not installed, and DownloadError if
    the place cannot be opened."""
    folder = folder_of(address)
    if folder is not None:
        return Folder(folder)
    found = SCHEME.match(address)
    if not found:
        raise UsageError(f"expected an address SCHEME://PLACE, got {cite(without_secrets(address))}")
    scheme = found[1].lower()
    rest = address[found.end() :]
    if not rest.strip("/"):
        raise UsageError(f"expected an address with a place, such as s3://BUCKET/PATH, got {cite(scheme + '://')}")
    return Web(address) if scheme in ("http", "https") else Store(f"{scheme}://{rest}")


def absolute_address(address: str) -> str:
    """Return the address in a form that other machines can use: a path becomes absolute. Raises UsageError if the place
    is read-only, and the errors of `open_place`."""
    address = address if is_address(address) else str(Path(address).absolute())
    open_writable(address)
    return address


def open_writable(address: str) -> OpenPlace:
    """Open the place at an address for writing. Raises UsageError if it is read-only, and the errors of
    `open_place`."""
    place = open_place(address)
    if not isinstance(place, OpenPlace):
        raise UsageError(f"expected a folder or a store to write to, got {place.address}, which is only read from")
    return place
