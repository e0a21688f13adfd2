"""Ctrl-C, SIGTERM and unread output at any stage: one line, the exit code, and no leftovers."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import bgdata
from bgdata import process
from bgdata.process import first_clause, forget, free_memory, keep, keeping, keeping_nothing, print_stop_line
from bgdata.warehouse import Warehouse
from tests.pipelines.conftest import environment
from tests.store.processes import bgdata_command
from tests.subtests import each

NOTHING = "error: interrupted; nothing was kept"
HANGS_SECONDS = 300


class Started:
    """A command line in its own session, as a terminal starts it, and its error output."""

    def __init__(self, command: list[str], errors: Path, **options: object) -> None:
        self.path = errors
        with errors.open("w") as file:
            self.process = subprocess.Popen(
                command, stderr=file, start_new_session=True, **{"stdout": subprocess.DEVNULL} | options,  # type: ignore[call-overload]
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs ignore it
            )  # fmt: skip
        self.family = psutil.Process(self.process.pid)

    @property
    def stderr(self) -> str:
        return self.path.read_text()

    def wait_until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + HANGS_SECONDS
        while not condition():
            assert self.process.poll() is None, self.stderr
            assert time.monotonic() < end, "hangs"
            time.sleep(0.01)

    def wait_for_cpu(self, seconds: float) -> None:
        """Wait until the command has computed for this long."""
        before = sum(self.family.cpu_times()[:2])
        self.wait_until(lambda: sum(self.family.cpu_times()[:2]) - before > seconds)

    def stop(self, *numbers: signal.Signals, with_children: bool = True) -> list[str]:
        """Send signals to all processes, as a terminal does; returns the printed lines. No process may remain."""
        children = self.family.children(recursive=True)
        for number in numbers:
            if with_children:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)
        assert self.process.wait(HANGS_SECONDS) == 128 + numbers[0], self.stderr
        _, alive = psutil.wait_procs(children, timeout=60)
        assert alive == []
        return [line for line in self.stderr.splitlines() if not line.startswith("compil")]


@contextmanager
def started(command: list[str], tmp_path: Path, **options: object) -> Iterator[Started]:
    """Start a command, which is killed if the test fails."""
    run = Started(command, tmp_path / "errors", **options)
    try:
        yield run
    finally:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
            run.process.wait()


@pytest.mark.parametrize(
    ("numbers", "word"),
    [
        ((signal.SIGINT,), "interrupted"),
        ((signal.SIGTERM,), "terminated"),
        ((signal.SIGINT, signal.SIGINT), "interrupted"),
    ],
    ids=["Ctrl-C", "SIGTERM", "twice"],
)
def test_interrupt_while_kernels_are_compiled_exits_with_one_line(
    tmp_path: Path, numbers: tuple[signal.Signals, ...], word: str
) -> None:
    root = tmp_path / "warehouse"
    command = bgdata_command("--warehouse", root, "build", "bearoff_one_sided", "--points", "4")
    with started(command, tmp_path, env=os.environ | {"BGDATA_CACHE": str(tmp_path / "cache")}) as run:
        run.wait_until(lambda: "compiling kernels" in run.stderr)
        assert run.stop(*numbers) == [f"error: {word}; nothing was kept"]
    assert list(bgdata.open_warehouse(root).versions()) == []


def test_interrupt_in_a_long_kernel_exits_with_one_line(warehouse: Warehouse, tmp_path: Path) -> None:
    """The main thread never returns to Python, because all trials of four positions are one call."""
    long = ("label", "positions/sample", "--network", "tiny", "--trials", "3600000", "--stop", "end")
    with started(bgdata_command("--warehouse", warehouse.root, *long), tmp_path) as run:
        run.wait_until(lambda: [*warehouse.staging.glob("rollout_labels-*.lock")])
        run.wait_for_cpu(4)
        assert run.stop(signal.SIGINT) == [NOTHING]
    assert warehouse.variants("rollout_labels") == ["positions-sample-by-tiny-72-seed-0"]
    assert not [*warehouse.staging.glob("*.lock")]


@pytest.mark.parametrize("with_children", [True, False], ids=["from a terminal", "to the parent alone"])
def test_interrupt_ends_the_processes_of_an_executor(tmp_path: Path, with_children: bool) -> None:
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    play = ("selfplay", "--player", "pubeval", "--games", "100000", "--executor", "processes:2")
    with started(bgdata_command("--warehouse", warehouse.root, *play), tmp_path) as run:
        run.wait_until(lambda: len([*warehouse.staging.glob("*/shards/*.npz")]) > 1)
        assert len(run.family.children()) >= 2
        lines = run.stop(signal.SIGINT, with_children=with_children)
    assert len(lines) == 1, lines
    message = r"selfplay/[\w-]+ is kept in (\d+) parts, the same command goes on from there"
    match = re.fullmatch(f"error: interrupted; {message}", lines[0])
    assert match, lines
    assert len([*warehouse.staging.glob("*/shards/*.npz")]) >= int(match[1]) > 1
    assert not (warehouse.root / "selfplay").exists()


SLOW = """
import os, sys, time
from bgdata import process

