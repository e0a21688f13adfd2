"""Other processes for tests: cheap ones with everything imported, and real command lines."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

_CAPABILITY_VERSION_3 = 0x20080522
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"}  # audit events, raised before each

# every child is forked from a fresh process that has imported this and runs no threads
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "pytest",
        "pandas",  # PyArrow loads it where it is installed
        "tests.store.toy",
        "bgdata.cli",
        "tests.imports.importing",
        "bgdata.bearoff.race",
        "bgdata.bearoff.two_sided",
        "bgdata.game.board_kernels",
        "bgdata.warehouse.sql_functions",
        "bgdata.store.build",
        "bgdata.store.catalog",
        "bgdata.store.parquet",
    ]
)


def start(function: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Run a function of a module in another process."""
    process = _CONTEXT.Process(target=function, args=arguments)
    process.start()
    return process


def run(function: Callable[..., None], *arguments: Any) -> int | None:
    """Run a function in another process to the end; returns its exit code, negative for a signal."""
    process = start(function, *arguments)
    process.join(60)
    assert process.exitcode is not None, "hangs"
    return process.exitcode


def run_all(works: Iterable[tuple[Any, ...]]) -> None:
    """Run functions with their arguments in processes at once; all must succeed."""
    started = [start(*work) for work in works]
    for process in started:
        process.join(60)
    codes = {process.exitcode for process in started}
    assert codes == {0}, f"expected exit code 0 of all, found {codes}; None of one that hangs"


def barrier(parties: int) -> Any:
    """Let processes start at the same moment."""
    return _CONTEXT.Barrier(parties)


def bgdata_command(*arguments: str | Path, bare: bool = False) -> list[str]:
    """The command line of `bgdata`; `bare` first drops root's rights, so that permissions count."""
    drop = "from tests.store.processes import drop_root_rights; drop_root_rights(); " if bare else ""
    return [sys.executable, "-c", f"{drop}from bgdata.__main__ import main; main()", *map(str, arguments)]


def bgdata(*arguments: str | Path, bare: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `bgdata` in a new process, with changed environment variables."""
    command = bgdata_command(*arguments, bare=bare)
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | variables, check=False)


def drop_root_rights() -> None:
    """Drop this thread's capabilities (Linux), so that permissions also apply to root."""
    if os.geteuid() == 0:
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()):
            raise OSError(ctypes.get_errno(), "capset")


def bare_thread() -> ThreadPoolExecutor:
    """A thread without root's rights; use as a context manager."""
    return ThreadPoolExecutor(1, initializer=drop_root_rights)


def die_at_change(root: Path, number: int) -> None:
    """Kill this process right before its change number `number` (from 0) to a file below `root`."""

    def die(done: int) -> None:
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)

    before_changes(root, die)


def before_changes(root: Path, call: Callable[[int], None]) -> None:
    """Call with the number (from 0) of each change to a file below `root`, right before this process makes it."""
    done = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        is_change = event in _CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if is_change and str(arguments[0]).startswith(str(root)):
            call(done)
            done += 1

    sys.addaudithook(count)
