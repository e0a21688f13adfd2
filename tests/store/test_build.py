"""Building versions: found by recipe, forced, refused when too large, by several processes at once, and after
failures."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import psutil
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidNameError, InvalidParameterError, StorageError, TooLargeError
from bgdata.store import storage
from bgdata.store.arrays import save_array
from bgdata.store.build import COMPUTED
from bgdata.store.dataset import Build, Computed
from bgdata.store.job import seal_record
from bgdata.store.manifest import FILE_NAME, Manifest
from bgdata.store.plan import Plan, check_estimate, readable_bytes
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.toy import Count, Notes, Squares, SquareSums, toy_warehouse, whole_versions
from tests.subtests import each

TEN = Count(10)


@pytest.mark.catalog
def test_build_makes_a_version_and_its_inputs(toys: Warehouse) -> None:
    """Building a version builds its missing input first, records the input's digest, and leaves nothing in the staging
    folder."""
    notes = Notes()
    table = toys.build("square_sums", TEN, progress=notes)
    squares = toys.open("squares", "10")
    assert table.folder == toys.root / "square_sums" / "10" / table.manifest.version
    assert table.array("total").tolist() == np.cumsum(np.arange(10) ** 2).tolist()
    assert table.manifest.inputs == {"terms": f"squares/10@{squares.manifest.digest}"}
    assert [text.partition(",")[0] for text in notes.texts] == [
        f"squares/10: built {squares.manifest.version}",
        f"square_sums/10: built {table.manifest.version}",
    ]
    assert len(whole_versions(toys)) == 2
    assert {path.name for path in toys.root.iterdir()} == {
        "squares", "square_sums", "catalog.duckdb", ".catalog.index", ".catalog.place", ".catalog.seal", ".staging",
    }  # fmt: skip
    assert list(toys.staging.iterdir()) == []


def test_second_build_does_nothing(toys: Warehouse) -> None:
    first = toys.build("squares", TEN)
    before = {path: path.stat().st_mtime_ns for path in toys.root.rglob("*")}
    notes = Notes()
    assert toys.build("squares", TEN, progress=notes).folder == first.folder
    assert notes.texts == [f"squares/10: already built ({first.folder.name})"]
    assert {path: path.stat().st_mtime_ns for path in toys.root.rglob("*")} == before


def test_force_builds_again(toys: Warehouse) -> None:
    first = toys.build("squares", TEN).manifest
    second = toys.build("squares", TEN, force=True).manifest
    assert second.created > first.created
    assert second.digest == first.digest
    assert whole_versions(toys) == [f"squares/10/{first.version}"]


class MoreSquares(Squares):
    """The next revision of the recipe."""

    revision = 2

    def compute(self, build: Build[Count]) -> None:
        build.job.save("square", np.arange(build.parameters.count) ** 2 + 1)


def test_new_revision_is_built_beside_the_old_one(toys: Warehouse) -> None:
    old = toys.build("square_sums", TEN)
    newer = toy_warehouse(toys.root, squares=MoreSquares())
    new = newer.build("square_sums", TEN)
    assert newer.open("squares", "10").manifest.revision == 2
    assert new.manifest.recipe_key != old.manifest.recipe_key
    assert new.array("total").tolist() == np.cumsum(np.arange(10) ** 2 + 1).tolist()
    assert len(whole_versions(newer)) == 4
    with newer.connect() as connection:
        assert connection.sql("select min(square) from squares_10").fetchall() == [(1,)]


def test_damaged_versions_are_built_again(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    for name in ("table.parquet", FILE_NAME):
        (table.folder / name).unlink()
        assert toys.build("squares", TEN).folder == table.folder
        assert whole_versions(toys) == [table.name]


@each(("function", "what"), [("virtual_memory", "memory"), ("disk_usage", "disk space")])
def test_too_large_builds_are_refused(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, what: str
) -> None:
    """A build that needs more memory or disk space than there is raises an error before anything is written, and names
    the parameters to reduce."""
    module = psutil if what == "memory" else shutil
    monkeypatch.setattr(module, function, lambda *_: SimpleNamespace(available=5000, free=5000))
    message = rf"expected \d+ kB of free {what} for squares/10 \(10 rows, about .*\), found 5 kB; ask for less"
    with pytest.raises(TooLargeError, match=message):
        toy_warehouse(memory_path / "none").build("squares", TEN)
    for kind, sizes in (("bearoff_one_sided", "points"), ("bearoff_two_sided", "points or checkers")):
        with pytest.raises(TooLargeError, match=rf"found 5 kB; build fewer {sizes}"):
            bgdata.open_warehouse(memory_path / "none").build(kind, bgdata.all_kinds()[kind].parameters(6))
    assert not (memory_path / "none").exists()


def test_invalid_parameters_are_refused(toys: Warehouse) -> None:
    with pytest.raises(InvalidParameterError, match="expected at least 1 number, got 0"):
        toys.build("square_sums", Count(0))
    assert not toys.root.exists()


class WrongSquares(Squares):
    """Fails on its own statistics, like a failed check."""

    is_wrong = True
    times = 0

    def compute(self, build: Build[Count]) -> None:
        self.times += 1
        super().compute(build)

    def statistics(self, computed: Computed[Count]) -> Mapping[str, float]:
        if self.is_wrong:
            raise CheckFailedError("expected other squares")
        return super().statistics(computed)


@pytest.mark.parametrize("slug", ["my--squares", "squares-", 201 * "n"])
def test_invalid_variant_name_is_refused_before_building(
    toys: Warehouse, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    monkeypatch.setattr(SquareSums, "slug", lambda *_: slug)
    with pytest.raises(InvalidNameError, match=r"^expected a variant named by small letters, digits and single -, at"):
        toys.build("square_sums", TEN)
    assert not toys.root.exists()


def test_failed_check_publishes_nothing_and_is_computed_again(toys: Warehouse) -> None:
    kind = WrongSquares()
    warehouse = toy_warehouse(toys.root, squares=kind)
    for attempt in (1, 2):
        with pytest.raises(CheckFailedError):
            warehouse.build("squares", TEN)
        assert kind.times == attempt
        assert list(warehouse.versions()) == []
    kind.is_wrong = False
    table = warehouse.build("squares", TEN)
    assert whole_versions(warehouse) == [table.name]


@each(("error", "times"), [(IndexError("Index 100 out of bounds"), 2), (StorageError("the disk is full"), 1)])
def test_arrays_are_kept_only_after_a_full_disk(memory_path: Path, error: Exception, times: int) -> None:
    """If writing fails because the disk is full, the next build uses the computed arrays. After any other error it
    computes them again, because an input may have been damaged."""
    kind = WrongSquares()
    kind.is_wrong = False
    warehouse = toy_warehouse(memory_path / str(times), squares=kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bgdata.store.parquet.write_parquet", Mock(side_effect=error))
        with pytest.raises(type(error), match=str(error)):
            warehouse.build("squares", TEN)
    notes = Notes()
    warehouse.build("squares", TEN, progress=notes)
    assert (notes.texts[0] == "going on with squares/10 from finished arrays") == (times == 1)
    assert kind.times == times


@each("is_changed", [True, False])
def test_finished_arrays_of_other_values_are_computed_again(memory_path: Path, is_changed: bool) -> None:
    """A killed build does not resume from computed arrays that have changed, or that belong to another recipe."""
    toys = toy_warehouse(memory_path / "warehouse")
    expected = toys.build("squares", TEN).manifest.digest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bgdata.store.parquet.write_parquet", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            toys.build("squares", TEN, force=True)
    (marker,), (path,) = toys.staging.rglob(COMPUTED), toys.staging.rglob("square.npy")
    np.save(path, np.load(path) + 1)
    if not is_changed:
        record = {"seconds": 1.0, "arrays": {"square": storage.sha256_file(path)}, "recipe": "another"}
        marker.write_bytes(seal_record(record))
    notes = Notes()
    assert toys.build("squares", TEN, force=True, progress=notes).manifest.digest == expected
    found = rf"expected SHA-256 \w+\.\.\. of {path}, found \w+\.\.\." if is_changed else ".*, found those of another"
    assert re.fullmatch(rf"{found}; the finished arrays are damaged and computed again", notes.texts[0])


@pytest.mark.parametrize("make", [lambda path, other: path.symlink_to(other), lambda path, _: os.mkfifo(path)])
def test_links_in_staging_are_not_written_through(
    toys: Warehouse, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    """A build does not write through links or wait for pipes that somebody else has put into its staging folder."""
    other = tmp_path / "other"
    other.write_text("mine")
    plan = Plan(toys, toys.kind("squares"), TEN, {})
    (plan.staging / "checkpoint-000000003").mkdir(parents=True)
    for path in (
        plan.staging / "square.npy",
        plan.staging / COMPUTED,
        plan.staging / "checkpoint-000000003" / "state.json",
    ):
        make(path, other)
    assert toys.build("squares", TEN).manifest.rows == 10
    assert other.read_text() == "mine"


def test_staging_of_a_killed_build_counts_as_free_disk(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed build can be resumed on a full disk, because what it has left is reused or replaced."""
    kind = toys.kind("squares")
    need = kind.estimate(TEN).building_bytes
    plan = Plan(toys, kind, TEN, {})
    plan.staging.mkdir(parents=True)
    (plan.staging / "checkpoint-000000003").mkdir()
    (plan.staging / "checkpoint-000000003" / "done.npy").write_bytes(bytes(need - 5000))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5000))
    check_estimate(plan)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4999))
    with pytest.raises(TooLargeError, match="of free disk space for squares/10"):
        check_estimate(plan)


