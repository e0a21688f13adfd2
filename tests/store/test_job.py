"""Checkpoints: saved in time and complete, and resumed only if they match."""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import CorruptFileError, InvalidParameterError, StorageError, WorkerError
from bgdata.store import job as job_module
from bgdata.store import shards as shards_module
from bgdata.store import storage
from bgdata.store.arrays import map_array
from bgdata.store.executors import InProcess, open_executor
from bgdata.store.job import Job
from bgdata.store.shards import Work, compute_shards, ranges, read_shard, runs, write_shard
from bgdata.store.storage import sha256_file
from tests.store.sharing import work
from tests.store.toy import Notes


@pytest.fixture(autouse=True)
def _constant_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 0.0)


def count_up(
    folder: Path,
    until: int,
    label: str = "counting",
    dtype: type = np.int64,
    size: int = 3,
    progress: Notes | None = None,
) -> list[int]:
    """Do the steps up to `until` of 5, each adding one to the state; returns the executed steps."""
    state: dict[str, NDArray[Any]] = {"counts": np.zeros(size, dtype)}
    executed = []
    for step in Job(folder, progress or Notes(), title=label).steps("steps", range(5), [1] * 5, state):
        if step == until:
            break
        state["counts"] += 1
        executed.append(step)
    if until == 5:
        assert state["counts"].tolist() == [5] * size
    return executed


@pytest.mark.parametrize("until", [0, 1, 4])
def test_job_resumes_from_the_last_checkpoint(tmp_path: Path, until: int) -> None:
    assert count_up(tmp_path, until) == list(range(until))
    assert [path.name for path in tmp_path.iterdir()] == ([f"checkpoint-{until:09d}"] if until else [])
    assert count_up(tmp_path, 5) == list(range(until, 5))


def test_checkpoint_of_another_recipe_is_reported_and_ignored(tmp_path: Path) -> None:
    count_up(tmp_path, 2)
    notes = Notes()
    state = {"counts": np.zeros(3, np.int64)}
    job = Job(tmp_path, notes, title="counting", recipe="0123456789abcdef")
    assert next(job.steps("steps", range(5), [1] * 5, state)) == 0
    folder = tmp_path / "checkpoint-000000002"
    assert notes.texts == [f"expected a checkpoint of recipe 0123456789ab, got one of another: {folder}"]
    assert state["counts"].tolist() == [0, 0, 0]


def test_progress_includes_earlier_steps(tmp_path: Path) -> None:
    count_up(tmp_path, 2)
    notes = Notes()
    state = {"counts": np.zeros(3, np.int64)}
    job = Job(tmp_path, notes, title="counting")
    done_in_each_step = [notes.done for _ in job.steps("steps", range(5), [10, 20, 30, 40, 50], state)]
    assert done_in_each_step == [10 + 20, 10 + 20 + 30, 10 + 20 + 30 + 40]
    assert notes.done == notes.total == 150
    assert notes.texts == ["going on with counting after step 2 of 5"]


def test_checkpoints_are_not_written_more_often_than_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 1000.0)
    count_up(tmp_path, 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "difference", [{"label": "another stage"}, {"dtype": np.float64}, {"size": 4}], ids=["label", "dtype", "shape"]
)
def test_checkpoints_of_another_stage_are_ignored(tmp_path: Path, difference: dict[str, object]) -> None:
    count_up(tmp_path, 3)
    assert count_up(tmp_path, 5, **difference) == [0, 1, 2, 3, 4]  # type: ignore[arg-type]


def flip_bit(data: bytes) -> bytes:
    return data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param("state.json", lambda _: None, id="missing state"),
        pytest.param("state.json", lambda _: b"{", id="invalid state"),
        pytest.param("state.json", lambda data: data.replace(b'"done":3', b'"done":4'), id="another state"),
        pytest.param("counts.npy", lambda _: None, id="missing array"),
        pytest.param("counts.npy", lambda _: b"", id="empty array"),
        pytest.param("counts.npy", lambda data: data[:-1], id="truncated array"),
        pytest.param("counts.npy", flip_bit, id="flipped bit"),
    ],
)
def test_damaged_checkpoints_are_reported_and_deleted(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes | None]
) -> None:
    count_up(tmp_path, 3)
    path = tmp_path / "checkpoint-000000003" / name
    damaged = damage(path.read_bytes())
    if damaged is None:
        path.unlink()
    else:
        path.write_bytes(damaged)
    notes = Notes()
    assert count_up(tmp_path, 1, progress=notes) == [0], "the work begins from the start"
    (note,) = notes.texts
    assert str(path) in note
    assert note.endswith("; the checkpoint is damaged and deleted")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000000001"]
    assert count_up(tmp_path, 5)[-1] == 4


