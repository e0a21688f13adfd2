"""How a process of ours ends: by itself, by Ctrl-C at any moment, or because nobody takes what it prints.

Python answers a signal between two of its own instructions only, which a kernel, the compiler or a wait for others may
put off for minutes. So a thread hears of it too. It leaves the main thread a moment to unwind, as that saves most; then
it tidies up, says one line and ends the process. Nothing published suffers: versions are renamed into place when whole.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

UNWIND_SECONDS = 0.4  # that the main thread has to unwind
TIDY_SECONDS = 2.0  # that tidying up may take then, which takes milliseconds where the disk answers
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
BROKEN_PIPE = 128 + signal.SIGPIPE  # exit code where nobody reads the output any more
# objects after which Python looks for unreachable ones: by its own 700 it does so hundreds of times while it imports
COLLECTED_OBJECTS = 50_000
# of address space (ulimit -v), below which libraries abort the process in their own words while they are loaded
LEAST_ADDRESS_BYTES = 512 << 20


class Compilation:
    """Kernels that this process compiles: whether it does so now, and for how long it has. `tell` gets a line the first
    time; nobody does unless it is set."""

    def __init__(self) -> None:
        self.depth, self.seconds = 0, 0.0
        self.tell: Callable[[str], None] | None = None
        self._since = 0.0

    def begin(self, folder: Path | None) -> None:
        """A kernel is going to be compiled, maybe for another, and kept in a folder if there is one."""
        self.depth += 1
        if self.depth > 1:
            return
        if self.tell and not self._since:
            kept = f"kept in {folder}" if folder else "not kept: set BGDATA_CACHE to a folder that can be written"
            self.tell(f"compiling kernels, which takes a minute or two the first time; they are {kept}")
        self._since = time.monotonic()

    def end(self) -> None:
        """It is compiled, or cannot be."""
        self.depth -= 1
        if not self.depth:
            self.seconds += time.monotonic() - self._since


class _Stop:
    """Whether this process was told to end, and what is to be said and done then."""

    def __init__(self) -> None:
        self.ours: set[int] = set()  # signals that we answer
        self.number = 0  # of the one that ends this process
        self.heard = self.answered = 0  # signals by the thread, and those that a command has dealt with
        self.statements: list[Callable[[], str]] = []  # see `keeping`, the innermost last
        self.kept = ""  # what one of them said while the main thread unwound
        self.finished = ""  # see `keep`
        self.keeps_nothing = False
        self.actions: list[Callable[[], object]] = []  # see `when_cut_off`
        self.said = threading.Lock()  # taken for good by who says the line
        self.is_said = threading.Event()
        self.code: int | None = None  # to exit with, once the work is done


compilation = Compilation()
_stop = _Stop()


@contextmanager
def keeping(statement: Callable[[], str]) -> Iterator[None]:
    """While the block runs, `statement` says what the same command would go on from: a clause such as
    `bearoff_two_sided/6x6 is kept up to step 12`, or nothing. It may save what it speaks of, in a moment."""
    _stop.statements.append(statement)
    try:
        yield
    except BaseException as error:
        if is_stopping(error):
            _stop.kept = _stop.kept or kept_by([statement])
        raise
    finally:
        _stop.statements.remove(statement)


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """While the block runs, nothing that is finished stays: its folder is deleted at the end."""
    before, _stop.keeps_nothing = _stop.keeps_nothing, True
    try:
        yield
    finally:
        _stop.keeps_nothing = before


def keep(clause: str) -> None:
    """From now on the same command would go on from what the clause says, if from nothing that goes further."""
    if not _stop.keeps_nothing:
        _stop.finished = clause


def forget() -> None:
    """Nothing is kept of what ran before in this process: another command begins."""
    _stop.kept = _stop.finished = ""


def kept_by(statements: Iterable[Callable[[], str]]) -> str:
    """The first clause that one of the statements has, or nothing."""
    if not _stop.keeps_nothing:
        for statement in statements:
            with suppress(Exception):  # what cannot be said is not claimed
                if clause := statement():
                    return clause
    return ""


@contextmanager
def when_cut_off(action: Callable[[], object]) -> Iterator[None]:
    """Have `action` done if the process must end inside the block without unwinding: removing a file, for instance."""
    _stop.actions.append(action)
    try:
        yield
    finally:
        _stop.actions.remove(action)


def is_stopping(error: BaseException | None = None) -> bool:
    """Whether this process was told to end; an error is then what became of it on its way up."""
    return bool(_stop.number) or isinstance(error, KeyboardInterrupt)


def go_on() -> None:
    """The signal was meant for the command, which has dealt with it."""
    _stop.number, _stop.answered = 0, _stop.answered + 1


def say_stopped() -> int:
    """Say the one line about a stop, unless it is said already; returns the exit code."""
    number = _stop.number or signal.SIGINT
    if not _stop.number or _stop.said.acquire(blocking=False):
        print_line(sentence(number))
        _stop.is_said.set()
    return 128 + number


def sentence(number: int) -> str:
    """What is kept, and whether the same command goes on from there."""
    kept = _stop.kept or kept_by(reversed(_stop.statements)) or _stop.finished
    _stop.kept = _stop.finished = ""
    after = f"{kept}, the same command goes on from there" if kept else "nothing was kept"
    return f"error: {WORDS[signal.Signals(number)]}; {after}"


def print_line(text: str) -> None:
    """A line on standard error, if it takes any."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def begin() -> None:
    """Hear signals from now on, but for those that this process was started to ignore. Once is enough."""
    if _stop.ours:
        return
    atexit.register(_end)  # the first one is called last
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: the next file would get its number, and what is printed
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    sys.warnoptions.append("ignore:resource_tracker")  # it would say which semaphores a stopped process has left to it
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    _stop.ours = {number for number in WORDS if signal.getsignal(number) is not signal.SIG_IGN}
    for number in _stop.ours:
        signal.signal(number, _unwind)
    # Python handles signals between its own instructions only: a kernel or the compiler would
    # put Ctrl-C off for minutes
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


