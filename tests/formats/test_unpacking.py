"""Files read once: pieces of bounded size, hashes of file and content, limits, archives by name."""

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import CorruptFileError, TooLargeError, UsageError
from bgdata.formats import unpacking
from bgdata.formats.lines import read_bytes
from bgdata.formats.unpacking import BYTES_VARIABLE, RATIO_VARIABLE, FileFacts, read_content, unpack
from tests.subtests import each

Pack = Callable[[bytes], bytes]
PACKS: dict[str, Pack] = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress}
each_pack = pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS.keys())
BOMBS = {"gzip": lambda: gzip.compress(bytes(20_000_000)), "bzip2": lambda: bz2.compress(bytes(45_000_000)) * 100}


def piece_lengths(path: Path) -> list[int]:
    """Lengths of the pieces until the end, or until a limit of size."""
    lengths: list[int] = []
    with contextlib.suppress(TooLargeError):
        unpack(path, lambda piece: lengths.append(len(piece)))
    return lengths


@each_pack
def test_content_and_hashes_are_read(tmp_path: Path, pack: Pack) -> None:
    text = b"some text\n" * 1000
    packed = pack(text)
    path = tmp_path / "x"
    path.write_bytes(packed)
    os.utime(path, (0, datetime(2012, 2, 12, 12, tzinfo=UTC).timestamp()))
    sha256, content_sha256 = (hashlib.sha256(data).hexdigest() for data in (packed, text))
    assert read_content(path) == (text, FileFacts(len(packed), sha256, content_sha256, "2012-02-12"))
    assert type(read_bytes(path)) is bytes


def unpack_streams(data: bytes, form: str) -> tuple[list[bytes], str]:
    """The pieces of compressed streams, and the SHA-256 of the compressed data."""
    source = unpacking._Source(io.BytesIO(data), "x")
    pieces = list(unpacking._streams(source, source.chunk(), form))
    return pieces, source.sha256.hexdigest()


STREAMS = st.lists(st.binary(max_size=40).map(lambda data: data * 20), max_size=4)
CHUNK_SIZES = st.integers(10, 50)  # 10 bytes are enough to recognize the format


@given(STREAMS, CHUNK_SIZES, st.sampled_from(["gzip", "bzip2"]))
def test_content_does_not_depend_on_the_sizes_of_pieces(streams: list[bytes], chunk: int, form: str) -> None:
    data = b"".join(map(PACKS[form], streams))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "CHUNK_BYTES", chunk)
        pieces, sha256 = unpack_streams(data, form)
    assert b"".join(pieces) == b"".join(streams)
    assert max(map(len, pieces), default=0) <= chunk
    assert sha256 == hashlib.sha256(data).hexdigest()


@given(STREAMS.filter(bool), CHUNK_SIZES, st.sampled_from(["gzip", "bzip2"]), st.data())
def test_truncated_stream_is_refused(streams: list[bytes], chunk: int, form: str, data: st.DataObject) -> None:
    *whole, last = map(PACKS[form], streams)
    cut_stream = last[: data.draw(st.integers(1, len(last) - 1))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "CHUNK_BYTES", chunk)
        with pytest.raises(CorruptFileError, match=r"expected packed data in x, found: .*; fetch it again"):
            unpack_streams(b"".join(whole) + cut_stream, form)


def test_zeros_after_gzip_are_ignored(tmp_path: Path) -> None:
    """`gzip.decompress` ignores them too."""
    packed = gzip.compress(b"first\n") + bytes(1000) + gzip.compress(b"second\n") + bytes(unpacking.CHUNK_BYTES * 2)
    (tmp_path / "x").write_bytes(packed)
    assert read_bytes(tmp_path / "x") == b"first\nsecond\n"


def test_zeros_after_bzip2_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bz2.compress(b"first\n") + bytes(10))
    with pytest.raises(CorruptFileError):
        read_bytes(tmp_path / "x")


