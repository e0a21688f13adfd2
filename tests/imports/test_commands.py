"""`bgdata fetch` from a local server that truncates, changes, misses or guards files."""

from __future__ import annotations

import bz2
import errno
import hashlib
import json
import re
import shutil
import socket
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import bgdata
from bgdata.errors import ManifestFormatError
from bgdata.imports import sources, steps
from bgdata.imports.kinds import bgsage_rollouts, gnubg_benchmark, gnubg_training, wildbg_training
from bgdata.imports.kinds.gnubg_benchmark_compute import SAMPLE
from bgdata.imports.sources import load_sources
from bgdata.imports.steps import SUMS, add_checksum, read_checksums
from tests.command_line import error_of, output_of, run

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
        self.knows_if_range = True
        self.says_length = True
        self.tags: dict[str, tuple[str, str]] = {}  # by path: the name and the value of a header
        self.moved: dict[str, str] = {}  # by path: another address
        self.tokens: list[str] = []
        self.wants_token = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests with ranges."""

    server: Server

    def do_GET(self) -> None:
        range_header = self.headers.get("Range", "")
        self.server.requests.append((self.path, range_header))
        self.server.tokens.append(self.headers.get("Authorization", ""))
        if self.path in self.server.moved:
            self.send_response(302)
            self.send_header("Location", self.server.moved[self.path])
            self.end_headers()
            return
        if self.server.wants_token and not self.server.tokens[-1]:
            self.send_error(401)
            return
        data = self.server.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        name, tag = self.server.tags.get(self.path, ("", ""))
        is_other = self.server.knows_if_range and self.headers.get("If-Range", tag) != tag
        is_ranged = self.server.knows_ranges and not is_other
        start = int(range_header.removeprefix("bytes=").rstrip("-") or 0) if is_ranged else 0
        if start and start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if name:
            self.send_header(name, tag)
        if self.server.says_length:
            self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end = start + self.server.cuts.pop(0) if self.server.cuts else len(data)
        self.wfile.write(data[start:end])

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as local_server:
        thread = threading.Thread(target=local_server.serve_forever, args=(0.01,))
        thread.start()
        yield local_server
        local_server.shutdown()
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
    return output_of(root, "fetch", "gnubg", *names, "--address", server.address)


def fetch_error(root: Path, server: Server, *names: str) -> str:
    return error_of(run(root, "fetch", "gnubg", *names, "--address", server.address), 1)


def serve_training(server: Server, data: bytes = TRAINING) -> str:
    server.files["/race-train-data.bz2"] = data
    return "race-train-data.bz2"


def test_published_files_have_addresses_kinds_and_hashes() -> None:
    files = [file for source in load_sources().values() for file in source.files]
    assert len({file.name for file in files}) == len(files)
    assert len({file.address for file in files}) == len(files)
    for file in files:
        assert file.address.startswith("https://")
        assert not file.kind or bgdata.all_kinds()[file.kind].takes_files
        assert re.fullmatch("([0-9a-f]{64})?", file.sha256)
        assert re.fullmatch("([0-9a-f]{64})?", file.content_sha256)
    for kind in (gnubg_benchmark, gnubg_training):
        addresses = {file.name: file.address for file in files if file.kind == kind.DATASET.name}
        assert len(addresses) == 3
        assert addresses == {name: kind.ADDRESS + name for name in addresses}


def test_sources_have_the_licences_of_their_kinds() -> None:
    published = load_sources()
    assert all(source.home.startswith("https://") for source in published.values())
    assert published["wildbg"].licence == wildbg_training.DATASET.licence
    assert published["gnubg"].licence == gnubg_training.DATASET.licence
    assert published["bgsage"].licence == bgsage_rollouts.DATASET.licence == "MPL-2.0"


def test_fetch_lists_all_sources(root: Path) -> None:
    lines = output_of(root, "fetch").splitlines()
    assert lines[0].split() == ["source", "file", "MB", "hash"]
    assert [line.split()[0] for line in lines if line.endswith(" known")] == ["gnubg"] * 3
    assert max(map(len, lines)) <= 120
    rows = json.loads(output_of(root, "fetch", "--format", "json"))
    licences = {source.name: source.licence for source in load_sources().values()}
    assert {row["source"]: row["licence"] for row in rows} == licences
    assert {row["bytes"] is None for row in rows} == {True, False}
    assert not root.exists()


@pytest.mark.parametrize("option", [("-o", "x"), ("--address", "http://x")])
def test_options_of_downloads_need_a_name(root: Path, option: tuple[str, str]) -> None:
    message = error_of(run(root, "fetch", *option), 2)
    assert message == "expected NAME with --output and --address; try: bgdata fetch"
    assert not root.exists()


@pytest.fixture
def source_with_login(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A source of the local server in place of the published ones, that wants a token."""
    archive = tmp_path / "matches.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("1200001.mat", " 1 point match\n")
    plain = b"position_id,win\n"
    server.files = {"/matches.zip": archive.read_bytes(), "/plain.csv": plain}
    digest = hashlib.sha256(plain).hexdigest()
    path = tmp_path / "sources.toml"
    path.write_text(
        f"""
[club]
about = "matches"
home = "https://club.example/"
licence = "CC-BY-4.0"
citation = "The club"
login = "CLUB_TOKEN"
files = [
  {{name = "matches.zip", address = "{server.address}/matches.zip", kind = "matches"}},
  {{name = "plain.csv", address = "{server.address}/plain.csv", sha256 = "{digest}"}},
]
"""
    )
    monkeypatch.setattr(sources, "PATH", path)
    load_sources.cache_clear()
    yield
    load_sources.cache_clear()