def test_parent_folders_are_synced_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(storage, "sync", synced.append)
    storage.make_folder(tmp_path / "a" / "b")
    assert synced == [tmp_path, tmp_path / "a"]
    storage.make_folder(tmp_path / "a" / "b")
    assert len(synced) == 2


def test_read_only_disk_is_reported(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(Path, "mkdir", read_only)
    with pytest.raises(StorageError, match=r"cannot lock .*: the file system is read-only; choose another place"):
        toys.build("squares", TEN)


def test_missing_permission_is_reported(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    for folder in (toys.root, toys.staging):
        folder.chmod(0o555)
    with processes.bare_thread() as thread:
        assert thread.submit(toys.build, "squares", TEN).result().array("square")[3] == 9
        with pytest.raises(StorageError, match="permission denied; choose another place with --warehouse"):
            thread.submit(toys.build, "squares", Count(11)).result()


class SlowSquares(Squares):
    """Slow enough for other builders to start meanwhile."""

    def compute(self, build: Build[Count]) -> None:
        import time

        time.sleep(0.2)
        super().compute(build)


def build_together(root: Path, together: Any, force: bool, told: Path) -> None:
    """In another process: build with others, and write down the notes."""
    notes = Notes()
    together.wait()
    toy_warehouse(root, squares=SlowSquares()).build("square_sums", TEN, progress=notes, force=force)
    told.write_text(json.dumps(notes.texts))


@pytest.mark.parametrize("force", [False, True])
def test_concurrent_builders_publish_one_version(toys: Warehouse, tmp_path: Path, force: bool) -> None:
    together = processes.barrier(3)
    processes.run_all((build_together, toys.root, together, force, tmp_path / f"{number}") for number in range(3))
    assert len(whole_versions(toys)) == 2
    assert list(toys.staging.iterdir()) == []
    texts = [text for number in range(3) for text in json.loads((tmp_path / f"{number}").read_text())]
    assert sum("squares/10: built" in text for text in texts) == 1
    assert sum("square_sums/10: built" in text for text in texts) == (3 if force else 1)
    assert any("squares/10: another process is building it; waiting" in text for text in texts)


def test_manifest_records_the_build(toys: Warehouse) -> None:
    """The manifest of a version has its parameters, rows, statistics, licence and files, and facts about the
    machine."""
    manifest = toys.build("squares", TEN).manifest
    assert manifest == Manifest(
        **vars(manifest)
        | {
            "dataset": "squares",
            "variant": "10",
            "revision": 1,
            "parameters": {"count": 10},
            "inputs": {},
            "rows": 10,
            "statistics": {"largest": 81.0},
            "licence": "CC0-1.0",
            "source": "Made up",
        }
    )
    assert [entry.name for entry in manifest.files] == ["table.parquet", "square.npy"]
    assert manifest.peak_memory_bytes > 10_000_000
    assert str(os.cpu_count()) in manifest.machine


def test_readable_bytes_have_three_figures() -> None:
    sizes = {0: "0 B", 999: "999 B", 1234: "1.23 kB", 5e6: "5 MB", 23.5e9: "23.5 GB", 5e15: "5e+03 TB"}
    assert {count: readable_bytes(count) for count in sizes} == sizes


def test_reported_time_is_complete(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message for the user has the time of the whole build, the manifest only the time of computing."""
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr("bgdata.store.build.time.perf_counter", lambda: next(clock))
    notes = Notes()
    table = toys.build("squares", TEN, progress=notes)
    assert notes.texts == [f"squares/10: built {table.folder.name}, 10 rows in 300.0 s"]
    assert table.manifest.seconds == 100


def test_full_disk_is_reported_with_the_file(tmp_path: Path) -> None:
    """The error for a full disk names the file and the reason. NumPy's own error only has the number of written
    values."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is full")
    (tmp_path / "x.npy").symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"cannot write .*/x\.npy: the disk is full; free some space"):
        save_array(tmp_path / "x.npy", np.zeros(100_000))
