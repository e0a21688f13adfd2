"""Long text files by blocks of lines: every line once, wherever a block or a piece ends."""

import bz2
import gzip
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import CorruptFileError, StorageError
from bgdata.formats import text_files, unpacking
from bgdata.formats.lines import Lines, plain_text, split_lines
from bgdata.formats.text_files import Spool, TextFile, last_comment, open_text_file

Pack = Callable[[bytes], bytes]
PACKS: dict[str, Pack] = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress}
LINE = st.sampled_from([b"", b"a", b"# b", b" \t# c # d", b"e # f", b"\xef\xbb\xbfg", b"hij\r", b"k" * 30])
TEXT = st.builds(
    lambda mark, lines, end: mark + end.join(lines),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(LINE, max_size=12),
    st.sampled_from([b"\n", b"\r\n"]),
)


def open_in_small_steps(folder: Path, content: bytes, *, block: int = 16, takes_others: bool = False) -> TextFile:
    """Write and open a file with this content. It is read in small chunks, and unpacked to disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "MARK_BYTES", 2 * block)
        patch.setattr(text_files, "HELD_BYTES", 1)
        patch.setattr(unpacking, "CHUNK_BYTES", 11)
        (folder / "x").write_bytes(content)
        return open_text_file(folder / "x", Spool(folder), takes_others=takes_others, has_comments=True)[0]


def read_lines(file: TextFile, block: int = 16, begin: int = 0, end: int | None = None) -> list[bytes]:
    """The lines of a file, read in blocks of this size."""
    lines = list[bytes]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "BLOCK_BYTES", block)
        for text_block in file.blocks(begin, end):
            assert text_block.first_line == begin + len(lines)
            lines += as_list(text_block.lines())
    return lines


def as_list(lines: Lines) -> list[bytes]:
    return [lines[index] for index in range(len(lines))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files that are written anew for each example."""
    return tmp_path_factory.mktemp("texts")


@given(TEXT, st.integers(1, 40), st.sampled_from(list(PACKS)), st.data())
def test_blocks_have_every_line_once(folder: Path, text: bytes, block: int, pack: str, data: st.DataObject) -> None:
    file = open_in_small_steps(folder, PACKS[pack](text), block=block)
    expected = as_list(split_lines(text))
    assert file.lines == len(expected)
    assert file.first_letter == text.lstrip()[:1]
    assert read_lines(file, block) == expected
    begin = data.draw(st.integers(0, len(expected)))
    end = data.draw(st.integers(begin, len(expected)))
    assert read_lines(file, block, begin, end) == expected[begin:end]


@given(TEXT, st.integers(1, 40), st.sampled_from(list(PACKS)), st.data())
def test_comment_above_a_line_is_the_last_one(
    folder: Path, text: bytes, block: int, pack: str, data: st.DataObject
) -> None:
    file = open_in_small_steps(folder, PACKS[pack](text), block=block)
    lines = as_list(split_lines(text))
    begin = data.draw(st.integers(0, len(lines)))
    comments = [line for line in lines[:begin] if line.lstrip(b" \t").startswith(b"#")]
    expected = comments[-1] if comments else b""
    assert file.comment_above(begin).rstrip(b"\r") == expected.rstrip(b"\r")


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS.keys())
@pytest.mark.parametrize("text", ["a\rbc\r\u00e9\r", "a\rb", "a\r\nb\u20ac\r\nc", "\U0001f3b2\nb\n", ""])
@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_utf_16_and_every_line_end_are_read(tmp_path: Path, pack: Pack, text: str, coding: str) -> None:
    content = text.encode(coding)
    expected = as_list(split_lines(plain_text(content)))
    file = open_in_small_steps(tmp_path, pack(content), takes_others=True)
    assert read_lines(file, 3) == expected
    assert file.lines == len(expected)


