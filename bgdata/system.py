"""Calls that differ between operating systems: locks, maps of files, memory, durability, signals and limits.

Only this module asks which system it runs on for these. Linux and macOS provide all of it; on Windows some calls have
another form, and some do nothing: docs/explanation/limits.md lists what is missing there.
"""

from __future__ import annotations

import errno
import functools
import mmap
import os
import signal
import sys
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# do not reserve memory; the constant is in Python 3.13, and the number is the same on all current Linux processors
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)

if sys.platform == "win32":
    import msvcrt
    import time

    LOCK_POLL_SECONDS = 0.1
    ENDINGS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}  # signals that end a process, in words
    SIGPIPE = 13

    def open_unfollowed(path: Path) -> int:
        """A descriptor of a file, for reading. Raises OSError with ELOOP if it is a link."""
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        return os.open(path, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)

    def lock(handle: int, *, wait: bool) -> None:
        """Lock an open file for this process alone. Raises BlockingIOError if another process has locked it and `wait`
        is false."""
        while True:
            os.lseek(handle, 0, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except PermissionError as error:
                if not wait:
                    raise BlockingIOError(errno.EAGAIN, "locked") from error
                time.sleep(LOCK_POLL_SECONDS)
            else:
                return

    def unlock(handle: int, path: Path) -> None:
        """Close and remove a locked file; it remains if another process has it open."""
        os.close(handle)
        with suppress(OSError):
            path.unlink()

    def sync(path: Path) -> None:
        """Make one file durable. Entries of folders are not waited for."""
        if path.is_dir():
            return
        handle = os.open(path, os.O_RDWR | os.O_BINARY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def protect(path: Path) -> None:
        """Do nothing: on Windows a read-only file could not be replaced or deleted."""

    def map_bytes(handle: int, size: int, *, is_random: bool) -> memoryview:  # noqa: ARG001
        """The bytes of an open file, mapped read-only while they are referenced."""
        return memoryview(mmap.mmap(handle, size, access=mmap.ACCESS_READ))

    def release_map(pages: object) -> None:
        """Do nothing: Windows takes pages back by itself."""

    def private_memory(size: int) -> mmap.mmap:
        """`size` bytes of zeros, all of which must fit into memory and paging file. Raises OSError if they do not
        fit."""
        return mmap.mmap(-1, size)

    def use_large_pages(memory: mmap.mmap) -> None:
        """Do nothing: on Windows few users have the right to use large pages."""

    def give_back(memory: mmap.mmap, begin: int, length: int) -> None:
        """Do nothing: on Windows memory can only be given back as a whole."""

    def write_at(handle: int, data: memoryview, offset: int) -> int:
        """Write bytes at an offset of a file, which moves its position; returns how many were written."""
        os.lseek(handle, offset, os.SEEK_SET)
        return os.write(handle, data)

    def used_bytes(status: os.stat_result) -> int:
        """Bytes that a file takes on disk; on Windows its size, because no more is known."""
        return status.st_size

    def peak_memory_bytes() -> int:
        """The most memory that this process has had."""
        import psutil

        return int(psutil.Process().memory_info().peak_wset)

    def limit(name: str) -> int | None:  # noqa: ARG001
        """None: Windows has no such limits."""
        return None

    @contextmanager
    def blocking(signals: Iterable[int]) -> Iterator[None]:  # noqa: ARG001
        """Run the `with` block: on Windows signals cannot be held back."""
        yield

    def set_nonblocking(handle: int) -> None:
        """Make writes to a pipe return at once instead of waiting. Has no effect before Python 3.12."""
        if sys.version_info >= (3, 12):
            os.set_blocking(handle, False)

else:
    import fcntl
    import resource

    ENDINGS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
    SIGPIPE = int(signal.SIGPIPE)

    def open_unfollowed(path: Path) -> int:
        """A descriptor of a file, for reading; never waits for a pipe. Raises OSError with ELOOP if it is a link, and
        with ENXIO if it is a socket."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)

    def lock(handle: int, *, wait: bool) -> None:
        """Lock an open file for this process alone. Raises BlockingIOError if another process has locked it and `wait`
        is false."""
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(handle: int, path: Path) -> None:
        """Remove and close a locked file, whatever happens: the lock ends with it."""
        try:
            path.unlink(missing_ok=True)
        finally:
            os.close(handle)

    def sync(path: Path) -> None:
        """Make one file or folder entry durable."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def protect(path: Path) -> None:
        """Make a file read-only for everybody."""
        path.chmod(0o444)

    @functools.cache
    def _libc() -> Any:
        """The C library, with the functions for maps declared."""
        import ctypes  # which not every command needs

        libc, word, number = ctypes.CDLL(None, use_errno=True), ctypes.c_size_t, ctypes.c_int
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, word, number, number, number, ctypes.c_longlong]
        libc.munmap.argtypes = [ctypes.c_void_p, word]
        libc.madvise.argtypes = [ctypes.c_void_p, word, number]
        return libc

    def map_bytes(handle: int, size: int, *, is_random: bool) -> memoryview:
        """The bytes of an open file, mapped read-only while they are referenced; if `is_random` is true, no page is
        read ahead. Python's own `mmap` keeps a file descriptor for each map, of which a process may have a thousand."""
        import ctypes

        libc = _libc()
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        if is_random:
            libc.madvise(address, size, mmap.MADV_RANDOM)  # what cannot be advised is read all the same
        pages = (ctypes.c_char * size).from_address(address)
        weakref.finalize(pages, libc.munmap, address, size).atexit = False  # threads may still look at them then
        return memoryview(pages).toreadonly()

    def release_map(pages: object) -> None:
        """Give up the pages of `map_bytes` that were read so far: they stay in the memory of the system, but count as
        memory of this process no more. `pages` is the object that the view is over; other objects are ignored."""
        import ctypes

        if isinstance(pages, ctypes.Array):
            _libc().madvise(ctypes.addressof(pages), len(pages), mmap.MADV_DONTNEED)

    def private_memory(size: int) -> mmap.mmap:
        """`size` bytes of zeros, allocated when first written. Raises OSError if the system refuses."""
        return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)

    def use_large_pages(memory: mmap.mmap) -> None:
        """Ask for large pages, if the system has them."""
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)

    def give_back(memory: mmap.mmap, begin: int, length: int) -> None:
        """Give whole pages of `private_memory` back to the system; their content is lost."""
        memory.madvise(mmap.MADV_DONTNEED, begin, length)

    def write_at(handle: int, data: memoryview, offset: int) -> int:
        """Write bytes at an offset of a file; returns how many were written."""
        return os.pwrite(handle, data, offset)

    def used_bytes(status: os.stat_result) -> int:
        """Bytes that a file takes on disk, without holes."""
        return min(status.st_size, status.st_blocks * 512)

    def peak_memory_bytes() -> int:
        """The most memory that this process has had."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024

    def limit(name: str) -> int | None:
        """A limit of this process by its name in `resource`, such as RLIMIT_AS; None if there is none."""
        most, _ = resource.getrlimit(getattr(resource, name))
        return None if most == resource.RLIM_INFINITY else most

    @contextmanager
    def blocking(signals: Iterable[int]) -> Iterator[None]:
        """Hold back signals for this thread, and for the processes and threads that it starts in the `with` block."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def set_nonblocking(handle: int) -> None:
        """Make writes to a pipe return at once instead of waiting."""
        os.set_blocking(handle, False)
