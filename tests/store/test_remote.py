"""A warehouse at an address: used files are fetched, checked and kept; and fetching and publishing by cluster
workers."""

import errno
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Thread

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
from bgdata.store.locked_sql import QueryLimits
from bgdata.store.places import Folder, Part, Store, open_place
from bgdata.store.progress import Silence
from bgdata.store.remote import Mirror
from bgdata.store.transfer import Transfer
from bgdata.warehouse import RemoteWarehouse, Warehouse
from tests.store.toy import Count, overwrite


@pytest.fixture(name="store")
def _store(toys: Warehouse, memory_store: str, remote_cache: Path) -> str:
    """The address of a store with three toys."""
    assert not remote_cache.exists()
    for count in (10, 20):
        toys.build("squares", Count(count))
    toys.build("square_sums", Count(10))
    Transfer(Silence()).push(toys, open_place(memory_store))
    return memory_store


@pytest.fixture(name="remote")
def _remote_warehouse(store: str, toys: Warehouse) -> RemoteWarehouse:
    """The warehouse at the address."""
    return RemoteWarehouse(store, toys.kinds)


@pytest.fixture(name="fetched")
def _fetched_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that were read from a store, once for each part."""
    names: list[str] = []
    read_part = Store.part

    def part(self: Store, name: str, begin: int, length: int | None) -> Part:
        names.append(name.rpartition("/")[2])
        return read_part(self, name, begin, length)

    monkeypatch.setattr(Store, "part", part)
    return names


def stored_path(name: str) -> str:
    """The path in memory of a file KIND/VARIANT/VERSION/NAME."""
    return f"/shop/ware/{name}"


def change_stored_byte(path: str, index: int = -1) -> None:
    data = bytearray(MemoryFileSystem().cat_file(path))
    data[index] ^= 1
    MemoryFileSystem().pipe_file(path, bytes(data))


def squares(count: int) -> list[int]:
    return [number**2 for number in range(count)]


def test_remote_warehouse_equals_the_original(remote: RemoteWarehouse, toys: Warehouse) -> None:
    assert [table.name for table in remote.versions()] == [table.name for table in toys.versions()]
    assert remote.variants("squares") == toys.variants("squares") == ["10", "20"]
    for original in toys.versions():
        table = remote.open_reference(original.name)
        assert table.manifest == original.manifest
        assert table.arrays().keys() == original.arrays().keys()
        for name, values in original.arrays().items():
            assert table.array(name).tolist() == values.tolist()
        table.check_sizes()
    assert remote.find(toys.kind("squares"), Count(20)) is not None
    assert remote.made_from(remote.open("square_sums", "10"))["terms"].name == toys.open("squares", "10").name
    assert repr(remote) == "RemoteWarehouse('memory://shop/ware')"


def test_only_used_files_are_fetched_and_only_once(remote: RemoteWarehouse, fetched: list[str]) -> None:
    table = remote.open("squares", "20")
    assert fetched == ["current", "manifest.json"], "one table is opened without a list of all"
    fetched.clear()
    table.array("square")
    assert set(fetched) == {"square.npy"}
    fetched.clear()
    table.array("square")
    remote.open("squares", "20").array("square")
    assert fetched == ["current", "manifest.json"], "the array is kept"
    assert list(remote.mirror.folder.rglob("*.parquet")) == []


def test_query_fetches_tables_that_it_names(remote: RemoteWarehouse, toys: Warehouse, fetched: list[str]) -> None:
    sql = "select sum(square) as total from squares"
    assert remote.rows(sql) == toys.rows(sql)
    assert set(fetched) == {"current", "manifest.json", "table.parquet"}
    assert {path.parents[2].name for path in remote.mirror.folder.rglob("table.parquet")} == {"squares"}


def test_query_reads_no_other_tables_and_files(remote: RemoteWarehouse, toys: Warehouse) -> None:
    with remote.connect(limits=QueryLimits(), for_query="from SQUARES_10") as connection:
        assert connection.sql("select count(*) from squares_10").fetchall() == [(10,)]
        columns = "select count(*) from (describe square_sums)"
        assert connection.sql(columns).fetchall() == [(3,)], "a table that was not fetched has its columns"
        message = r"square_sums/10/r1-.* is not there: .* try: bgdata pull memory://shop/ware sq"
        with pytest.raises(Exception, match=message):
            connection.sql("from square_sums").fetchall()
        for path in ("/etc/passwd", toys.open("squares", "10").parquet):
            with pytest.raises(Exception, match="Permission Error"):
                connection.sql(f"from read_csv('{path}')").fetchall()


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1] + b"x", lambda data: data[:40], lambda _: b""],
    ids=["changed", "truncated", "empty"],
)
def test_damaged_cache_is_fetched_again(
    remote: RemoteWarehouse, fetched: list[str], damage: Callable[[bytes], bytes]
) -> None:
    path = remote.open("squares", "10").check_file("square.npy")
    overwrite(path, damage(path.read_bytes()))
    fetched.clear()
    assert remote.open("squares", "10").array("square").tolist() == squares(10)
    assert "square.npy" in fetched


def test_link_in_the_cache_is_replaced(remote: RemoteWarehouse) -> None:
    path = remote.open("squares", "10").check_file("square.npy")
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert remote.open("squares", "10").array("square").tolist() == squares(10)
    assert not path.is_symlink()


def test_copied_cache_is_not_fetched_again(remote: RemoteWarehouse, fetched: list[str]) -> None:
    path = remote.open("squares", "10").check_file("square.npy")
    shutil.copyfile(path, path.with_name("copy"))
    path.with_name("copy").replace(path)
    fetched.clear()
    assert remote.open("squares", "10").array("square").tolist() == squares(10)
    assert "square.npy" not in fetched


def test_file_with_another_hash_is_not_kept(remote: RemoteWarehouse) -> None:
    table = remote.open("squares", "20")
    change_stored_byte(stored_path(f"{table.name}/square.npy"))
    with pytest.raises(DigestMismatchError, match=r"expected SHA-256 .* of memory:.*square.npy, found"):
        table.array("square")
    assert not (table.folder / "square.npy").exists()


def test_truncated_file_is_refused(remote: RemoteWarehouse) -> None:
    table = remote.open("squares", "20")
    path = stored_path(f"{table.name}/square.npy")
    MemoryFileSystem().pipe_file(path, MemoryFileSystem().cat_file(path)[:50])
    with pytest.raises(CorruptFileError, match=r"expected \d+ bytes in memory:.*square.npy, got 50"):
        table.array("square")
    assert not (table.folder / "square.npy").exists()
    with pytest.raises(CorruptFileError, match=r"memory:.*square.npy, found"):
        RemoteWarehouse(remote.address, remote.kinds).open("squares", "20").check_sizes()


def test_missing_file_is_reported(remote: RemoteWarehouse) -> None:
    table = remote.open("squares", "20")
    MemoryFileSystem().rm_file(stored_path(f"{table.name}/square.npy"))
    with pytest.raises(MissingFileError, match=r"expected memory:.*square.npy, found no such file"):
        table.array("square")
    with pytest.raises(MissingTableError, match=r"memory:.*square.npy, found"):
        RemoteWarehouse(remote.address, remote.kinds).open("squares", "20").check_sizes()


def test_changed_manifest_is_refused(remote: RemoteWarehouse) -> None:
    table = remote.open("squares", "10")
    table.array("square")
    change_stored_byte(stored_path(f"{table.name}/manifest.json"), 30)  # a byte of a name
    reopened = RemoteWarehouse(remote.address, remote.kinds)
    with pytest.raises(BgdataError, match="expected memory://shop/ware/squares/10/"):
        reopened.open("squares", "10")
    (damaged,) = reopened.versions("squares", "10")
    with pytest.raises(BgdataError, match="squares/10/"):
        damaged.check_sizes()
    assert len(list(reopened.versions())) == 3, "the others are there"


def test_reopened_warehouse_sees_added_and_deleted_versions(remote: RemoteWarehouse, toys: Warehouse) -> None:
    assert remote.variants("squares") == ["10", "20"]
    toys.build("squares", Count(30))
    Transfer(Silence()).push(toys, open_place(remote.address))
    MemoryFileSystem().rm(stored_path("squares/10"), recursive=True)
    reopened = RemoteWarehouse(remote.address, remote.kinds)
    assert reopened.variants("squares") == ["20", "30"]
    with pytest.raises(MissingTableError, match=r"no squares/10 in memory://shop/ware \(have: 20, 30\)$"):
        reopened.open("squares", "10")


def test_writing_is_refused(remote: RemoteWarehouse) -> None:
    table = remote.open("squares", "10")
    files = dict(MemoryFileSystem.store)
    message = "memory://shop/ware; try: bgdata pull memory://shop/ware"
    with pytest.raises(UsageError, match=message):
        remote.build("squares", Count(40))
    with pytest.raises(UsageError, match=message):
        remote.use(table)
    with pytest.raises(UsageError, match=message):
        remote.check_staging()
    remote.mend_catalog()
    assert files == MemoryFileSystem.store


def test_full_disk_is_refused(remote: RemoteWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(total=10, used=9, free=1))
    with pytest.raises(TooLargeError, match=r"expected .* of free disk in .*, found 1 B"):
        remote.open("squares", "10").array("square")


def test_threads_download_a_file_once(remote: RemoteWarehouse, fetched: list[str]) -> None:
    results: list[list[int]] = []

    def read_array() -> None:
        table = RemoteWarehouse(remote.address, remote.kinds).open("squares", "20")
        results.append(table.array("square").tolist())

    threads = [Thread(target=read_array) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [squares(20)] * 4
    assert fetched.count("square.npy") == 1


def test_pickled_table_can_be_read(remote: RemoteWarehouse) -> None:
    table = remote.open("squares", "10")
    unpickled = pickle.loads(pickle.dumps(table))
    assert unpickled.name == table.name
    assert unpickled.array("square").tolist() == squares(10)


def test_files_are_published_atomically(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copyfile(_: Path, target: Path) -> None:
        Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    part = memory_path / "part"
    part.write_bytes(b"a part")
    with pytest.raises(StorageError, match="the disk is full"):
        Folder(memory_path / "folder").send(part, "parts/x")
    assert list((memory_path / "folder" / "parts").iterdir()) == []


def test_large_downloads_are_reported(remote: RemoteWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr("bgdata.store.remote.TOLD_BYTES", 100)
    remote.mirror.tell = messages.append
    table = remote.open("squares", "10")
    table.array("square")
    table.array("square")
    assert messages == [f"fetching {table.name}/square.npy, 0 MB"]


def test_addresses_have_separate_folders(remote_cache: Path) -> None:
    folder = Mirror("memory://a/b").folder
    assert folder.parent == remote_cache
    assert Mirror("memory://a/c").folder != folder
    assert Mirror("http://user:secret@h/x").folder == Mirror("http://h/x").folder, "a password is no part of it"


def test_cache_has_no_secrets(toys: Warehouse, bucket: str, remote_cache: Path) -> None:
    toys.build("squares", Count(10))
    Transfer(Silence()).push(toys, open_place(bucket))
    remote = RemoteWarehouse(bucket, toys.kinds)
    assert remote.open("squares", "10").array("square").tolist() == squares(10)
    remote.rows("from squares")
    content = b"".join(path.read_bytes() for path in remote_cache.rglob("*") if path.is_file())
    assert len(content) > 1000
    assert b"secret-of-the-test" not in content
    assert b"AKIA" not in content


def test_large_array_with_row_hashes_is_not_fetched_as_a_whole(
    remote: RemoteWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows can be downloaded one by one; other large arrays are fetched."""
    monkeypatch.setattr("bgdata.store.remote.LARGE", 100)
    remote.open("squares", "10").array("square")
    monkeypatch.setattr("bgdata.store.remote.ROW_HASHES", "")  # every array has row hashes
    table = remote.open("squares", "20")
    with pytest.raises(
        TooLargeError, match=rf"expected {table.name} in a folder, as more .*; try: bgdata pull memory:"
    ):
        table.array("square")
