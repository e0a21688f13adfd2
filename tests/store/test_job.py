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
from tests.subtests import each


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
    done = []
    for step in Job(folder, progress or Notes(), title=label).steps("steps", range(5), [1] * 5, state):
        if step == until:
            break
        state["counts"] += 1
        done.append(step)
    if until == 5:
        assert state["counts"].tolist() == [5] * size
    return done


@each("until", [0, 1, 2, 3, 4])
def test_job_resumes_from_the_last_checkpoint(tmp_path: Path, until: int) -> None:
    assert count_up(tmp_path, until) == list(range(until))
    assert [path.name for path in tmp_path.iterdir()] == ([f"checkpoint-{until:09d}"] if until else [])
    assert count_up(tmp_path, 5) == list(range(until, 5))


def test_checkpoint_of_another_recipe_is_reported_and_ignored(tmp_path: Path) -> None:
    """A checkpoint of another recipe is reported and not used."""
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
    seen = [notes.done for _ in job.steps("steps", range(5), [10, 20, 30, 40, 50], state)]
    assert seen == [30, 60, 100]
    assert (notes.done, notes.total) == (150, 150)
    assert notes.texts == ["going on with counting after step 2 of 5"]


def test_progress_is_reported_after_each_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 1000.0)
    count_up(tmp_path, 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "other", [{"label": "another stage"}, {"dtype": np.float64}, {"size": 4}], ids=["label", "dtype", "shape"]
)
def test_checkpoints_of_another_stage_are_ignored(tmp_path: Path, other: dict[str, object]) -> None:
    count_up(tmp_path, 3)
    assert count_up(tmp_path, 5, **other) == [0, 1, 2, 3, 4]  # type: ignore[arg-type]


DAMAGES = ["no state", "bad state", "other state", "no array", "short array", "no array file", "flipped bit"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_checkpoints_are_reported_and_deleted(tmp_path: Path, damage: str) -> None:
    """A damaged checkpoint is reported with the damaged file and deleted, and the work begins from the start."""
    count_up(tmp_path, 3)
    folder = tmp_path / "checkpoint-000000003"
    state = folder / "state.json"
    array = folder / "counts.npy"
    if damage == "no state":
        state.unlink()
    elif damage == "bad state":
        state.write_text("{")
    elif damage == "other state":
        state.write_text(state.read_text().replace('"done":3', '"done":4'))
    elif damage == "no array":
        array.unlink()
    else:
        whole = array.read_bytes()
        flipped = whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:]
        array.write_bytes({"no array file": b"", "short array": whole[:-1], "flipped bit": flipped}[damage])
    notes = Notes()
    assert count_up(tmp_path, 1, progress=notes) == [0]
    (note,) = notes.texts
    assert str(state if "state" in damage else array) in note
    assert note.endswith("; the checkpoint is damaged and deleted")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000000001"] or not list(tmp_path.iterdir())
    assert count_up(tmp_path, 5)[-1] == 4


def test_checkpoint_is_synced_before_the_older_one_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a checkpoint, its folder and the parent folder are synced before the older checkpoint is deleted."""
    count_up(tmp_path, 2)
    done: list[str] = []
    fsync = os.fsync
    remove = storage.remove_folder

    def noted_sync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        done.append(f"sync {path.relative_to(tmp_path)}")
        fsync(handle)

    def noted_removal(path: Path) -> None:
        if path.exists():
            done.append(f"remove {path.name}")
        remove(path)

    monkeypatch.setattr("bgdata.store.storage.os.fsync", noted_sync)
    monkeypatch.setattr(job_module, "remove_folder", noted_removal)
    count_up(tmp_path, 3)
    assert done == [
        "sync checkpoint.partial/counts.npy",
        next(each for each in done if "state.json" in each),
        "sync checkpoint.partial",
        "sync .",
        "remove checkpoint-000000002",
    ]


def test_checkpoints_take_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If saving is slow, checkpoints become less frequent, so that they take at most CHECKPOINT_SHARE of the time. By a
    fake clock a step takes 1 s and a checkpoint 10 s."""
    clock = [0.0]
    written = []
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 5.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def write(_: Job, done: int, state: object) -> None:  # noqa: ARG001
        clock[0] += 10
        written.append(done)

    monkeypatch.setattr(Job, "_checkpoint", write)
    for _ in Job(tmp_path, Notes()).steps("steps", range(1000), [1] * 1000, {}):
        clock[0] += 1
    assert written[0] == 5
    assert set(np.diff(written).tolist()) == {190}
    assert 10 * len(written) <= job_module.CHECKPOINT_SHARE * clock[0] + 10


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
    assert (record["label"], record["done"], record["recipe"]) == ("counting", 2, "")
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
    found: list[int] = np.concatenate([shard["square"] for shard in shards]).tolist()
    return found


def computed_ranges(folder: Path) -> list[str]:
    """The computed ranges, in order of their names."""
    path = folder / "log"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return sorted(line.split()[0] for line in lines)


def shard_files(folder: Path) -> list[Path]:
    return sorted((folder / "shards").iterdir())


