"""Versions copied to and from folders, object stores and web servers: complete, resumed, and never mixed."""

import errno
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    DigestMismatchError,
    DownloadError,
    InvalidNameError,
    ManifestFormatError,
    MissingFileError,
    MissingTableError,
    StorageError,
    TooLargeError,
    UnknownKindError,
    UsageError,
    VersionInUseError,
)
from bgdata.store import places, transfer
from bgdata.store.manifest import parse_manifest
from bgdata.store.places import Folder, Store, open_place
from bgdata.store.progress import Silence
from bgdata.store.transfer import INDEX, PUSHING, Moved, Transfer, listing, write_index
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, Notes, overwrite, problems, toy_warehouse, whole_versions


@pytest.fixture(name="source")
def _source(toys: Warehouse) -> Warehouse:
    """A warehouse with squares/10, squares/20, and square_sums/10, which was made from squares/10."""
    for count in (10, 20):
        toys.build("squares", Count(count))
    toys.build("square_sums", Count(10))
    return toys


@pytest.fixture(name="target")
def _target(memory_path: Path) -> Warehouse:
    """An empty warehouse to pull into."""
    return toy_warehouse(memory_path / "target")


@pytest.fixture(name="store")
def _store(memory_store: str) -> str:
    """The address of an empty store in memory."""
    return memory_store


def push(warehouse: Warehouse, address: str, *scopes: str, **options: Any) -> list[Moved]:
    return Transfer(Silence(), **options).push(warehouse, open_place(address), scopes)


def pull(warehouse: Warehouse, address: str, *scopes: str, **options: Any) -> list[Moved]:
    return Transfer(Silence(), **options).pull(warehouse, open_place(address), scopes)


def version_names(warehouse: Warehouse) -> list[str]:
    return [table.name for table in warehouse.versions()]


def open_store(address: str) -> Store:
    place = open_place(address)
    assert isinstance(place, Store)
    return place


def stored_files(end: str = "") -> dict[str, bytes]:
    """The files in memory whose paths end like this."""
    return {path: bytes(file.getvalue()) for path, file in MemoryFileSystem.store.items() if path.endswith(end)}


def stored_path(variant: str, file: str) -> str:
    """The path in memory of a file of a variant that has one version."""
    (path,) = (path for path in stored_files(file) if f"/{variant}/" in path)
    return path


def write_stored_file(path: str, data: bytes) -> None:
    MemoryFileSystem().pipe_file(path, data)


def changed_manifest(path: Path, **changes: Any) -> bytes:
    return replace(parse_manifest(path.read_bytes(), path), **changes).to_bytes()