@pytest.mark.usefixtures("source_with_login")
def test_fetch_downloads_and_prints_the_import_command(server: Server, root: Path, tmp_path: Path) -> None:
    archive, plain = server.files["/matches.zip"], server.files["/plain.csv"]
    folder = tmp_path / "a b"
    result = run(root, "fetch", "club", "-o", folder)
    assert result.stdout.splitlines() == [
        f"next: python -m zipfile -e '{folder}/matches.zip' '{folder}/matches' && "
        f"bgdata import matches '{folder}/matches'",
        "licence: CC-BY-4.0",
        "cite: The club",
    ]
    assert f"matches.zip: {len(archive)} bytes, no hash is published, now in SHA256SUMS\n" in result.stderr
    assert f"plain.csv: {len(plain)} bytes, hash is correct\n" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == [SUMS, "matches.zip", "plain.csv"]
    assert (folder / SUMS).read_text() == (
        f"{hashlib.sha256(archive).hexdigest()}  matches.zip\n{hashlib.sha256(plain).hexdigest()}  plain.csv\n"
    )
    assert not root.exists()
    rows = json.loads(output_of(root, "fetch", "club", "plain.csv", "-o", folder, "--format", "json"))
    assert rows == [{"source": "club", "file": "plain.csv", "path": str(folder / "plain.csv"), "next": ""}]


ADVICE = "name the FILES that you need, or choose another folder with --output"


def list_sizes(server: Server, monkeypatch: pytest.MonkeyPatch, archive: int, plain: int) -> None:
    """Let the list of sources say these sizes of the club's files; 0 for an unknown one."""
    club = sources.at_mirror(load_sources()["club"], server.address)
    first, second = club.files
    files = (replace(first, size=archive), replace(second, size=plain))
    monkeypatch.setitem(load_sources(), "club", replace(club, files=files))


