"""Variants on another disk: built there, linked, and cleaned up, also after kills, damage, moves and attacks."""

import errno
import os
import pickle
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from bgdata.errors import BgdataError, CorruptFileError, StorageError, TooLargeError, UsageError, VersionInUseError
from bgdata.store.catalog import write_catalog
from bgdata.store.housekeeping import remove, rubbish, sweep
from bgdata.store.linked import OWNER, move_aside
from bgdata.store.names import CURRENT
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import verify_files
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.verify import put_back_current, repair_version
from tests.store import processes
from tests.store.test_build import MoreSquares, WrongSquares
from tests.store.test_table import Shipped
from tests.store.toy import Count, Notes, Squares, overwrite, problems, toy_warehouse, whole_versions

TEN = Count(10)
KILLED = -9


@pytest.fixture
def disk(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that behaves like another disk when renaming."""
    disk = memory_path / "disk"
    disk.mkdir()

    def is_on_disk(path: Any) -> bool:
        return Path(path).parent.resolve().is_relative_to(disk)

    def within_one_disk(rename: Callable[..., None]) -> Callable[..., None]:
        def checked(source: Any, target: Any, **options: Any) -> None:
            if is_on_disk(source) != is_on_disk(target):
                raise OSError(errno.EXDEV, "Invalid cross-device link")
            rename(source, target, **options)

        return checked

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, within_one_disk(getattr(os, name)))
    return disk


@pytest.fixture
def table(toys: Warehouse, disk: Path) -> Table:
    """Ten squares on the other disk."""
    return toys.build("squares", TEN, directory=disk)


def test_version_on_another_disk_is_linked(toys: Warehouse, disk: Path, table: Table, tmp_path: Path) -> None:
    assert table.folder == toys.root / "squares" / "10" / table.manifest.version
    assert table.folder.resolve() == disk / "squares" / "10" / table.manifest.version
    assert (toys.root / "squares" / "10").readlink() == disk / "squares" / "10"
    assert {path.name for path in (disk / "squares" / "10").iterdir()} == {table.folder.name, CURRENT, OWNER}
    assert {path.name for path in table.folder.iterdir()} == {"manifest.json", "square.npy", "table.parquet"}
    assert list(toys.staging.iterdir()) == []
    assert toy_warehouse(tmp_path / "usual").build("squares", TEN).manifest.digest == table.manifest.digest
    assert pickle.loads(pickle.dumps(table)).manifest == table.manifest


@pytest.mark.catalog
def test_every_reader_finds_linked_versions(toys: Warehouse, disk: Path, table: Table) -> None:
    assert whole_versions(toys) == [table.name]
    assert problems(toys) == []
    assert [finding.problem for finding in verify_files(toys) if finding.problem] == []
    assert toys.open("squares", "10").array("square")[3] == 9
    for is_relative in (False, True):
        with toys.connect(is_relative=is_relative) as connection:
            assert connection.sql("select max(square) from squares").fetchall() == [(81,)]
    with duckdb.connect(str(toys.catalog), read_only=True) as plain:
        assert plain.sql("select max(square) from squares_10").fetchall() == [(81,)]
    assert whole_versions(toy_warehouse(disk)) == [table.name], "the disk is a warehouse by itself"


@pytest.mark.parametrize("is_named", [True, False])
def test_second_build_does_nothing(toys: Warehouse, disk: Path, table: Table, is_named: bool) -> None:
    """Whether the disk is named again or not."""
    times = {path: path.stat().st_mtime_ns for root in (toys.root, disk) for path in root.rglob("*")}
    notes = Notes()
    assert toys.build("squares", TEN, progress=notes, directory=disk if is_named else None).folder == table.folder
    assert notes.texts == [f"squares/10: already built ({table.folder.name})"]
    assert {path: path.stat().st_mtime_ns for root in (toys.root, disk) for path in root.rglob("*")} == times


def test_inputs_stay_in_the_warehouse(toys: Warehouse, disk: Path) -> None:
    toys.build("square_sums", TEN, directory=disk)
    assert (toys.root / "square_sums" / "10").is_symlink()
    assert not (toys.root / "squares" / "10").is_symlink()
    assert problems(toys) == []


def test_later_versions_go_to_the_same_disk(toys: Warehouse, disk: Path, table: Table) -> None:
    newer = toy_warehouse(toys.root, squares=MoreSquares())
    version = newer.build("squares", TEN)
    assert version.folder.resolve().is_relative_to(disk)
    created = table.manifest.created
    assert toys.build("squares", TEN, force=True).folder == table.folder
    assert Table(table.folder).manifest.created > created
    assert len(whole_versions(newer)) == 2


def test_published_version_is_copied_to_another_disk(toys: Warehouse, disk: Path, memory_path: Path) -> None:
    original = toy_warehouse(memory_path / "package").build("squares", TEN)
    warehouse = toy_warehouse(toys.root, squares=Shipped(original.folder))
    table = warehouse.build("squares", TEN, directory=disk)
    assert table.folder.resolve().is_relative_to(disk)
    assert table.manifest == original.manifest
    assert list(warehouse.staging.iterdir()) == []


def test_rm_deletes_on_the_other_disk(toys: Warehouse, disk: Path, table: Table) -> None:
    sums = toys.build("square_sums", TEN)
    with pytest.raises(VersionInUseError, match="needed by square_sums/10"):
        remove(toys, table)
    remove(toys, sums)
    assert remove(toys, table) is None
    assert list(disk.iterdir()) == []
    assert list(toys.versions()) == []
    assert not (toys.root / "squares" / "10").is_symlink()
    assert toys.build("squares", TEN).folder.resolve().is_relative_to(toys.root), "in the warehouse again"


def test_rm_of_the_current_version_keeps_the_other(toys: Warehouse, disk: Path, table: Table) -> None:
    newer = toy_warehouse(toys.root, squares=MoreSquares())
    new_current = remove(newer, newer.build("squares", TEN))
    assert new_current is not None
    assert new_current.name == table.name
    assert whole_versions(toys) == [table.name]
    assert disk.is_dir()


def test_gc_deletes_on_the_other_disk(toys: Warehouse, disk: Path, table: Table) -> None:
    newer = toy_warehouse(toys.root, squares=MoreSquares())
    current = newer.build("squares", TEN)
    (entry,) = rubbish(newer)
    assert entry.path == table.folder
    assert entry.reason == "nothing needs it"
    assert entry.bytes > 1000
    sweep(newer, [entry])
    assert whole_versions(newer) == [current.name]
    assert not (disk / "squares" / "10" / table.folder.name).exists()


def damage_array(table: Table) -> None:
    path = table.folder / "square.npy"
    overwrite(path, path.read_bytes()[:-1] + b"\1")


def test_repair_works_on_the_other_disk(
    toys: Warehouse, disk: Path, table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    """A version on another disk is repaired there, also a second time, and the damaged files are kept on that disk
    until they are swept."""
    damage_array(table)
    assert problems(toys) != []
    repair_version(toys, Table(table.folder))
    (kept_folder,) = toys.staging.iterdir()
    assert capsys.readouterr().err.endswith(f"the damaged files are in {kept_folder}\n")
    assert (kept_folder / "square.npy").read_bytes().endswith(b"\1")
    assert kept_folder.resolve().is_relative_to(disk)
    assert problems(toys) == []
    assert table.folder.resolve().is_relative_to(disk)
    damage_array(table)
    repair_version(toys, Table(table.folder))  # beside the files of the last repair
    assert rubbish(toys) == []
    sweep(toys, rubbish(toys, damaged=True))
    assert whole_versions(toys) == [table.name]
    assert not [path for path in (disk / "squares" / "10").iterdir() if path.is_dir() and path.name[0] == "."]


# invalid folders


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("none", UsageError, "expected a folder that is there, to put squares/10 into, found no such folder: .*/none"),
        ("file", UsageError, "expected a folder that is there, to put squares/10 into, found a file: .*/file"),
        ("x" * 300, StorageError, "cannot read .*: file name too long"),
    ],
)
def test_missing_directory_is_refused(
    toys: Warehouse, disk: Path, name: str, error: type[BgdataError], message: str
) -> None:
    (disk / "file").write_text("")
    with pytest.raises(error, match=message):
        toys.build("squares", TEN, directory=disk / name)
    assert list(toys.versions()) == []


@pytest.mark.parametrize("name", ["", "a", ".staging"])
def test_directory_inside_the_warehouse_is_refused(toys: Warehouse, name: str) -> None:
    (toys.root / name).mkdir(parents=True)
    with pytest.raises(UsageError, match=f"expected a folder outside the warehouse {toys.root}, got "):
        toys.build("squares", TEN, directory=toys.root / name)
    assert list(toys.versions()) == []


def test_version_inside_the_warehouse_is_refused_elsewhere(toys: Warehouse, disk: Path, memory_path: Path) -> None:
    """A variant whose versions are in one folder cannot be built in another."""
    table = toys.build("squares", TEN)
    message = f"expected squares/10 nowhere but in {disk}, found {table.folder.name} in {table.folder.parent}; "
    for force in (False, True):
        with pytest.raises(UsageError, match=f"{message}try: bgdata rm {table.name}"):
            toys.build("squares", TEN, directory=disk, force=force)
    assert list(disk.iterdir()) == []
    remove(toys, table)
    toys.build("squares", TEN, directory=disk)
    (memory_path / "other").mkdir()
    with pytest.raises(UsageError, match=f"found {table.folder.name} in {disk}/squares/10; try: bgdata rm"):
        toys.build("squares", TEN, directory=memory_path / "other")


def test_other_files_in_the_folder_of_the_variant_are_refused(toys: Warehouse, disk: Path) -> None:
    (toys.root / "squares" / "10" / "copy").mkdir(parents=True)
    with pytest.raises(UsageError, match=f"found copy in {toys.root}/squares/10; move it away"):
        toys.build("squares", TEN, directory=disk)
    shutil.rmtree(toys.root / "squares" / "10" / "copy")
    (toys.root / "squares" / "10" / CURRENT).write_text("r1-00000000\n")
    assert toys.build("squares", TEN, directory=disk).folder.resolve().is_relative_to(disk)


@pytest.mark.parametrize("is_linked", [False, True])
def test_versions_of_another_warehouse_are_refused(
    toys: Warehouse, disk: Path, memory_path: Path, is_linked: bool
) -> None:
    """A build on another disk refuses a folder in which another warehouse has versions of the variant."""
    if is_linked:
        table = toy_warehouse(memory_path / "other").build("squares", TEN, directory=disk)
    else:
        table = toy_warehouse(disk).build("squares", TEN)
    message = f"expected no version of squares/10 in {disk}, found {table.folder.name} of another warehouse; choose"
    with pytest.raises(UsageError, match=message):
        toys.build("squares", TEN, directory=disk)
    assert toys.build("squares", Count(3), directory=disk).array("square")[2] == 4, "another variant may"


def test_free_space_is_that_of_the_other_disk(toys: Warehouse, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build on another disk is limited by the free space of that disk, not of the warehouse's."""
    free_on_disk = 10**9
    monkeypatch.setattr(
        shutil,
        "disk_usage",
        lambda path: SimpleNamespace(free=free_on_disk if path.is_relative_to(disk) else 5000),
    )
    with pytest.raises(TooLargeError, match=r"found 5 kB; ask for less, or on another disk: bgdata build --directory"):
        toys.build("squares", TEN)
    toys.build("squares", TEN, directory=disk)
    free_on_disk = 4000
    with pytest.raises(TooLargeError, match=f"of free disk space in {disk}/squares/11 for squares/11 .* found 4 kB"):
        toys.build("squares", Count(11), directory=disk)
    assert not (disk / "squares" / "11").exists()


def test_read_only_folder_is_refused(toys: Warehouse, disk: Path) -> None:
    disk.chmod(0o555)
    with processes.bare_thread() as thread, pytest.raises(StorageError, match=r"cannot create .*: permission denied"):
        thread.submit(toys.build, "squares", TEN, directory=disk).result()


# stopped and resumed builds


class StoppedSquares(WrongSquares):
    """Stops after computing."""

    def statistics(self, computed: Any) -> Mapping[str, float]:
        if self.is_wrong:
            raise StorageError("cannot write: the disk is full")
        return Squares.statistics(self, computed)


@pytest.fixture
def stopping_warehouse(toys: Warehouse) -> tuple[Warehouse, StoppedSquares]:
    """A warehouse whose builds stop while writing."""
    kind = StoppedSquares()
    return toy_warehouse(toys.root, squares=kind), kind


@pytest.mark.parametrize("with_option", [False, True])
def test_stopped_build_resumes_on_the_other_disk(
    stopping_warehouse: tuple[Warehouse, StoppedSquares], disk: Path, with_option: bool
) -> None:
    """A build on another disk that was stopped resumes there, whether the folder is given again or not."""
    warehouse, kind = stopping_warehouse
    with pytest.raises(StorageError):
        warehouse.build("squares", TEN, directory=disk)
    assert list(warehouse.versions()) == []
    assert warehouse.variants("squares") == [], "nobody takes it for a table"
    kind.is_wrong = False
    notes = Notes()
    table = warehouse.build("squares", TEN, progress=notes, directory=disk if with_option else None)
    assert notes.texts[0] == "going on with squares/10 from finished arrays"
    assert notes.texts[1].endswith(f", in {disk}/squares/10")
    assert kind.computations == 1
    assert table.folder.resolve().is_relative_to(disk)
    assert list(warehouse.staging.iterdir()) == []


def test_build_that_began_in_the_warehouse_begins_anew(
    stopping_warehouse: tuple[Warehouse, StoppedSquares], disk: Path
) -> None:
    """A build that failed in the warehouse begins anew on another disk, and what it left is deleted."""
    warehouse, kind = stopping_warehouse
    with pytest.raises(StorageError):
        warehouse.build("squares", TEN)
    kind.is_wrong = False
    notes = Notes()
    table = warehouse.build("squares", TEN, progress=notes, directory=disk)
    assert notes.texts[0] == (
        f"squares/10: begins anew in {disk}/squares/10; what a stopped build kept elsewhere is deleted"
    )
    assert whole_versions(warehouse) == [table.name]
    assert list(warehouse.staging.iterdir()) == []


def test_gc_deletes_a_stopped_build(stopping_warehouse: tuple[Warehouse, StoppedSquares], disk: Path) -> None:
    warehouse, _ = stopping_warehouse
    with pytest.raises(StorageError):
        warehouse.build("squares", TEN, directory=disk)
    (entry,) = rubbish(warehouse)
    assert entry.bytes > 100
    sweep(warehouse, [entry])
    assert list(disk.iterdir()) == []
    assert list(warehouse.staging.iterdir()) == []


def build(root: Path, disk: Path, force: bool, kill_at: int | None) -> None:
    """In another process: build on the other disk, and die at this change."""
    processes.drop_root_rights()
    if kill_at is not None:
        processes.die_at_change(root.parent, kill_at)
    toy_warehouse(root).build("squares", Count(3), progress=Silence(), force=force, directory=disk)


@pytest.mark.kills
@pytest.mark.parametrize("force", [False, True])
def test_build_survives_a_kill_at_every_change(memory_path: Path, force: bool) -> None:
    """Whenever a build on another disk is killed, either no version or a complete one exists, and the next build
    finishes it and leaves no other files."""
    expected = toy_warehouse(memory_path / "undisturbed").build("squares", Count(3)).name
    exitcode: int | None = KILLED
    kill_at = 0
    while exitcode == KILLED:
        folder = memory_path / str(kill_at)
        warehouse = toy_warehouse(folder / "warehouse")
        disk = folder / "disk"
        disk.mkdir(parents=True)
        if force:
            warehouse.build("squares", Count(3), directory=disk)
        exitcode = processes.run(build, warehouse.root, disk, force, kill_at)
        assert exitcode in (0, KILLED)
        if force or whole_versions(warehouse):
            assert whole_versions(warehouse) == [expected]
        with processes.bare_thread() as thread:
            thread.submit(warehouse.build, "squares", Count(3), force=force, directory=disk).result()
        assert whole_versions(warehouse) == [expected], kill_at
        sweep(warehouse, rubbish(warehouse))
        names = {path.name for path in (disk / "squares" / "3").iterdir() if path.suffix != ".partial"}
        assert names == {expected.rpartition("/")[2], CURRENT, OWNER}, kill_at
        shutil.rmtree(folder)
        kill_at += 1
    assert kill_at > 30  # else the changes are not noticed any more


# missing disks, and foreign links


def test_missing_disk_is_reported(toys: Warehouse, disk: Path, table: Table) -> None:
    moved = disk.rename(disk.with_name("moved"))
    message = f"expected the folder {disk}/squares/10, to which the link .* is its disk"
    with pytest.raises(StorageError, match=message):
        toys.open("squares", "10")
    with pytest.raises(StorageError, match=message):
        toys.build("squares", TEN)
    notes = Notes()
    assert toys.build("squares", TEN, progress=notes, directory=moved).folder == table.folder
    assert notes.texts == [f"squares/10: already built ({table.folder.name})"]
    assert table.folder.resolve().is_relative_to(moved)


def test_moved_warehouse_may_delete_after_a_build(toys: Warehouse, disk: Path, table: Table) -> None:
    """A warehouse that was moved can read its versions on another disk, but may delete them only after a build, which
    makes it the owner again."""
    moved = toy_warehouse(toys.root.rename(toys.root.with_name("moved")), squares=MoreSquares())
    with pytest.raises(VersionInUseError, match="to which a link leads"):
        remove(moved, moved.open("squares", "10"))
    newer = moved.build("squares", TEN)
    assert newer.folder.resolve().is_relative_to(disk)
    assert len(whole_versions(moved)) == 2
    remove(moved, newer)
    assert whole_versions(moved) == [table.name]
    shutil.rmtree(moved.root)
    notes = Notes()
    assert toys.build("squares", TEN, directory=disk, progress=notes).name == table.name
    assert notes.texts == [f"squares/10: already built ({table.folder.name})"]
    remove(toys, toys.open("squares", "10"))
    assert list(disk.iterdir()) == []


def link_to_foreign_versions(toys: Warehouse, disk: Path, level: str) -> Table:
    """Link a kind or a variant to another warehouse with two versions of squares/10; returns the current one."""
    toy_warehouse(disk, squares=MoreSquares()).build("squares", TEN)
    current = toy_warehouse(disk).build("squares", TEN)
    (toys.root / level).parent.mkdir(parents=True)
    (toys.root / level).symlink_to(disk / level)
    return current


@pytest.mark.parametrize("level", ["squares", "squares/10"])
def test_foreign_versions_are_read_and_not_deleted(toys: Warehouse, disk: Path, level: str) -> None:
    current = link_to_foreign_versions(toys, disk, level)
    table = toys.open("squares", "10")
    assert table.name == current.name
    assert rubbish(toys) == []
    assert len(rubbish(toy_warehouse(disk))) == 1
    with pytest.raises(VersionInUseError, match=f"got {table.name}, to which a link leads; delete the link, or "):
        remove(toys, table)


@pytest.mark.parametrize("level", ["squares", "squares/10"])
def test_foreign_versions_are_never_written(toys: Warehouse, disk: Path, level: str) -> None:
    """No command writes to versions that a link made by hand leads to."""
    current = link_to_foreign_versions(toys, disk, level)
    newer = toy_warehouse(toys.root, squares=MoreSquares())
    (other,) = (version for version in newer.versions() if version.name != current.name)
    times = {path: path.lstat().st_mtime_ns for path in disk.rglob("*")}
    message = f"expected to write squares/10 into this warehouse, found the link {toys.root / level} to {disk / level}"
    with pytest.raises(StorageError, match=message):
        newer.build("squares", TEN, force=True)
    with pytest.raises(StorageError, match=message):
        newer.build("squares", TEN)
    with pytest.raises(StorageError, match=message):
        newer.use(other)
    with pytest.raises(StorageError, match=message):
        repair_version(newer, other)
    with pytest.raises((StorageError, UsageError), match=r"found the link|of another warehouse"):
        newer.build("squares", TEN, directory=disk, force=True)
    assert toys.build("squares", TEN).name == current.name, "it is there, so nothing is written"
    assert {path: path.lstat().st_mtime_ns for path in disk.rglob("*")} == times


def test_rm_of_a_foreign_version_deletes_only_the_link(toys: Warehouse, disk: Path) -> None:
    other = toy_warehouse(disk).build("squares", TEN)
    folder = toys.root / "squares" / "10"
    folder.mkdir(parents=True)
    (folder / other.folder.name).symlink_to(other.folder)
    assert problems(toys) == []
    assert remove(toys, toys.open("squares", "10")) is None
    assert not folder.exists()
    assert other.array("square")[3] == 9


def test_gc_ignores_foreign_links(toys: Warehouse, disk: Path, table: Table) -> None:
    """Links in the staging folder of somebody else's warehouse are deleted, but what they lead to is not."""
    secret = disk / ".ssh"
    secret.mkdir()
    (secret / "key").write_text("")
    hidden = disk / "squares" / "10" / ".hidden"
    hidden.mkdir()
    foreign = toy_warehouse(toys.root.with_name("foreign"))
    foreign.build("square_sums", TEN)
    (foreign.staging / "ssh").symlink_to(secret)
    (foreign.staging / "hidden").symlink_to(hidden)
    shutil.rmtree(foreign.root / "squares" / "10")
    (foreign.root / "squares" / "10").symlink_to(disk / "squares" / "10")
    sweep(foreign, rubbish(foreign))
    assert list(foreign.staging.iterdir()) == []
    assert (secret / "key").exists()
    assert hidden.exists()
    assert whole_versions(toys) == [table.name]


def test_gc_ignores_foreign_staging_links(toys: Warehouse, disk: Path) -> None:
    """A link in the staging folder is not followed, although its name and its target look like those of a build on
    another disk."""
    name = f"squares-10-{'0' * 12}-{'f' * 12}"
    (disk / f".{name}").mkdir()
    (disk / f".{name}" / "key").write_text("")
    toys.build("squares", TEN)
    (toys.staging / name).symlink_to(disk / f".{name}")
    sweep(toys, rubbish(toys))
    assert not (toys.staging / name).is_symlink()
    assert (disk / f".{name}" / "key").exists()


def test_foreign_link_set_aside_is_not_followed(toys: Warehouse, disk: Path) -> None:
    """A repair that finds a foreign link in place of a version moves the link back, and leaves its target alone."""
    table = toys.build("squares", TEN)
    (disk / "secret").mkdir()
    name = f"damaged-squares-10-{table.folder.name}"
    shutil.rmtree(table.folder)
    (toys.staging / name).symlink_to(disk / "secret")
    put_back_current(toys)
    assert (disk / "secret").is_dir()
    assert table.folder.is_symlink()


def test_interrupted_repair_on_another_disk_is_put_back(toys: Warehouse, table: Table) -> None:
    kept_folder = move_aside(toys, table.folder, f"damaged-squares-10-{table.folder.name}")
    assert kept_folder.is_symlink()
    put_back_current(toys)
    assert whole_versions(toys) == [table.name]
    assert list(toys.staging.iterdir()) == []


def test_relative_owner_path_is_ignored(
    toys: Warehouse, disk: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is not accepted as the owner of a folder, because it would fit any warehouse that is opened from
    its own folder."""
    (disk / "squares" / "10" / OWNER).write_text(".")
    monkeypatch.chdir(toys.root)
    with pytest.raises(VersionInUseError, match=f"got {table.name}, to which a link leads"):
        remove(toys, table)


def test_link_in_place_of_a_version_is_replaced(toys: Warehouse, disk: Path) -> None:
    other = toy_warehouse(disk).build("squares", TEN)
    inodes = {path: path.stat().st_ino for path in other.folder.iterdir()}
    folder = toys.root / "squares" / "10"
    folder.mkdir(parents=True)
    (folder / other.folder.name).symlink_to(other.folder)
    built = toys.build("squares", TEN, force=True)
    assert built.name == other.name
    assert not built.folder.is_symlink()
    assert {path: path.stat().st_ino for path in other.folder.iterdir()} == inodes


@pytest.mark.catalog
def test_linked_staging_folder_is_refused(toys: Warehouse, disk: Path) -> None:
    toys.root.mkdir()
    toys.staging.symlink_to(disk)
    (disk / "key").write_text("")
    message = r"expected a folder in .*/\.staging, found a link; delete it"
    assert rubbish(toys) == []
    with pytest.raises(StorageError, match=message):
        toys.build("squares", TEN)
    with pytest.raises(StorageError, match=message):
        write_catalog(toys)
    with pytest.raises(StorageError, match=message):
        sweep(toys, [])
    assert list(disk.iterdir()) == [disk / "key"]


def test_link_in_place_of_a_new_file_is_replaced(toys: Warehouse, disk: Path) -> None:
    table = toys.build("squares", TEN)
    (disk / "secret").write_text("secret")
    (table.folder.parent / CURRENT).unlink()
    (table.folder.parent / f".{CURRENT}.{os.getpid()}.partial").symlink_to(disk / "secret")
    assert toys.use(table)
    assert (disk / "secret").read_text() == "secret"


def test_linked_files_must_be_regular(toys: Warehouse, disk: Path, table: Table) -> None:
    path = table.folder / "square.npy"
    path.rename(disk / "other")
    path.symlink_to(disk / "other")
    with pytest.raises(CorruptFileError, match=f"expected a regular file in {path}, found a link"):
        Table(table.folder).array("square")
    assert len(problems(toys)) == 1