def test_checkpoint_is_synced_before_the_older_one_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a checkpoint, its folder and the parent folder are synced before the older checkpoint is deleted."""
    count_up(tmp_path, 2)
    operations: list[str] = []
    fsync = os.fsync
    remove = storage.remove_folder

    def recorded_sync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        operations.append(f"sync {path.relative_to(tmp_path)}")
        fsync(handle)

    def recorded_removal(path: Path) -> None:
        if path.exists():
            operations.append(f"remove {path.name}")
        remove(path)

    monkeypatch.setattr("bgdata.store.storage.os.fsync", recorded_sync)
    monkeypatch.setattr(job_module, "remove_folder", recorded_removal)
    count_up(tmp_path, 3)
    array, state, *later_operations = operations
    assert array == "sync checkpoint.partial/counts.npy"
    assert "state.json" in state  # under a temporary name
    assert later_operations == ["sync checkpoint.partial", "sync .", "remove checkpoint-000000002"]


def test_checkpoints_take_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If saving is slow, checkpoints become less frequent, so that they take at most CHECKPOINT_SHARE of the time. By a
    fake clock a step takes 1 s and a checkpoint 10 s."""
    clock = 0.0
    written = []
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 5.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock)

    def checkpoint(_: Job, done: int, state: object) -> None:  # noqa: ARG001
        nonlocal clock
        clock += 10
        written.append(done)

    monkeypatch.setattr(Job, "_checkpoint", checkpoint)
    for _ in Job(tmp_path, Notes()).steps("steps", range(1000), [1] * 1000, {}):
        clock += 1
    assert written[0] == 5
    assert set(np.diff(written).tolist()) == {190}  # 10 s are a twentieth of 200 s
    assert 10 * len(written) <= job_module.CHECKPOINT_SHARE * clock + 10


def test_older_undamaged_checkpoint_is_used(tmp_path: Path) -> None:
    count_up(tmp_path, 2)
    (tmp_path / "checkpoint-000000002").rename(tmp_path / "kept")
    count_up(tmp_path, 4)
    (tmp_path / "kept").rename(tmp_path / "checkpoint-000000002")
    (tmp_path / "checkpoint-000000004" / "counts.npy").write_bytes(b"junk")
    assert count_up(tmp_path, 5) == [2, 3, 4]


