"""A real cluster: a scheduler and workers as processes, each with its own home and without a shared disk, which are
killed, slow, late, or have another bgdata."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from bgdata.errors import MissingTableError, StorageError, UsageError, WorkerError
from bgdata.store import shards
from bgdata.store.executors import Cluster, InProcess, open_executor
from bgdata.store.job import Job
from bgdata.store.shards import Work, compute_shards, ranges
from bgdata.store.storage import remove_folder
from bgdata.store.table import Table
from bgdata.store.worker_inputs import worker_inputs
from tests.store.sharing import Elsewhere, hide_from_workers, work
from tests.store.toy import Count, Notes, toy_warehouse

PARTS = ranges(40, 2)


class Machines:
    """A scheduler and workers, each with its own folder."""

    def __init__(self, folder: Path, hidden: Path) -> None:
        self.folder = folder
        self.hidden = hidden
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.scheduler = ""

    def start(self, name: str, *words: str, **environment: str) -> str:
        """Start a process; returns its address."""
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        variables = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "NUMBA_NUM_THREADS")}
        variables |= {"HOME": str(home), "BGDATA_CACHE": str(home / "cache")}
        variables |= {"PYTHONPATH": str(Path(__file__).parents[2]), **environment}
        command = [sys.executable, "-m", "tests.store.cluster", *words]
        process = subprocess.Popen(
            command, cwd=home, env=variables, stdout=subprocess.PIPE, text=True, stderr=(home / "errors").open("w")
        )
        self.processes[name] = process
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address, (home / "errors").read_text()
        return address

    def start_scheduler(self) -> None:
        """Start a scheduler, in place of the last one."""
        self.scheduler = self.start("scheduler", "scheduler")

    def start_worker(self, name: str, **environment: str) -> None:
        """Start a worker that cannot see the hidden folder."""
        self.start(name, "worker", self.scheduler, str(self.hidden), **environment)

    def kill(self, name: str) -> None:
        """Kill a process like a failing machine."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        assert process.stdout
        process.stdout.close()

    @property
    def executor(self) -> str:
        """The name for `--executor`."""
        return self.scheduler.replace("tcp://", "dask://")


@contextmanager
def machines(folder: Path, hidden: Path) -> Iterator[Machines]:
    """Machines that end with the block."""
    machines = Machines(folder, hidden)
    try:
        machines.start_scheduler()
        yield machines
    finally:
        for name in list(machines.processes):
            machines.kill(name)


class ActingProgress(Notes):
    """Progress that calls a function once, after so many items."""

    def __init__(self, items: int, action: Callable[[], None]) -> None:
        super().__init__()
        self.items, self.action = items, action
        self.has_acted = False

    def advance(self, count: int) -> None:
        super().advance(count)
        if self.done >= self.items and not self.has_acted:
            self.has_acted = True
            self.action()


def build_squares(root: Path) -> Table:
    return toy_warehouse(root).build("squares", Count(40))


def doubled_squares(table: Table, log: Path) -> Work:
    return Work("tests.store.sharing:doubles", {"log": str(log)}, inputs=worker_inputs({"squares": table}))


DOUBLED_SQUARES = [2 * number**2 for number in range(40)]


def compute_on_cluster(folder: Path, work: Work, executor: Any, notes: Notes | None = None) -> list[int]:
    """Compute the shards of `work` in a folder with an executor; returns their doubled squares."""
    folder.mkdir(exist_ok=True)
    job = Job(folder, notes or Notes(), title="doubles", recipe="recipe", executor=executor)
    doubles: list[int] = np.concatenate(
        [shard["double"] for shard in compute_shards(job, "numbers", work, PARTS)]
    ).tolist()
    return doubles


def shard_names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "shards").glob("*.npz"))


