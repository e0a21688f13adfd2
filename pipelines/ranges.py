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
    """The result of a function of bgdata for one range, on a worker."""
    return function(*given)


class RangeTasks(Cluster):
    """Computes each range as a task of the flow that this process runs, on the workers of its task runner."""

    def __init__(self, store: str = "") -> None:
        super().__init__(InProcess(), store)

    def submit(self, function: Callable[..., Any], /, *given: Any, **_: Any) -> Future[Any]:
        """A future for the result of the task."""
        found, begun = Future[Any](), compute_range.submit(function, given)

        def settle(done: PrefectFuture[Any]) -> None:
            try:
                found.set_result(done.result())
            except BaseException as error:
                found.set_exception(error)

        begun.add_done_callback(settle)
        return found


def workers_at(executor: str) -> Any:
    """The task runner of the workers of a cluster, `dask://HOST:PORT`. Raises UsageError for another executor, and
    MissingExtraError if prefect-dask is not installed."""
    match = re.fullmatch(r"dask://([^/\s]+:\d+)/?", executor)
    if not match:
        raise UsageError(f"expected dask://HOST:PORT, got {executor}")
    with needing("dask-flows", "for a flow on a cluster"):
        runner = import_module("prefect_dask").DaskTaskRunner
    return runner(address=f"tcp://{match[1]}")
