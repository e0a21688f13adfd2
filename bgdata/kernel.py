"""The decorator of all kernels: the only place with Numba's options.

A kernel takes arrays and integers, fills given arrays and raises nothing. Its docstring first names the arrays that it
fills and the order of their indexes. Results never depend on the number of threads, and all machines agree: threads
divide independent items, never a sum, and floating point is never reordered (no `fastmath`).

Small loops over arrays are `parallel`. A kernel that calls much code, such as a network or a whole game, takes a range
of rows instead, and `in_threads` calls it: Numba would compile all that code three times for a parallel loop. The
arrays that a parallel kernel writes must share no memory with its other arguments, which Numba assumes. `kernel_cache`
keeps compiled kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numba
from numpy.typing import NDArray

from bgdata.kernel_cache import KernelCache, can_cache

F = TypeVar("F", bound=Callable[..., Any])
Array = NDArray[Any]
prange = numba.prange
PARTS = 8  # ranges per thread, in turn, so that no thread waits long for another
config: Any = numba.config
typeof: Any = numba.typeof
unliteral: Any = numba.types.unliteral
IntegerLiteral: Any = numba.types.IntegerLiteral


def kernel(*, parallel: bool = False, inline: bool = False, borrows: bool = False) -> Callable[[F], F]:
    """Return a decorator that makes Numba compile a function as a kernel. `parallel` allows `prange` in it, and
    `inline` copies it into its callers.

    With `borrows`, the kernel does not count references to its arrays. Such a kernel creates no arrays, and gets none
    from kernels that count references. By itself Numba omits the counting only in simple kernels; elsewhere every call
    counts every array twice, and threads wait for each other."""

    def decorate(function: F) -> F:
        # always set `_nrt`: otherwise the first caller would decide whether a kernel counts references
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "parallel": parallel, "_nrt": not borrows}
        options["no_cfunc_wrapper"] = True  # wrappers for callers in C, of which there are none
        if inline:
            options["inline"] = "always"
        dispatcher = numba.njit(**options)(function)
        if not config.DISABLE_JIT:  # the documentation reads kernels as plain functions
            dispatcher.get_call_template = partial(call_template, dispatcher.get_call_template)
        if can_cache():  # without a writable folder every process compiles
            dispatcher._cache = KernelCache(function)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def call_template(found: Callable[..., Any], types: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Return the signature for which Numba compiles a call of a kernel, with literal integers replaced by the type of
    all integers. Otherwise Numba would compile the kernel, and all kernels that it calls, again for each literal.
    Booleans stay literal, because they choose branches."""

    def plain(given: Any) -> Any:
        return unliteral(given) if isinstance(given, IntegerLiteral) else given

    return found([plain(each) for each in types], {name: plain(each) for name, each in named.items()})


def read_only(values: Array) -> Array:
    """Make an array read-only, as mapped arrays are, and return it. Numba compiles kernels separately for read-only and
    writable arrays."""
    values.setflags(write=False)
    return values


def thread_count() -> int:
    """Return the number of threads on which a kernel runs when the current thread calls it."""
    return int(numba.get_num_threads())


def in_threads(work: Callable[..., None], count: int, *arguments: object, least: int = 1) -> None:
    """Call the kernel `work(begin, end, *arguments)` on `thread_count()` threads, for ranges that together cover
    range(count). Rows must not depend on each other. Each range has at least `least` rows, so that its work takes
    longer than starting a thread."""
    n_threads = thread_count()
    size = max(least, -(-count // (PARTS * n_threads)))
    if n_threads == 1 or count <= size:
        work(0, count, *arguments)
        return
    compiled: Any = work  # before threads start, because only this thread can be interrupted
    compiled.compile(tuple(typeof(value) for value in (0, count, *arguments)))
    pool = ThreadPoolExecutor(n_threads)
    try:
        parts = [pool.submit(work, begin, min(begin + size, count), *arguments) for begin in range(0, count, size)]
        for part in parts:
            part.result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Inside the `with` block, run kernels on `count` threads. None stands for one thread for each core."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, config.NUMBA_NUM_THREADS) if count else before)
    try:
        yield
    finally:
        numba.set_num_threads(before)
