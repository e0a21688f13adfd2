"""Shards: whole or not there, kept and proven when a build goes on, the same from any executor."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import pytest

from bgdata.errors import CorruptFileError, InvalidParameterError, StorageError, WorkerError
from bgdata.store.executors import InProcess, open_executor
from bgdata.store.job import Job, Work, compute_shards, ranges, read_shard, write_shard
from tests.store.sharing import work
from tests.store.toy import Notes

PARTS = ranges(10, 3)


def computed(folder: Path, work: Work, notes: Notes | None = None, executor: Executor | None = None) -> list[int]:
    """All squares below 10, in shards of three."""
    folder.mkdir(exist_ok=True)
    job = Job(folder, notes or Notes(), title="squares", executor=executor)
    shards = list(compute_shards(job, "numbers", work, PARTS))
    assert [len(shard["square"]) for shard in shards] == [3, 3, 3, 1]
    found: list[int] = np.concatenate([shard["square"] for shard in shards]).tolist()
    return found


def logged(folder: Path) -> list[str]:
    """The ranges that were computed, in order of their names."""
    path = folder / "log"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return sorted(line.split()[0] for line in lines)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "shards").iterdir())


SQUARES = [number**2 for number in range(10)]
ALL = ["0-3", "3-6", "6-9", "9-10"]


def test_ranges() -> None:
    assert ranges(10, 3) == [range(3), range(3, 6), range(6, 9), range(9, 10)]
    assert ranges(0, 3) == []
    assert ranges(2, 5) == [range(2)]


def test_shards_are_named_by_range_and_hash(tmp_path: Path) -> None:
    notes = Notes()
    assert computed(tmp_path, work(), notes) == SQUARES
    assert (notes.done, notes.total, notes.texts) == (10, 10, [])
    names = [path.name for path in files(tmp_path)]
    assert [name[:20] for name in names] == [
        "000000000-000000003.", "000000003-000000006.", "000000006-000000009.", "000000009-000000010.",
    ]  # fmt: skip
    assert {name[84:] for name in names} == {".npz"}
    again = write_shard(work(), 3, 6, str(tmp_path), "")
    assert again in names, "the same values, the same bytes"
    assert write_shard(work(flag=1), 3, 6, str(tmp_path), "") not in names


def test_finished_shards_are_kept(tmp_path: Path) -> None:
    settings = work(log=str(tmp_path / "log"), refuse=6)
    with pytest.raises(InvalidParameterError, match="expected another range, got 6"):
        computed(tmp_path, settings)
    assert logged(tmp_path) == ["0-3", "3-6", "6-9"]
    notes = Notes()
    assert computed(tmp_path, work(log=str(tmp_path / "log")), notes) == SQUARES
    assert logged(tmp_path) == ["6-9", "9-10"]
    assert notes.texts == ["going on with squares: 2 of 4 parts are there"]
    assert (notes.done, notes.total) == (10, 10)
    assert computed(tmp_path, work(log=str(tmp_path / "log"))) == SQUARES
    assert logged(tmp_path) == []


@pytest.mark.parametrize("damage", ["byte", "cut", "empty"])
def test_damaged_shards_are_named_and_computed_anew(tmp_path: Path, damage: str) -> None:
    settings = work(log=str(tmp_path / "log"))
    computed(tmp_path, settings)
    logged(tmp_path)
    whole = files(tmp_path)
    data = whole[1].read_bytes()
    whole[1].write_bytes({"byte": data[:-9] + b"!" + data[-8:], "cut": data[: len(data) // 2], "empty": b""}[damage])
    notes = Notes()
    assert computed(tmp_path, settings, notes) == SQUARES
    assert logged(tmp_path) == ["3-6"]
    first, second = notes.texts
    assert first == f"expected SHA-256 {whole[1].name[20:36]}... of {whole[1]}, found another; computing it anew"
    assert second == "going on with squares: 3 of 4 parts are there"
    assert files(tmp_path) == whole


def test_shards_of_another_recipe_are_computed_anew(tmp_path: Path) -> None:
    """One that was put there by hand: its name and bytes fit together, and it had been taken."""
    folder = tmp_path / "shards"
    folder.mkdir(parents=True)
    name = write_shard(work(flag=1), 3, 6, str(folder), "another recipe")
    notes = Notes()
    assert computed(tmp_path, work(), notes) == SQUARES
    assert notes.texts == [f"expected SHA-256 {name[20:36]}... of {folder / name}, found another; computing it anew"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_special_file_is_computed_anew(tmp_path: Path, make: Callable[[Path], None]) -> None:
    computed(tmp_path, work())
    first, *_ = files(tmp_path)
    first.unlink()
    make(first)
    assert computed(tmp_path, work()) == SQUARES


def test_missing_and_unfinished_files(tmp_path: Path) -> None:
    settings = work(log=str(tmp_path / "log"))
    computed(tmp_path, settings)
    logged(tmp_path)
    whole = files(tmp_path)
    whole[0].rename(whole[0].with_name(f".{whole[0].name}.17.partial"))
    whole[3].unlink()
    (tmp_path / "shards" / "notes.txt").write_text("no shard")
    assert computed(tmp_path, settings) == SQUARES
    assert logged(tmp_path) == ["0-3", "9-10"]
    assert files(tmp_path) == whole


def test_shards_that_change_after_they_were_checked(tmp_path: Path) -> None:
    name = write_shard(work(), 0, 3, str(tmp_path), "recipe")
    path = tmp_path / name
    assert read_shard(path, "recipe")["square"].tolist() == [0, 1, 4]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match=f"expected {path} as it was written, found it changed"):
        read_shard(path, "recipe")
    path.unlink()
    with pytest.raises(StorageError, match=f"cannot read {path}: no such file"):
        read_shard(path, "recipe")


def test_shards_go_with_the_checkpoints(tmp_path: Path) -> None:
    computed(tmp_path, work())
    Job(tmp_path, Notes()).clear_checkpoints()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [1, 2, 4])
def test_processes_write_the_same_shards(tmp_path: Path, count: int) -> None:
    notes = Notes()
    with open_executor(f"processes:{count}") as executor:
        assert computed(tmp_path / "shared", work(log=str(tmp_path / "log")), notes, executor) == SQUARES
    assert logged(tmp_path) == ALL
    assert notes.done == 10
    computed(tmp_path / "alone", work(), executor=InProcess())
    assert [path.name for path in files(tmp_path / "shared")] == [path.name for path in files(tmp_path / "alone")]


def test_errors_come_back_from_processes(tmp_path: Path) -> None:
    with open_executor("processes:1") as executor:
        with pytest.raises(InvalidParameterError, match=r"^expected another range, got 3$"):
            computed(tmp_path, work(refuse=3), executor=executor)
        assert computed(tmp_path, work(), executor=executor) == SQUARES


def test_lost_workers(tmp_path: Path) -> None:
    """One line, and what they had finished is kept."""
    message = r"^expected workers to finish, lost one; finished parts are kept, and the same command resumes: "
    with open_executor("processes:1") as executor, pytest.raises(WorkerError, match=message):
        computed(tmp_path, work(die=6), executor=executor)
    assert len(files(tmp_path)) == 2
    notes = Notes()
    assert computed(tmp_path, work(), notes) == SQUARES
    assert notes.texts == ["going on with squares: 2 of 4 parts are there"]


def test_missing_function_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AttributeError):
        computed(tmp_path, Work("tests.store.sharing:nothing", {}))
