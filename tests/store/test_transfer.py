"""Versions copied to and from folders, object stores and web servers: complete, resumed, and never mixed."""

import errno
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
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
from bgdata.store.places import Folder, Store, open_place
from bgdata.store.progress import Silence
from bgdata.store.transfer import INDEX, PUSHING, Moved, Transfer, listing, write_index
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, Notes, overwrite, problems, toy_warehouse, whole_versions
from tests.subtests import each


@pytest.fixture(name="memory")
def _memory(memory_store: str) -> str:
    return memory_store


@pytest.fixture(name="built")
def _built_warehouse(toys: Warehouse) -> Warehouse:
    """Two variants of a kind and one made from one of them."""
    for count in (10, 20):
        toys.build("squares", Count(count))
    toys.build("square_sums", Count(10))
    return toys


def push(warehouse: Warehouse, address: str, *scopes: str, **options: Any) -> list[Moved]:
    return Transfer(Silence(), **options).push(warehouse, open_place(address), scopes)


def pull(warehouse: Warehouse, address: str, *scopes: str, **options: Any) -> list[Moved]:
    return Transfer(Silence(), **options).pull(warehouse, open_place(address), scopes)


def names(warehouse: Warehouse) -> list[str]:
    return [table.name for table in warehouse.versions()]


def stored_names(end: str = "") -> dict[str, bytes]:
    """The files in memory with this ending of their names."""
    return {name: bytes(file.getvalue()) for name, file in MemoryFileSystem.store.items() if name.endswith(end)}


def put_stored_file(name: str, data: bytes) -> None:
    MemoryFileSystem().pipe_file(name, data)


def another_warehouse(memory_path: Path, name: str = "other") -> Warehouse:
    return toy_warehouse(memory_path / name)


def check_round_trip(built: Warehouse, address: str, memory_path: Path) -> None:
    """Pushes all versions to `address` and pulls them into an empty warehouse. They are equal there, and a second time
    nothing is moved."""
    sent = push(built, address)
    assert [each.name for each in sent] == sorted(names(built))
    assert all(each.is_moved and each.files == 2 and each.bytes > 0 for each in sent)
    assert not any(each.is_moved or each.files or each.bytes for each in push(built, address))
    copy = another_warehouse(memory_path)
    assert pull(copy, address) == sent
    assert whole_versions(copy) == names(built)
    for table in copy.versions():
        assert (table.folder / "manifest.json").read_bytes() == (built.root / table.name / "manifest.json").read_bytes()
        assert copy.open(*table.name.split("/")[:2]).folder == table.folder, "the first of a variant is current"
    assert problems(copy) == []
    assert not any(each.is_moved for each in pull(copy, address))
    assert list(copy.staging.glob("*")) == []


def test_store_in_memory_round_trips(built: Warehouse, memory: str, memory_path: Path) -> None:
    check_round_trip(built, memory, memory_path)
    assert not [name for name in stored_names() if name.rpartition("/")[2].startswith(".")]


def test_folder_round_trips(built: Warehouse, memory_path: Path) -> None:
    check_round_trip(built, str(memory_path / "disk"), memory_path)
    assert names(toy_warehouse(memory_path / "disk")) == names(built), "the folder is a warehouse"
    check_round_trip(built, f"file://{memory_path}/a%20disk", memory_path / "second")
    assert (memory_path / "a disk" / INDEX).exists()


def test_s3_round_trips(built: Warehouse, bucket: str, memory_path: Path) -> None:
    check_round_trip(built, f"{bucket}/some/where", memory_path)
    place = open_place(f"{bucket}/some/where")
    assert isinstance(place, Store)
    assert sorted(place.entries("squares/10")) == sorted(
        name for name in place.entries() if name.startswith("squares/10/")
    )
    assert place.entries("nothing/here") == {}
    assert place.part(f"{names(built)[0]}/manifest.json", 2, 5).data == b'  "cr'


