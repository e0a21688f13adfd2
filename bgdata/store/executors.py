"""Executors of work in parts: in this process, in processes of this machine, or on a Dask cluster.

All are `concurrent.futures.Executor`s. Processes are spawned, never forked, because a fork would break the threads of
kernels.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from bgdata.errors import UsageError, WorkerError, cite, needing
from bgdata.system import blocking

P = ParamSpec("P")
T = TypeVar("T")
LOCAL = "local"
MAX_PROCESSES = 1024
CONNECT_SECONDS = 10


class _Worker(multiprocessing.context.SpawnProcess):
    """A worker process that ignores Ctrl-C from its start. Its parent handles the signal, and ends the worker."""

    def start(self) -> None:
        with blocking({signal.SIGINT}):  # the new process inherits this
            super().start()


class _Spawn(multiprocessing.context.SpawnContext):
    Process = _Worker


class InProcess(Executor):
    """Runs each function at once in this process. Its kernels use the threads of this process."""

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function, and return a future that is already done."""
        future: Future[T] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Cluster(Executor):
    """Runs functions on workers of other machines, which may not have access to the folders of this one."""

    def __init__(self, inner: Executor, store: str = "") -> None:
        self._inner = inner
        self.store = store  # address of a store that workers and this process can reach; may be empty

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send the call to a worker, and return a future for its result."""
        return self._inner.submit(function, *args, **kwargs)


def worker_name() -> str:
    """Return a description of where this process runs, for messages: `the worker tcp://10.0.0.7:40123`, or the name of
    this machine."""
    if "distributed" in sys.modules:
        with suppress(ValueError):  # this process is not a worker
            return f"the worker {sys.modules['distributed'].get_worker().address}"
    return socket.gethostname()


@contextmanager
def open_executor(name: str, store: str = "") -> Iterator[Executor]:
    """Open the executor `local`, `processes:N` or `dask://host:8786` for the duration of the `with` block. At the end
    the executor is shut down, and calls that have not begun are cancelled. `store` is the address of a store through
    which the machines of a cluster exchange files if they share no disk. Raises UsageError for any other name, or for a
    store without a cluster; MissingExtraError if Dask is not installed; and WorkerError if the cluster does not
    respond."""
    if store and not name.startswith("dask://"):
        raise UsageError(f"expected the executor dask://HOST:PORT with a store between machines, got {cite(name)}")
    if name == LOCAL:
        with InProcess() as executor:
            yield executor
    elif match := re.fullmatch(r"processes:(\d{1,4})", name, re.ASCII):
        yield from _processes(int(match[1]))
    elif re.fullmatch(r"dask://[^/\s]+:\d+/?", name):
        yield from _cluster(name.removeprefix("dask://").removesuffix("/"), store)
    else:
        raise UsageError(f"expected the executor local, processes:N or dask://HOST:PORT, got {cite(name)}")


_chosen: list[Executor] = []  # executors of `using` blocks, the innermost last


@contextmanager
def using_executor(name: str, store: str = "") -> Iterator[None]:
    """Inside the `with` block, builds of this process use the named executor, unless they are given another one.
    Arguments and errors are those of `open_executor`."""
    with open_executor(name, store) as executor, using(executor):
        yield


@contextmanager
def using(executor: Executor) -> Iterator[None]:
    """Inside the `with` block, builds of this process use this executor, unless they are given another one."""
    _chosen.append(executor)
    try:
        yield
    finally:
        _chosen.remove(executor)


def current_executor() -> Executor:
    """Return the executor of the innermost `using` or `using_executor` block, or else an executor that runs everything
    in this process."""
    return _chosen[-1] if _chosen else InProcess()


def _processes(count: int) -> Iterator[Executor]:
    """An executor of `count` processes with one thread each."""
    if not 1 <= count <= MAX_PROCESSES:
        raise UsageError(f"expected 1 to {MAX_PROCESSES} processes, got {count}")
    pool = ProcessPoolExecutor(count, _Spawn(), initializer=begin_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def begin_worker() -> None:
    """Prepare a new worker process before kernels are loaded: it uses one thread, and ends when its parent ends for any
    reason."""
    os.environ["NUMBA_NUM_THREADS"] = "1"
    end_with_parent()


def end_with_parent() -> None:
    """Make this process, which was just started, end when its parent ends for any reason."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _cluster(address: str, store: str) -> Iterator[Executor]:
    """An executor for the Dask cluster at an address. bgdata must be installed on its workers."""
    from bgdata.store.places import absolute_address

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
            yield Cluster(executor, store and absolute_address(store))
        finally:
            executor.shutdown(wait=False)