def test_unfinished_checkpoints_are_replaced_and_cleared(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.partial").mkdir()
    (tmp_path / "checkpoint.partial" / "junk").touch()
    assert count_up(tmp_path, 2) == [0, 1]
    record = json.loads((tmp_path / "checkpoint-000000002" / "state.json").read_text())
    assert record["label"] == "counting"
    assert record["done"] == 2
    assert record["recipe"] == ""
    assert record["arrays"] == {"counts": sha256_file(tmp_path / "checkpoint-000000002" / "counts.npy")}
    (tmp_path / "checkpoint.partial").mkdir()
    Job(tmp_path, Notes()).clear_checkpoints()
    assert list(tmp_path.iterdir()) == []


def test_arrays_are_saved_in_the_folder(tmp_path: Path) -> None:
    job = Job(tmp_path, Notes())
    job.save("whole", np.arange(3))
    with job.create("rows", np.int8, (2,)) as writer:
        writer.write(0, np.array([1, 2]))
    assert map_array(tmp_path / "whole.npy").tolist() == [0, 1, 2]
    assert map_array(tmp_path / "rows.npy").tolist() == [1, 2]


PARTS = ranges(10, 3)


def compute_squares(
    folder: Path, work: Work, notes: Notes | None = None, executor: Executor | None = None
) -> list[int]:
    """All squares below 10, in shards of three."""
    folder.mkdir(exist_ok=True)
    job = Job(folder, notes or Notes(), title="squares", executor=executor)
    shards = list(compute_shards(job, "numbers", work, PARTS))
    assert [len(shard["square"]) for shard in shards] == [3, 3, 3, 1]
    squares: list[int] = np.concatenate([shard["square"] for shard in shards]).tolist()
    return squares


def computed_ranges(folder: Path) -> list[str]:
    """The ranges that were computed since the last call, in order of their names."""
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return sorted(line.split()[0] for line in lines)


def shard_files(folder: Path) -> list[Path]:
    return sorted((folder / "shards").iterdir())


SQUARES = [number**2 for number in range(10)]


def test_ranges_cover_all_items() -> None:
    assert ranges(10, 3) == [range(3), range(3, 6), range(6, 9), range(9, 10)]
    assert ranges(0, 3) == []
    assert ranges(2, 5) == [range(2)]


def test_runs_begin_at_multiples_of_the_size() -> None:
    """Items that are left to compute are divided at the same multiples of the size, whichever items are left, so that a
    resumed build can use finished ranges."""
    assert runs(range(10), 4) == [range(4), range(4, 8), range(8, 10)]
    assert runs([2, 3, 4, 5, 9], 4) == [range(2, 4), range(4, 6), range(9, 10)]
    assert runs([], 4) == []


def test_shards_are_named_by_range_and_hash(tmp_path: Path) -> None:
    """The same values give the same file."""
    notes = Notes()
    assert compute_squares(tmp_path, work(), notes) == SQUARES
    assert notes.done == notes.total == len(SQUARES)
    assert notes.texts == []
    names = [path.name for path in shard_files(tmp_path)]
    stems, hashes, endings = zip(*(name.split(".") for name in names), strict=True)
    assert stems == ("000000000-000000003", "000000003-000000006", "000000006-000000009", "000000009-000000010")
    assert {len(digest) for digest in hashes} == {64}  # SHA-256
    assert set(endings) == {"npz"}
    assert write_shard(work(), 3, 6, str(tmp_path), "") in names
    assert write_shard(work(flag=1), 3, 6, str(tmp_path), "") not in names
    Job(tmp_path, Notes()).clear_checkpoints()
    assert not (tmp_path / "shards").exists()


def test_finished_shards_are_kept(tmp_path: Path) -> None:
    """After an error, the next run computes only the shards that were not finished."""
    settings = work(log=str(tmp_path / "log"), refuse=6)
    with pytest.raises(InvalidParameterError, match="expected another range, got 6"):
        compute_squares(tmp_path, settings)
    assert computed_ranges(tmp_path) == ["0-3", "3-6", "6-9"]
    notes = Notes()
    assert compute_squares(tmp_path, work(log=str(tmp_path / "log")), notes) == SQUARES
    assert computed_ranges(tmp_path) == ["6-9", "9-10"]
    assert notes.texts == ["going on with squares: 2 of 4 parts are there"]
    assert notes.done == notes.total == len(SQUARES)
    assert compute_squares(tmp_path, work(log=str(tmp_path / "log"))) == SQUARES
    assert computed_ranges(tmp_path) == []


def damage_message(shard: Path) -> str:
    digest = shard.name.split(".")[1]
    return f"expected SHA-256 {digest[:16]}... of {shard}, found another; computing it anew"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[:-9] + b"!" + data[-8:], id="changed byte"),
        pytest.param(lambda data: data[: len(data) // 2], id="half of it"),
        pytest.param(lambda _: b"", id="empty"),
    ],
)
def test_damaged_shard_is_reported_and_computed_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    settings = work(log=str(tmp_path / "log"))
    compute_squares(tmp_path, settings)
    computed_ranges(tmp_path)
    shards = shard_files(tmp_path)
    shards[1].write_bytes(damage(shards[1].read_bytes()))
    notes = Notes()
    assert compute_squares(tmp_path, settings, notes) == SQUARES
    assert computed_ranges(tmp_path) == ["3-6"]
    assert notes.texts == [damage_message(shards[1]), "going on with squares: 3 of 4 parts are there"]
    assert shard_files(tmp_path) == shards


def test_shard_of_another_recipe_is_computed_again(tmp_path: Path) -> None:
    """A shard of another recipe is reported and computed again, although its name matches its bytes."""
    folder = tmp_path / "shards"
    folder.mkdir(parents=True)
    name = write_shard(work(flag=1), 3, 6, str(folder), "another recipe")
    notes = Notes()
    assert compute_squares(tmp_path, work(), notes) == SQUARES
    assert notes.texts == [damage_message(folder / name)]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_special_file_is_computed_again(tmp_path: Path, make: Callable[[Path], None]) -> None:
    compute_squares(tmp_path, work())
    first, *_ = shard_files(tmp_path)
    first.unlink()
    make(first)
    assert compute_squares(tmp_path, work()) == SQUARES


def test_missing_and_unfinished_shards_are_computed(tmp_path: Path) -> None:
    settings = work(log=str(tmp_path / "log"))
    compute_squares(tmp_path, settings)
    computed_ranges(tmp_path)
    shards = shard_files(tmp_path)
    shards[0].rename(shards[0].with_name(f".{shards[0].name}.17.partial"))
    shards[3].unlink()
    (tmp_path / "shards" / "notes.txt").write_text("no shard")
    assert compute_squares(tmp_path, settings) == SQUARES
    assert computed_ranges(tmp_path) == ["0-3", "9-10"]
    assert shard_files(tmp_path) == shards


def test_shard_that_changes_after_the_check_is_refused(tmp_path: Path) -> None:
    name = write_shard(work(), 0, 3, str(tmp_path), "recipe")
    path = tmp_path / name
    assert read_shard(path, "recipe")["square"].tolist() == [0, 1, 4]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match=f"expected {path} as it was written, found it changed"):
        read_shard(path, "recipe")
    path.unlink()
    with pytest.raises(StorageError, match=f"cannot read {path}: no such file"):
        read_shard(path, "recipe")