class Slow:
    def write(self, text):
        time.sleep(1)
        os.write(2, text.encode())
    def flush(self): pass

def work():
    print("ready", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        sys.stderr = Slow()
        sys.exit(process.print_stop_line())

process.run(work)
"""


def test_exit_waits_until_the_line_is_printed(tmp_path: Path) -> None:
    """The process ends only after its main thread has printed the whole line, also where printing is slow."""
    out = tmp_path / "out"
    with out.open("w") as file, started([sys.executable, "-c", SLOW], tmp_path, stdout=file) as run:
        run.wait_until(out.read_text)
        assert run.stop(signal.SIGINT) == ["error: interrupted; nothing was kept"]


@pytest.mark.prefect
def test_interrupt_ends_a_flow_and_its_server(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    with started(
        [sys.executable, "-m", "pipelines.build", str(root)], tmp_path, cwd=tmp_path, env=environment(tmp_path)
    ) as run:
        run.wait_until(lambda: [*root.glob(".staging/*.lock")])
        assert run.family.children(), "expected Prefect's server to be a process of its own"
        lines = run.stop(signal.SIGINT)
    assert re.match(r"error: interrupted; ", lines[-1])
    assert [line for line in lines[:-1] if not re.match(r"[a-z_]+/[\w-]+: ", line)] == []


@pytest.mark.prefect
def test_interrupt_before_a_flow_begins_exits_with_one_line(tmp_path: Path) -> None:
    """Importing Prefect takes seconds."""
    with started(
        [sys.executable, "-v", "-m", "pipelines.build", "x"], tmp_path, cwd=tmp_path, env=environment(tmp_path)
    ) as run:
        run.wait_until(lambda: "import 'prefect._" in run.stderr)
        lines = run.stop(signal.SIGINT)
    assert [line for line in lines if "error: " in line] == [NOTHING]
    assert not [line for line in lines if line.startswith("Traceback")]


SEMAPHORES = """
import sys, time
from multiprocessing import get_context
from bgdata.process import run

def wait():
    from multiprocessing import resource_tracker
    resource_tracker.register("/of-a-process-that-was-killed", "semaphore")
    get_context("spawn").Lock()
    print("waits", file=sys.stderr, flush=True)
    time.sleep(600)

run(wait)
"""


def test_leftover_semaphores_are_released_silently(tmp_path: Path) -> None:
    """Python's tracker releases them without a warning."""
    with started([sys.executable, "-c", SEMAPHORES], tmp_path) as run:
        run.wait_until(lambda: "waits" in run.stderr)
        assert run.stop(signal.SIGINT) == ["waits", NOTHING]


SHIELDED = """
import multiprocessing, pathlib, signal, time
from bgdata.process import run, shielding

def start():
    with shielding():
        process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
        process.start()
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    process.kill()
    print(int(next(line for line in status.splitlines() if line.startswith("SigBlk")).split()[1], 16))

if __name__ == "__main__":
    run(start)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows which signals a process blocks")
def test_child_processes_never_receive_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "shielded.py").write_text(SHIELDED)
    command = [sys.executable, str(tmp_path / "shielded.py")]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=HANGS_SECONDS, check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs ignore it
    )  # fmt: skip
    assert int(result.stdout) & 1 << (signal.SIGINT - 1)


ROWS = ["query", "select * from range(100000)"]
READERS = [
    ["list"],
    ["--help"],
    ["build", "--help"],
    ["explain", "bearoff_error"],
    *(ROWS, [*ROWS, "--format", "csv"], [*ROWS, "--format", "json"]),
    ["show", "4HPwATDgc/ABMA", "--roll", "31"],
    ["met", "show", "published-12"],
]


@each("arguments", READERS)
def test_broken_pipes_and_full_devices_end_a_command(small_root: Path, arguments: list[str]) -> None:
    """`| head -1` breaks a pipe; there is no message, and the exit code is that of a broken pipe."""
    reader, writer = os.pipe()
    os.close(reader)
    command = bgdata_command("--warehouse", small_root, *arguments)
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=HANGS_SECONDS, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")
    if Path("/dev/full").exists():
        with Path("/dev/full").open("wb") as full:
            result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=HANGS_SECONDS, check=False)
        message = b"error: cannot write what is printed: no space left on device\n"
        assert (result.returncode, result.stderr) == (1, message)


@pytest.mark.parametrize("closed", [1, 2])
def test_closed_outputs_are_accepted(small_root: Path, closed: int) -> None:
    command = bgdata_command("--warehouse", small_root, "query", "select 1", "--format", "csv")
    result = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *command], capture_output=True, timeout=HANGS_SECONDS, check=False
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == (b"" if closed == 1 else b"1\n1\n")


def output_when_stopped(inside: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> str:
    """The line printed if Ctrl-C comes at the end of a function."""
    try:
        inside()
    except KeyboardInterrupt:
        assert print_stop_line() == 130
    return capsys.readouterr().err


def test_line_names_the_kept_work(capsys: pytest.CaptureFixture[str]) -> None:
    def nothing() -> None:
        raise KeyboardInterrupt

    def some() -> None:
        with keeping(lambda: "all is kept"), keeping(lambda: "step 3 is kept"):
            raise KeyboardInterrupt

    def none_yet() -> None:
        keep("what is finished is kept")
        with keeping(lambda: ""):
            raise KeyboardInterrupt

    def aside() -> None:
        with keeping_nothing(), keeping(lambda: "step 3 is kept"):
            keep("what is finished is kept")
            raise KeyboardInterrupt

    def uncertain() -> None:
        with keeping(lambda: str(1 // 0)):
            raise KeyboardInterrupt

    forget()  # drops what other tests have built
    assert output_when_stopped(nothing, capsys) == f"{NOTHING}\n"
    goes_on = "the same command goes on from there\n"
    assert output_when_stopped(some, capsys) == f"error: interrupted; step 3 is kept, {goes_on}"
    assert output_when_stopped(none_yet, capsys) == f"error: interrupted; what is finished is kept, {goes_on}"
    assert output_when_stopped(aside, capsys) == f"{NOTHING}\n"
    assert output_when_stopped(uncertain, capsys) == f"{NOTHING}\n"
    assert first_clause(process._stop.statements) == "", "statements end with their blocks"


@pytest.mark.parametrize("mebibytes", [100, 430])
def test_too_little_address_space_is_refused(small_root: Path, mebibytes: int) -> None:
    """Libraries would abort the process with their own messages."""
    most = mebibytes << 20
    result = subprocess.run(
        bgdata_command("--warehouse", small_root, "eval", "start"), capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )  # fmt: skip
    words = f"expected 512 MiB of address space or more, found a limit of {mebibytes} MiB; see ulimit -v"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", f"error: {words}\n")


def test_free_memory_is_limited_by_control_groups(tmp_path: Path) -> None:
    """A group may have less left than its parent; reclaimable file pages count as free."""
    own = tmp_path / "cgroup"
    own.write_text("1:name=systemd:/elsewhere\n0::/outer/inner\n")
    groups = tmp_path / "groups"
    inner = groups / "outer" / "inner"
    inner.mkdir(parents=True)
    assert free_memory(groups, own) > 1_000_000  # memory of the machine, if no group has a limit
    for group, most, used in ((inner, "max", 900_000), (inner.parent, "1000000", 700_000)):
        (group / "memory.max").write_text(f"{most}\n")
        (group / "memory.current").write_text(f"{used}\n")
        (group / "memory.stat").write_text("anon 5\ninactive_file 50000\n")
    assert free_memory(groups, own) == 350_000
    (inner / "memory.max").write_text("800000\n")
    assert free_memory(groups, own) == 0
    (inner / "memory.max").write_text("960000\n")
    assert free_memory(groups, own) == 110_000
    (inner / "memory.max").write_text("nonsense\n")
    assert free_memory(groups, own) == 350_000
    assert free_memory(groups, tmp_path / "not there") > 1_000_000
