"""Files: written aside, synced, then renamed into place; hashed; locked; and errors said in one clear line."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bgdata.errors import StorageError

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again, finished parts are kept",
    errno.EDQUOT: "the disk quota is used up; free some space and try again, finished parts are kept",
    errno.EFBIG: "the file would be larger than allowed here",
    errno.EROFS: "the file system is read-only; choose another place with --warehouse",
    errno.EACCES: "permission denied; choose another place with --warehouse",
    errno.EPERM: "permission denied; choose another place with --warehouse",
    errno.ENOTDIR: "part of the path is a file",
}


@contextmanager
def storage_errors(action: str, path: Path) -> Iterator[None]:
    """Turn any OSError inside the block into one StorageError line: `cannot <action> <path>: <reason>`."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        if not isinstance(error.errno, int):
            raise
        reason = _REASONS.get(error.errno, os.strerror(error.errno))
        raise StorageError(f"cannot {action} {path}: {reason}") from error


def write_file(path: Path, data: bytes) -> None:
    """Write a whole file beside its place, sync it, and rename it into place: readers see the old or the new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with storage_errors("write", path):
        try:
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        sync(path.parent)


def sync(path: Path) -> None:
    """Make one file or folder entry durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def publish(staging: Path, target: Path) -> None:
    """Rename a finished folder into place, files read-only and durable; an older folder there is replaced."""
    with storage_errors("publish", target):
        for path in staging.rglob("*"):
            if path.is_file():
                path.chmod(0o444)
            sync(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            retired = staging.with_name(f"{staging.name}.retired-{os.getpid()}")
            target.rename(retired)
            staging.rename(target)
            remove_folder(retired)
        else:
            staging.rename(target)
        sync(target.parent)


def remove_folder(path: Path) -> None:
    """Delete a folder and all in it, read-only files too; nothing happens when there is none."""
    if path.exists():
        shutil.rmtree(path)


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with storage_errors("read", path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold an exclusive lock on a file; calls `waiting` once when another process holds it.

    The system drops the lock when its holder dies, so a killed build never blocks the next one.
    """
    with storage_errors("lock", path):  # the file stays: deleting it could let two others hold "the" lock
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
