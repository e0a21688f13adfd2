"""The current version is the last one requested, after any builds, imports, `use`, `rm`, `gc` and kills."""

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bgdata.errors import CorruptFileError, MissingTableError, UsageError, VersionInUseError
from bgdata.imports.kinds.positions import DATASET as POSITIONS
from bgdata.kinds import SQL
from bgdata.store import housekeeping, storage
from bgdata.store.dataset import Build
from bgdata.store.housekeeping import Rubbish, needed_by, remove, rubbish, sweep
from bgdata.store.lockfile import save_lock
from bgdata.store.names import CURRENT
from bgdata.store.registry import Kinds
from bgdata.store.storage import is_locked
from bgdata.store.table import Table
from bgdata.store.verify import verify_files
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.verify import repair_version
from tests.store.toy import Count, Squares, SquareSums, overwrite, toy_warehouse

TEN = Count(10)
POSITION_IDS = ("4HPwATDgc/ABMA", "4HPhASjgc/ABMA", "v90EAIC3BgAAAA")


@dataclasses.dataclass(frozen=True)
class Seeded(Count):
    """A count with a seed that is not part of the variant's name, as for retrained networks."""

    seed: int = 0


class Powers(Squares):
    """Squares plus a seed: several recipes under one name."""

    name = "powers"
    parameters = Seeded
    defaults = (Seeded(10),)
    smallest = Seeded(10)

    def compute(self, build: Build[Count]) -> None:
        parameters = build.parameters
        assert isinstance(parameters, Seeded)
        build.job.save("square", np.arange(parameters.count, dtype=np.int64) ** 2 + parameters.seed)


class PowerSums(SquareSums):
    """Sums of the powers of one seed."""

    name = "power_sums"
    parameters = Seeded
    defaults = (Seeded(10),)
    smallest = Seeded(10)

    def inputs(self, parameters: Count) -> Mapping[str, tuple[str, Count]]:
        return {"terms": ("powers", parameters)}


def open_powers_warehouse(root: Path) -> Warehouse:
    return toy_warehouse(root, powers=Powers(), power_sums=PowerSums())


@pytest.fixture
def powers(memory_path: Path) -> Warehouse:
    """An empty warehouse that knows powers and their sums."""
    return open_powers_warehouse(memory_path / "warehouse")


def build_powers(warehouse: Warehouse, *seeds: int) -> list[Table]:
    """Build a version of powers/10 from each seed."""
    return [warehouse.build("powers", Seeded(10, seed)) for seed in seeds]


def current_seed(warehouse: Warehouse) -> int:
    """The seed of the version that SQL shows: its first value."""
    with warehouse.connect() as connection:
        return int(connection.sql("select square from powers where number = 0").fetchall()[0][0])


def test_existing_version_becomes_current_when_built_again(powers: Warehouse) -> None:
    first, second = build_powers(powers, 1, 2)
    assert powers.open("powers", "10").name == second.name
    assert current_seed(powers) == 2
    assert powers.build("powers", Seeded(10, 1)).name == first.name
    assert powers.open("powers", "10").name == first.name
    assert current_seed(powers) == 1
    assert [table.name for table in powers.current("powers")] == [first.name]
    assert (first.folder.parent / CURRENT).read_text() == f"{first.folder.name}\n"
    assert not powers.use(first)