@pytest.mark.slow
def test_cluster_without_a_shared_disk_computes_all_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster whose machines share no disk computes the same shards as one process, although a worker is killed, one
    is slow, one joins late, and the scheduler is replaced."""
    pytest.importorskip("distributed")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    hidden = tmp_path / "own"
    store = tmp_path / "store"
    log = tmp_path / "log"
    hidden.mkdir()
    wanted = doubled_squares(build_squares(hidden / "warehouse"), log)
    expected = compute_on_cluster(hidden / "alone", wanted, InProcess())
    log.unlink()
    with machines(tmp_path / "machines", hidden) as cluster:
        cluster.start_worker("first")
        cluster.start_worker("slow", BGDATA_TEST_SLOW="3")

        def replace_first() -> None:
            cluster.kill("first")
            cluster.start_worker("late")

        with open_executor(cluster.executor, str(store)) as executor:
            notes = ActingProgress(8, replace_first)
            assert compute_on_cluster(hidden / "cluster", wanted, executor, notes) == expected
        assert shard_names(hidden / "cluster") == shard_names(hidden / "alone")
        homes = {Path(line).name for line in log.read_text().splitlines()}
        assert homes == {"first", "slow", "late"}
        assert not list((store / "shards").glob("*/*")), "they are fetched"
        for name in homes:  # each has fetched its versions
            assert len(list((tmp_path / "machines" / name / "cache/versions").glob("*/squares/40/*/square.npy"))) == 1

        with open_executor(cluster.executor, str(store)) as executor:
            ending = ActingProgress(6, lambda: cluster.kill("scheduler"))
            with pytest.raises(WorkerError, match="finished parts are kept, and the same command resumes"):
                compute_on_cluster(hidden / "again", wanted, executor, ending)
        assert 3 <= len(shard_names(hidden / "again")) < len(PARTS)
        cluster.start_scheduler()
        cluster.start_worker("third")
        with open_executor(cluster.executor) as executor:
            # results come through Dask, but workers without versions fail
            with pytest.raises(
                WorkerError, match=r"expected squares/40/\S+ in \S+, found no such version; .*on the work"
            ):
                compute_on_cluster(hidden / "again", wanted, executor)
            result = Work("tests.store.sharing:squares", {})
            job = Job(hidden / "results", notes, title="results", recipe="recipe", executor=executor)
            (hidden / "results").mkdir()
            assert [len(shard["square"]) for shard in compute_shards(job, "numbers", result, PARTS)] == [2] * 20
        with open_executor(cluster.executor, str(store)) as executor:
            resumed = Notes()
            assert compute_on_cluster(hidden / "again", wanted, executor, resumed) == expected
    assert resumed.texts[0].startswith("going on with doubles: ")
    assert shard_names(hidden / "again") == shard_names(hidden / "alone")


@pytest.fixture
def hidden_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that no worker sees; the cache of workers is beside it."""
    folder = tmp_path / "own"
    folder.mkdir()
    hide_from_workers(monkeypatch, folder, tmp_path / "cache")
    return folder


def test_damaged_cache_is_fetched_again(hidden_folder: Path, tmp_path: Path) -> None:
    wanted = doubled_squares(build_squares(hidden_folder / "warehouse"), tmp_path / "log")
    store = str(tmp_path / "store")
    assert compute_on_cluster(hidden_folder / "one", wanted, Elsewhere(store)) == DOUBLED_SQUARES
    (path,) = (tmp_path / "cache/versions").glob("*/squares/40/*/square.npy")
    path.write_bytes(path.read_bytes()[:-1])
    assert compute_on_cluster(hidden_folder / "two", wanted, Elsewhere(store)) == DOUBLED_SQUARES


def test_truncated_input_is_refused(hidden_folder: Path, tmp_path: Path) -> None:
    """A worker that fetches a truncated input raises an error of one line."""
    wanted = doubled_squares(build_squares(hidden_folder / "warehouse"), tmp_path / "log")
    store = tmp_path / "store"
    compute_on_cluster(hidden_folder / "one", wanted, Elsewhere(str(store)))
    (array,) = store.glob("given/*/square.npy")
    array.write_bytes(array.read_bytes()[:40])
    remove_folder(tmp_path / "cache/versions")
    with pytest.raises(WorkerError, match=r"expected 448 bytes in \S+square.npy, got 40; on "):
        compute_on_cluster(hidden_folder / "two", wanted, Elsewhere(str(store)))
    assert shard_names(hidden_folder / "two") == []


