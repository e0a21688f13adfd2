"""Opening and splitting files, and accounting for every line."""

import bz2
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bgdata.errors import CorruptFileError, StorageError, UsageError
from bgdata.formats import lines as lines_module
from bgdata.formats.lines import (
    TEXT_LIMIT,
    Ledger,
    LineCounts,
    Quarantined,
    RowIntake,
    check_is_text,
    decode_text,
    map_blocks,
    plain_text,
    read_bytes,
    split_lines,
    write_bytes,
)
from tests.reference.text_rows import lines_of
from tests.subtests import each

TEXT = b"first\nsecond\n"
MATCH = " 3 point match\n é : 0\n"


def texts(data: bytes) -> list[bytes]:
    lines = split_lines(data)
    return [lines[index] for index in range(len(lines))]


@each(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\r\r\n", [b"a\r"]),
        (b"\r\n", [b""]),
        (b"a\rb\n", [b"a\rb"]),
        (b"\xef\xbb\xbfa\n", [b"a"]),
        (b"\xef\xbb\xbf", [b""]),
        (b"\xef\xbb\xbf\n", [b""]),
        (b"a\0b\n\xff\n", [b"a\0b", b"\xff"]),
        (b"a\n\n\nb\n", [b"a", b"", b"", b"b"]),
    ],
)
def test_lines_end_at_line_feeds(data: bytes, expected: list[bytes]) -> None:
    assert texts(data) == expected


@given(
    st.one_of(
        st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"\0", b" "])).map(b"".join),
        st.binary(),
    )
)
def test_split_matches_the_reference(data: bytes) -> None:
    assert texts(data) == lines_of(data)


def test_line_text_is_printable_and_short() -> None:
    lines = split_lines(b"a\0b\tc\xff\xc3\xa4\x1b\n" + b"x" * 10_000)
    assert lines.text(0) == "a\\x00b\\tc\\xffä\\x1b"
    assert lines.text(1) == "x" * TEXT_LIMIT + "... (10000 bytes)"
    assert (lines.number(0), lines.number(1)) == (1, 2)


@pytest.mark.parametrize(
    ("data", "expected"),
    [("Ä€".encode(), "Ä€"), (b"\xc4\x80x\xff", "Ä€xÿ"), (b"\x92", "\u2019"), (b"\x92\x81", "\x92\x81"), (b"", "")],
)
def test_text_is_decoded_as_utf8_or_windows(data: bytes, expected: str) -> None:
    assert decode_text(data) == expected


def test_every_line_has_one_verdict() -> None:
    ledger = Ledger(split_lines(b"a\nb\n\nd\ne\n"))
    ledger.set_aside([2])
    ledger.reject(np.array([0, 2]), "expected no a")
    ledger.reject([0, 4], "expected something else")
    ledger.set_aside([0])
    ledger.reject([], "expected nothing")
    assert ledger.counts == LineCounts(lines=5, rows=2, comments=1, quarantined=2)
    assert repr(ledger) == "Ledger(2 rows, 1 comments, 2 quarantined)"
    assert ledger.rows.tolist() == [1, 3]
    assert ledger.comments.tolist() == [2]
    assert ledger.rejects == [Quarantined(1, "a", "expected no a"), Quarantined(5, "e", "expected something else")]
    assert str(ledger.rejects[0]) == "line 1: expected no a, got 'a'"


def test_copied_ledger_is_independent() -> None:
    ledger = Ledger(split_lines(b"a\nb\n"))
    ledger.copy().reject([1], "expected no b")
    assert ledger.counts.quarantined == 0


@dataclass(frozen=True)
class Letters(RowIntake):
    values: np.ndarray
    comments: tuple[str, ...] = ()


@pytest.fixture
def letters() -> Letters:
    ledger = Ledger(split_lines(b"a\n#\nb\nc\n"))
    ledger.set_aside([1])
    return Letters(ledger, ledger.rows + 1, np.array([1, 2, 3]), ("a comment",))


def test_quarantine_removes_rows_from_every_array(letters: Letters) -> None:
    remaining = letters.quarantine(np.array([False, True, False]), "expected another class")
    assert remaining.lines.tolist() == [1, 4]
    assert remaining.values.tolist() == [1, 3]
    assert remaining.comments == ("a comment",)
    assert remaining.rejects == [Quarantined(3, "b", "expected another class")]
    assert remaining.counts == LineCounts(lines=4, rows=2, comments=1, quarantined=1)
    assert letters.counts == LineCounts(lines=4, rows=3, comments=1, quarantined=0)


@pytest.mark.parametrize("mask", [np.zeros(2, np.bool_), np.zeros(3, np.int8)], ids=["shorter", "int8"])
def test_quarantine_needs_a_mask_for_every_row(letters: Letters, mask: NDArray[Any]) -> None:
    with pytest.raises(UsageError, match=r"expected bool\[3\], got "):
        letters.quarantine(mask, "expected nothing")


