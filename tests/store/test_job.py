"""Checkpoints: made in time, whole, and only those that fit are gone on from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bgdata.store import job as job_module
from bgdata.store.arrays import map_array
from bgdata.store.job import Job
from tests.store.toy import Notes


@pytest.fixture(autouse=True)
def _constant_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 0.0)


def count_up(folder: Path, until: int, label: str = "counting", dtype: type = np.int64, size: int = 3) -> list[int]:
    """Do the steps up to `until` of 5, each adding one to the state; returns the steps that were done."""
    state = {"counts": np.zeros(size, dtype)}
    done = []
    for step in Job(folder, Notes()).steps(label, "steps", range(5), [1] * 5, state):
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
    job = Job(tmp_path, notes, recipe="0123456789abcdef")
    assert next(job.steps("counting", "steps", range(5), [1] * 5, state)) == 0
    folder = tmp_path / "checkpoint-000000002"
    assert notes.texts == [f"expected a checkpoint of recipe 0123456789ab, got one of another: {folder}"]
    assert state["counts"].tolist() == [0, 0, 0]


def test_progress_counts_what_was_done_before(tmp_path: Path) -> None:
    count_up(tmp_path, 2)
    notes = Notes()
    state = {"counts": np.zeros(3, np.int64)}
    seen = [notes.done for _ in Job(tmp_path, notes).steps("counting", "steps", range(5), [10, 20, 30, 40, 50], state)]
    assert seen == [30, 60, 100]
    assert (notes.done, notes.total) == (150, 150)
    assert notes.texts == ["going on with counting after step 2 of 5"]


def test_none_before_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 1000.0)
    count_up(tmp_path, 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "other", [{"label": "another stage"}, {"dtype": np.float64}, {"size": 4}], ids=["label", "dtype", "shape"]
)
def test_checkpoints_of_another_stage_are_not_taken(tmp_path: Path, other: dict[str, object]) -> None:
    count_up(tmp_path, 3)
    assert count_up(tmp_path, 5, **other) == [0, 1, 2, 3, 4]  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", ["no state", "bad state", "no array", "short array", "no array file"])
def test_damaged_checkpoints_are_passed_over(tmp_path: Path, damage: str) -> None:
    count_up(tmp_path, 3)
    folder = tmp_path / "checkpoint-000000003"
    if damage == "no state":
        (folder / "state.json").unlink()
    elif damage == "bad state":
        (folder / "state.json").write_text("{")
    elif damage == "no array":
        (folder / "counts.npy").unlink()
    else:
        (folder / "counts.npy").write_bytes(
            b"" if damage == "no array file" else (folder / "counts.npy").read_bytes()[:-1]
        )
    assert count_up(tmp_path, 5) == [0, 1, 2, 3, 4]


def test_an_older_whole_one_is_taken_instead(tmp_path: Path) -> None:
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
    assert record == {"label": "counting", "done": 2, "recipe": ""}
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
