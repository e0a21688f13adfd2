"""The one place where Numba's options are written.

A kernel takes arrays and integers, fills arrays that it is given and raises nothing. Its docstring says first what it
fills, indexed by what, in which order. Results never depend on the thread count: `parallel` kernels share out
independent items and never a sum, and floating point is never reordered (no `fastmath`), so every machine agrees.
Compiled kernels are kept by `kernel_cache`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
from numpy.typing import NDArray

from bgdata.kernel_cache import KernelCache, can_cache

F = TypeVar("F", bound=Callable[..., Any])
Array = NDArray[Any]
prange = numba.prange
config: Any = numba.config


def kernel(*, parallel: bool = False, inline: bool = False, borrows: bool = False) -> Callable[[F], F]:
    """Decorate a function as a compiled kernel; `parallel` allows `prange`, `inline` pastes it into its callers.

    A kernel that `borrows` its arrays creates none, and counts no references to them. Numba leaves the counting out by
    itself in simple kernels only; elsewhere every call counts every array twice, and threads wait for one another.
    """

    def decorate(function: F) -> F:
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "parallel": parallel}
        if inline:
            options["inline"] = "always"
        if borrows:
            options["_nrt"] = False
        dispatcher = numba.njit(**options)(function)
        if can_cache():  # where no folder can be written, every process compiles anew
            dispatcher._cache = KernelCache(function)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def read_only(values: Array) -> Array:
    """The array itself, made read-only as mapped ones are: kernels are compiled for one or the other."""
    values.setflags(write=False)
    return values


def thread_count() -> int:
    """How many threads kernels use that this thread calls."""
    return int(numba.get_num_threads())


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Run kernels on `count` threads inside the block (`None`: as many as there are cores)."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, config.NUMBA_NUM_THREADS) if count else before)
    try:
        yield
    finally:
        numba.set_num_threads(before)