def files_content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def flip_last_byte(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def check_round_trip(source: Warehouse, address: str, target: Warehouse) -> None:
    """Push all versions to `address` and pull them into an empty warehouse: they are equal there, and nothing is moved
    a second time."""
    sent = push(source, address)
    assert [version.name for version in sent] == sorted(version_names(source))
    for version in sent:
        assert version.is_moved
        assert version.files == 2
        assert version.bytes > 0
    assert push(source, address) == [Moved(version.name, False, 0, 0) for version in sent]

    assert pull(target, address) == sent
    assert whole_versions(target) == version_names(source)
    for table in target.versions():
        kind, variant, _ = table.name.split("/")
        assert (table.folder / "manifest.json").read_bytes() == (
            source.root / table.name / "manifest.json"
        ).read_bytes()
        assert target.open(kind, variant).folder == table.folder, "the first of a variant is current"
    assert problems(target) == []
    assert not any(version.is_moved for version in pull(target, address))
    assert list(target.staging.glob("*")) == []


def test_folder_round_trips(source: Warehouse, target: Warehouse, memory_path: Path) -> None:
    check_round_trip(source, str(memory_path / "disk"), target)
    assert version_names(toy_warehouse(memory_path / "disk")) == version_names(source), "the folder is a warehouse"


def test_folder_named_by_file_address_round_trips(source: Warehouse, target: Warehouse, memory_path: Path) -> None:
    check_round_trip(source, f"file://{memory_path}/a%20disk", target)
    assert (memory_path / "a disk" / INDEX).exists()


def test_s3_round_trips(source: Warehouse, target: Warehouse, bucket: str) -> None:
    address = f"{bucket}/some/where"
    check_round_trip(source, address, target)
    store = open_store(address)
    paths = list(store.entries())
    assert not any(path.rpartition("/")[2].startswith(".") for path in paths), "no claims are left"
    assert sorted(store.entries("squares/10")) == sorted(path for path in paths if path.startswith("squares/10/"))
    assert store.entries("nothing/here") == {}
    assert store.part(f"{version_names(source)[0]}/manifest.json", 2, 5).data == b'  "cr'


def test_manifest_is_written_last(source: Warehouse, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version without a manifest does not exist yet."""
    written = []
    put_file, pipe_file = MemoryFileSystem.put_file, MemoryFileSystem.pipe_file

    def recorded_put(self: Any, local: str, path: str, **options: Any) -> None:
        written.append(path.rpartition("/")[2])
        put_file(self, local, path, **options)

    def recorded_pipe(self: Any, path: str, *arguments: Any, **options: Any) -> None:
        written.append(path.rpartition("/")[2])
        pipe_file(self, path, *arguments, **options)

    monkeypatch.setattr(MemoryFileSystem, "put_file", recorded_put)
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", recorded_pipe)
    push(source, store, "squares/10", jobs=1)
    assert written == [PUSHING, "table.parquet", "square.npy", "manifest.json", "current", INDEX]


class ConnectionCutError(Exception):
    """The connection was cut."""


def record_uploads(monkeypatch: pytest.MonkeyPatch, limit: float = float("inf")) -> list[str]:
    """Record the names of the files whose upload begins. The connection is cut in the middle of the file that would
    exceed `limit` bytes."""
    begun: list[str] = []
    sent = 0

    def put_file(self: MemoryFileSystem, local: str, path: str, **_: Any) -> None:
        nonlocal sent
        data = Path(local).read_bytes()
        begun.append(path.rpartition("/")[2])
        sent += len(data)
        if sent > limit:
            self.pipe_file(path, data[: len(data) // 2])
            raise ConnectionCutError("the line is cut, said https://user:secret@proxy")
        self.pipe_file(path, data)

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
    return begun


def test_interrupted_push_resumes(
    source: Warehouse, store: str, target: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push whose connection was cut leaves no version at the address; the next push sends only the missing files."""
    table_bytes = source.open("squares", "10").parquet.stat().st_size
    with monkeypatch.context() as patch:
        begun = record_uploads(patch, limit=table_bytes)
        with pytest.raises(
            StorageError,
            match=r"cannot write memory://shop/ware/squares/10/r1-\w+/square.npy: the line is cut, said https://proxy$",
        ):
            push(source, store, "squares/10", jobs=1)
    assert begun == ["table.parquet", "square.npy"]
    assert listing(open_place(store)).versions == {}
    with pytest.raises(MissingTableError, match="expected versions in memory://shop/ware, found none"):
        pull(target, store, "squares/10")

    begun = record_uploads(monkeypatch)
    (moved,) = push(source, store, "squares/10", jobs=1)
    assert begun == ["square.npy"], "the half file is sent again, the complete one is not"
    assert moved.files == 1
    pull(target, store)
    assert whole_versions(target) == [moved.name]


def test_pull_interrupted_many_times_downloads_nothing_twice(
    source: Warehouse, store: str, target: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(source, store)
    read_in_this_pull = read_in_all = 0
    read_part = Store.part

    def part(self: Store, name: str, begin: int, length: int | None) -> places.Part:
        nonlocal read_in_this_pull, read_in_all
        if name.endswith((".npy", ".parquet")):
            if read_in_this_pull > 1000:
                raise ConnectionCutError
            read_in_this_pull += length or 0
            read_in_all += length or 0
        return read_part(self, name, begin, length)

    monkeypatch.setattr(places, "CHUNK", 64)  # many parts in each file
    monkeypatch.setattr(Store, "part", part)
    for _ in range(40):  # far more than needed
        read_in_this_pull = 0
        try:
            pull(target, store, jobs=1)
            break
        except ConnectionCutError:
            for table in target.versions():
                table.check_sizes()
    assert whole_versions(target) == version_names(source)
    assert read_in_all == sum(file.bytes for table in source.versions() for file in table.manifest.files)


def test_left_over_files_of_a_pull_are_checked(source: Warehouse, store: str, target: Warehouse) -> None:
    """Files that an earlier pull left, but that are not of this version, are deleted or fetched again."""
    push(source, store, "squares/10")
    path = stored_path("squares/10", "table.parquet")
    data = stored_files()[path]
    MemoryFileSystem().rm_file(path)
    with pytest.raises(MissingFileError):
        pull(target, store)
    write_stored_file(path, data)

    (staged,) = target.staging.glob("squares-10-*")
    (staged / ".table.parquet.partial").write_bytes(b"older bytes")
    (staged / "leftover").write_text("of somebody")
    (staged / "square.npy").write_bytes(b"damaged")
    pull(target, store)
    assert whole_versions(target) == [source.open("squares", "10").name]


def delete_stored_file(path: str) -> None:
    MemoryFileSystem().rm_file(path)


def change_stored_byte(path: str) -> None:
    write_stored_file(path, flip_last_byte(stored_files()[path]))


def truncate_stored_file(path: str) -> None:
    data = stored_files()[path]
    write_stored_file(path, data[: len(data) // 2])


def empty_stored_manifest(path: str) -> None:
    write_stored_file(path, b"{}")


def swap_manifest(path: str) -> None:
    write_stored_file(path, stored_files()[stored_path("squares/20", "manifest.json")])


@pytest.mark.parametrize(
    ("file", "damage", "error", "message"),
    [
        ("square.npy", delete_stored_file, MissingFileError, "expected memory:.*square.npy, found no such file"),
        ("square.npy", truncate_stored_file, CorruptFileError, r"expected \d+ bytes in memory:.*square.npy, got \d+"),
        (
            "square.npy",
            change_stored_byte,
            DigestMismatchError,
            r"expected SHA-256 \w+\.\.\. of memory:/.*/squares/10/.*square.npy, found \w+\.\.\.$",
        ),
        ("manifest.json", empty_stored_manifest, ManifestFormatError, "expected a manifest of format 1 in memory:"),
        ("manifest.json", swap_manifest, ManifestFormatError, "expected the manifest of squares/10/.*that"),
        ("manifest.json", truncate_stored_file, ManifestFormatError, "expected JSON in memory:"),
    ],
)
def test_pull_refuses_damaged_version_and_resumes_when_mended(
    source: Warehouse, store: str, target: Warehouse,
    file: str, damage: Callable[[str], None], error: type[BgdataError], message: str,
) -> None:  # fmt: skip
    push(source, store)
    path = stored_path("squares/10", file)
    undamaged = stored_files()[path]
    damage(path)
    with pytest.raises(error, match=message):
        pull(target, store, "squares/10")
    assert version_names(target) == []
    pull(target, store, "squares/20")
    assert whole_versions(target) == [source.open("squares", "20").name], "the other version can be pulled"

    write_stored_file(path, undamaged)
    pull(target, store)
    assert whole_versions(target) == version_names(source)


def test_failed_pull_keeps_the_complete_versions(source: Warehouse, store: str, target: Warehouse) -> None:
    push(source, store)
    change_stored_byte(stored_path("squares/20", "square.npy"))  # the last one that is pulled
    with pytest.raises(DigestMismatchError):
        pull(target, store, jobs=1)
    assert whole_versions(target) == [name for name in version_names(source) if "squares/20" not in name]


def test_damaged_version_is_not_sent(source: Warehouse, store: str) -> None:
    path = source.open("squares", "10").folder / "square.npy"
    data = path.read_bytes()
    overwrite(path, flip_last_byte(data))
    with pytest.raises(DigestMismatchError, match=r"of .*square.npy, found .*; try: bgdata verify --repair"):
        push(source, store, "squares/10")
    overwrite(path, data[:-1])
    with pytest.raises(CorruptFileError, match=r"expected \d+ bytes in .*square.npy"):
        push(source, store, "squares/10")
    assert listing(open_place(store)).versions == {}


def test_pull_replaces_a_damaged_version(source: Warehouse, store: str, target: Warehouse) -> None:
    push(source, store)
    pull(target, store)
    damaged = target.open("squares", "10")
    overwrite(damaged.folder / "square.npy", b"short")
    moved = [version.name for version in pull(target, store) if version.is_moved]
    assert moved == [damaged.name]
    assert whole_versions(target) == version_names(source)


def test_push_refuses_a_file_that_arrived_truncated(
    source: Warehouse, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put_100_bytes(self: MemoryFileSystem, local: str, path: str, **_: Any) -> None:
        self.pipe_file(path, Path(local).read_bytes()[:100])

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_100_bytes)
    with pytest.raises(CorruptFileError, match=r"which was sent, found 100; try again"):
        push(source, store, "squares/10")
    assert stored_files("manifest.json") == {}


def test_concurrent_pushes_of_equal_versions_succeed(source: Warehouse, bucket: str, target: Warehouse) -> None:
    address = f"{bucket}/both"
    failures: list[BaseException] = []

    def run() -> None:
        try:
            push(source, address)
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    store = open_store(address)
    assert json.loads(store.read(INDEX))["versions"].keys() == set(version_names(source))
    assert not [name for name in store.entries() if PUSHING in name]
    pull(target, address)
    assert whole_versions(target) == version_names(source)


@pytest.fixture(name="other_source")
def _other_source(source: Warehouse, memory_path: Path) -> Warehouse:
    """A warehouse with the same version of squares/10 as `source`, but another machine in its manifest."""
    other = toy_warehouse(memory_path / "other")
    table = other.build("squares", Count(10))
    assert table.name == source.open("squares", "10").name
    path = table.folder / "manifest.json"
    overwrite(path, changed_manifest(path, machine="another"))
    return other


def interrupt_push(source: Warehouse, store: str) -> None:
    """Push squares/10 until the connection is cut, which leaves the claim and half a file."""
    with pytest.MonkeyPatch.context() as patch:
        record_uploads(patch, limit=0)
        with pytest.raises(StorageError):
            push(source, store, "squares/10")


def test_push_waits_for_a_claim_with_other_files(source: Warehouse, other_source: Warehouse, store: str) -> None:
    interrupt_push(source, store)
    with pytest.raises(
        VersionInUseError, match=r"expected nobody else to push squares/10/.*since 0 minutes, with other"
    ):
        push(other_source, store)
    assert listing(open_place(store)).versions == {}
    push(source, store, "squares/20")  # has no claim


def test_push_after_an_expired_claim_sends_all_files(
    source: Warehouse, other_source: Warehouse, store: str, target: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of the earlier push are not trusted, so that files of two warehouses are never mixed in a version."""
    interrupt_push(source, store)
    with monkeypatch.context() as patch:
        patch.setattr(transfer, "CLAIM_SECONDS", -1)
        begun = record_uploads(patch)
        push(other_source, store)
    assert sorted(begun) == ["square.npy", "table.parquet"]
    (moved,) = push(source, store, "squares/10")
    assert not moved.is_moved, "the version is there, in the files of the other warehouse"
    pull(target, store, "squares/10")
    assert target.open("squares", "10").manifest.machine == "another"
    assert whole_versions(target) == version_names(other_source)


def test_push_overtaken_by_another_writes_no_manifest(
    source: Warehouse, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push that finds the claim of another process after sending its files writes no manifest."""
    upload = MemoryFileSystem.put_file

    def put_file(self: MemoryFileSystem, local: str, path: str, **options: Any) -> None:
        upload(self, local, path, **options)
        (claim,) = stored_files(PUSHING)
        write_stored_file(claim, b'{"manifest_sha256": "other", "time": 1}')

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
    with pytest.raises(VersionInUseError, match="found that somebody does, with other files; try again"):
        push(source, store, "squares/10")
    assert stored_files("manifest.json") == {}


def test_claim_is_renewed_during_a_long_push(source: Warehouse, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "RENEW_SECONDS", 0.01)
    renewed = 0
    upload = MemoryFileSystem.put_file

    def put_file_after_renewal(self: MemoryFileSystem, local: str, path: str, **options: Any) -> None:
        nonlocal renewed
        (claim,) = stored_files(PUSHING)
        write_stored_file(claim, b'{"manifest_sha256": "other", "time": 1}')
        while b"other" in stored_files(PUSHING)[claim]:
            time.sleep(0.01)
        renewed += 1
        upload(self, local, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file_after_renewal)
    push(source, store, "squares/10", jobs=1)
    assert renewed == 2, "once during each file"


def test_pull_refuses_what_does_not_fit_on_the_disk(
    source: Warehouse, store: str, target: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(source, store)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(total=10, used=9, free=1))
    with pytest.raises(TooLargeError, match=r"expected .* of free disk in .*, found 1 B; name the kinds"):
        pull(target, store)
    assert version_names(target) == []


def test_pull_resumes_after_the_disk_was_full(
    source: Warehouse, store: str, target: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    push(source, store)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "fetch", fetch)
        with pytest.raises(StorageError, match=r"cannot write .*: the disk is full; free some space"):
            pull(target, store)
    assert version_names(target) == []
    pull(target, store)
    assert whole_versions(target) == version_names(source)


def test_scopes_choose_versions(source: Warehouse, store: str, target: Warehouse) -> None:
    push(source, store)
    pull(target, store, "squares/20", "square_sums")
    assert [name.rpartition("/")[0] for name in version_names(target)] == ["square_sums/10", "squares/20"]
    pull(target, store, source.open("squares", "10").name)
    assert version_names(target) == version_names(source)


@pytest.mark.parametrize(
    ("scope", "error", "message"),
    [
        ("squares/99", MissingTableError, r"no squares/99 in memory://shop/ware \(have: square_sums, squares\)"),
        ("squares/10/r1-00000000", MissingTableError, "no squares/10/r1-00000000 in"),
        ("cubes", UnknownKindError, "expected a kind of dataset, got 'cubes'"),
        ("squares/../x", InvalidNameError, "expected a variant named by"),
        ("", UnknownKindError, "expected a kind of dataset"),
    ],
)
def test_unknown_and_invalid_scopes_are_refused(
    source: Warehouse, store: str, target: Warehouse, scope: str, error: type[BgdataError], message: str
) -> None:
    push(source, store)
    with pytest.raises(error, match=message):
        pull(target, store, scope)
    with pytest.raises(error):
        push(source, store, scope)


def test_dry_run_writes_nothing(source: Warehouse, store: str, target: Warehouse) -> None:
    planned = push(source, store, is_dry=True)
    assert stored_files() == {}
    assert planned == push(source, store)
    assert pull(target, store, is_dry=True) == planned
    assert not target.root.exists()


def test_newer_version_becomes_current_only_with_use(toys: Warehouse, store: str, target: Warehouse) -> None:
    first = toys.build("squares", Count(10)).folder
    push(toys, store)
    pull(target, store)

    second = first.with_name("r2-01234567")
    shutil.copytree(first, second)
    manifest = second / "manifest.json"
    overwrite(manifest, changed_manifest(manifest, revision=2, digest="01234567" + "0" * 56))
    toys.use(toys.open("squares", "10", second.name))
    push(toys, store)
    pull(target, store)
    assert len(version_names(target)) == 2
    assert listing(open_place(store)).current == {"squares/10": first.name}
    assert target.pointer("squares", "10") == first.name

    push(toys, store, use=True)
    pull(target, store, use=True)
    assert listing(open_place(store)).current == {"squares/10": second.name}
    assert target.pointer("squares", "10") == second.name


def test_invalid_names_in_a_store_are_ignored(source: Warehouse, store: str, target: Warehouse) -> None:
    push(source, store, "squares/10")
    for name in (
        "squares/10/r1-0000000g/manifest.json",
        "../../x/y/r1-00000000/manifest.json",
        "squares/10/notes/x",
        "aliens/10/r1-00000000/manifest.json",
    ):
        write_stored_file(f"/shop/ware/{name}", b"{}")
    write_stored_file("/shop/ware/squares/10/current", b"../../etc")
    pushed = source.open("squares", "10").name
    assert list(listing(open_place(store)).versions) == ["aliens/10/r1-00000000", pushed]
    pull(target, store)
    assert version_names(target) == [pushed], "versions of unknown kinds are left out"


def test_variant_on_another_disk_is_pulled_to_that_disk(
    source: Warehouse, store: str, target: Warehouse, memory_path: Path
) -> None:
    push(source, store)
    disk = memory_path / "disk"
    disk.mkdir()
    version = target.build("squares", Count(10), directory=disk).folder
    shutil.rmtree(version.resolve())
    pull(target, store)
    assert (target.root / "squares" / "10").is_symlink()
    assert whole_versions(target) == version_names(source)
    assert list(target.staging.glob("squares*")) == []


def test_variant_linked_by_hand_is_not_written(
    source: Warehouse, store: str, target: Warehouse, memory_path: Path
) -> None:
    push(source, store)
    (memory_path / "elsewhere").mkdir()
    (target.root / "squares").mkdir(parents=True)
    (target.root / "squares" / "20").symlink_to(memory_path / "elsewhere")
    with pytest.raises(StorageError, match="expected to write squares/20 into this warehouse, found the link"):
        pull(target, store)


class Files(SimpleHTTPRequestHandler):
    """Serves files without ranges, to those who send `login` if it is set."""

    login = ""
    received_logins: list[str]

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        login = self.headers.get("Authorization", "")
        self.received_logins.append(login)
        if self.login and login != self.login:
            self.send_error(401)
        else:
            super().do_GET()


@pytest.fixture(name="served")
def _served(memory_path: Path) -> Path:
    """The folder whose files the web server has."""
    (memory_path / "served").mkdir()
    return memory_path / "served"


@pytest.fixture(name="web")
def _web(served: Path) -> Iterator[str]:
    """The address of a web server."""
    Files.received_logins = []
    Files.login = ""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(served))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_versions_are_pulled_from_a_web_server(source: Warehouse, web: str, served: Path, target: Warehouse) -> None:
    with pytest.raises(MissingFileError, match=r"/index.json: the server says 404 .*bgdata push writes it"):
        pull(target, web)
    push(source, str(served))
    pull(target, f"{web}/")
    assert whole_versions(target) == version_names(source)


def test_web_server_is_not_pushed_to(source: Warehouse, web: str) -> None:
    with pytest.raises(UsageError, match=r"expected a folder or a store to push to, got http://127.* only read from"):
        push(source, web)


def test_manifest_must_have_the_hash_in_the_index(source: Warehouse, web: str, served: Path, target: Warehouse) -> None:
    push(source, str(served))
    manifest = served / source.open("squares", "10").name / "manifest.json"
    overwrite(manifest, changed_manifest(manifest, machine="another"))
    with pytest.raises(DigestMismatchError, match=r"expected SHA-256 .* of http://127.*manifest.json, found"):
        pull(target, web)


def test_partial_download_is_completed_without_ranges(
    source: Warehouse, web: str, served: Path, target: Warehouse
) -> None:
    push(source, str(served))
    version = source.open("squares", "10").name
    path = served / version / "table.parquet"
    hidden = path.rename(served / "hidden")
    with pytest.raises(MissingFileError):
        pull(target, web, "squares/10")
    hidden.rename(path)
    (staged,) = target.staging.glob("squares-10-*")
    (staged / ".table.parquet.partial").write_bytes(path.read_bytes()[:50])
    pull(target, web, "squares/10")
    assert whole_versions(target) == [version]


def test_password_is_sent_to_the_server_only(source: Warehouse, web: str, served: Path, target: Warehouse) -> None:
    """The password in an address appears in no message, error or file."""
    push(source, str(served))
    Files.login = "Basic dXNlcjpzZWNyZXQtd29yZA=="  # user:secret-word
    address = web.replace("http://", "http://user:secret-word@")
    notes = Notes()
    Transfer(notes).pull(target, open_place(address), ["squares/10"])
    assert notes.done == notes.total > 0
    assert set(Files.received_logins) == {Files.login}
    with pytest.raises(DownloadError, match="the server says 401") as error:
        pull(target, web.replace("http://", "http://user:wrong-secret@"))
    assert "secret" not in " ".join([str(error.value), *notes.texts, repr(open_place(address))])
    assert b"secret" not in files_content(target.root)


def test_keys_of_s3_are_not_written_or_shown(
    source: Warehouse, bucket: str, target: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    Transfer(notes).push(source, open_place(bucket))
    Transfer(notes).pull(target, open_place(bucket))
    with pytest.raises(MissingFileError) as error:
        pull(target, "s3://no-bucket-of-this-name/x")
    store = open_store(bucket)
    messages = " ".join([*notes.texts, caplog.text, repr(store), str(error.value)])
    written = b"".join(store.read(name) for name in store.entries()) + files_content(target.root)
    for secret in ("secret-of-the-test", "AKIATESTOFBGDATA"):  # of the fixture `bucket`
        assert secret.encode() not in written
        assert secret not in messages


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("nope://user:secret@x/y", UsageError, "expected an address of a scheme that is known .*, got 'nope'"),
        ("gs://x/y", BgdataError, "expected a package for addresses gs://, found none; please install gcsfs"),
        ("s3://", UsageError, "expected an address with a place, such as s3://BUCKET/PATH, got 's3://'"),
        ("://x", UsageError, "expected an address SCHEME://PLACE, got '://x'"),
        ("file://host/path", UsageError, "expected file:///PATH, got 'file://host/path'"),
        ("s3://key:sec/ret@bucket/x", UsageError, "expected keys of S3 in the environment or in ~/.aws, got some in"),
    ],
)
def test_invalid_addresses_are_refused(address: str, error: type[BgdataError], message: str) -> None:
    with pytest.raises(error, match=message) as refused:
        open_place(address)
    assert "sec" not in str(refused.value)


def test_passwords_in_errors_of_libraries_are_hidden(store: str) -> None:
    place = open_store(store)
    place._secrets = ["top-secret"]
    error = place._error_text(RuntimeError("no access\nfor top-secret at https://me:mine@host/x?signature=abc today"))
    assert error == "no access for ... at https://host/x today"


NAME = "squares/10/r1-01234567"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "expected an index of format 1 in .*, found 2; upgrade bgdata"),
        ({"versions": {f"../{NAME}": "0" * 64}}, "expected an index of versions"),
        ({"versions": {NAME: "0"}}, "expected an index of versions"),  # no SHA-256
        ({"current": {"squares/10": "../x"}}, "expected an index of versions"),
    ],
)
def test_invalid_index_is_refused(web: str, served: Path, changes: dict[str, Any], message: str) -> None:
    valid = {"format": 1, "versions": {NAME: "0" * 64}, "current": {}}
    (served / INDEX).write_text(json.dumps(valid))
    assert list(listing(open_place(web)).versions) == [NAME]
    (served / INDEX).write_text(json.dumps(valid | changes))
    with pytest.raises(ManifestFormatError, match=message):
        listing(open_place(web))


@pytest.mark.parametrize("text", ["<html>", "[]"])
def test_damaged_index_is_refused_and_written_anew(source: Warehouse, web: str, served: Path, text: str) -> None:
    push(source, str(served))
    index = json.loads((served / INDEX).read_text())
    (served / INDEX).write_text(text)
    with pytest.raises(ManifestFormatError, match=r"expected an index of versions in http://127.*index.json, found"):
        listing(open_place(web))
    write_index(Folder(served))
    assert json.loads((served / INDEX).read_text()) == index


def test_concurrent_index_writers_lose_no_version(
    source: Warehouse, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process publishes a version while the index is being written, the final index contains it."""
    push(source, store, "squares")
    place = open_store(store)
    place.remove(INDEX)
    write = Store.write
    is_first = threading.Event()

    def write_after_another_push(self: Store, name: str, data: bytes, *, is_new: bool = False) -> bool:
        if name == INDEX and not is_first.is_set():
            is_first.set()
            push(source, store, "square_sums")
        return write(self, name, data, is_new=is_new)

    monkeypatch.setattr(Store, "write", write_after_another_push)
    write_index(place)
    assert json.loads(place.read(INDEX))["versions"].keys() == set(version_names(source))
