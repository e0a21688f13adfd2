"""`bgdata fetch` from a local server that truncates, changes or misses files."""

from __future__ import annotations

import bz2
import hashlib
import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import DownloadError, StorageError
from bgdata.imports.kinds import gnubg_benchmark
from bgdata.imports.kinds.gnubg_benchmark_compute import SAMPLE
from bgdata.imports.steps import published_files
from bgdata.store.download import download
from bgdata.store.lockfile import PinnedFile, load_lock, load_pins, save_lock
from bgdata.store.progress import Silence
from tests.command_line import error_of, run, succeeds
from tests.store.test_manifest import MANIFEST

TRAINING = bz2.compress(b"".join(b"# comment %d\n" % number for number in range(20_000)))
BENCHMARK = bz2.compress(SAMPLE.encode())


class Server(ThreadingHTTPServer):
    """Serves `files`. The first answers are truncated after `cuts` bytes each; `requests` records (path, range)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cuts: list[int] = []
        self.requests: list[tuple[str, str]] = []
        self.knows_ranges = True
        self.says_length = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests with ranges."""

    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.server.requests.append((self.path, wanted))
        data = self.server.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-") or 0) if self.server.knows_ranges else 0
        if start and start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if self.server.says_length:
            self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end = start + self.server.cuts.pop(0) if self.server.cuts else len(data)
        self.wfile.write(data[start:end])

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local requests skip any proxy."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Path of a warehouse that does not exist yet."""
    return tmp_path / "warehouse"


def fetch(root: Path, server: Server, *names: str) -> str:
    return succeeds(root, "fetch", "gnubg", *names, "--address", server.address)


def fails(root: Path, server: Server, *names: str) -> str:
    return error_of(run(root, "fetch", "gnubg", *names, "--address", server.address), 1)


def serve_training(server: Server, data: bytes = TRAINING) -> str:
    server.files["/race-train-data.bz2"] = data
    return "race-train-data.bz2"


def test_published_files_have_addresses_and_hashes() -> None:
    files = published_files()
    assert len({file.name for file in files}) == len(files) == 2 * len(gnubg_benchmark.PUBLISHED)
    site = "https://alpha.gnu.org/gnu/gnubg/nn-training/1.00"
    folders = {"gnubg_benchmark": f"{site}/benchmarks/", "gnubg_training": f"{site}/training_data/"}
    assert all(file.address == folders[file.kind] + file.name for file in files)
    assert {file.kind for file in files if file.content_sha256} == {"gnubg_benchmark"}
    for address in ("http://x/y", "http://x/y/"):
        assert all(file.address == f"http://x/y/{file.name}" for file in published_files(address))


