"""Text of other systems, and files that are no text."""

from __future__ import annotations

import pytest

from bgdata.errors import CorruptFileError
from bgdata.formats.plain_text import check_is_text, plain_text
from tests.together import each

TEXT = " 3 point match\n é : 0\n"


@each(
    ("data", "expected"),
    [
        (TEXT.encode("utf-16"), TEXT),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), TEXT),
        (TEXT.replace("\n", "\r\n").encode("utf-16"), TEXT.replace("\n", "\r\n")),
        (TEXT.replace("\n", "\r").encode("utf-16"), TEXT),
        (TEXT.replace("\n", "\r").encode(), TEXT),
        (TEXT.replace("\n", "\r\n").encode(), TEXT.replace("\n", "\r\n")),
        (b"a\rb\nc", "a\rb\nc"),
        (b"", ""),
        (b"\xff\xfea\x00\n\x00\x00", "a\n\ufffd"),
        (b"\xff\xfe\x00\xd8\n\x00", "\ufffd\n"),
    ],
)
def test_text_of_other_systems(data: bytes, expected: str) -> None:
    assert plain_text(data).decode() == expected


@each(
    ("data", "program"),
    [
        (b"RGMH\0\0", "eXtreme Gammon"),
        (b'{"version":"0.00011825","compression":"gzip","encoding":"smile"}\n\x1f\x8b', "BGBlitz"),
        (b"OGXM\0", r"OpenGammon \(OGXM\)"),
    ],
)
def test_files_that_are_no_text(data: bytes, program: str) -> None:
    with pytest.raises(
        CorruptFileError,
        match=f"^expected text in x, found a file of {program}; export it there as .mat or other text$",
    ):
        check_is_text(data, "x")


def test_text_passes() -> None:
    for data in (b"", b" RGMH", b'{"board": [0]}', TEXT.encode()):
        check_is_text(data, "x")
