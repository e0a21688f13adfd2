"""Building versions: found by recipe, forced, refused when too large, by several processes at once, and after
failures."""

import itertools
import os
import re
import shutil
from collections.abc import Mapping
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
from bgdata.store.manifest import FILE_NAME
from bgdata.store.plan import Plan, check_estimate, readable_bytes
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.toy import Count, Notes, Squares, SquareSums, toy_warehouse, whole_versions

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
    times = {path: path.stat().st_mtime_ns for path in toys.root.rglob("*")}
    notes = Notes()
    assert toys.build("squares", TEN, progress=notes).folder == first.folder
    assert notes.texts == [f"squares/10: already built ({first.folder.name})"]
    assert {path: path.stat().st_mtime_ns for path in toys.root.rglob("*")} == times


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


@pytest.mark.parametrize("name", ["table.parquet", FILE_NAME])
def test_incomplete_version_is_built_again(toys: Warehouse, name: str) -> None:
    table = toys.build("squares", TEN)
    (table.folder / name).unlink()
    assert toys.build("squares", TEN).folder == table.folder
    assert whole_versions(toys) == [table.name]


def offer_5_kb(monkeypatch: pytest.MonkeyPatch, resource: str) -> None:
    """Let the machine have 5 kB of free memory or disk space."""
    if resource == "memory":
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=5000))
    else:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5000))


@pytest.mark.parametrize("resource", ["memory", "disk space"])
def test_too_large_build_is_refused(toys: Warehouse, monkeypatch: pytest.MonkeyPatch, resource: str) -> None:
    offer_5_kb(monkeypatch, resource)
    message = rf"expected \d+ kB of free {resource} for squares/10 \(10 rows, about .*\), found 5 kB; ask for less"
    with pytest.raises(TooLargeError, match=message):
        toys.build("squares", TEN)
    assert not toys.root.exists()


@pytest.mark.parametrize(
    ("kind", "sizes"), [("bearoff_one_sided", "points"), ("bearoff_two_sided", "points or checkers")]
)
def test_refused_build_names_the_parameters_to_reduce(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, sizes: str
) -> None:
    offer_5_kb(monkeypatch, "memory")
    with pytest.raises(TooLargeError, match=rf"found 5 kB; build fewer {sizes}"):
        bgdata.open_warehouse(tmp_path).build(kind, bgdata.all_kinds()[kind].parameters(6))


def test_invalid_parameters_are_refused(toys: Warehouse) -> None:
    with pytest.raises(InvalidParameterError, match="expected at least 1 number, got 0"):
        toys.build("square_sums", Count(0))
    assert not toys.root.exists()


class WrongSquares(Squares):
    """Fails on its own statistics, like a failed check, while `is_wrong`."""

    is_wrong = True
    computations = 0

    def compute(self, build: Build[Count]) -> None:
        self.computations += 1
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
        assert kind.computations == attempt
        assert list(warehouse.versions()) == []
    kind.is_wrong = False
    table = warehouse.build("squares", TEN)
    assert whole_versions(warehouse) == [table.name]