def test_fetch_downloads_all_files(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes are pinned or compared with published ones; the import command is printed."""
    sha256 = hashlib.sha256(bz2.decompress(BENCHMARK)).hexdigest()
    for entry in gnubg_benchmark.PUBLISHED:
        server.files |= {f"/{entry}.bm.bz2": BENCHMARK, f"/{entry}-train-data.bz2": TRAINING}
        monkeypatch.setitem(gnubg_benchmark.PUBLISHED, entry, sha256)
    shown = fetch(root, server)
    assert shown.splitlines()[:2] == [
        f"next: bgdata import gnubg_benchmark {root}/raw/contact.bm.bz2",
        f"next: bgdata import gnubg_training {root}/raw/contact-train-data.bz2",
    ]
    assert sorted(path.name for path in (root / "raw").iterdir()) == sorted(name[1:] for name in server.files)
    pins = load_pins(bgdata.open_warehouse(root).lock)
    assert [pin.name for pin in pins] == [f"{entry}-train-data.bz2" for entry in gnubg_benchmark.PUBLISHED]
    asked = len(server.requests)
    assert asked == 6
    assert fetch(root, server) == shown
    assert len(server.requests) == asked, "existing files are not requested again"
    imported = succeeds(root, *shown.splitlines()[0].split()[2:])
    assert imported == "3 lines read: 3 with rows, 0 of comment or blank, 0 quarantined\n"
    (manifest,) = [table.manifest for table in bgdata.open_warehouse(root).versions()]
    assert (manifest.warnings, manifest.raw_files[0].address) == ([], gnubg_benchmark.ADDRESS)


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_cut_download_is_resumed(server: Server, root: Path, knows_ranges: bool) -> None:
    name = serve_training(server)
    server.knows_ranges = knows_ranges
    server.cuts = [1000, 2000]
    for have in (1000, 3000 if knows_ranges else 2000):
        message = fails(root, server, name)
        assert message.startswith(f"cannot download {server.address}/{name}: IncompleteRead(")
        assert message.endswith("; nothing else needs the network, and the same command goes on later")
        assert [path.name for path in (root / "raw").iterdir()] == [f"{name}.partial"]
        assert (root / "raw" / f"{name}.partial").stat().st_size == have
    fetch(root, server, name)
    assert [path.name for path in (root / "raw").iterdir()] == [name]
    assert (root / "raw" / name).read_bytes() == TRAINING
    ranges = ["", "bytes=1000-", "bytes=3000-" if knows_ranges else "bytes=2000-"]
    assert server.requests == [(f"/{name}", wanted) for wanted in ranges]


@pytest.mark.parametrize("more", [b"", b"more"])
def test_complete_or_too_long_partial_file(server: Server, root: Path, more: bytes) -> None:
    """A partial file that is too long is stale, so the download begins again."""
    name = serve_training(server)
    partial = root / "raw" / f"{name}.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(TRAINING + more)
    result = run(root, "fetch", "gnubg", name, "--address", server.address)
    assert result.stdout == f"next: bgdata import gnubg_training {root}/raw/{name}\n"
    assert result.stderr == f"{name}: {len(TRAINING):,} bytes, hash is correct\n"
    assert (root / "raw" / name).read_bytes() == TRAINING
    asked = [wanted for _, wanted in server.requests]
    assert asked == [f"bytes={len(TRAINING) + len(more)}-", *[""] * bool(more)]


def test_benchmark_with_another_hash_is_refused(server: Server, root: Path) -> None:
    server.files["/race.bm.bz2"] = BENCHMARK
    found = hashlib.sha256(bz2.decompress(BENCHMARK)).hexdigest()
    path = root / "raw" / "race.bm.bz2"
    for _ in range(2):
        assert fails(root, server, "race.bm.bz2") == (
            f"expected SHA-256 72a79284ca1d7131... of {path}, found {found[:16]}...; delete it and fetch it again"
        )
    assert len(server.requests) == 1
    assert not bgdata.open_warehouse(root).lock.exists()


def test_hash_is_pinned_at_first_fetch_and_compared_later(server: Server, root: Path) -> None:
    """Pinning keeps the other entries of the lock, and locking keeps the pins."""
    root.mkdir()
    lock = bgdata.open_warehouse(root).lock
    save_lock(lock, [MANIFEST])
    entries = load_lock(lock)
    name = serve_training(server)
    fetch(root, server, name)
    pin = PinnedFile(name, f"{server.address}/{name}", len(TRAINING), hashlib.sha256(TRAINING).hexdigest())
    assert (load_lock(lock), load_pins(lock)) == (entries, [pin])
    written = lock.read_bytes()
    fetch(root, server, name)
    assert lock.read_bytes() == written
    (root / "raw" / name).unlink()
    serve_training(server, bz2.compress(b"changed\n"))
    message = fails(root, server, name)
    assert message.startswith(f"expected SHA-256 {pin.sha256[:16]}... of {root / 'raw' / name}, found ")
    assert lock.read_bytes() == written
    save_lock(lock, [])
    assert load_pins(lock) == [pin]
    assert json.loads(lock.read_bytes())["files"][0]["name"] == name


def test_lock_with_pins_only_has_no_variants(server: Server, root: Path) -> None:
    fetch(root, server, serve_training(server))
    for command in (["rebuild", "--check"], ["diff"]):
        message = error_of(run(root, *command), 1)
        assert message == f"expected locked variants in {root}/warehouse.lock, found none; try: bgdata lock"


@pytest.mark.parametrize("data", [b"<html>pay for your network first</html>", b"", TRAINING[:-1], TRAINING + b"x"])
def test_an_invalid_archive_is_not_pinned(server: Server, root: Path, data: bytes) -> None:
    """A web page, or an archive that was truncated unnoticed."""
    server.says_length = False
    name = serve_training(server, data)
    whole = "packed file" if not data.startswith(b"BZh") else "whole packed file"
    found = ", found something else" if whole == "packed file" else ""
    path = root / "raw" / name
    message = fails(root, server, name)
    assert message == f"expected a {whole} in {path}{found}; delete it and fetch it again"
    assert not bgdata.open_warehouse(root).lock.exists()
    path.unlink()
    serve_training(server)
    fetch(root, server, name)
    assert path.read_bytes() == TRAINING


def test_unreachable_sources_and_unwritable_targets(server: Server, root: Path) -> None:
    name = "contact.bm.bz2"
    assert fails(root, server, name) == f"cannot download {server.address}/{name}: the server says 404 Not Found"
    assert list((root / "raw").iterdir()) == []
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        offline = f"http://127.0.0.1:{unused.getsockname()[1]}"
    for address in (offline, "nonsense", "http://", "http://[", "ftp://", "http://a b", "http://127.0.0.1:x"):
        message = error_of(run(root, "fetch", "gnubg", name, "--address", address), 1)
        assert message.startswith(f"cannot download {address.rstrip('/')}/{name}: ")
        assert address != offline or re.search(
            r"/contact\.bm\.bz2: \[Errno \d+\] Connection refused; "
            "nothing else needs the network, and the same command goes on later$",
            message,
        )
    lock, folder = root / "warehouse.lock", root / "raw"
    lock.write_text("junk")
    assert fails(root, server, serve_training(server)).startswith("expected a lock file in ")
    assert lock.read_text() == "junk"
    lock.unlink()
    shutil.rmtree(folder)
    folder.write_text("")
    assert fails(root, server, "race-train-data.bz2").startswith(f"cannot write {root}/raw/race-train-data.bz2: ")


def test_unknown_names_are_refused(root: Path) -> None:
    message = error_of(run(root, "fetch", "gnubg", "race.bm"), 2)
    assert message.startswith("expected a file among contact.bm.bz2, contact-train-data.bz2, ")
    assert message.endswith(", got 'race.bm'")
    assert run(root, "fetch", "wildbg").exit_code == 2
    assert not root.exists()


def test_download_function(server: Server, tmp_path: Path) -> None:
    name = serve_training(server)
    path = tmp_path / "a" / "b"
    assert download(f"{server.address}/{name}", path, Silence()) == path
    assert path.read_bytes() == TRAINING
    with pytest.raises(DownloadError, match=r"the server says 404 Not Found$"):
        download(f"{server.address}/none", tmp_path / "c", Silence())
    with pytest.raises(StorageError, match=r"cannot write .*: file exists"):
        download(f"{server.address}/{name}", path / "c", Silence())