def test_manifest_is_written_last(built: Warehouse, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A push writes the claim first, then the files, and the manifest last, so that a version without it does not exist
    yet."""
    order: list[str] = []
    for method in ("put_file", "pipe_file"):
        real = getattr(MemoryFileSystem, method)

        def noted(self: Any, *given: Any, real: Any = real, **options: Any) -> Any:
            order.append(given[0] if real.__name__ == "pipe_file" else given[1])
            return real(self, *given, **options)

        monkeypatch.setattr(MemoryFileSystem, method, noted)
    push(built, memory, "squares/10", jobs=1)
    files = [name.rpartition("/")[2] for name in order]
    assert files[:4] == [PUSHING, "table.parquet", "square.npy", "manifest.json"]
    assert files[4:] == ["current", INDEX]


class CutError(Exception):
    """The connection was cut."""


def cut_after(monkeypatch: pytest.MonkeyPatch, most: int) -> list[str]:
    """Limit a store in memory to this many bytes, cutting the last file in half; returns the names of files begun."""
    begun: list[str] = []
    left = [most]

    def put_file(self: MemoryFileSystem, local: str, name: str, **_: Any) -> None:
        data = Path(local).read_bytes()
        begun.append(name.rpartition("/")[2])
        left[0] -= len(data)
        self.pipe_file(name, data if left[0] >= 0 else data[: len(data) // 2])
        if left[0] < 0:
            raise CutError("the line is cut, said https://user:secret@proxy")

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
    return begun


def test_cut_push_resumes(built: Warehouse, memory: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A push whose connection was cut leaves no version at the address; the next push sends only the missing files."""
    first = built.open("squares", "10").parquet.stat().st_size
    with monkeypatch.context() as patch:
        begun = cut_after(patch, first)
        with pytest.raises(
            StorageError,
            match=r"cannot write memory://shop/ware/squares/10/r1-\w+/square.npy: the line is cut, said https://proxy$",
        ):
            push(built, memory, "squares/10", jobs=1)
    assert begun == ["table.parquet", "square.npy"]
    assert listing(open_place(memory)).versions == {}, "without a manifest it is not there yet"
    with pytest.raises(MissingTableError, match="expected versions in memory://shop/ware, found none"):
        pull(another_warehouse(memory_path), memory, "squares/10")
    with monkeypatch.context() as patch:
        begun = cut_after(patch, 1 << 30)
        (moved,) = push(built, memory, "squares/10", jobs=1)
    assert begun == ["square.npy"], "what is there as a whole is not sent again, half a file is"
    assert moved.files == 1
    pull(copy := another_warehouse(memory_path), memory)
    assert whole_versions(copy) == [moved.name]


def test_cut_pull_resumes(built: Warehouse, memory: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull whose connection is cut again and again finishes, and downloads nothing twice."""
    push(built, memory)
    monkeypatch.setattr(places, "CHUNK", 64)
    read = [0]
    total = [0]
    real = Store.part

    def part(self: Store, name: str, begin: int, length: int | None) -> places.Part:
        if name.endswith((".npy", ".parquet")):
            if read[0] > 1000:
                raise CutError
            read[0] += length or 0
            total[0] += length or 0
        return real(self, name, begin, length)

    monkeypatch.setattr(Store, "part", part)
    copy = another_warehouse(memory_path)
    for _ in range(40):
        read[0] = 0
        try:
            pull(copy, memory, jobs=1)
            break
        except CutError:
            for table in copy.versions():
                table.check_sizes()
    assert whole_versions(copy) == names(built)
    assert total[0] == sum(entry.bytes for table in built.versions() for entry in table.manifest.files)


def test_wrong_hashes_are_never_published(built: Warehouse, memory: str, memory_path: Path) -> None:
    """A file with another hash than in its manifest is refused. Versions that were complete are kept."""
    push(built, memory)
    name = next(name for name in stored_names("square.npy") if "/squares/20/" in name)
    good = stored_names()[name]
    put_stored_file(name, good[:-1] + bytes([good[-1] ^ 1]))
    copy = another_warehouse(memory_path)
    with pytest.raises(DigestMismatchError, match=rf"expected SHA-256 \w+\.\.\. of memory:/{name}, found \w+\.\.\.$"):
        pull(copy, memory, jobs=1)
    assert names(copy) == [name for name in names(built) if "squares/20" not in name], "what was whole stays"
    assert whole_versions(copy) == names(copy)
    put_stored_file(name, good)
    pull(copy, memory)
    assert whole_versions(copy) == names(built)


def test_damaged_partial_download_is_fetched_again(built: Warehouse, memory: str, memory_path: Path) -> None:
    """Files that an earlier download left, but that are not of this version, are deleted or fetched again."""
    push(built, memory, "squares/10")
    copy = another_warehouse(memory_path)
    name, good = stored_names("table.parquet").popitem()
    MemoryFileSystem().rm_file(name)
    with pytest.raises(MissingFileError):
        pull(copy, memory)
    put_stored_file(name, good)
    (staged,) = copy.staging.glob("squares-10-*")
    (staged / ".table.parquet.partial").write_bytes(b"older bytes")
    (staged / "leftover").write_text("of somebody")
    (staged / "square.npy").write_bytes(b"damaged")
    pull(copy, memory)
    assert whole_versions(copy) == names(copy) == [built.open("squares", "10").name]


def delete_stored_file(name: str) -> None:
    MemoryFileSystem().rm_file(name)


def truncate_stored_file(name: str) -> None:
    put_stored_file(name, stored_names()[name][: len(stored_names()[name]) // 2])


def replace_stored_byte(name: str) -> None:
    put_stored_file(name, b"{}")


def swap_manifests(name: str) -> None:
    put_stored_file(name, next(data for other, data in stored_names("manifest.json").items() if other != name))


WRONG = {
    "a file that is gone": (
        "square.npy",
        delete_stored_file,
        MissingFileError,
        "expected memory:.*square.npy, found no such file",
    ),
    "half a file": (
        "square.npy",
        truncate_stored_file,
        CorruptFileError,
        r"expected \d+ bytes in memory:.*square.npy, got \d+",
    ),
    "no manifest": (
        "manifest.json",
        replace_stored_byte,
        ManifestFormatError,
        "expected a manifest of format 1 in memory:",
    ),
    "the manifest of another": (
        "manifest.json",
        swap_manifests,
        ManifestFormatError,
        "expected the manifest of squares/10/.*that",
    ),
    "half a manifest": ("manifest.json", truncate_stored_file, ManifestFormatError, "expected JSON in memory:"),
}


@each(("file", "damage", "error", "message"), WRONG)
def test_incomplete_versions_are_refused(
    built: Warehouse, memory: str, memory_path: Path, file: str, damage: Callable[[str], None],
    error: type[BgdataError], message: str,
) -> None:  # fmt: skip
    """A version with a missing, truncated or exchanged file at the address is refused; others can be pulled."""
    MemoryFileSystem.store.clear()
    push(built, memory)
    damage(next(name for name in stored_names(file) if "/squares/10/" in name))
    copy = another_warehouse(memory_path, file.partition(".")[0] + damage.__name__)
    with pytest.raises(error, match=message):
        pull(copy, memory, "squares/10")
    assert names(copy) == []
    pull(copy, memory, "squares/20")
    assert whole_versions(copy) == [built.open("squares", "20").name]


def test_damaged_version_is_not_sent(built: Warehouse, memory: str) -> None:
    path = built.open("squares", "10").folder / "square.npy"
    data = path.read_bytes()
    overwrite(path, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DigestMismatchError, match=r"of .*square.npy, found .*; try: bgdata verify --repair"):
        push(built, memory, "squares/10")
    overwrite(path, data[:-1])
    with pytest.raises(CorruptFileError, match=r"expected \d+ bytes in .*square.npy"):
        push(built, memory, "squares/10")
    assert listing(open_place(memory)).versions == {}


def test_damaged_version_is_fetched_again(built: Warehouse, memory: str, memory_path: Path) -> None:
    push(built, memory)
    pull(copy := another_warehouse(memory_path), memory)
    path = copy.open("squares", "10").folder / "square.npy"
    overwrite(path, b"short")
    assert [each.name for each in pull(copy, memory) if each.is_moved] == [copy.open("squares", "10").name]
    assert whole_versions(copy) == names(built)


def test_truncated_file_in_a_store_is_refused(built: Warehouse, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def put_file(self: MemoryFileSystem, local: str, name: str, **_: Any) -> None:
        self.pipe_file(name, Path(local).read_bytes()[:100])

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
    with pytest.raises(CorruptFileError, match=r"which was sent, found 100; try again"):
        push(built, memory, "squares/10")
    assert stored_names("manifest.json") == {}


def test_two_processes_can_push_one_version(built: Warehouse, bucket: str, memory_path: Path) -> None:
    """Several pushes of the same versions at once all succeed, and leave a complete index and no claims."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            push(built, f"{bucket}/both")
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    place = open_place(f"{bucket}/both")
    assert isinstance(place, Store)
    assert json.loads(place.read(INDEX))["versions"].keys() == set(names(built))
    assert not [name for name in place.entries() if PUSHING in name]
    pull(copy := another_warehouse(memory_path), f"{bucket}/both")
    assert whole_versions(copy) == names(built)


def same_values_in_other_files(built: Warehouse, memory_path: Path) -> Warehouse:
    """A warehouse with equal values, and so the same versions, in other files."""
    second = another_warehouse(memory_path, "second")
    second.build("squares", Count(10))
    table = second.open("squares", "10")
    assert table.name == built.open("squares", "10").name
    assert table.manifest.created
    overwrite(table.folder / "manifest.json", change_manifest(table.folder / "manifest.json"))
    return second


def change_manifest(path: Path) -> bytes:
    """The bytes of the manifest at `path` as another machine would write it."""
    from dataclasses import replace

    from bgdata.store.manifest import parse_manifest

    return replace(parse_manifest(path.read_bytes(), path), machine="another").to_bytes()


def test_two_pushes_of_different_files_of_a_version_are_not_mixed(
    built: Warehouse, memory: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two warehouses whose versions have equal values in different files do not mix them at an address: the second push
    waits for the claim of the first to expire, and then sends all files."""
    second = same_values_in_other_files(built, memory_path)
    with monkeypatch.context() as patch:
        cut_after(patch, 0)
        with pytest.raises(StorageError):
            push(built, memory, "squares")
    with pytest.raises(
        VersionInUseError, match=r"expected nobody else to push squares/10/.*since 0 minutes, with other"
    ):
        push(second, memory)
    assert listing(open_place(memory)).versions.keys() == set()
    push(built, memory, "squares/20")
    with monkeypatch.context() as patch:
        patch.setattr(transfer, "CLAIM_SECONDS", -1)  # the claim has expired
        begun = cut_after(patch, 1 << 30)
        push(second, memory)
    assert sorted(begun) == ["square.npy", "table.parquet"], "files of the other one are not trusted"
    assert [each.is_moved for each in push(built, memory, "squares/10")] == [False]
    pull(copy := another_warehouse(memory_path), memory, "squares/10")
    assert copy.open("squares", "10").manifest.machine == "another"
    assert whole_versions(copy) == names(second)


def test_push_overtaken_by_another_writes_no_manifest(
    built: Warehouse, memory: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push that finds the claim of another process after sending its files writes no manifest."""
    second = same_values_in_other_files(built, memory_path)
    real = MemoryFileSystem.put_file

    def put_file(self: MemoryFileSystem, local: str, name: str, **options: Any) -> None:
        real(self, local, name, **options)
        (claim,) = stored_names(PUSHING)
        put_stored_file(claim, b'{"manifest_sha256": "other", "time": 1}')

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
    with pytest.raises(VersionInUseError, match="found that somebody does, with other files; try again"):
        push(built, memory, "squares/10")
    assert stored_names("manifest.json") == {}
    assert names(second)


def test_full_disk_is_refused(
    built: Warehouse, memory: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pull that does not fit on the disk is refused before it begins, and one for which the disk gets full fails with
    one line."""
    push(built, memory)
    copy = another_warehouse(memory_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
        with pytest.raises(TooLargeError, match=r"expected .* of free disk in .*, found 1 B; name the kinds"):
            pull(copy, memory)
    with monkeypatch.context() as patch:

        def fetch(*_: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(Store, "fetch", fetch)
        with pytest.raises(StorageError, match=r"cannot write .*: the disk is full; free some space"):
            pull(copy, memory)
    assert names(copy) == []
    pull(copy, memory)
    assert whole_versions(copy) == names(built)


def test_scopes_choose_versions(built: Warehouse, memory: str, memory_path: Path) -> None:
    """Kinds, variants and versions can be pulled and pushed by name; unknown and invalid names are refused."""
    push(built, memory)
    copy = another_warehouse(memory_path)
    pull(copy, memory, "squares/20", "square_sums")
    assert [name.rpartition("/")[0] for name in names(copy)] == ["square_sums/10", "squares/20"]
    pull(copy, memory, built.open("squares", "10").name)
    assert names(copy) == names(built)
    for scope, error, message in (
        ("squares/99", MissingTableError, r"no squares/99 in memory://shop/ware \(have: square_sums, squares\)"),
        ("squares/10/r1-00000000", MissingTableError, "no squares/10/r1-00000000 in"),
        ("cubes", UnknownKindError, "expected a kind of dataset, got 'cubes'"),
        ("squares/../x", InvalidNameError, "expected a variant named by"),
        ("", UnknownKindError, "expected a kind of dataset"),
    ):
        with pytest.raises(error, match=message):
            pull(copy, memory, scope)
        with pytest.raises(error):
            push(built, memory, scope)


def test_nothing_is_written_in_a_dry_run(built: Warehouse, memory: str, memory_path: Path) -> None:
    would = push(built, memory, is_dry=True)
    assert stored_names() == {}
    assert would == push(built, memory)
    copy = another_warehouse(memory_path)
    assert pull(copy, memory, is_dry=True) == would
    assert not copy.root.exists()


def test_pull_sets_the_current_version(toys: Warehouse, memory: str, memory_path: Path) -> None:
    """Pulling or pushing a newer version leaves the current one as it is, unless `use` is set."""
    first = toys.build("squares", Count(10))
    push(toys, memory)
    pull(copy := another_warehouse(memory_path), memory)
    newer = toy_warehouse(toys.root)
    table = newer.open("squares", "10")
    second = table.folder.with_name("r2-01234567")
    shutil.copytree(table.folder, second)
    overwrite(second / "manifest.json", raise_revision(second / "manifest.json"))
    toys.use(toys.open("squares", "10", "r2-01234567"))
    push(toys, memory)
    place = open_place(memory)
    assert listing(place).current == {"squares/10": first.folder.name}, "what is current elsewhere stays"
    pull(copy, memory)
    assert len(names(copy)) == 2
    assert copy.pointer("squares", "10") == first.folder.name
    push(toys, memory, use=True)
    assert listing(place).current == {"squares/10": "r2-01234567"}
    pull(copy, memory, use=True)
    assert copy.pointer("squares", "10") == "r2-01234567"


def raise_revision(path: Path) -> bytes:
    from dataclasses import replace

    from bgdata.store.manifest import parse_manifest

    return replace(parse_manifest(path.read_bytes(), path), revision=2, digest="01234567" + "0" * 56).to_bytes()


def test_invalid_names_in_a_store_are_ignored(built: Warehouse, memory: str, memory_path: Path) -> None:
    push(built, memory, "squares/10")
    for name in ("squares/10/r1-0000000g/manifest.json", "../../x/y/r1-00000000/manifest.json", "squares/10/notes/x",
                 "aliens/10/r1-00000000/manifest.json"):  # fmt: skip
        put_stored_file(f"/shop/ware/{name}", b"{}")
    put_stored_file("/shop/ware/squares/10/current", b"../../etc")
    assert [name for name in listing(open_place(memory)).versions if not name.startswith("squares/10/r1-")] == [
        "aliens/10/r1-00000000"
    ]
    pull(copy := another_warehouse(memory_path), memory)
    assert names(copy) == [built.open("squares", "10").name], "kinds that nobody knows are left out"


def test_variant_on_another_disk_is_copied(built: Warehouse, memory: str, memory_path: Path) -> None:
    """A variant on another disk is pulled to that disk, but not through a link that was made by hand."""
    push(built, memory)
    copy = another_warehouse(memory_path)
    disk = memory_path / "disk"
    disk.mkdir()
    copy.build("squares", Count(10), directory=disk)
    folder = copy.open("squares", "10").folder
    shutil.rmtree(folder.resolve())
    pull(copy, memory)
    assert (copy.root / "squares" / "10").is_symlink()
    assert whole_versions(copy) == names(built)
    assert list(copy.staging.glob("squares*")) == []
    (copy.root / "squares" / "20").rename(memory_path / "moved")
    (copy.root / "squares" / "20").symlink_to(memory_path / "moved")
    shutil.rmtree(next((memory_path / "moved").glob("r1-*")))
    with pytest.raises(StorageError, match="expected to write squares/20 into this warehouse, found the link"):
        pull(copy, memory)


class Files(SimpleHTTPRequestHandler):
    """Plain files without ranges, with a password if one is set."""

    password = ""
    asked: list[tuple[str, str]]

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        login = self.headers.get("Authorization", "")
        self.asked.append((self.path, login))
        if self.password and login != self.password:
            self.send_error(401)
        else:
            super().do_GET()


@pytest.fixture(name="web")
def _web(memory_path: Path) -> Iterator[str]:
    """The address of a server of the files in the folder `served`."""
    (memory_path / "served").mkdir(parents=True)
    Files.asked = []
    Files.password = ""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(memory_path / "served"))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_versions_are_pulled_from_a_web_server(built: Warehouse, web: str, memory_path: Path) -> None:
    """Versions can be pulled from a plain web server with an index, and not pushed there. A manifest with another hash
    than in the index is refused."""
    with pytest.raises(MissingFileError, match=r"/index.json: the server says 404 .*bgdata push writes it"):
        pull(another_warehouse(memory_path), web)
    push(built, str(memory_path / "served"))
    pull(copy := another_warehouse(memory_path), f"{web}/")
    assert whole_versions(copy) == names(built)
    with pytest.raises(UsageError, match=r"expected a folder or a store to push to, got http://127.* only read from"):
        push(built, web)
    path = memory_path / "served" / names(built)[0] / "manifest.json"
    overwrite(path, change_manifest(path))
    with pytest.raises(DigestMismatchError, match=r"expected SHA-256 .* of http://127.*manifest.json, found"):
        pull(another_warehouse(memory_path, "third"), web)


def test_cut_download_restarts_without_ranges(built: Warehouse, web: str, memory_path: Path) -> None:
    """A partial download is completed from a web server that does not support range requests."""
    push(built, str(memory_path / "served"))
    copy = another_warehouse(memory_path)
    path = next((memory_path / "served" / "squares" / "10").glob("*/table.parquet"))
    path.rename(memory_path / "away")
    with pytest.raises(MissingFileError):
        pull(copy, web, "squares/10")
    (memory_path / "away").rename(path)
    (staged,) = copy.staging.glob("squares-10-*")
    (staged / ".table.parquet.partial").write_bytes(path.read_bytes()[:50])
    pull(copy, web, "squares/10")
    assert whole_versions(copy) == [copy.open("squares", "10").name]


def test_passwords_are_sent_to_the_server_only(built: Warehouse, web: str, memory_path: Path) -> None:
    """The password in an address is sent to its server, and appears in no message, error or file."""
    push(built, str(memory_path / "served"))
    Files.password = "Basic " + "dXNlcjpzZWNyZXQtd29yZA=="
    address = web.replace("http://", "http://user:secret-word@")
    notes = Notes()
    copy = another_warehouse(memory_path)
    Transfer(notes).pull(copy, open_place(address), ["squares/10"])
    assert notes.done == notes.total > 0
    assert {login for _, login in Files.asked} == {Files.password}
    with pytest.raises(DownloadError, match="the server says 401") as caught:
        pull(copy, web.replace("http://", "http://user:wrong-secret@"))
    message = "".join([str(caught.value), *notes.texts, repr(open_place(address))])
    written = b"".join(path.read_bytes() for path in copy.root.rglob("*") if path.is_file())
    assert "secret" not in message
    assert b"secret" not in written


def test_keys_are_not_written_or_shown(
    built: Warehouse, bucket: str, memory_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The keys of S3 appear in no message, error or file."""
    notes = Notes()
    Transfer(notes).push(built, open_place(bucket))
    Transfer(notes).pull(copy := another_warehouse(memory_path), open_place(bucket))
    place = open_place(bucket)
    assert isinstance(place, Store)
    written = b"".join(place.read(name) for name in place.entries())
    written += b"".join(path.read_bytes() for path in copy.root.rglob("*") if path.is_file())
    message = " ".join([*notes.texts, caplog.text, repr(place)])
    with pytest.raises(MissingFileError) as caught:
        pull(copy, "s3://no-bucket-of-this-name/x")
    for secret in ("secret-of-the-test", "AKIATESTOFBGDATA"):
        assert secret.encode() not in written
        assert secret not in message + str(caught.value)


ADDRESSES = {
    "nope://user:secret@x/y": (UsageError, "expected an address of a scheme that is known .*, got 'nope'"),
    "gs://x/y": (BgdataError, "expected a package for addresses gs://, found none; please install gcsfs"),
    "s3://": (UsageError, "expected an address with a place, such as s3://BUCKET/PATH, got 's3://'"),
    "://x": (UsageError, "expected an address SCHEME://PLACE, got '://x'"),
    "file://host/path": (UsageError, "expected file:///PATH, got 'file://host/path'"),
    "s3://key:sec/ret@bucket/x": (UsageError, "expected keys of S3 in the environment or in ~/.aws, got some in the"),
}


@each(("address", "error", "message"), [(address, *expected) for address, expected in ADDRESSES.items()])
def test_invalid_addresses_are_refused(address: str, error: type[BgdataError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        open_place(address)
    assert "sec" not in str(caught.value)


def test_passwords_in_errors_of_libraries_are_hidden(memory: str) -> None:
    place = open_place(memory)
    assert isinstance(place, Store)
    place._secrets = ["top-secret"]
    error = place._error_text(RuntimeError("no access\nfor top-secret at https://me:mine@host/x?signature=abc today"))
    assert error == "no access for ... at https://host/x today"


def test_invalid_index_is_refused(built: Warehouse, web: str, memory_path: Path) -> None:
    """An index that is damaged, of a newer format, or contains invalid names is refused, and a push writes it anew."""
    push(built, str(memory_path / "served"))
    index = memory_path / "served" / INDEX
    good = json.loads(index.read_text())
    name = names(built)[0]
    for wrong, message in (
        (b"<html>", "expected an index of versions in http://127.*index.json, found"),
        (b"[]", "expected an index of versions"),
        (b'{"format": 2}', "expected an index of format 1 in .*, found 2; upgrade bgdata"),
        (json.dumps(good | {"versions": {f"../{name}": "0" * 64}}).encode(), "expected an index of versions"),
        (json.dumps(good | {"versions": {name: "0"}}).encode(), "expected an index of versions"),
        (json.dumps(good | {"current": {"squares/10": "../x"}}).encode(), "expected an index of versions"),
    ):
        index.write_bytes(wrong)
        with pytest.raises(ManifestFormatError, match=message):
            pull(another_warehouse(memory_path), web)
    write_index(Folder(memory_path / "served"))
    assert json.loads(index.read_text()) == good


def test_concurrent_index_writers_lose_no_version(
    built: Warehouse, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process publishes a version while the index is being written, the final index contains it."""
    push(built, memory, "squares")
    place = open_place(memory)
    real = Store.write
    first = threading.Event()

    def write(self: Store, name: str, data: bytes, *, is_new: bool = False) -> bool:
        if name == INDEX and not first.is_set():
            first.set()
            push(built, memory, "square_sums")
        return real(self, name, data, is_new=is_new)

    assert isinstance(place, Store)
    place.remove(INDEX)
    monkeypatch.setattr(Store, "write", write)
    write_index(place)
    assert json.loads(place.read(INDEX))["versions"].keys() == set(names(built))


def test_claim_is_renewed(built: Warehouse, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """During a long push its claim is renewed."""
    monkeypatch.setattr(transfer, "RENEW_SECONDS", 0.01)
    times: list[bytes] = []
    real = MemoryFileSystem.put_file

    def put_file(self: MemoryFileSystem, local: str, name: str, **options: Any) -> None:
        (claim,) = stored_names(PUSHING)
        put_stored_file(claim, b'{"manifest_sha256": "other", "time": 1}')
        while b"other" in stored_names(PUSHING)[claim]:
            time.sleep(0.01)
        times.append(stored_names(PUSHING)[claim])
        real(self, local, name, **options)

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
    push(built, memory, "squares/10", jobs=1)
    assert len(times) == 2
