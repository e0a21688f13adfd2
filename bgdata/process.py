"""Ends processes of bgdata cleanly: after their work, at Ctrl-C, or when nobody reads their output any more.

Python handles signals only between its own instructions, so a kernel, the compiler or a wait could delay them for
minutes. Therefore a thread receives them too. It first gives the main thread a moment to end by an exception, so that
`finally` clauses save unfinished work. Then it cleans up, prints one line and ends the process. Published versions are
safe, because they are renamed into place when complete."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from bgdata import system
from bgdata.system import ENDINGS

UNWIND_SECONDS = 0.4  # for the main thread to unwind
TIDY_SECONDS = 2.0  # for cleaning up, which takes milliseconds unless the disk hangs
BROKEN_PIPE = 128 + system.SIGPIPE  # exit code if the output is no longer read
# allocations between garbage collections; with Python's default of 700, imports cause hundreds of them
COLLECTED_OBJECTS = 50_000
# bytes of address space (ulimit -v); with less, libraries abort the process with their own messages while loading
MIN_ADDRESS_BYTES = 512 << 20


class Compilation:
    """Records whether this process is compiling kernels, and how many seconds it has spent on that. If `tell` is set,
    it is called with a line for the user when compilation first begins."""

    def __init__(self) -> None:
        self.depth, self.seconds = 0, 0.0
        self.tell: Callable[[str], None] | None = None
        self._since = 0.0

    def begin(self, folder: Path | None) -> None:
        """Record that Numba begins to compile a kernel, which may happen while it compiles another. `folder` is where
        compiled kernels are stored, None if they cannot be stored."""
        self.depth += 1
        if self.depth > 1:
            return
        if self.tell and not self._since:
            kept = f"kept in {folder}" if folder else "not kept: set BGDATA_CACHE to a folder that can be written"
            self.tell(f"compiling kernels, which takes a minute or two the first time; they are {kept}")
        self._since = time.monotonic()

    def end(self) -> None:
        """Record that Numba has compiled a kernel, or has failed to."""
        self.depth -= 1
        if not self.depth:
            self.seconds += time.monotonic() - self._since


class _Stop:
    """Whether this process was told to end, and what it does and prints before it ends."""

    def __init__(self) -> None:
        self.ours: set[int] = set()  # signals that we handle
        self.number = 0  # the signal that ends this process
        self.heard = self.answered = 0  # counts of signals: received by the thread, handled by a command
        self.statements: list[Callable[[], str]] = []  # see `keeping`, the innermost last
        self.kept = ""  # the clause that a statement returned while the main thread unwound
        self.finished = ""  # see `keep`
        self.keeps_nothing = False
        self.actions: list[Callable[[], object]] = []  # see `when_cut_off`
        self.printing = threading.Lock()  # the thread that prints the line takes it and never releases it
        self.is_said = threading.Event()
        self.code: int | None = None  # exit code, once the work is done


compilation = Compilation()
_stop = _Stop()


@contextmanager
def keeping(statement: Callable[[], str]) -> Iterator[None]:
    """Call `statement` if the process is stopped inside the `with` block, to tell the user where the same command would
    continue. It returns a clause such as `bearoff_two_sided/6x6 is kept up to step 12`, or an empty string. It may also
    save the work that it names, if that is quick."""
    _stop.statements.append(statement)
    try:
        yield
    except BaseException as error:
        if is_stopping(error):
            _stop.kept = _stop.kept or first_clause([statement])
        raise
    finally:
        _stop.statements.remove(statement)


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """Tell the user that no work was kept if the process is stopped inside the `with` block. It is for work in a folder
    that is deleted at the end."""
    before, _stop.keeps_nothing = _stop.keeps_nothing, True
    try:
        yield
    finally:
        _stop.keeps_nothing = before


def keep(clause: str) -> None:
    """Record which finished work is kept if the process is stopped later, as a clause for the user. A statement of
    `keeping` about later work takes precedence."""
    if not _stop.keeps_nothing:
        _stop.finished = clause


def forget() -> None:
    """Forget which work earlier commands of this process have kept, because another command begins."""
    _stop.kept = _stop.finished = ""


def first_clause(statements: Iterable[Callable[[], str]]) -> str:
    """Call the statements in turn, and return the first clause that is not empty, or an empty string if there is
    none."""
    if not _stop.keeps_nothing:
        for statement in statements:
            with suppress(Exception):  # a statement that fails counts as empty
                if clause := statement():
                    return clause
    return ""


@contextmanager
def when_cut_off(action: Callable[[], object]) -> Iterator[None]:
    """Call `action` if the process has to end inside the `with` block without running its `finally` clauses. For
    example, `action` deletes an incomplete file."""
    _stop.actions.append(action)
    try:
        yield
    finally:
        _stop.actions.remove(action)


def is_stopping(error: BaseException | None = None) -> bool:
    """Whether this process was told to end, or `error` is from Ctrl-C."""
    return bool(_stop.number) or isinstance(error, KeyboardInterrupt)


def continue_after_signal() -> None:
    """Record that the running command has handled the signal itself, so that the process goes on."""
    _stop.number, _stop.answered = 0, _stop.answered + 1


def print_stop_line() -> int:
    """Print that the process was stopped and which work is kept, and return the exit code. Only the first call
    prints."""
    number = _stop.number or signal.SIGINT
    if not _stop.number or _stop.printing.acquire(blocking=False):
        print_line(stop_line(number))
        _stop.is_said.set()
    return 128 + number


def stop_line(number: int) -> str:
    """Return the line that tells the user that this signal stopped the process, which work is kept, and whether the
    same command would continue from there."""
    kept = _stop.kept or first_clause(reversed(_stop.statements)) or _stop.finished
    _stop.kept = _stop.finished = ""
    after = f"{kept}, the same command goes on from there" if kept else "nothing was kept"
    return f"error: {ENDINGS[signal.Signals(number)]}; {after}"


def print_line(text: str) -> None:
    """Print a line on standard error. If that fails, do nothing."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def begin() -> None:
    """Install our signal handlers, except for signals that this process was started to ignore. Call this once, at the
    start."""
    if _stop.ours:
        return
    atexit.register(_end)  # handlers run in reverse order, so this one runs last
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: the next file opened would get its number, and the output
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    sys.warnoptions.append("ignore:resource_tracker")  # it would list a stopped process's semaphores
    reader, writer = os.pipe()
    system.set_nonblocking(writer)
    _stop.ours = {number for number in ENDINGS if signal.getsignal(number) is not signal.SIG_IGN}
    for number in _stop.ours:
        signal.signal(number, _unwind)
    # Python handles signals only between its own instructions: a kernel or the compiler could delay Ctrl-C for minutes
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


