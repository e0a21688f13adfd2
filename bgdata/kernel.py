"""The one place where Numba's options are written.

A kernel takes arrays and integers, fills arrays that it is given and raises nothing. Its docstring says first what it
fills, indexed by what, in which order. Results never depend on the thread count: threads share out independent items
and never a sum, and floating point is never reordered (no `fastmath`), so every machine agrees. Small loops over arrays
are `parallel`; a kernel that reaches much code, such as a network or a whole game, takes a range of rows and is called
by `in_threads`: Numba would compile all that code three times for a parallel loop. What a parallel kernel writes must
share no memory with its other arguments: Numba takes that for granted. Compiled kernels are kept by `kernel_cache`.
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
PARTS = 8  # that each thread does of the work, one after the other, so that none waits long for another
config: Any = numba.config
typeof: Any = numba.typeof
unliteral: Any = numba.types.unliteral
IntegerLiteral: Any = numba.types.IntegerLiteral


def kernel(*, parallel: bool = False, inline: bool = False, borrows: bool = False) -> Callable[[F], F]:
    """Decorate a function as a compiled kernel; `parallel` allows `prange`, `inline` pastes it into its callers.

    A kernel that `borrows` its arrays creates none, takes none from kernels that do, and counts no references to them.
    Numba leaves the counting out by itself in simple kernels only; elsewhere every call counts every array twice, and
    threads wait for one another.
    """

    def decorate(function: F) -> F:
        # `_nrt` always said: a kernel would else count or not as the first kernel does that it is compiled for
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "parallel": parallel, "_nrt": not borrows}
        options["no_cfunc_wrapper"] = True  # for callers in C, of which there are none
        if inline:
            options["inline"] = "always"
        dispatcher = numba.njit(**options)(function)
        if not config.DISABLE_JIT:  # the documentation reads kernels as plain functions
            dispatcher.get_call_template = partial(call_template, dispatcher.get_call_template)
        if can_cache():  # where no folder can be written, every process compiles anew
            dispatcher._cache = KernelCache(function)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def call_template(found: Callable[..., Any], types: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What Numba finds for a call of a kernel in another one, with whole numbers that are written there as any others:
    it would compile the kernel, and all that it calls, once more for each such number. Truth values stay: they choose
    what is compiled."""

    def plain(given: Any) -> Any:
        return unliteral(given) if isinstance(given, IntegerLiteral) else given

    return found([plain(each) for each in types], {name: plain(each) for name, each in named.items()})


def read_only(values: Array) -> Array:
    """The array itself, made read-only as mapped ones are: kernels are compiled for one or the other."""
    values.setflags(write=False)
    return values


def thread_count() -> int:
    """How many threads kernels use that this thread calls."""
    return int(numba.get_num_threads())


def in_threads(work: Callable[..., None], count: int, *arguments: object, least: int = 1) -> None:
    """Call the kernel work(begin, end, *arguments) for ranges that make up range(count), on `thread_count` threads.

    No row may depend on another one. A range has `least` rows or more, which keep a thread busy for longer than it
    takes to start it.
    """
    n_threads = thread_count()
    size = max(least, -(-count // (PARTS * n_threads)))
    if n_threads == 1 or count <= size:
        work(0, count, *arguments)
        return
    compiled: Any = work  # before threads start: only this one can be interrupted
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
    """Run kernels on `count` threads inside the block (`None`: as many as there are cores)."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, config.NUMBA_NUM_THREADS) if count else before)
    try:
        yield
    finally:
        numba.set_num_threads(before)
