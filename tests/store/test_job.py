"""Checkpoints: made in time, whole, and only those that fit are gone on from."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.store import job as job_module
from bgdata.store import storage
from bgdata.store.arrays import map_array
from bgdata.store.job import Job
from bgdata.store.storage import sha256_file
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
    """Do the steps up to `until` of 5, each adding one to the state; returns the steps that were done."""
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


def test_all_steps_in_order(tmp_path: Path) -> None:
    assert count_up(tmp_path, 5) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("until", [1, 2, 3, 4])
def test_goes_on_from_the_last_checkpoint(tmp_path: Path, until: int) -> None:
    assert count_up(tmp_path, until) == list(range(until))
    assert [path.name for path in tmp_path.iterdir()] == [f"checkpoint-{until:09d}"]
    assert count_up(tmp_path, 5) == list(range(until, 5))


def test_a_checkpoint_of_another_recipe_is_named_and_not_used(tmp_path: Path) -> None:
    """Folders are named by recipe, so only somebody's hands can have put it there."""
    count_up(tmp_path, 2)
    notes = Notes()
    state = {"counts": np.zeros(3, np.int64)}
    job = Job(tmp_path, notes, title="counting", recipe="0123456789abcdef")
    assert next(job.steps("steps", range(5), [1] * 5, state)) == 0
    folder = tmp_path / "checkpoint-000000002"
    assert notes.texts == [f"expected a checkpoint of recipe 0123456789ab, got one of another: {folder}"]
    assert state["counts"].tolist() == [0, 0, 0]


def test_progress_counts_what_was_done_before(tmp_path: Path) -> None:
    count_up(tmp_path, 2)
    notes = Notes()
    state = {"counts": np.zeros(3, np.int64)}
    job = Job(tmp_path, notes, title="counting")
    seen = [notes.done for _ in job.steps("steps", range(5), [10, 20, 30, 40, 50], state)]
    assert seen == [30, 60, 100]
    assert (notes.done, notes.total) == (150, 150)
    assert notes.texts == ["going on with counting after step 2 of 5"]


def test_no_progress_before_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 1000.0)
    count_up(tmp_path, 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "other", [{"label": "another stage"}, {"dtype": np.float64}, {"size": 4}], ids=["label", "dtype", "shape"]
)
def test_checkpoints_of_another_stage_are_not_taken(tmp_path: Path, other: dict[str, object]) -> None:
    count_up(tmp_path, 3)
    assert count_up(tmp_path, 5, **other) == [0, 1, 2, 3, 4]  # type: ignore[arg-type]


DAMAGES = ["no state", "bad state", "other state", "no array", "short array", "no array file", "flipped bit"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_checkpoints_are_named_and_deleted(tmp_path: Path, damage: str) -> None:
    count_up(tmp_path, 3)
    folder = tmp_path / "checkpoint-000000003"
    state, array = folder / "state.json", folder / "counts.npy"
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


def test_all_is_on_the_disk_before_the_older_one_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, then their folder, then the folder that it is renamed in."""
    count_up(tmp_path, 2)
    done: list[str] = []
    fsync, remove = os.fsync, storage.remove_folder

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


def test_writing_checkpoints_takes_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: steps of 1 s, checkpoints of 10 s, asked for every 5 s."""
    clock, written = [0.0], []
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


def test_older_undamaged_version_is_used(tmp_path: Path) -> None:
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