@contextmanager
def shielding() -> Iterator[None]:
    """Make processes that are started inside the `with` block, by us or by libraries, ignore Ctrl-C. A terminal sends
    Ctrl-C to all of them, and each would print its own message. This process still receives it."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # if started later, with a process, it would unblock the signals of this thread
    with system.blocking({signal.SIGINT} & _stop.ours):
        yield


def _unwind(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Handle a signal in the main thread by raising KeyboardInterrupt, once. While kernels are being compiled nothing
    is raised, because the compiler would catch and print the exception; then `_watch` ends the process."""
    if _stop.number:
        return
    _stop.number = number
    sys.unraisablehook = lambda _: None  # errors from now on do not matter
    threading.excepthook = lambda _: None
    sys.excepthook = lambda *_: _leave(print_stop_line())  # for exceptions during imports
    if not compilation.depth:
        raise KeyboardInterrupt


def _watch(reader: int) -> None:
    """Wait for signals, and end the process if the main thread has not ended soon after one, unless a command has
    handled it."""
    while True:
        (number,) = os.read(reader, 1)
        if number in _stop.ours:
            _stop.heard += 1
            if not compilation.depth:
                time.sleep(UNWIND_SECONDS)
            if _stop.answered < _stop.heard:
                _cut_off(number)


def _cut_off(number: int) -> NoReturn:
    """End this process at once, whatever its threads are doing, after printing that it was stopped."""
    _stop.number = _stop.number or number
    if _stop.printing.acquire(blocking=False):
        line = [f"error: {ENDINGS[signal.Signals(number)]}"]

        def tidy() -> None:
            for action in reversed(_stop.actions):
                with suppress(Exception):
                    action()
            line.append(stop_line(number))

        tidying = threading.Thread(target=tidy, daemon=True)
        tidying.start()
        tidying.join(TIDY_SECONDS)
        with suppress(OSError):
            os.write(2, f"{line[-1]}\n".encode())
    else:
        _stop.is_said.wait(TIDY_SECONDS)  # for the main thread to print the line, after finding out what is kept
        time.sleep(UNWIND_SECONDS)  # for the main thread to end
    _leave(128 + number)