@contextmanager
def shielding() -> Iterator[None]:
    """Processes that are started inside the block, by other people's code too, never see Ctrl-C, which a terminal sends
    to all: they would answer in their own words. This one hears of it by the thread that watches."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # started with the first process, it would have this thread hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT} & _stop.ours)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unwind(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Unwind the main thread, once. The compiler would swallow an exception and print it: it is cut off."""
    if _stop.number:
        return
    _stop.number = number
    sys.unraisablehook = lambda _: None  # what breaks now is nobody's business
    threading.excepthook = lambda _: None
    sys.excepthook = lambda *_: _leave(say_stopped())  # while modules are imported
    if not compilation.depth:
        raise KeyboardInterrupt


def _watch(reader: int) -> None:
    """Wait for signals, and end the process where the main thread does not, unless a command answers them."""
    while True:
        (number,) = os.read(reader, 1)
        if number in _stop.ours:
            _stop.heard += 1
            if not compilation.depth:
                time.sleep(UNWIND_SECONDS)
            if _stop.answered < _stop.heard:
                _cut_off(number)


def _cut_off(number: int) -> NoReturn:
    """End this process, whatever its threads do."""
    _stop.number = _stop.number or number
    if _stop.said.acquire(blocking=False):
        line = [f"error: {WORDS[signal.Signals(number)]}"]

        def tidy() -> None:
            for action in reversed(_stop.actions):
                with suppress(Exception):
                    action()
            line.append(sentence(number))

        tidying = threading.Thread(target=tidy, daemon=True)
        tidying.start()
        tidying.join(TIDY_SECONDS)
        with suppress(OSError):
            os.write(2, f"{line[-1]}\n".encode())
    else:
        _stop.is_said.wait(TIDY_SECONDS)  # by the main thread, which may have to look for what is kept
        time.sleep(UNWIND_SECONDS)  # it is on its way out
    _leave(128 + number)


def _leave(code: int) -> NoReturn:
    """Exit at once, with all processes below this one: Python would tidy up for seconds, or wait for threads."""
    with suppress(Exception):
        import psutil

        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # Python's tracker of semaphores gives these back and ends
                if not any("resource_tracker" in word for word in child.cmdline()):
                    child.kill()
    # safe, since files that count are renamed into place when they are whole
    os._exit(code)


def cache_folder() -> Path:
    """Folder of what this user's processes can make again: `$BGDATA_CACHE`, else `$XDG_CACHE_HOME/bgdata`, else
    `~/.cache/bgdata`."""
    named = os.environ.get("BGDATA_CACHE")
    return Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bgdata")


def data_bytes() -> int:
    """Bytes of data and heap that this process holds, which RLIMIT_DATA counts; on Linux."""
    import psutil

    return int(psutil.Process().memory_info().data)


CGROUPS = Path("/sys/fs/cgroup")


def free_memory(groups: Path = CGROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Bytes of memory that this process may still take: what the machine has, and no more than each of its control
    groups leaves, such as a container's; on Linux, `own` names them below `groups`."""
    import psutil

    free = int(psutil.virtual_memory().available)
    with suppress(OSError, StopIteration):
        path = next(line[3:] for line in own.read_text().splitlines() if line.startswith("0::"))
        group = groups / path.strip("/")
        for each in (group, *group.parents):
            if each.is_relative_to(groups):
                free = min(free, _left_in(each, free))
    return free


def _left_in(group: Path, otherwise: int) -> int:
    """Bytes that a control group leaves, pages of files that can be given up among them; without a limit another
    number."""
    try:
        most, used = ((group / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(0, int(most) - int(used) + int(statistics["inactive_file"]))
    except (OSError, ValueError, KeyError):  # "max" is no limit; the topmost group has no such files
        return otherwise


def run(work: Callable[[], object]) -> NoReturn:
    """Do the work of a command line and exit with what it returns, or exits with: 128 and the signal where one ends it,
    141 where nobody reads the output, 1 where it cannot be written."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and most < LEAST_ADDRESS_BYTES:
        least, found = LEAST_ADDRESS_BYTES >> 20, most >> 20
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
            code = _lost(error)
    if is_stopping():
        _leave(say_stopped())
    if compilation.seconds:
        print_line(f"compiled kernels in {compilation.seconds:.0f} s")
    for number in _stop.ours:  # Python is about to go, and would answer with a traceback
        signal.signal(number, signal.SIG_DFL)
    _stop.ours = set()
    if code is None or isinstance(code, int):
        _stop.code = (code or 0) & 0xFF
    sys.exit(code)


def _end() -> None:
    """Exit at once after what others have to do at the end: to take all modules apart takes Python longer than many a
    command."""
    if _stop.code is not None:
        with suppress(OSError, ValueError):  # Python itself says so
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_stop.code)


def _lost(error: OSError) -> int:
    """Say what failed, a stream where no file is named, but for a broken pipe; Python must not try again at its end.
    Returns the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:
        return BROKEN_PIPE
    what = f"cannot use {error.filename}" if error.filename else "cannot write what is printed"
    if error.errno is None and not error.filename:  # of a library, which the system has not told of a stream
        what = "cannot go on"
    print_line(f"error: {what}: {' '.join((error.strerror or str(error)).lower().split())}")
    return 1
