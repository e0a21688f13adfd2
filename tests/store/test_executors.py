"""Executors by name: in this process, in spawned processes that end with their parent, on a Dask cluster."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bgdata.errors import MissingExtraError, UsageError, WorkerError
from bgdata.store.executors import InProcess, open_executor


def process_and_threads() -> tuple[int, str | None]:
    """The process and threads of a part."""
    return os.getpid(), os.environ.get("NUMBA_NUM_THREADS")


def test_local_executor_uses_this_process() -> None:
    with open_executor("local") as executor:
        assert isinstance(executor, InProcess)
        future = executor.submit(process_and_threads)
        assert future.done()
        assert future.result()[0] == os.getpid()
        assert isinstance(executor.submit(int, "x").exception(), ValueError)


def test_interrupts_are_raised() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InProcess().submit(interrupted)


def test_processes_have_one_thread_each() -> None:
    with open_executor("processes:1") as executor:
        pid, threads = executor.submit(process_and_threads).result(60)
    assert pid != os.getpid()
    assert threads == "1"
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    "name",
    [
        "", "locally", "processes", "processes:", "processes:-1", "processes:x", "dask", "dask://", "dask://host",
        "dask://a b:1",
    ],
)  # fmt: skip
def test_unknown_executors_are_refused(name: str) -> None:
    message = f"^expected the executor local, processes:N or dask://HOST:PORT, got {name!r}$"
    with pytest.raises(UsageError, match=message), open_executor(name):
        pass


@pytest.mark.parametrize("count", [0, 1025])
def test_invalid_numbers_of_processes_are_refused(count: int) -> None:
    message = f"^expected 1 to 1024 processes, got {count}$"
    with pytest.raises(UsageError, match=message), open_executor(f"processes:{count}"):
        pass


def test_dask_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(
            MissingExtraError, match=r'expected distributed .*, found none; try: .*"bgdata-backgammon\[dask\]"$'
        ),
        open_executor("dask://localhost:8786"),
    ):
        pass


def test_unreachable_clusters_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("bgdata.store.executors.CONNECT_SECONDS", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        pytest.raises(WorkerError, match=f"^expected a Dask scheduler at 127.0.0.1:{port}, found: "),
        open_executor(f"dask://127.0.0.1:{port}"),
    ):
        pass


ORPHANS = """
import sys, time
from bgdata.store.executors import open_executor
from tests.store.test_executors import process_and_threads

if __name__ == "__main__":
    with open_executor("processes:1") as executor:
        print(executor.submit(process_and_threads).result()[0], flush=True)
        time.sleep(60)
"""


def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout
    worker = psutil.Process(int(process.stdout.readline()))
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    process.stdout.close()
    end = time.monotonic() + 60
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, "the worker outlives its parent"
        time.sleep(0.05)