def _leave(code: int) -> NoReturn:
    """Exit at once and kill all child processes. Python's own shutdown would take seconds, or wait for threads."""
    with suppress(Exception):
        import psutil

        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # but not Python's semaphore tracker, which cleans up and ends
                if not any("resource_tracker" in word for word in child.cmdline()):
                    child.kill()
    # safe, since important files are renamed into place when complete
    os._exit(code)


def cache_folder() -> Path:
    """Return the folder for data that bgdata can make again: `$BGDATA_CACHE`, else `$XDG_CACHE_HOME/bgdata`, else
    `~/.cache/bgdata`."""
    named = os.environ.get("BGDATA_CACHE")
    return Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bgdata")


def data_segment_bytes() -> int:
    """Return how many bytes of data and heap this process has, as RLIMIT_DATA counts them (Linux only)."""
    import psutil

    return int(psutil.Process().memory_info().data)


def total_memory() -> int:
    """Return the memory of this machine, in bytes."""
    import psutil

    return int(psutil.virtual_memory().total)


CGROUPS = Path("/sys/fs/cgroup")


def free_memory(groups: Path = CGROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Return how many bytes of memory this process may still use. This is the free memory of the machine, or less if a
    control group, such as that of a container, sets a limit. On Linux the file `own` names the process's control
    groups, which are folders below `groups`."""
    import psutil

    free = int(psutil.virtual_memory().available)
    with suppress(OSError, StopIteration):
        path = next(line[3:] for line in own.read_text().splitlines() if line.startswith("0::"))
        group = groups / path.strip("/")
        for each in (group, *group.parents):
            if each.is_relative_to(groups):
                free = min(free, _bytes_left(each, free))
    return free


def _bytes_left(group: Path, otherwise: int) -> int:
    """Return how many bytes a control group has left, counting reclaimable file pages as free, or `otherwise` if it has
    no limit."""
    try:
        most, used = ((group / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(0, int(most) - int(used) + int(statistics["inactive_file"]))
    except (OSError, ValueError, KeyError):  # "max" is no limit; the topmost group has no such files
        return otherwise


def run(work: Callable[[], object]) -> NoReturn:
    """Call `work`, which runs a whole command line, and exit.

    The exit code is the result of `work`, 128 plus the number of the signal that ended it, 141 if the reader of its
    output has ended, or 1 if its output cannot be written."""
    most = system.limit("RLIMIT_AS")
    if most is not None and most < MIN_ADDRESS_BYTES:
        least, found = MIN_ADDRESS_BYTES >> 20, most >> 20
        sys.exit(f"error: expected {least} MiB of address space or more, found a limit of {found} MiB; see ulimit -v")
    begin()
    gc.set_threshold(COLLECTED_OBJECTS)
    compilation.tell = print_line
    code: Any = None
    try:
        try:
            code = work()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
    except BaseException as error:
        if not is_stopping(error):
            if not isinstance(error, OSError) or "--debug" in sys.argv:
                raise
            code = _report_output_error(error)
    if is_stopping():
        _leave(print_stop_line())
    if compilation.seconds:
        print_line(f"compiled kernels in {compilation.seconds:.0f} s")
    for number in _stop.ours:  # Python is shutting down, and would print a traceback at a signal
        signal.signal(number, signal.SIG_DFL)
    _stop.ours = set()
    if code is None or isinstance(code, int):
        _stop.code = (code or 0) & 0xFF
    sys.exit(code)


def _end() -> None:
    """Exit at once, after the other exit handlers. Python's own shutdown takes longer than many commands."""
    if _stop.code is not None:
        with suppress(OSError, ValueError):  # Python reports it itself
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_stop.code)


def _report_output_error(error: OSError) -> int:
    """Print which file or stream could not be written, unless it is a closed pipe, and return the exit code. Standard
    output is redirected, so that Python does not try to write again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:
        return BROKEN_PIPE
    what = f"cannot use {error.filename}" if error.filename else "cannot write what is printed"
    if error.errno is None and not error.filename:  # the error of a library, not of a stream
        what = "cannot go on"
    print_line(f"error: {what}: {' '.join((error.strerror or str(error)).lower().split())}")
    return 1
