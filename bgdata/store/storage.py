"""Writes files safely (as temporary files that are synced and renamed), hashes and locks files, and turns errors of
files into one line."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from bgdata.errors import BgdataError, CorruptFileError, StorageError, TooLargeError
from bgdata.process import when_cut_off
from bgdata.system import lock, open_unfollowed, protect, unlock
from bgdata.system import sync as sync  # other modules import it from here

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again, finished parts are kept",
    errno.EDQUOT: "the disk quota is used up; free some space and try again, finished parts are kept",
    errno.EFBIG: "the file would be larger than allowed here",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOTDIR: "part of the path is a file",
}
# errors of the machine at this moment, and not of the file
_SHORTAGES = (errno.EIO, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EACCES, errno.EPERM, errno.ESTALE)
_SHORTAGE_TEXTS = ("can't start new thread", "allocate memory", "failed to map", "error return without exception set")
_ELSEWHERE = (errno.EROFS, errno.EACCES, errno.EPERM)  # errors for which another place may work


@contextmanager
def storage_errors(action: str, path: Path, hint: str = "choose another place with --warehouse") -> Iterator[None]:
    """Inside the `with` block, turn an OSError into a StorageError with the message `cannot <action> <path>: <reason>`.
    The hint is added if another place may help."""
    try:
        yield
    except BgdataError:
        raise
    except OSError as error:
        if not isinstance(error.errno, int):
            raise
        reason = _REASONS.get(error.errno, os.strerror(error.errno).lower())
        reason += f"; {hint}" if error.errno in _ELSEWHERE else ""
        raise StorageError(f"cannot {action} {path}: {reason}") from error


def is_shortage(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, means that something cannot be read now because memory or rights are
    missing or a disk fails. A damaged file is not a shortage."""
    while error is not None:
        if is_shortage_of_memory(error) or (isinstance(error, OSError) and error.errno in _SHORTAGES):
            return True
        error = error.__cause__
    return False


def is_shortage_of_memory(error: BaseException) -> bool:
    """Whether an error means that this process cannot get more memory, or cannot start another thread."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, RuntimeError | ImportError | SystemError):  # libraries raise these if memory is short
        return any(words in str(error) for words in _SHORTAGE_TEXTS)
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException"  # DuckDB's error


def open_regular(path: Path) -> BufferedReader:
    """Open a file of a warehouse for reading. It does not follow a link or wait for a pipe. Raises FileNotFoundError if
    it does not exist, CorruptFileError if it is not a regular file, and OSError if it cannot be read."""
    try:
        handle = open_unfollowed(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, a socket
            raise CorruptFileError(not_regular(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise CorruptFileError(not_regular(path))
    return open(handle, "rb")  # noqa: PTH123 (a descriptor, not a path)


def not_regular(path: Path) -> str:
    """Return the error message for a path that should be a regular file, but is a link, a folder, a pipe or something
    else."""
    kinds = {stat.S_ISLNK: "link", stat.S_ISDIR: "folder", stat.S_ISFIFO: "pipe", stat.S_ISSOCK: "socket"}
    mode = path.lstat().st_mode
    found = next((name for is_kind, name in kinds.items() if is_kind(mode)), "device")
    return f"expected a regular file in {path}, found a {found}; try: bgdata verify"


def write_file(path: Path, data: bytes, *, is_durable: bool = True) -> None:
    """Replace the content of a file: write a new file beside it, sync it, and rename it. Readers see either the old or
    the new content. If `is_durable` is false, the file is not synced, and may be missing or damaged after a power
    cut."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with storage_errors("write", path), when_cut_off(lambda: partial.unlink(missing_ok=True)):
        try:
            partial.unlink(missing_ok=True)  # it may be a link
            with partial.open("xb") as file:
                file.write(data)
                if is_durable:
                    file.flush()
                    os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        if is_durable:
            sync(path.parent)


def publish(staging: Path, target: Path) -> None:
    """Rename the folder `staging` of a finished version to `target`, after making its files read-only and durable. If
    `target` exists, the new files are moved there one by one, in the order in which they were written, so that readers
    find a complete version at any time."""
    with storage_errors("publish", target):
        files = sorted(staging.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for path in files:
            protect(path)
            sync(path)
        sync(staging)
        make_folder(target.parent)
        if target.is_symlink():  # the target of the link is not ours
            target.unlink()
        if target.exists():
            for path in files:
                path.replace(target / path.name)
            sync(target)
            remove_folder(staging)
        else:
            staging.rename(target)
        sync(target.parent)


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents. Each is synced before the next is created."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def remove_folder(path: Path) -> None:
    """Delete a folder with everything in it, if it exists. Read-only files are deleted too."""
    if path.exists():
        shutil.rmtree(path)


def sha256_file(path: Path, *, inside: bool = False) -> str:
    """SHA-256 of the content of a file, as 64 hex digits. If `inside` is true, the file belongs to a warehouse, and
    CorruptFileError is raised if it is not a regular file."""
    with storage_errors("read", path), open_regular(path) if inside else path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_bytes(sums: Mapping[str, str]) -> bytes:
    """The content of a file that `sha256sum -c` can check. `sums` are SHA-256 hashes in hex by file name."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())).encode()


def parse_checksums(written: bytes) -> list[tuple[str, str]]:
    """Parse the content of a file that `sha256sum -c` can check; returns the name and the SHA-256, in hex, of each
    line. Raises ValueError with the first line that has another form."""
    found = []
    for line in written.decode(errors="replace").splitlines():
        parts = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if parts is None:
            raise ValueError(line)
        found.append((parts[2], parts[1]))
    return found


def readable_bytes(count: float) -> str:
    """A number of bytes as a string with three figures and a decimal unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def check_room(
    root: Path, needed: int, advice: str = "name the kinds that you need, or choose another place with --warehouse"
) -> None:
    """Raise TooLargeError, whose message ends with `advice`, if the disk of the folder `root` has less than `needed`
    free bytes."""
    folder = next(path for path in (root.absolute(), *root.absolute().parents) if path.is_dir())
    with storage_errors("read", folder):
        free = shutil.disk_usage(folder).free
    if needed > free:
        raise TooLargeError(
            f"expected {readable_bytes(needed)} of free disk in {folder}, found {readable_bytes(free)}; {advice}"
        )


@contextmanager
def hold_lock(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold an exclusive lock on the file `path` during the `with` block, and delete the file afterwards. If another
    process has the lock, `waiting` is called once before waiting for the lock. The system releases the lock of a
    process that dies, so a killed build never blocks the next one."""
    handle = _open_locked(path, waiting)
    try:
        with when_cut_off(lambda: path.unlink(missing_ok=True)):
            yield
    finally:
        unlock(handle, path)


def is_locked(path: Path, *, remove: bool = False) -> bool:
    """Whether a process holds the lock of a file; false if the file does not exist. If `remove` is true, a file that no
    process has locked is deleted, and processes that wait for its lock notice that it is gone."""
    with storage_errors("remove" if remove else "look at the lock of", path):
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            lock(handle, wait=False)
            if remove and _is_open_at(handle, path):
                path.unlink()
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False


def _open_locked(path: Path, waiting: Callable[[], None]) -> int:
    """Open and lock a file, and return its descriptor. If the process that had the lock has deleted the file meanwhile,
    start again with a new file, because other processes lock that one."""
    while True:
        with storage_errors("lock", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                lock(handle, wait=False)
            except BlockingIOError:
                waiting()
                lock(handle, wait=True)
        except BaseException:
            os.close(handle)
            raise
        if _is_open_at(handle, path):
            return handle
        os.close(handle)


def _is_open_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