def fail_while_writing(warehouse: Warehouse, error: BaseException) -> None:
    """Build squares/10 again, until writing the Parquet file fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bgdata.store.parquet.write_parquet", Mock(side_effect=error))
        with pytest.raises(type(error), match=str(error)):
            warehouse.build("squares", TEN, force=True)


@pytest.mark.parametrize(
    ("error", "computations"), [(IndexError("Index 100 out of bounds"), 2), (StorageError("the disk is full"), 1)]
)
def test_computed_arrays_are_kept_only_after_a_full_disk(
    memory_path: Path, error: Exception, computations: int
) -> None:
    """After any other error they are computed again, because an input may have been damaged."""
    kind = WrongSquares()
    kind.is_wrong = False
    warehouse = toy_warehouse(memory_path, squares=kind)
    fail_while_writing(warehouse, error)
    notes = Notes()
    warehouse.build("squares", TEN, progress=notes)
    is_resumed = notes.texts[0] == "going on with squares/10 from finished arrays"
    assert is_resumed == (computations == 1)
    assert kind.computations == computations


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (None, r"expected SHA-256 \w+\.\.\. of {path}, found \w+\.\.\."),
        ("another", ".*, found those of another"),
    ],
    ids=["changed", "another recipe"],
)
def test_finished_arrays_of_other_values_are_computed_again(toys: Warehouse, recipe: str | None, message: str) -> None:
    """A killed build does not resume from computed arrays that have changed, or that belong to another recipe."""
    digest = toys.build("squares", TEN).manifest.digest
    fail_while_writing(toys, KeyboardInterrupt("killed"))
    (path,) = toys.staging.rglob("square.npy")
    np.save(path, np.load(path) + 1)
    if recipe:
        (record,) = toys.staging.rglob(COMPUTED)
        hashes = {"square": storage.sha256_file(path)}
        record.write_bytes(seal_record({"seconds": 1.0, "arrays": hashes, "recipe": recipe}))
    notes = Notes()
    assert toys.build("squares", TEN, force=True, progress=notes).manifest.digest == digest
    expected = f"{message.format(path=path)}; the finished arrays are damaged and computed again"
    assert re.fullmatch(expected, notes.texts[0])


@pytest.mark.parametrize("is_link", [True, False], ids=["link", "pipe"])
def test_links_and_pipes_in_staging_are_replaced(toys: Warehouse, tmp_path: Path, is_link: bool) -> None:
    """A build does not write through links or wait for pipes that somebody else has put into its staging folder."""
    target = tmp_path / "target"
    target.write_text("unchanged")
    staging = Plan(toys, toys.kind("squares"), TEN, {}).staging
    (staging / "checkpoint-000000003").mkdir(parents=True)
    for name in ("square.npy", COMPUTED, "checkpoint-000000003/state.json"):
        if is_link:
            (staging / name).symlink_to(target)
        else:
            os.mkfifo(staging / name)
    assert toys.build("squares", TEN).manifest.rows == 10
    assert target.read_text() == "unchanged"


def test_staging_of_a_killed_build_counts_as_free_disk(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed build can be resumed on a full disk, because what it has left is reused or replaced."""
    kind = toys.kind("squares")
    needed_bytes = kind.estimate(TEN).building_bytes
    plan = Plan(toys, kind, TEN, {})
    (plan.staging / "checkpoint-000000003").mkdir(parents=True)
    (plan.staging / "checkpoint-000000003" / "done.npy").write_bytes(bytes(needed_bytes - 5000))
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


def build_with_others(root: Path, barrier: Any, force: bool, log: Path) -> None:
    """In another process: build at the same time as others, and write down the notes."""
    notes = Notes()
    barrier.wait()
    toy_warehouse(root, squares=SlowSquares()).build("square_sums", TEN, progress=notes, force=force)
    log.write_text("\n".join(notes.texts))


@pytest.mark.parametrize("force", [False, True])
def test_concurrent_builders_publish_one_version(toys: Warehouse, tmp_path: Path, force: bool) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(3)]
    barrier = processes.barrier(len(logs))
    processes.run_all((build_with_others, toys.root, barrier, force, log) for log in logs)
    assert len(whole_versions(toys)) == 2
    assert list(toys.staging.iterdir()) == []
    text = "\n".join(log.read_text() for log in logs)
    assert text.count("squares/10: built") == 1
    assert text.count("square_sums/10: built") == (3 if force else 1)
    assert "squares/10: another process is building it; waiting" in text


def test_manifest_records_the_build(toys: Warehouse) -> None:
    manifest = toys.build("squares", TEN).manifest
    assert manifest.dataset == "squares"
    assert manifest.variant == "10"
    assert manifest.revision == 1
    assert manifest.parameters == {"count": 10}
    assert manifest.inputs == {}
    assert manifest.rows == 10
    assert manifest.statistics == {"largest": 81.0}
    assert manifest.licence == "CC0-1.0"
    assert manifest.source == "Made up"
    assert [entry.name for entry in manifest.files] == ["table.parquet", "square.npy"]
    assert manifest.peak_memory_bytes > 10_000_000
    assert str(os.cpu_count()) in manifest.machine


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1234, "1.23 kB"), (5e6, "5 MB"), (23.5e9, "23.5 GB"), (5e15, "5e+03 TB")],
)
def test_readable_bytes_have_three_figures(count: float, text: str) -> None:
    assert readable_bytes(count) == text


def test_reported_time_is_complete(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message for the user has the time of the whole build, the manifest only the time of computing."""
    clock = itertools.count(0, 100)  # 100 s pass between two looks
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