def test_blocks_are_joined_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers of blocks of 3 lines join to one of all 10 lines, with line numbers of the file."""
    monkeypatch.setattr(lines_module, "BLOCK", 3)
    lines = split_lines(b"".join(b"%d\n" % number for number in range(10)))

    def parse(block: lines_module.Lines) -> Ledger:
        ledger = Ledger(block)
        for index in range(len(block)):
            if int(block[index]) % 4 == 1:
                ledger.reject([index], f"expected no {block[index].decode()}")
            if int(block[index]) == 6:
                ledger.set_aside([index])
        return ledger

    ledger = Ledger.join(lines, map_blocks(parse, lines))
    assert ledger.counts == LineCounts(10, 6, 1, 3)
    assert [(bad.line, bad.text, bad.reason) for bad in ledger.rejects] == [
        (number + 1, str(number), f"expected no {number}") for number in (1, 5, 9)
    ]
    assert [part.rejects[0].line for part in map_blocks(parse, lines) if part.rejects] == [2, 6, 10]


@pytest.mark.parametrize(("name", "magic"), [("x.txt", TEXT), ("x.gz", b"\x1f\x8b"), ("x.bz2", b"BZh")])
def test_files_are_compressed_by_name_and_unpacked_by_content(tmp_path: Path, name: str, magic: bytes) -> None:
    write_bytes(tmp_path / name, [b"first\n", b"second\n"])
    packed = (tmp_path / name).read_bytes()
    assert packed.startswith(magic)
    (tmp_path / "renamed").write_bytes(packed)
    assert read_bytes(tmp_path / "renamed") == TEXT
    write_bytes(tmp_path / name, [TEXT])
    assert (tmp_path / name).read_bytes() == packed, "the same text gives the same bytes"
    assert {path.name for path in tmp_path.iterdir()} == {name, "renamed"}


def test_position_id_that_begins_like_bzip2_data_is_text(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_bytes(b"BZh9AAAAAAAAAA\n")
    assert read_bytes(path) == b"BZh9AAAAAAAAAA\n"


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress])
def test_damaged_compressed_files_are_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(TEXT * 100)
    path = tmp_path / "x"
    for damaged in (packed + b"more", packed[:-9] + b"\0\0\0\0\0" + packed[-4:]):
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=rf"^expected packed data in {path}, found: .*; fetch it again$"):
            read_bytes(path)


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(StorageError, match=f"expected a file at {path}, found: .*; check the path"):
            read_bytes(path)
    with pytest.raises(StorageError, match=r"expected to write .*none/x, found: no such file or directory"):
        write_bytes(tmp_path / "none" / "x", [TEXT])


def test_failed_writing_leaves_no_file(tmp_path: Path) -> None:
    def chunks() -> object:
        yield b"first\n"
        raise UsageError("expected more")

    with pytest.raises(UsageError):
        write_bytes(tmp_path / "x.gz", chunks())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@each(
    ("data", "expected"),
    [
        (MATCH.encode("utf-16"), MATCH),
        (b"\xfe\xff" + MATCH.encode("utf-16-be"), MATCH),
        (MATCH.replace("\n", "\r\n").encode("utf-16"), MATCH.replace("\n", "\r\n")),
        (MATCH.replace("\n", "\r").encode("utf-16"), MATCH),
        (MATCH.replace("\n", "\r").encode(), MATCH),
        (MATCH.replace("\n", "\r\n").encode(), MATCH.replace("\n", "\r\n")),
        (b"a\rb\nc", "a\rb\nc"),
        (b"", ""),
        (b"\xff\xfea\x00\n\x00\x00", "a\n\ufffd"),
        (b"\xff\xfe\x00\xd8\n\x00", "\ufffd\n"),
    ],
)
def test_text_of_other_systems_is_decoded(data: bytes, expected: str) -> None:
    assert plain_text(data).decode() == expected


@each(
    ("data", "program"),
    [
        (b"RGMH\0\0", "eXtreme Gammon"),
        (b'{"version":"0.00011825","compression":"gzip","encoding":"smile"}\n\x1f\x8b', "BGBlitz"),
        (b"OGXM\0", r"OpenGammon \(OGXM\)"),
    ],
)
def test_binary_files_are_refused(data: bytes, program: str) -> None:
    message = f"^expected text in x, found a file of {program}; export it there as .mat or other text$"
    with pytest.raises(CorruptFileError, match=message):
        check_is_text(data, "x")


@pytest.mark.parametrize("data", [b"", b" RGMH", b'{"board": [0]}', MATCH.encode()])
def test_text_files_are_accepted(data: bytes) -> None:
    check_is_text(data, "x")