def test_half_a_utf_16_letter_at_the_end_is_a_line(tmp_path: Path) -> None:
    content = "ab\n".encode("utf-16") + b"\x00"
    file = open_in_small_steps(tmp_path, content, takes_others=True)
    assert read_lines(file) == as_list(split_lines(plain_text(content)))


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS.keys())
def test_hashes_cover_the_file_and_its_content(tmp_path: Path, pack: Pack) -> None:
    path, text = tmp_path / "x", b"a\n" * 1000
    path.write_bytes(pack(text))
    _, facts = open_text_file(path, Spool(tmp_path), takes_others=False, has_comments=False)
    assert facts.sha256 == hashlib.sha256(pack(text)).hexdigest()
    assert facts.content_sha256 == hashlib.sha256(text).hexdigest()


def test_blocks_do_not_grow_with_the_file(tmp_path: Path) -> None:
    """Blocks have the same size in a longer file; only a line that is longer than a block makes a larger one."""
    file = open_in_small_steps(tmp_path, b"0123456\n" * 1000 + b"9" * 100 + b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "BLOCK_BYTES", 64)
        sizes = [len(block.data) for block in file.blocks()]
    assert max(sizes[:-1]) <= 64 + len("0123456\n")
    assert sizes[-1] <= 64 + 101


def test_large_spool_is_on_disk_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "HELD_BYTES", 1000)
    spool = Spool(tmp_path)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n" * 400))
    (tmp_path / "b.bz2").write_bytes(bz2.compress(b"b\n" * 400))
    files = [
        open_text_file(tmp_path / name, spool, takes_others=False, has_comments=False)[0] for name in ("a.gz", "b.bz2")
    ]
    assert (spool.bytes, spool.file._rolled) == (1600, True)  # type: ignore[attr-defined]
    assert {path.name for path in tmp_path.iterdir()} == {"a.gz", "b.bz2"}
    assert [read_lines(file, 100) for file in files] == [[b"a"] * 400, [b"b"] * 400]


def test_pipes_are_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b"# a\nb\n"))
    writer.start()
    file, _ = open_text_file(tmp_path / "pipe", Spool(tmp_path), takes_others=True, has_comments=True)
    writer.join()
    assert [read_lines(file), read_lines(file, begin=1)] == [[b"# a", b"b"], [b"b"]]


def test_changed_file_is_refused(tmp_path: Path) -> None:
    text = b"a\n" * 100
    file = open_in_small_steps(tmp_path, text)
    blocks = file.blocks()
    next(blocks)
    (tmp_path / "x").write_bytes(text + b"b\n")
    with pytest.raises(StorageError, match=r"expected .*/x as it was when the import began, found it changed; try ag"):
        list(blocks)
    with pytest.raises(StorageError, match="found it changed"):
        next(file.blocks())
    (tmp_path / "x").unlink()
    with pytest.raises(StorageError, match=r"expected a file at .*/x, found: no such file"):
        next(file.blocks())


def test_files_that_are_not_text_are_refused(tmp_path: Path) -> None:
    for content in (b"RGMH" + bytes(100), gzip.compress(b"RGMH" + bytes(100))):
        with pytest.raises(CorruptFileError, match="expected text in x, found a file of eXtreme Gammon"):
            open_in_small_steps(tmp_path, content)
    with pytest.raises(StorageError, match=r"expected a file at .*missing, found: no such"):
        open_text_file(tmp_path / "missing", Spool(tmp_path), takes_others=False, has_comments=False)
    with pytest.raises(CorruptFileError, match="expected packed data"):
        open_in_small_steps(tmp_path, gzip.compress(b"a\n" * 1000)[:-9])


def test_full_disk_is_named(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.file = Path("/dev/full").open("r+b", buffering=0)  # noqa: SIM115
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"a\n"))
    with (
        spool.file,
        pytest.raises(StorageError, match=r"expected room in .* for the unpacked content, found: no space"),
    ):
        open_text_file(tmp_path / "x.gz", spool, takes_others=False, has_comments=False)


def test_last_comment_is_kept() -> None:
    assert last_comment(b"# a # b\nc # d\n  \t# e\r\nf # g # h\n") == b"  \t# e\r"
    assert last_comment(b"a # b\n#") == b"#"
    assert last_comment(b"a\n") == last_comment(b"") == b""