def test_unfetched_shards_are_taken_from_the_store(
    hidden_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed build resumes with the shards that workers have left in the store; a damaged one is computed again."""
    wanted = doubled_squares(build_squares(hidden_folder / "warehouse"), tmp_path / "log")
    store = tmp_path / "store"
    receive = shards.ShardReturn.receive

    def interrupted_receive(back: shards.ShardReturn, name: str, data: bytes | None) -> Path:
        if name.startswith("000000004-"):
            raise KeyboardInterrupt
        return receive(back, name, data)

    with monkeypatch.context() as patch:
        patch.setattr(shards.ShardReturn, "receive", interrupted_receive)
        with pytest.raises(KeyboardInterrupt):
            compute_on_cluster(hidden_folder / "one", wanted, Elsewhere(str(store)))
    (shard,) = store.glob("shards/*/*")
    wrong_range = shard.name.replace("000000004-000000006", "000000006-000000008")
    (shard.parent / wrong_range).write_bytes(shard.read_bytes())
    (shard.parent / "notes.txt").write_text("no shard")
    notes = Notes()
    assert compute_on_cluster(hidden_folder / "one", wanted, Elsewhere(str(store)), notes) == DOUBLED_SQUARES
    assert len([text for text in notes.texts if "found another; computing it anew" in text]) == 1
    assert notes.texts[-1] == "going on with doubles: 3 of 20 parts are there"
    assert not list(store.glob("shards/*/*"))


def test_changed_shard_is_refused(hidden_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Work("tests.store.sharing:squares", {})
    send = shards.ShardReturn.send
    monkeypatch.setattr(shards.ShardReturn, "send", lambda *given: (send(*given) or b"")[:-1])
    with pytest.raises(OSError, match=r"expected the shard \S+ from a worker as it was written, found it changed"):
        compute_on_cluster(hidden_folder / "one", wanted, Elsewhere())


def test_too_large_results_are_refused(hidden_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_RESULT_BYTES", 1 << 8)
    with pytest.raises(WorkerError, match=r"expected shards of at most 0 MiB where .* try: --through ADDRESS, a store"):
        compute_on_cluster(hidden_folder / "one", work(), Elsewhere())


def test_full_disk_of_a_worker_is_reported(
    hidden_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("cannot write x: the disk is full")

    monkeypatch.setattr("bgdata.store.exchange.fetch_file", full)
    wanted = doubled_squares(build_squares(hidden_folder / "warehouse"), tmp_path / "log")
    with pytest.raises(WorkerError, match=r"^cannot write x: the disk is full; on "):
        compute_on_cluster(hidden_folder / "one", wanted, Elsewhere(str(tmp_path / "store")))
    assert shard_names(hidden_folder / "one") == []


def test_missing_versions_on_workers_are_refused(hidden_folder: Path, tmp_path: Path) -> None:
    wanted = doubled_squares(build_squares(hidden_folder / "warehouse"), tmp_path / "log")
    with pytest.raises(WorkerError, match=r"found no such version; try: .* --through ADDRESS"):
        compute_on_cluster(hidden_folder / "one", wanted, Elsewhere())
    with pytest.raises(MissingTableError):
        wanted.inputs.versions["squares"].locate("")


class WithoutBgdata(InProcess):
    """An executor whose workers cannot import bgdata."""

    def submit(self, *_: Any, **__: Any) -> Any:
        return super().submit(Mock(side_effect=ModuleNotFoundError("No module named 'bgdata'")))


def test_workers_without_bgdata_are_refused(tmp_path: Path) -> None:
    message = "^expected the same bgdata on all workers, found one that cannot read .*: No module named 'bgdata'$"
    with pytest.raises(WorkerError, match=message):
        compute_on_cluster(tmp_path / "one", work(), Cluster(WithoutBgdata()))


@pytest.mark.parametrize("name", ["local", "processes:2"])
def test_store_without_a_cluster_is_refused(name: str) -> None:
    message = f"^expected the executor dask://HOST:PORT with a store between machines, got '{name}'$"
    with pytest.raises(UsageError, match=message), open_executor(name, "s3://x/y"):
        pass


def test_read_only_store_is_refused() -> None:
    from bgdata.store.places import absolute_address

    with pytest.raises(UsageError, match=r"^expected a folder or a store to write to, got https://here/x, which"):
        absolute_address("https://here/x")
    assert absolute_address("here") == str(Path("here").absolute())