@pytest.mark.parametrize("kind", BOMBS)
def test_small_files_with_gigabytes_of_content_are_refused(tmp_path: Path, kind: str) -> None:
    """Unpacking stops at the limit, and goes in small pieces until there."""
    path = tmp_path / "x.packed"
    path.write_bytes(BOMBS[kind]())
    size = path.stat().st_size
    assert size < 20_000
    message = (
        rf"expected at most 200 times as much content as file in {path}, found 1[67],\d\d\d,\d\d\d bytes and more "
        rf"in {size:,}; to allow it, set {RATIO_VARIABLE} to a larger number"
    )
    with pytest.raises(TooLargeError, match=f"^{message}$"):
        read_content(path)
    lengths = piece_lengths(path)
    assert max(lengths) <= unpacking.CHUNK_BYTES
    assert sum(lengths) <= unpacking.FREE_BYTES


def test_limits_of_unpacking_may_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(BOMBS["gzip"]())
    monkeypatch.setenv(RATIO_VARIABLE, "1e9")
    monkeypatch.setenv(BYTES_VARIABLE, "19_999_999")
    assert sum(piece_lengths(path)) <= 19_999_999
    monkeypatch.setenv(BYTES_VARIABLE, "2e7")
    assert sum(piece_lengths(path)) == 20_000_000


def test_repetitive_texts_are_read(tmp_path: Path) -> None:
    text = b"4HPwATDgc/ABMA\n" * 1_000_000
    (tmp_path / "x").write_bytes(bz2.compress(text))
    assert read_bytes(tmp_path / "x") == text


@each_pack
def test_size_of_content_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Pack) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(b"x" * 1000))
    monkeypatch.setenv(BYTES_VARIABLE, "1000")
    assert len(read_bytes(path)) == 1000
    monkeypatch.setenv(BYTES_VARIABLE, "999")
    message = f"expected at most 999 bytes of content in {path}, found more; to allow it, set {BYTES_VARIABLE} "
    with pytest.raises(TooLargeError, match=message):
        read_bytes(path)


@pytest.mark.parametrize("text", ["", "much", "nan", "inf"])
def test_invalid_limits_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "x").write_bytes(b"x")
    monkeypatch.setenv(RATIO_VARIABLE, text)
    with pytest.raises(
        UsageError, match=f"expected a number in the environment variable {RATIO_VARIABLE}, got '{text}'"
    ):
        read_bytes(tmp_path / "x")


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if data:
            archive.writestr("x.txt", data)
    return buffer.getvalue()


def packed_archives() -> Iterator[tuple[str, bytes]]:
    """Files that are archives or compressed twice, with their names in errors."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("x.txt")
        info.size = len(b"text\n")
        archive.addfile(info, io.BytesIO(b"text\n"))
    archives = {
        "a zip archive": zipped(b"text\n"),
        "an empty zip archive": zipped(b""),
        "a tar archive": buffer.getvalue(),
        "xz": lzma.compress(b"text\n"),
        "zstd": b"\x28\xb5\x2f\xfd and so on",
        "a 7z archive": b"7z\xbc\xaf\x27\x1c and so on",
        "a rar archive": b"Rar!\x1a\x07 and so on",
    }
    for name, data in archives.items():
        yield name, data
        yield f"{name} in gzip", gzip.compress(data)
        yield f"{name} in bzip2", bz2.compress(data)
    yield "gzip in gzip", gzip.compress(gzip.compress(b"text\n"))
    yield "gzip in bzip2", bz2.compress(gzip.compress(b"text\n"))
    yield "bzip2 in gzip", gzip.compress(bz2.compress(b"text\n"))
    yield "bzip2 in bzip2", bz2.compress(bz2.compress(b""))


@each(("name", "data"), packed_archives)
def test_archives_are_named(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(data)
    message = f"expected text in {path}, plain or packed once with gzip or bzip2, found {name}; unpack it first"
    with pytest.raises(CorruptFileError, match=f"^{re.escape(message)}$"):
        read_bytes(path)