SQUARES = [number**2 for number in range(10)]
ALL = ["0-3", "3-6", "6-9", "9-10"]


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
    """The file name of a shard has its range and a hash of its content: the same values give the same file."""
    notes = Notes()
    assert compute_squares(tmp_path, work(), notes) == SQUARES
    assert (notes.done, notes.total, notes.texts) == (10, 10, [])
    names = [path.name for path in shard_files(tmp_path)]
    assert [name[:20] for name in names] == [
        "000000000-000000003.", "000000003-000000006.", "000000006-000000009.", "000000009-000000010.",
    ]  # fmt: skip
    assert {name[84:] for name in names} == {".npz"}
    again = write_shard(work(), 3, 6, str(tmp_path), "")
    assert again in names, "the same values, the same bytes"
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
    assert (notes.done, notes.total) == (10, 10)
    assert compute_squares(tmp_path, work(log=str(tmp_path / "log"))) == SQUARES
    assert computed_ranges(tmp_path) == []


@pytest.mark.parametrize("damage", ["byte", "cut", "empty"])
def test_damaged_shards_are_reported_and_computed_again(tmp_path: Path, damage: str) -> None:
    """A damaged shard is reported, and it alone is computed again."""
    settings = work(log=str(tmp_path / "log"))
    compute_squares(tmp_path, settings)
    computed_ranges(tmp_path)
    whole = shard_files(tmp_path)
    data = whole[1].read_bytes()
    whole[1].write_bytes({"byte": data[:-9] + b"!" + data[-8:], "cut": data[: len(data) // 2], "empty": b""}[damage])
    notes = Notes()
    assert compute_squares(tmp_path, settings, notes) == SQUARES
    assert computed_ranges(tmp_path) == ["3-6"]
    first, second = notes.texts
    assert first == f"expected SHA-256 {whole[1].name[20:36]}... of {whole[1]}, found another; computing it anew"
    assert second == "going on with squares: 3 of 4 parts are there"
    assert shard_files(tmp_path) == whole


def test_shards_of_another_recipe_are_computed_again(tmp_path: Path) -> None:
    """A shard of another recipe is reported and computed again, although its name matches its bytes."""
    folder = tmp_path / "shards"
    folder.mkdir(parents=True)
    name = write_shard(work(flag=1), 3, 6, str(folder), "another recipe")
    notes = Notes()
    assert compute_squares(tmp_path, work(), notes) == SQUARES
    assert notes.texts == [f"expected SHA-256 {name[20:36]}... of {folder / name}, found another; computing it anew"]


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
    whole = shard_files(tmp_path)
    whole[0].rename(whole[0].with_name(f".{whole[0].name}.17.partial"))
    whole[3].unlink()
    (tmp_path / "shards" / "notes.txt").write_text("no shard")
    assert compute_squares(tmp_path, settings) == SQUARES
    assert computed_ranges(tmp_path) == ["0-3", "9-10"]
    assert shard_files(tmp_path) == whole


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


@pytest.mark.parametrize("count", [1, 2, 4])
def test_processes_write_the_same_shards(tmp_path: Path, count: int) -> None:
    notes = Notes()
    with open_executor(f"processes:{count}") as executor:
        assert compute_squares(tmp_path / "shared", work(log=str(tmp_path / "log")), notes, executor) == SQUARES
    assert computed_ranges(tmp_path) == ALL
    assert notes.done == 10
    compute_squares(tmp_path / "alone", work(), executor=InProcess())
    assert [path.name for path in shard_files(tmp_path / "shared")] == [
        path.name for path in shard_files(tmp_path / "alone")
    ]


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


class Waiting(Executor):
    """Runs a part when its result is awaited, newest first; counts the most requested parts."""

    def __init__(self) -> None:
        self.waiting: dict[Future[Any], Callable[[], Any]] = {}
        self.asked = self.most = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting[future] = lambda: function(*args, **kwargs)
        self.asked = self.asked + 1
        self.most = max(self.most, len(self.waiting))
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


def test_requested_parts_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most MAX_ASKED parts are requested at a time, and their arrays are yielded in order, whatever order they
    finish in."""
    executor = Waiting()
    monkeypatch.setattr(shards_module, "MAX_ASKED", 5)
    monkeypatch.setattr(shards_module, "SimpleQueue", executor.queue)
    notes = Notes()
    job = Job(tmp_path, notes, executor=executor)
    shards = list(compute_shards(job, "numbers", work(), ranges(40, 1)))
    assert (executor.asked, executor.most) == (40, 5)
    assert [int(shard["square"][0]) for shard in shards] == [number**2 for number in range(40)]
    assert (notes.done, notes.total) == (40, 40)


def test_unneeded_parts_are_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Waiting()
    monkeypatch.setattr(shards_module, "MAX_ASKED", 5)
    monkeypatch.setattr(shards_module, "SimpleQueue", executor.queue)
    job = Job(tmp_path, Notes(), executor=executor)
    with pytest.raises(InvalidParameterError, match="got 4"):
        list(compute_shards(job, "numbers", work(refuse=4), ranges(40, 1)))
    assert executor.asked == 5
    assert len(executor.waiting) == 4
    assert all(future.cancelled() for future in executor.waiting)


def test_build_resumes_with_another_number_of_parts(tmp_path: Path) -> None:
    """A build computes only the parts that are missing, also if finished ones lie between them."""
    folder = tmp_path / "shards"
    folder.mkdir()
    parts = ranges(30, 1)
    for part in parts[10:20]:
        write_shard(work(), part.start, part.stop, str(folder), "")
    notes = Notes()
    settings = work(log=str(tmp_path / "log"))
    found = list(compute_shards(Job(tmp_path, notes), "numbers", settings, parts))
    assert [int(shard["square"][0]) for shard in found] == [number**2 for number in range(30)]
    assert len(computed_ranges(tmp_path)) == 20
    assert (notes.done, notes.total) == (30, 30)
