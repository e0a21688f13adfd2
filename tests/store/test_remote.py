"""A warehouse at an address: used files are fetched, checked and kept; and fetching and publishing by cluster
workers."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    DigestMismatchError,
    MissingFileError,
    MissingTableError,
    StorageError,
    TooLargeError,
    UsageError,
)
from bgdata.store import remote
from bgdata.store.locked_sql import QueryLimits
from bgdata.store.places import Folder, Part, Store, open_place
from bgdata.store.progress import Silence
from bgdata.store.remote import Mirror
from bgdata.store.transfer import Transfer
from bgdata.warehouse import RemoteWarehouse, Warehouse
from tests.store.toy import Count, overwrite
from tests.subtests import each


@pytest.fixture(name="store")
def _store(toys: Warehouse, memory_store: str, remote_cache: Path) -> str:
    """The address of a store with three toys."""
    assert not remote_cache.exists()
    for count in (10, 20):
        toys.build("squares", Count(count))
    toys.build("square_sums", Count(10))
    Transfer(Silence()).push(toys, open_place(memory_store))
    return memory_store


@pytest.fixture(name="far")
def _remote_warehouse(store: str, toys: Warehouse) -> RemoteWarehouse:
    return RemoteWarehouse(store, toys.kinds)


@pytest.fixture(name="read")
def _reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """(name of a file, bytes) of every read from a store."""
    parts: list[tuple[str, int]] = []
    real = Store.part

    def part(self: Store, name: str, begin: int, length: int | None) -> Part:
        found = real(self, name, begin, length)
        parts.append((name.rpartition("/")[2], len(found.data)))
        return found

    monkeypatch.setattr(Store, "part", part)
    return parts


def stored_name(end: str) -> str:
    """The name of the first file in memory with this ending."""
    return next(name for name in sorted(MemoryFileSystem.store) if name.endswith(end))


def change_stored_file(name: str, place: int = -1) -> None:
    data = bytearray(MemoryFileSystem().cat_file(name))
    data[place] ^= 1
    MemoryFileSystem().pipe_file(name, bytes(data))


def test_remote_warehouse_equals_the_original(far: RemoteWarehouse, toys: Warehouse) -> None:
    """A warehouse at an address has the same versions, manifests and arrays as the original."""
    assert [table.name for table in far.versions()] == [table.name for table in toys.versions()]
    assert far.variants("squares") == toys.variants("squares") == ["10", "20"]
    for table in toys.versions():
        found = far.open_reference(table.name)
        assert found.manifest == table.manifest
        assert {name: array.tolist() for name, array in found.arrays().items()} == {
            name: array.tolist() for name, array in table.arrays().items()
        }
        found.check_sizes()
    assert far.find(toys.kind("squares"), Count(20)) is not None
    assert far.made_from(far.open("square_sums", "10"))["terms"].name == toys.open("squares", "10").name
    assert repr(far) == "RemoteWarehouse('memory://shop/ware')"


def test_only_used_files_are_fetched(far: RemoteWarehouse, read: list[tuple[str, int]]) -> None:
    table = far.open("squares", "20")
    assert [name for name, _ in read] == ["current", "manifest.json"], "one table is opened without a list of all"
    read.clear()
    table.array("square")
    assert {name for name, _ in read} == {"square.npy"}
    read.clear()
    table.array("square")
    far.open("squares", "20").array("square")
    assert [name for name, _ in read] == ["current", "manifest.json"], "the file is kept"
    assert not any(path.suffix == ".parquet" for path in far.mirror.folder.rglob("*"))


def test_query_fetches_named_tables(far: RemoteWarehouse, toys: Warehouse, read: list[tuple[str, int]]) -> None:
    """A query downloads only the Parquet files of the tables that it names. Another table gives an error that says how
    to get it, and no other file can be read."""
    text = "select sum(square) as total from squares"
    assert far.rows(text) == toys.rows(text)
    assert {name for name, _ in read} == {"current", "manifest.json", "table.parquet"}
    fetched = sorted(path.parent.parent.parent.name for path in far.mirror.folder.rglob("table.parquet"))
    assert fetched == ["squares", "squares"]
    with far.connect(limits=QueryLimits(), for_query="from SQUARES_10") as connection:
        assert connection.sql("select count(*) from squares_10").fetchall() == [(10,)]
        named = "select count(*) from (describe square_sums)"
        assert connection.sql(named).fetchall() == [(3,)], "what was not fetched has its columns"
        with pytest.raises(
            Exception, match=r"square_sums/10/r1-.* is not there: .* try: bgdata pull memory://shop/ware sq"
        ):
            connection.sql("from square_sums").fetchall()
        for outside in ("/etc/passwd", str(toys.open("squares", "10").parquet)):
            with pytest.raises(Exception, match="Permission Error"):
                connection.sql(f"from read_csv('{outside}')").fetchall()


def test_damaged_cache_is_fetched_again(far: RemoteWarehouse, toys: Warehouse, read: list[tuple[str, int]]) -> None:
    """A downloaded file that was changed, or replaced by a link, is downloaded again; a copy with the right hash is
    not."""
    path = far.open("squares", "10").check_file("square.npy")
    good = path.read_bytes()
    for damage in (good[:-1] + b"x", good[:40], b""):
        overwrite(path, damage)
        read.clear()
        assert far.open("squares", "10").array("square").tolist() == toys.open("squares", "10").array("square").tolist()
        assert path.read_bytes() == good
        assert "square.npy" in [name for name, _ in read]
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert far.open("squares", "10").check_file("square.npy").read_bytes() == good
    assert not path.is_symlink()
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    copy.replace(path)
    read.clear()
    assert far.open("squares", "10").check_file("square.npy").read_bytes() == good
    assert "square.npy" not in [name for name, _ in read], "a copy with the right hash is not fetched again"


def delete_stored_file(name: str) -> None:
    MemoryFileSystem().rm_file(name)


def truncate_stored_file(name: str) -> None:
    MemoryFileSystem().pipe_file(name, MemoryFileSystem().cat_file(name)[:50])


WRONG: dict[str, tuple[Callable[[str], None], type[BgdataError], type[BgdataError] | None, str]] = {
    "another byte": (
        change_stored_file,
        DigestMismatchError,
        None,
        r"expected SHA-256 .* of memory:.*square.npy, found",
    ),
    "half of it": (
        truncate_stored_file,
        CorruptFileError,
        CorruptFileError,
        r"expected \d+ bytes in memory:.*square.npy, got 50",
    ),
    "gone": (
        delete_stored_file,
        MissingFileError,
        MissingTableError,
        r"expected memory:.*square.npy, found no such file",
    ),
}


@each(("damage", "error", "by_size", "message"), WRONG)
def test_fetched_files_are_checked(
    far: RemoteWarehouse, damage: Callable[[str], None], error: type[BgdataError], by_size: type[BgdataError] | None,
    message: str,
) -> None:  # fmt: skip
    """A file that is changed, truncated or missing at the address gives an error, and is not kept."""
    name = stored_name("squares/20/" + far.open("squares", "20").folder.name + "/square.npy")
    good = MemoryFileSystem().cat_file(name)
    try:
        damage(name)
        fresh = RemoteWarehouse(far.address, far.kinds)
        shutil.rmtree(fresh.mirror.folder)
        table = fresh.open("squares", "20")
        with pytest.raises(error, match=message):
            table.array("square")
        assert not (table.folder / "square.npy").exists()
        if by_size:
            with pytest.raises(by_size, match=r"memory:.*square.npy, found"):
                table.check_sizes()
    finally:
        MemoryFileSystem().pipe_file(name, good)


def test_changed_manifest_is_refused(far: RemoteWarehouse) -> None:
    table = far.open("squares", "10")
    table.array("square")
    change_stored_file(stored_name(f"{table.name}/manifest.json"), 30)  # a byte of a name
    with pytest.raises(BgdataError, match="expected memory://shop/ware/squares/10/"):
        RemoteWarehouse(far.address, far.kinds).open("squares", "10")
    listed = RemoteWarehouse(far.address, far.kinds)
    damaged = next(each for each in listed.versions("squares", "10"))
    with pytest.raises(BgdataError, match="squares/10/"):
        damaged.check_sizes()
    assert len(list(listed.versions())) == 3, "the others are there"


def test_new_and_deleted_versions_are_seen(far: RemoteWarehouse, toys: Warehouse) -> None:
    """When it is opened again, a warehouse at an address has the versions that were added there, and not those that
    were deleted."""
    assert len(list(far.versions())) == 3
    toys.build("squares", Count(30))
    Transfer(Silence()).push(toys, open_place(far.address))
    place = open_place(far.address)
    assert isinstance(place, Store)
    for name in place.entries("squares/10/" + toys.open("squares", "10").folder.name):
        place.remove(name)
    place.remove("squares/10/current")
    again = RemoteWarehouse(far.address, far.kinds)
    assert again.variants("squares") == ["20", "30"]
    with pytest.raises(MissingTableError, match=r"no squares/10 in memory://shop/ware \(have: 20, 30\)$"):
        again.open("squares", "10")


def test_writing_is_refused(far: RemoteWarehouse) -> None:
    """A warehouse at an address refuses everything that would write to it."""
    table = far.open("squares", "10")
    before = dict(MemoryFileSystem.store)
    for write in (
        lambda: far.build("squares", Count(40)),
        lambda: far.use(table),
        lambda: far.check_staging(),
    ):
        with pytest.raises(UsageError, match="memory://shop/ware; try: bgdata pull memory://shop/ware"):
            write()
    far.mend_catalog()
    assert before == MemoryFileSystem.store


def test_full_disk_is_refused(far: RemoteWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(TooLargeError, match=r"expected .* of free disk in .*, found 1 B"):
        far.open("squares", "10").array("square")


def test_concurrent_fetches_read_once(far: RemoteWarehouse, toys: Warehouse, read: list[tuple[str, int]]) -> None:
    """Several threads that open the same file download it once."""
    found: list[list[int]] = []

    def run() -> None:
        table = RemoteWarehouse(far.address, far.kinds).open("squares", "20")
        found.append(table.array("square").tolist())

    threads = [Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [toys.open("squares", "20").array("square").tolist()] * 4
    assert [name for name, _ in read].count("square.npy") == 1


def test_pickled_table_is_its_address(far: RemoteWarehouse) -> None:
    table = far.open("squares", "10")
    again = pickle.loads(pickle.dumps(table))
    assert again.name == table.name
    assert again.array("square").tolist() == table.array("square").tolist()


def test_files_are_published_atomically(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copyfile(_: Path, target: Path) -> None:
        Path(target).write_bytes(b"half")
        raise OSError(28, "full")

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    part = memory_path / "part"
    part.write_bytes(b"a part")
    with pytest.raises(StorageError, match="the disk is full"):
        Folder(memory_path / "folder").send(part, "parts/x")
    assert list((memory_path / "folder" / "parts").iterdir()) == []


def test_large_downloads_are_reported(far: RemoteWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr(remote, "TOLD_BYTES", 100)
    far.mirror.tell = messages.append
    table = far.open("squares", "10")
    table.array("square")
    table.array("square")
    assert messages == [f"fetching {table.name}/square.npy, 0 MB"]


def test_addresses_have_separate_folders(remote_cache: Path) -> None:
    folders = {
        Mirror(address).folder for address in ("memory://a/b", "memory://a/c", "http://u:secret@h/x", "http://h/x")
    }
    assert len(folders) == 3, "a name and password are no part of the place"
    assert all(folder.parent == remote_cache for folder in folders)


def test_cache_has_no_secrets(toys: Warehouse, bucket: str, remote_cache: Path) -> None:
    toys.build("squares", Count(10))
    Transfer(Silence()).push(toys, open_place(bucket))
    far = RemoteWarehouse(bucket, toys.kinds)
    far.open("squares", "10").arrays()
    far.rows("from squares")
    written = b"".join(path.read_bytes() for path in remote_cache.rglob("*") if path.is_file())
    assert len(written) > 1000
    assert b"secret-of-the-test" not in written
    assert b"AKIA" not in written
    assert np.array_equal(far.open("squares", "10").array("square"), toys.open("squares", "10").array("square"))


def test_large_array_with_row_hashes_is_not_fetched_whole(
    far: RemoteWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large array whose rows can be downloaded one by one is not downloaded as a whole; the error says how to get
    it."""
    table = far.open("squares", "10")
    files: list[Any] = [*table.manifest.files]
    monkeypatch.setattr(remote, "LARGE", 100)
    table.array("square")
    monkeypatch.setattr(remote, "ROW_HASHES", "")
    fresh = far.open("squares", "20")
    with pytest.raises(
        TooLargeError, match=rf"expected {fresh.name} in a folder, as more .*; try: bgdata pull memory:"
    ):
        fresh.array("square")
    assert len(files) == 2
