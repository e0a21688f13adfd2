"""Calls that differ between operating systems: locks, maps of files, memory, durability, signals and limits.

Only this module asks for these calls which system it runs on. Linux and macOS provide all of them. On Windows some
calls have another form, and some do nothing: docs/explanation/limits.md lists what is missing there.
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

# flag of mmap that reserves no memory; the constant is in Python 3.13, and the number is the same on all current Linux
# processors
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)

if sys.platform == "win32":
    import msvcrt
    import time

    LOCK_POLL_SECONDS = 0.1
    ENDINGS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}  # signals that end a process, and how
    SIGPIPE = 13

    def open_unfollowed(path: Path) -> int:
        """Open a file for reading, without following a link; returns its descriptor. Raises OSError with ELOOP if the
        path is a link."""
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        return os.open(path, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)

    def lock(handle: int, *, wait: bool) -> None:
        """Lock an open file, so that no other process can lock it. If another process has locked it, wait, or raise
        BlockingIOError if `wait` is false."""
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
        """Close a locked file and delete it. The file is not deleted if another process has it open."""
        os.close(handle)
        with suppress(OSError):
            path.unlink()

    def sync(path: Path) -> None:
        """Wait until the content of a file is on the disk. The entry in its folder may be written later."""
        if path.is_dir():
            return
        handle = os.open(path, os.O_RDWR | os.O_BINARY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def protect(path: Path) -> None:
        """Do nothing: on Windows a read-only file could be neither replaced nor deleted."""

    def map_bytes(handle: int, size: int, *, is_random: bool) -> memoryview:  # noqa: ARG001
        """Map an open file of `size` bytes into memory, read-only, for as long as the result is referenced."""
        return memoryview(mmap.mmap(handle, size, access=mmap.ACCESS_READ))

    def release_map(pages: object) -> None:
        """Do nothing: Windows reclaims the pages of mapped files by itself."""

    def private_memory(size: int) -> mmap.mmap:
        """Allocate `size` bytes of zeros. Raises OSError if they do not fit into memory and the paging file."""
        return mmap.mmap(-1, size)

    def use_large_pages(memory: mmap.mmap) -> None:
        """Do nothing: on Windows few users have the right to use large pages."""

    def give_back(memory: mmap.mmap, begin: int, length: int) -> None:
        """Do nothing: on Windows memory can only be given back as a whole."""

    def write_at(handle: int, data: memoryview, offset: int) -> int:
        """Write bytes at an offset of an open file, and move its position there; returns how many were written."""
        os.lseek(handle, offset, os.SEEK_SET)
        return os.write(handle, data)

    def used_bytes(status: os.stat_result) -> int:
        """Return how many bytes a file occupies on disk. On Windows this is its size, because nothing else is known."""
        return status.st_size

    def peak_memory_bytes() -> int:
        """Return the peak memory of this process so far, in bytes."""
        import psutil

        return int(psutil.Process().memory_info().peak_wset)

    def limit(name: str) -> int | None:  # noqa: ARG001
        """Return None: Windows has no such limits on a process."""
        return None

    @contextmanager
    def blocking(signals: Iterable[int]) -> Iterator[None]:  # noqa: ARG001
        """Do nothing: Windows cannot hold signals back."""
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
        """Open a file for reading, without following a link or waiting for a pipe; returns its descriptor. Raises
        OSError with ELOOP if the path is a link, and with ENXIO if it is a socket."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)

    def lock(handle: int, *, wait: bool) -> None:
        """Lock an open file, so that no other process can lock it. If another process has locked it, wait, or raise
        BlockingIOError if `wait` is false."""
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(handle: int, path: Path) -> None:
        """Delete and close a locked file, which releases the lock. It is closed even if it cannot be deleted."""
        try:
            path.unlink(missing_ok=True)
        finally:
            os.close(handle)

    def sync(path: Path) -> None:
        """Wait until the content of a file, or the entries of a folder, are on the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def protect(path: Path) -> None:
        """Make a file read-only for all users."""
        path.chmod(0o444)

    @functools.cache
    def _libc() -> Any:
        """Return the C library, with the argument types of the functions that map files."""
        import ctypes  # imported here because few commands need it

        libc, word, number = ctypes.CDLL(None, use_errno=True), ctypes.c_size_t, ctypes.c_int
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, word, number, number, number, ctypes.c_longlong]
        libc.munmap.argtypes = [ctypes.c_void_p, word]
        libc.madvise.argtypes = [ctypes.c_void_p, word, number]
        return libc

    def map_bytes(handle: int, size: int, *, is_random: bool) -> memoryview:
        """Map an open file of `size` bytes into memory, read-only, for as long as the result is referenced. If
        `is_random` is true, no page is read ahead. Python's own `mmap` is not used, because it keeps a file descriptor
        open for each map, and a process may have only about a thousand."""
        import ctypes

        libc = _libc()
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        if is_random:
            libc.madvise(address, size, mmap.MADV_RANDOM)  # if this fails, the map works all the same
        pages = (ctypes.c_char * size).from_address(address)
        weakref.finalize(pages, libc.munmap, address, size).atexit = False  # at exit, threads may still read them
        return memoryview(pages).toreadonly()

    def release_map(pages: object) -> None:
        """Let the system reclaim the pages that were read from the result of `map_bytes`. They may stay in the system's
        page cache, but no longer count as memory of this process. `pages` is the object below the memory view; any
        other object is ignored."""
        import ctypes

        if isinstance(pages, ctypes.Array):
            _libc().madvise(ctypes.addressof(pages), len(pages), mmap.MADV_DONTNEED)

    def private_memory(size: int) -> mmap.mmap:
        """Reserve `size` bytes of zeros, which take memory only when they are written. Raises OSError if the system
        refuses."""
        return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)

    def use_large_pages(memory: mmap.mmap) -> None:
        """Ask the system to back this memory with large pages, if it has them."""
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)

    def give_back(memory: mmap.mmap, begin: int, length: int) -> None:
        """Return whole pages of `private_memory` to the system: `length` bytes from `begin` on. Their content is
        lost."""
        memory.madvise(mmap.MADV_DONTNEED, begin, length)

    def write_at(handle: int, data: memoryview, offset: int) -> int:
        """Write bytes at an offset of an open file; returns how many were written."""
        return os.pwrite(handle, data, offset)

    def used_bytes(status: os.stat_result) -> int:
        """Return how many bytes a file occupies on disk. Holes in a sparse file do not count."""
        return min(status.st_size, status.st_blocks * 512)

    def peak_memory_bytes() -> int:
        """Return the peak memory of this process so far, in bytes."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024

    def limit(name: str) -> int | None:
        """Return a limit of this process, None if it is unlimited. `name` is its name in the module `resource`, such as
        RLIMIT_AS."""
        most, _ = resource.getrlimit(getattr(resource, name))
        return None if most == resource.RLIM_INFINITY else most

    @contextmanager
    def blocking(signals: Iterable[int]) -> Iterator[None]:
        """Inside the `with` block, keep these signals from this thread, and from the processes and threads that it
        starts."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def set_nonblocking(handle: int) -> None:
        """Make writes to a pipe return at once instead of waiting."""
        os.set_blocking(handle, False)
