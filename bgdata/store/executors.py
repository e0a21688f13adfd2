"""Executors of work in parts: in this process, in processes of this machine, or on a Dask cluster.

All are `concurrent.futures.Executor`s, so they are used in one way. Processes are spawned, never forked: kernels have
threads, which a fork would break.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from bgdata.errors import UsageError, WorkerError, needing
from bgdata.system import blocking

P = ParamSpec("P")
T = TypeVar("T")
LOCAL = "local"
MOST_PROCESSES = 1024
CONNECT_SECONDS = 10


class _Worker(multiprocessing.context.SpawnProcess):
    """A process that ignores Ctrl-C from its first moment on; it ends with its parent, which answers the signal."""

    def start(self) -> None:
        with blocking({signal.SIGINT}):  # is inherited
            super().start()


class _Spawn(multiprocessing.context.SpawnContext):
    Process = _Worker


class InProcess(Executor):
    """Runs each part as it is submitted; its kernels use the threads of this process."""

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """A future that is already done."""
        future: Future[T] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_executor(name: str) -> Iterator[Executor]:
    """The executor `local`, `processes:N` or `dask://host:8786`, shut down at the end; parts that have not begun are
    dropped.

    Raises UsageError for another name, MissingExtraError where Dask is not installed, and WorkerError for a cluster
    that does not answer.
    """
    if name == LOCAL:
        with InProcess() as executor:
            yield executor
    elif match := re.fullmatch(r"processes:(\d{1,4})", name, re.ASCII):
        yield from _processes(int(match[1]))
    elif re.fullmatch(r"dask://[^/\s]+:\d+/?", name):
        yield from _cluster(name.removeprefix("dask://").removesuffix("/"))
    else:
        raise UsageError(f"expected the executor local, processes:N or dask://HOST:PORT, got {name}")


def _processes(count: int) -> Iterator[Executor]:
    """Processes with one thread each."""
    if not 1 <= count <= MOST_PROCESSES:
        raise UsageError(f"expected 1 to {MOST_PROCESSES} processes, got {count}")
    pool = ProcessPoolExecutor(count, _Spawn(), initializer=begin_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def begin_worker() -> None:
    """In a new process, before kernels are loaded: use one thread, and end when the parent ends, however it does."""
    os.environ["NUMBA_NUM_THREADS"] = "1"
    end_with_parent()


def end_with_parent() -> None:
    """In a new process: arrange that it ends when its parent ends, however that does."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _cluster(address: str) -> Iterator[Executor]:
    """A Dask cluster. Its workers need bgdata, and the warehouse under the same path."""
    with needing("dask", "for an executor dask://..."):
        distributed: Any = importlib.import_module("distributed")
    try:
        client = distributed.Client(f"tcp://{address}", timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise WorkerError(f"expected a Dask scheduler at {address}, found: {reason}") from error
    with client:
        executor = client.get_executor(pure=False)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)