@pytest.mark.parametrize("count", [1, 2])
def test_processes_write_the_same_shards(tmp_path: Path, count: int) -> None:
    notes = Notes()
    with open_executor(f"processes:{count}") as executor:
        assert compute_squares(tmp_path / "shared", work(log=str(tmp_path / "log")), notes, executor) == SQUARES
    assert computed_ranges(tmp_path) == ["0-3", "3-6", "6-9", "9-10"]
    assert notes.done == len(SQUARES)
    compute_squares(tmp_path / "alone", work(), executor=InProcess())
    shared_names = [path.name for path in shard_files(tmp_path / "shared")]
    assert shared_names == [path.name for path in shard_files(tmp_path / "alone")]


def test_errors_of_processes_are_raised(tmp_path: Path) -> None:
    with open_executor("processes:1") as executor:
        with pytest.raises(InvalidParameterError, match=r"^expected another range, got 3$"):
            compute_squares(tmp_path, work(refuse=3), executor=executor)
        assert compute_squares(tmp_path, work(), executor=executor) == SQUARES


def test_lost_workers_are_reported_once(tmp_path: Path) -> None:
    """A worker that dies gives an error of one line; finished shards are kept, and the next run computes only the
    others."""
    message = r"^expected workers to finish, lost one; finished parts are kept, and the same command resumes: "
    with open_executor("processes:1") as executor, pytest.raises(WorkerError, match=message):
        compute_squares(tmp_path, work(die=6), executor=executor)
    assert len(shard_files(tmp_path)) == 2
    notes = Notes()
    assert compute_squares(tmp_path, work(), notes) == SQUARES
    assert notes.texts == ["going on with squares: 2 of 4 parts are there"]


def test_missing_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AttributeError):
        compute_squares(tmp_path, Work("tests.store.sharing:nothing", {}))


class LazyExecutor(Executor):
    """Runs a part when its result is awaited, newest first."""

    def __init__(self) -> None:
        self.waiting: dict[Future[Any], Callable[[], Any]] = {}
        self.requested = self.most_waiting = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting[future] = lambda: function(*args, **kwargs)
        self.requested += 1
        self.most_waiting = max(self.most_waiting, len(self.waiting))
        return future

    def queue(self) -> SimpleQueue[Future[Any]]:
        """A queue of futures that runs a part when an item is awaited."""
        executor = self

        class Queue(SimpleQueue[Future[Any]]):
            def get(self, block: bool = True, timeout: float | None = None) -> Future[Any]:
                future, run = executor.waiting.popitem()
                try:
                    future.set_result(run())
                except InvalidParameterError as error:
                    future.set_exception(error)
                return super().get(block, timeout)

        return Queue()


@pytest.fixture
def lazy_executor(monkeypatch: pytest.MonkeyPatch) -> LazyExecutor:
    """An executor of which at most five parts are requested at a time."""
    executor = LazyExecutor()
    monkeypatch.setattr(shards_module, "MAX_ASKED", 5)
    monkeypatch.setattr(shards_module, "SimpleQueue", executor.queue)
    return executor


def test_requested_parts_are_limited(tmp_path: Path, lazy_executor: LazyExecutor) -> None:
    """The arrays are yielded in order, whatever order they finish in."""
    notes = Notes()
    job = Job(tmp_path, notes, executor=lazy_executor)
    shards = list(compute_shards(job, "numbers", work(), ranges(40, 1)))
    assert lazy_executor.requested == 40
    assert lazy_executor.most_waiting == 5
    assert [int(shard["square"][0]) for shard in shards] == [number**2 for number in range(40)]
    assert notes.done == notes.total == 40


def test_unneeded_parts_are_cancelled(tmp_path: Path, lazy_executor: LazyExecutor) -> None:
    job = Job(tmp_path, Notes(), executor=lazy_executor)
    with pytest.raises(InvalidParameterError, match="got 4"):
        list(compute_shards(job, "numbers", work(refuse=4), ranges(40, 1)))
    assert lazy_executor.requested == 5
    assert [future.cancelled() for future in lazy_executor.waiting] == [True] * 4


def test_finished_shards_between_missing_ones_are_used(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    parts = ranges(30, 1)
    for part in parts[10:20]:
        write_shard(work(), part.start, part.stop, str(folder), "")
    notes = Notes()
    settings = work(log=str(tmp_path / "log"))
    shards = list(compute_shards(Job(tmp_path, notes), "numbers", settings, parts))
    assert [int(shard["square"][0]) for shard in shards] == [number**2 for number in range(30)]
    assert len(computed_ranges(tmp_path)) == 20
    assert notes.done == notes.total == 30