def test_last_build_is_current_despite_an_older_date(powers: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version that was built last is current, even if the clock was set back."""
    powers.build("powers", Seeded(10, 1))
    past = Mock(now=lambda _: datetime(2001, 1, 1, tzinfo=UTC))
    monkeypatch.setattr("bgdata.store.build.datetime", past)
    second = powers.build("powers", Seeded(10, 2))
    assert second.manifest.created.startswith("2001-01-01")
    assert powers.open("powers", "10").name == second.name
    assert current_seed(powers) == 2
    assert not powers.use(second), "it is current already"


def test_existing_inputs_stay_as_they_are(powers: Warehouse) -> None:
    """A build does not change the current version of an input that exists; an input that it builds becomes current."""
    first, second = build_powers(powers, 1, 2)
    powers.build("power_sums", Seeded(10, 1))
    assert powers.open("powers", "10").name == second.name
    powers.use(first)
    powers.build("power_sums", Seeded(10, 2))
    assert powers.open("powers", "10").name == first.name
    powers.build("power_sums", Seeded(10, 3))
    assert current_seed(powers) == 3


def test_references_open_versions(powers: Warehouse) -> None:
    first, second = build_powers(powers, 1, 2)
    assert powers.open_reference("powers/10").name == second.name
    assert powers.open_reference(first.name).name == first.name
    with pytest.raises(MissingTableError, match=r"no powers/10/r1-00000000 in .*; try: bgdata use powers/10/r1-"):
        powers.open_reference("powers/10/r1-00000000")


@pytest.mark.parametrize(
    "reference", ["powers", "powers/", "/10", "powers/10/", "powers/10/r1-00000000/x", "", "powers//r1-00000000"]
)
def test_invalid_references_are_refused(powers: Warehouse, reference: str) -> None:
    with pytest.raises(UsageError, match="expected KIND/VARIANT or KIND/VARIANT/VERSION, got "):
        powers.open_reference(reference)


@pytest.mark.parametrize("content", ["", "r1", "../../evil", "r1-0123456\n", "\0", "r1-5a44f529 " * 1000, "\xff"])
def test_damaged_pointer_is_reported_and_repaired(powers: Warehouse, content: str) -> None:
    table = powers.build("powers", Seeded(10, 1))
    (table.folder.parent / CURRENT).write_text(content, encoding="latin-1")
    with pytest.raises(CorruptFileError, match=r"expected the name of a version in .*current, found .*bgdata use"):
        powers.open("powers", "10")
    failed_checks = {finding.subject: finding.check for finding in verify_files(powers) if finding.problem}
    assert failed_checks["powers/10"] == "current"
    assert powers.find(powers.kind("powers"), Seeded(10, 1)) is not None
    assert powers.build("powers", Seeded(10, 1)).name == table.name
    assert powers.open("powers", "10").name == table.name


def test_missing_current_version_is_refused(powers: Warehouse) -> None:
    first, second = build_powers(powers, 1, 2)
    storage.remove_folder(second.folder)
    with pytest.raises(
        CorruptFileError, match=rf"no current version {second.name} in .*; try: bgdata use {first.name}"
    ):
        powers.open("powers", "10")


def test_remove_moves_the_pointer(powers: Warehouse) -> None:
    """Deleting the current version makes the newest of the others current; a version that is an input of another cannot
    be deleted."""
    first, second = build_powers(powers, 1, 2)
    sums = powers.build("power_sums", Seeded(10, 2))
    assert needed_by(powers, second) == [sums.name]
    with pytest.raises(VersionInUseError, match=f"got {second.name}, needed by {sums.name}"):
        remove(powers, second)
    assert remove(powers, sums) is None
    assert not sums.folder.parent.exists()
    new_current = remove(powers, second)
    assert new_current is not None
    assert new_current.name == first.name
    assert powers.open("powers", "10").name == first.name
    assert list(powers.staging.iterdir()) == []


def test_versions_named_in_parameters_or_the_lock_are_needed(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    other = toys.build("squares", Count(20))
    manifest = dataclasses.replace(other.manifest, parameters={"count": 20, "labels": f"{table.name}:0.5"})
    (other.folder / "manifest.json").chmod(0o644)
    manifest.save(other.folder)
    assert needed_by(toys, table) == [other.name]
    save_lock(toys.lock, [table.manifest])
    with pytest.raises(VersionInUseError, match=rf"got {table.name}, needed by {other.name}, warehouse\.lock"):
        remove(toys, table)


def test_nothing_is_removed_during_a_build(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    with storage.hold_lock(toys.staging / "square_sums-20.lock"):
        with pytest.raises(VersionInUseError, match=r"expected no running build in .*, found square_sums-20; "):
            remove(toys, table)
        with pytest.raises(VersionInUseError):
            sweep(toys, rubbish(toys))
    assert remove(toys, table) is None


def test_rubbish_is_neither_current_nor_needed(powers: Warehouse) -> None:
    """Versions that are neither current nor an input, and staging folders that no process holds, are listed and
    deleted; all others stay."""
    first, second, third = build_powers(powers, 1, 2, 3)
    sums = powers.build("power_sums", Seeded(10, 1))
    abandoned = powers.staging / f"powers-10-{'0' * 12}-{'1' * 12}"
    abandoned.mkdir(parents=True)
    (abandoned / "square.npy").write_bytes(bytes(100))
    in_use = powers.staging / f"powers-11-{'0' * 12}-{'1' * 12}"
    in_use.mkdir()
    with storage.hold_lock(powers.staging / "powers-11.lock"):
        entries = rubbish(powers)
    bytes_by_path = {entry.path: entry.bytes for entry in entries}
    assert bytes_by_path.keys() == {abandoned, second.folder}
    assert bytes_by_path[abandoned] == 100
    sweep(powers, entries)
    assert not abandoned.exists()
    assert [table.name for table in powers.versions()] == sorted([sums.name, first.name, third.name])
    assert current_seed(powers) == 3


def test_sweep_keeps_versions_that_became_needed(powers: Warehouse) -> None:
    """`sweep` deletes nothing that has become current or needed since `rubbish` listed it."""
    first, _, third = build_powers(powers, 1, 2, 3)
    entries = rubbish(powers)
    assert len(entries) == 2
    powers.use(first)
    powers.build("power_sums", Seeded(10, 1))
    assert len(sweep(powers, [*entries, Rubbish(third.folder, "", 0)])) == 2  # the third is current no more
    assert [table.name for table in powers.versions("powers")] == [first.name]
    assert powers.open("powers", "10").name == first.name


def test_versions_with_damaged_files_are_not_rubbish(powers: Warehouse) -> None:
    """Damaged versions and their inputs are not listed for deletion, because the owner may want to inspect them."""
    first, _ = build_powers(powers, 1, 2)
    manifest = first.manifest.to_bytes()
    overwrite(first.folder / "manifest.json", b"{")
    assert rubbish(powers) == []
    overwrite(first.folder / "manifest.json", manifest)
    sums = powers.build("power_sums", Seeded(10, 1))
    powers.build("power_sums", Seeded(10, 2))
    overwrite(sums.parquet, b"junk")
    assert rubbish(powers) == []
    remove(powers, Table(sums.folder))
    assert [entry.path for entry in rubbish(powers)] == [first.folder]
    first.parquet.unlink()
    assert rubbish(powers) == []


def test_damaged_files_set_aside_are_kept_by_default(powers: Warehouse) -> None:
    table = powers.build("powers", Seeded(10, 1))
    overwrite(table.parquet, b"junk")
    repair_version(powers, Table(table.folder))
    (kept_folder,) = powers.staging.iterdir()
    assert rubbish(powers) == []
    (entry,) = rubbish(powers, damaged=True)
    assert entry.path == kept_folder
    assert entry.reason == "a repair has set it aside"
    sweep(powers, [entry])
    assert list(powers.staging.iterdir()) == []


class Killed(BaseException):
    """Raised during a change to the disk."""


@contextmanager
def killed_after(changes: int) -> Iterator[None]:
    """In the block, after so many renames, deletions and syncs, all later ones raise Killed."""

    def limit(change: Callable[..., Any]) -> Callable[..., Any]:
        def limited(*arguments: Any, **options: Any) -> Any:
            nonlocal changes
            changes -= 1
            if changes < 0:
                raise Killed
            return change(*arguments, **options)

        return limited

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((Path, "rename"), (Path, "replace"), (Path, "unlink"), (storage, "sync")):
            patch.setattr(owner, name, limit(getattr(owner, name)))
        yield


class Histories(RuleBasedStateMachine):
    """Any sequence of user actions; `requested` is the last requested version of each variant."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        (views := Path(self.folder.name) / "sql" / "views").mkdir(parents=True)
        shutil.copy(SQL / "warehouse" / "views" / "versions.sql", views)  # other views would take most of the time
        kinds = Kinds({POSITIONS.name: POSITIONS}, sql=[views.parent])
        kinds |= {"powers": Powers(), "power_sums": PowerSums()}
        self.warehouse = Warehouse(Path(self.folder.name) / "warehouse", kinds)
        self.requested: dict[str, str] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    def versions(self) -> list[Table]:
        return list(self.warehouse.versions())

    @rule(kind=st.sampled_from(["powers", "power_sums"]), seed=st.integers(0, 2), force=st.booleans())
    def build(self, kind: str, seed: int, force: bool) -> None:
        existing = {table.name for table in self.versions()}
        table = self.warehouse.build(kind, Seeded(10, seed), force=force)
        for name in {version.name for version in self.versions()} - existing:
            self.requested[name.rpartition("/")[0]] = name  # an input that was built
        self.requested[f"{kind}/10"] = table.name

    @rule(lines=st.integers(1, 3))
    def import_(self, lines: int) -> None:
        """Import another file of the same name."""
        path = Path(self.folder.name) / "list.txt"
        path.write_text("".join(f"{position_id}\n" for position_id in POSITION_IDS[:lines]))
        table = self.warehouse.build(POSITIONS.name, POSITIONS.parameters_of([path]), files=[path])
        self.requested[f"{POSITIONS.name}/list"] = table.name

    @rule(kind=st.sampled_from(["powers", "power_sums"]), seed=st.integers(0, 2), moment=st.integers(0, 60))
    def killed_build(self, kind: str, seed: int, moment: int) -> None:
        """A build killed before any of its changes to the disk: until the pointer is moved the old version stays
        current."""
        before = dict(self.requested)
        with killed_after(moment):
            try:
                self.build(kind, seed, force=False)
            except Killed:
                self.requested = before
                self.update_after_a_kill()

    def update_after_a_kill(self) -> None:
        """A killed build may have moved the pointer of itself or of an input, and no other."""
        for variant in {table.name.rpartition("/")[0] for table in self.versions()}:
            current = self.warehouse.open_reference(variant).name
            pointer = self.warehouse.pointer(*variant.split("/"))
            if variant not in self.requested or pointer is not None:
                self.requested[variant] = current

    @precondition(lambda self: self.versions())
    @rule(data=st.data())
    def use(self, data: st.DataObject) -> None:
        table = data.draw(st.sampled_from(self.versions()))
        self.warehouse.use(table)
        self.requested[table.name.rpartition("/")[0]] = table.name

    @precondition(lambda self: self.versions())
    @rule(data=st.data())
    def rm(self, data: st.DataObject) -> None:
        table = data.draw(st.sampled_from(self.versions()))
        variant = table.name.rpartition("/")[0]
        inputs = [text for version in self.versions() for text in version.manifest.inputs.values()]
        if any(text.endswith(f"@{table.manifest.digest}") for text in inputs):
            with pytest.raises(VersionInUseError):
                remove(self.warehouse, table)
            return
        new_current = remove(self.warehouse, table)
        if new_current is None:
            del self.requested[variant]
        elif self.requested[variant] == table.name:
            self.requested[variant] = new_current.name

    @rule()
    def gc(self) -> None:
        sweep(self.warehouse, rubbish(self.warehouse))
        assert set(self.requested.values()) <= {table.name for table in self.versions()}
        assert not [path for path in self.warehouse.staging.glob("*") if path.is_dir()]

    @invariant()
    def requested_versions_are_current(self) -> None:
        for variant, name in self.requested.items():
            assert self.warehouse.open_reference(variant).name == name
        assert {table.name for table in self.warehouse.current()} == set(self.requested.values())

    @invariant()
    def sql_shows_current_versions(self) -> None:
        if self.requested:
            with self.warehouse.connect() as connection:
                rows = connection.sql("select dataset, variant, version from versions where is_current").fetchall()
            assert {"/".join(row) for row in rows} == set(self.requested.values())


Histories.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
TestHistories = pytest.mark.slow(Histories.TestCase)


def test_sweep_keeps_inputs_of_running_builds(powers: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that waits while `sweep` deletes its input fails with an error that says so."""
    older, _ = build_powers(powers, 1, 2)
    entries = rubbish(powers)
    assert [entry.path for entry in entries] == [older.folder]
    delete = housekeeping.delete_version
    builds: list[Future[Table]] = []

    def delete_during_build(warehouse: Warehouse, table: Table) -> None:
        build = executor.submit(powers.build, "power_sums", Seeded(10, 1), inputs={"terms": older})
        builds.append(build)
        while not is_locked(powers.staging / "power_sums-10.lock"):
            assert not build.done()
        delete(warehouse, table)

    monkeypatch.setattr(housekeeping, "delete_version", delete_during_build)
    with ThreadPoolExecutor(1) as executor:
        sweep(powers, entries)
        with pytest.raises(
            MissingTableError, match=f"expected {older.name}, the terms of power_sums/10, .*; try again"
        ):
            builds[0].result()
    assert list(powers.staging.iterdir()) == []


def test_pointer_is_deleted_before_the_last_version(powers: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the deletion of a variant's last version is interrupted, no `current` is left that names a missing version."""
    table = powers.build("powers", Seeded(10, 1))
    monkeypatch.setattr(housekeeping, "drop_variant", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        remove(powers, table)
    assert powers.variants("powers") == []
