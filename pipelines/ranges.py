"""Ranges of games and positions as tasks of a flow, on the workers of a Dask cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture

from bgdata.errors import UsageError, needing
from bgdata.store.executors import Cluster, InProcess

from .tasks import RETRIED


@task(name="range", **RETRIED, cache_policy=NO_CACHE)
def compute_range(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """Call a function of bgdata with these arguments on a worker, for one range of items, and return its result."""
    return function(*given)


class RangeTasks(Cluster):
    """An executor that computes each range of items as a task of the running flow, on the workers of its task
    runner."""

    def __init__(self, store: str = "") -> None:
        super().__init__(InProcess(), store)

    def submit(self, function: Callable[..., Any], /, *given: Any, **_: Any) -> Future[Any]:
        """Start the task of a range, and return a future for its result."""
        found, begun = Future[Any](), compute_range.submit(function, given)

        def settle(done: PrefectFuture[Any]) -> None:
            try:
                found.set_result(done.result())
            except BaseException as error:
                found.set_exception(error)

        begun.add_done_callback(settle)
        return found


def workers_at(executor: str) -> Any:
    """A Prefect task runner for the workers of the Dask cluster at `dask://HOST:PORT`. Raises UsageError for any other
    executor, and MissingExtraError if prefect-dask is not installed."""
    match = re.fullmatch(r"dask://([^/\s]+:\d+)/?", executor)
    if not match:
        raise UsageError(f"expected dask://HOST:PORT, got {executor}")
    with needing("dask-flows", "for a flow on a cluster"):
        runner = import_module("prefect_dask").DaskTaskRunner
    return runner(address=f"tcp://{match[1]}")