@pytest.mark.usefixtures("source_with_login")
def test_full_disk_is_found_before_anything_is_downloaded(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes of a partial download are not counted again."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Mock(free=12_000))
    list_sizes(server, monkeypatch, 10_000, 5_000)
    message = error_of(run(root, "fetch", "club", "-o", folder), 1)
    assert message == f"expected 15 kB of free disk in {folder}, found 12 kB; {ADVICE}"
    assert server.requests == []
    (folder / "plain.csv.partial").write_bytes(bytes(4_000))
    steps.check_free_disk(steps.find_source("club").files, folder)  # 11 kB are missing


@pytest.mark.usefixtures("source_with_login")
def test_unknown_size_of_a_file_is_taken_from_the_server(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Mock(free=10))
    list_sizes(server, monkeypatch, 0, 0)
    message = error_of(run(root, "fetch", "club", "matches.zip", "-o", tmp_path / "x"), 1)
    size = len(server.files["/matches.zip"])
    assert message == f"expected {size} B of free disk in {tmp_path}/x, found 10 B; {ADVICE}"
    assert not (tmp_path / "x" / "matches.zip.partial").exists()


@pytest.mark.usefixtures("source_with_login")
def test_token_of_the_environment_is_sent(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.wants_token = True
    message = error_of(run(root, "fetch", "club", "plain.csv", "-o", tmp_path / "x"), 1)
    assert message == (
        f"cannot download {server.address}/plain.csv: the server says 401 Unauthorized; "
        "accept the conditions at https://club.example/, and set CLUB_TOKEN to a token of yours"
    )
    monkeypatch.setenv("CLUB_TOKEN", "secret")
    output_of(root, "fetch", "club", "plain.csv", "-o", tmp_path / "x")
    assert server.tokens == ["", "Bearer secret"]


@pytest.mark.usefixtures("source_with_login")
def test_token_is_not_sent_to_another_address(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUB_TOKEN", "secret")
    server.moved = {"/matches.zip": f"{server.address}/elsewhere"}
    server.files["/elsewhere"] = server.files["/matches.zip"]
    output_of(root, "fetch", "club", "matches.zip", "-o", tmp_path / "x")
    assert server.tokens == ["Bearer secret", ""]


@pytest.mark.usefixtures("source_with_login")
@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("plain.csv", b"other", r"expected SHA-256 \w{16}\.\.\. of plain\.csv, found d9298a10d1b07358\.\.\."),
        ("plain.csv", b"\n<!DOCTYPE html><p>log in", r"expected data from http://\S+/plain\.csv, found a web page"),
        ("matches.zip", b"PK\x03\x04 cut", r"expected a whole zip archive from http://\S+, found something else"),
    ],
)
def test_wrong_content_is_never_saved_under_the_name(
    server: Server, root: Path, tmp_path: Path, name: str, data: bytes, expected: str
) -> None:
    server.files[f"/{name}"] = data
    message = error_of(run(root, "fetch", "club", name, "-o", tmp_path / "x"), 1)
    assert re.fullmatch(f"{expected}; nothing is kept; try again later", message)
    assert list((tmp_path / "x").iterdir()) == []
    (tmp_path / "x" / name).write_bytes(data)
    message = error_of(run(root, "fetch", "club", name, "-o", tmp_path / "x"), 1)
    assert re.fullmatch(f"{expected}; delete {tmp_path}/x/{name} and fetch it again", message)
    assert (tmp_path / "x" / name).read_bytes() == data


def test_fetch_downloads_all_files(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are compared with published hashes, or their own are recorded; none is requested twice."""
    server.files = {f"/{file.name}": TRAINING for file in load_sources()["gnubg"].files}
    server.files |= {f"/{name}.bz2": BENCHMARK for name in sources.published_contents("gnubg_benchmark")}
    digest = hashlib.sha256(SAMPLE.encode()).hexdigest()
    text = sources.PATH.read_text()
    path = root.with_name("sources.toml")
    path.write_text(re.sub('content_sha256 = ".*"', f'content_sha256 = "{digest}"', text))
    monkeypatch.setattr(sources, "PATH", path)
    load_sources.cache_clear()
    try:
        output = fetch(root, server)
        first_command, second_command, *_ = output.splitlines()
        assert first_command == f"next: bgdata import gnubg_benchmark {root}/raw/contact.bm.bz2"
        assert second_command == f"next: bgdata import gnubg_training {root}/raw/contact-train-data.bz2"
        names = {name.removeprefix("/") for name in server.files}
        assert {path.name for path in (root / "raw").iterdir()} == names | {SUMS}
        assert set(read_checksums(root / "raw" / SUMS)) == names
        assert len(server.requests) == 7
        assert fetch(root, server) == output
        assert len(server.requests) == 7, "existing files are not requested again"
        imported = output_of(root, *first_command.split()[2:])
        assert imported == "3 lines read: 3 with rows, 0 of comment or blank, 0 quarantined\n"
        (table,) = bgdata.open_warehouse(root).versions()
        assert table.manifest.warnings == []
        assert table.manifest.raw_files[0].address == gnubg_benchmark.ADDRESS
    finally:
        load_sources.cache_clear()


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_cut_download_is_resumed(server: Server, root: Path, knows_ranges: bool) -> None:
    """After a cut connection the next fetch asks for the rest, or begins again where the server cannot resume."""
    name = serve_training(server)
    server.knows_ranges = knows_ranges
    server.cuts = [1000, 2000]
    second_size = 3000 if knows_ranges else 2000
    for size in (1000, second_size):
        result = run(root, "fetch", "gnubg", name, "--address", server.address)
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1] == (
            f"error: cannot download {server.address}/{name}: the connection ended {len(TRAINING) - size:,} bytes "
            "early; nothing else needs the network, and the same command goes on later"
        )
        assert sorted(path.name for path in (root / "raw").iterdir()) == [f"{name}.partial", f"{name}.partial.tag"]
        assert (root / "raw" / f"{name}.partial").stat().st_size == size
    result = run(root, "fetch", "gnubg", name, "--address", server.address)
    assert ("the server does not resume" in result.stderr) is not knows_ranges
    assert sorted(path.name for path in (root / "raw").iterdir()) == [SUMS, name]
    assert (root / "raw" / name).read_bytes() == TRAINING
    assert [ranges for _, ranges in server.requests] == ["", "bytes=1000-", f"bytes={second_size}-"]


@pytest.mark.parametrize("header", ["ETag", "Last-Modified"])
@pytest.mark.parametrize("knows_if_range", [True, False])
@pytest.mark.parametrize("longer", [True, False])
def test_file_that_changes_meanwhile_is_downloaded_whole(
    server: Server, root: Path, header: str, knows_if_range: bool, longer: bool
) -> None:
    """A partial download begins again if the file on the server has changed, whether the server compares tags itself or
    not."""
    name = serve_training(server)
    server.tags[f"/{name}"] = (header, '"1"' if header == "ETag" else "Sun, 01 Nov 2026 10:00:00 GMT")
    server.knows_if_range = knows_if_range
    server.cuts = [1000]
    fetch_error(root, server, name)
    changed = bz2.compress(b"# changed\n" * (9000 if longer else 1))
    serve_training(server, changed)
    server.tags[f"/{name}"] = (header, '"2"' if header == "ETag" else "Sun, 01 Nov 2026 11:00:00 GMT")
    result = run(root, "fetch", "gnubg", name, "--address", server.address)
    assert result.exit_code == 0
    assert "from its beginning, as the file has changed" in result.stderr
    assert (root / "raw" / name).read_bytes() == changed
    assert sorted(path.name for path in (root / "raw").iterdir()) == [SUMS, name]


def test_unchanged_file_resumes_by_its_tag(server: Server, root: Path) -> None:
    name = serve_training(server)
    server.tags[f"/{name}"] = ("ETag", '"1"')
    server.cuts = [1000]
    fetch_error(root, server, name)
    fetch(root, server, name)
    assert (root / "raw" / name).read_bytes() == TRAINING
    assert [ranges for _, ranges in server.requests] == ["", "bytes=1000-"]


@pytest.mark.parametrize(
    ("excess", "note", "requests"),
    [
        (0, "", [f"bytes={len(TRAINING)}-"]),
        (4, "race-train-data.bz2: from its beginning, as the file has changed\n", [f"bytes={len(TRAINING) + 4}-", ""]),
    ],
    ids=["complete", "longer"],
)
def test_complete_partial_file_is_used_and_a_longer_one_replaced(
    server: Server, root: Path, excess: int, note: str, requests: list[str]
) -> None:
    name = serve_training(server)
    partial = root / "raw" / f"{name}.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(TRAINING + bytes(excess))
    result = run(root, "fetch", "gnubg", name, "--address", server.address)
    assert result.stderr == f"{note}{name}: {len(TRAINING):,} bytes, no hash is published, now in SHA256SUMS\n"
    assert (root / "raw" / name).read_bytes() == TRAINING
    assert [ranges for _, ranges in server.requests] == requests


def test_benchmark_with_another_hash_is_refused(server: Server, root: Path) -> None:
    server.files["/race.bm.bz2"] = BENCHMARK
    found = hashlib.sha256(bz2.decompress(BENCHMARK)).hexdigest()
    for _ in range(2):
        assert fetch_error(root, server, "race.bm.bz2") == (
            f"expected SHA-256 72a79284ca1d7131... of unpacked race.bm.bz2, found {found[:16]}...; "
            "nothing is kept; try again later"
        )
    assert len(server.requests) == 2
    assert list((root / "raw").iterdir()) == []


def test_first_hash_is_kept_and_compared_later(server: Server, root: Path) -> None:
    name = serve_training(server)
    fetch(root, server, name)
    sums = root / "raw" / SUMS
    digest = hashlib.sha256(TRAINING).hexdigest()
    assert read_checksums(sums) == {name: digest}
    content = sums.read_bytes()
    fetch(root, server, name)
    assert sums.read_bytes() == content
    (root / "raw" / name).unlink()
    serve_training(server, bz2.compress(b"changed\n"))
    message = fetch_error(root, server, name)
    assert message.startswith(f"expected SHA-256 {digest[:16]}... of {name}, found ")
    assert message.endswith(
        f"nothing is kept; try again later, or delete its line in {SUMS} if the publisher has changed it"
    )
    assert sums.read_bytes() == content
    assert not (root / "raw" / name).exists()
    sums.unlink()
    fetch(root, server, name)


def test_hashes_are_kept_sorted_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / SUMS
    assert read_checksums(path) == {}
    for name in ("b b", "a"):
        add_checksum(path, name, "ab" * 32)
    assert path.read_text() == f"{'ab' * 32}  a\n{'ab' * 32}  b b\n"


@pytest.mark.parametrize("content", [b"junk\n", b"AB" * 32 + b"  a\n", b"\xff\xfe", b"ab" * 32 + b" a\n"])
def test_malformed_file_of_hashes_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / SUMS
    path.write_bytes(content)
    message = r"^expected a line of sha256sum in .*SHA256SUMS, got .*; try: delete it$"
    with pytest.raises(ManifestFormatError, match=message):
        read_checksums(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<html>pay for your network first</html>", "expected a packed file from {}, found something else"),
        (b"", "expected a packed file from {}, found something else"),
        (TRAINING[:-1], "expected a whole packed file from {}"),
        (TRAINING + b"x", "expected a whole packed file from {}"),
    ],
    ids=["web page", "nothing", "truncated", "longer"],
)
def test_invalid_archive_is_not_kept(server: Server, root: Path, data: bytes, message: str) -> None:
    server.says_length = False
    name = serve_training(server, data)
    expected = f"{message.format(f'{server.address}/{name}')}; nothing is kept; try again later"
    assert fetch_error(root, server, name) == expected
    assert list((root / "raw").iterdir()) == []
    serve_training(server)
    fetch(root, server, name)
    assert (root / "raw" / name).read_bytes() == TRAINING


def test_missing_file_is_reported(server: Server, root: Path) -> None:
    name = "contact.bm.bz2"
    assert fetch_error(root, server, name) == f"cannot download {server.address}/{name}: the server says 404 Not Found"
    assert list((root / "raw").iterdir()) == []


@pytest.mark.parametrize("address", ["nonsense", "http://", "http://[", "ftp://", "http://a b", "http://127.0.0.1:x"])
def test_malformed_address_is_reported(root: Path, address: str) -> None:
    message = error_of(run(root, "fetch", "gnubg", "contact.bm.bz2", "--address", address), 1)
    assert message.startswith(f"cannot download {address.rstrip('/')}/contact.bm.bz2: ")


def test_unreachable_server_is_reported(root: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    message = error_of(run(root, "fetch", "gnubg", "contact.bm.bz2", "--address", address), 1)
    assert re.fullmatch(
        rf"cannot download {address}/contact\.bm\.bz2: \[Errno \d+\] Connection refused; "
        "nothing else needs the network, and the same command goes on later",
        message,
    )


def test_unwritable_folder_is_reported(server: Server, root: Path) -> None:
    root.mkdir()
    (root / "raw").write_text("a file")
    message = fetch_error(root, server, serve_training(server))
    assert message.startswith(f"cannot write {root}/raw/race-train-data.bz2: ")


def test_download_stops_at_a_malformed_file_of_hashes(server: Server, root: Path) -> None:
    (root / "raw").mkdir(parents=True)
    (root / "raw" / SUMS).write_text("junk")
    assert fetch_error(root, server, serve_training(server)).startswith("expected a line of sha256sum in ")
    assert (root / "raw" / SUMS).read_text() == "junk"


def test_download_resumes_after_a_full_disk(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = serve_training(server)
    real_open = Path.open

    class FullAfter1000Bytes:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> FullAfter1000Bytes:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            self.file.write(data[:1000])
            raise OSError(errno.ENOSPC, "no space left")

    def open_on_full_disk(path: Path, mode: str = "r", **more: Any) -> Any:
        file = real_open(path, mode, **more)
        return FullAfter1000Bytes(file) if path.name == f"{name}.partial" and mode in ("ab", "wb") else file

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_on_full_disk)
        message = fetch_error(root, server, name)
    assert message.startswith(f"cannot write {root}/raw/{name}: the disk is full; free some space and try again")
    assert (root / "raw" / f"{name}.partial").stat().st_size == 1000
    fetch(root, server, name)
    assert (root / "raw" / name).read_bytes() == TRAINING


def test_unknown_names_are_refused(root: Path) -> None:
    message = error_of(run(root, "fetch", "gnubg", "race.bm"), 2)
    assert message.startswith("expected a file among contact.bm.bz2, contact-train-data.bz2, ")
    assert message.endswith(", got 'race.bm'")
    message = error_of(run(root, "fetch", "xg"), 2)
    assert message == "expected a source among gnubg, wildbg, bgsage, arkadium, got 'xg'; try: bgdata fetch"
    assert not root.exists()
