"""Headers of gnubg's bearoff files."""

from __future__ import annotations

import contextlib

import pytest

from bgdata.errors import CorruptFileError, InvalidParameterError
from bgdata.formats.gnubg_bearoff_header import BearoffHeader, format_header, parse_header
from tests.formats.gnubg_files import header
from tests.together import each

HEADERS = {
    "gnubg-OS-04-15-1-1-0": BearoffHeader("one_sided", 4, 15, has_gammon=True, is_compressed=True),
    "gnubg-OS-04-15-1-0-1": BearoffHeader("one_sided", 4, 15, has_gammon=True, is_normal=True),
    "gnubg-OS-04-15-0-0-0": BearoffHeader("one_sided", 4, 15),
    "gnubg-OS-23-15-0-1-0": BearoffHeader("one_sided", 23, 15, is_compressed=True),
    "gnubg-TS-03-03-1": BearoffHeader("two_sided", 3, 3, is_cubeful=True),
    "gnubg-TS-06-11-0": BearoffHeader("two_sided", 6, 11),
    "gnubg-H1": BearoffHeader("hypergammon", 25, 1),
    "gnubg-H3": BearoffHeader("hypergammon", 25, 3),
}


@pytest.mark.parametrize(("name", "expected"), HEADERS.items())
def test_header_round_trip(name: str, expected: BearoffHeader) -> None:
    assert parse_header(header(name)) == expected
    assert format_header(expected) == header(name)
    assert expected.name == name


UNKNOWN = [
    "OS-24-15-1-1-0",
    "OS-00-15-1-1-0",
    "OS-04-16-1-1-0",
    "OS-04-15-1-1-1",
    "OS-04-15-1-1",
    "OS-04-15-2-1-0",
    "OS-4-15-1-1-0",
    "TS-06-06-2",
    "TS-06-00-1",
    "TS-0606-1",
    "TS-\xb2\xb3-03-1",
    "H4",
    "H0",
    "H",
    "XX-06-06-1",
]


@each(
    "name",
    [*(f"gnubg-{rest}" for rest in UNKNOWN), "gnubg", "", "wildbg-H1"],
)
def test_unknown_header(name: str) -> None:
    data = name.encode("latin-1").ljust(39, b"x") + b"\n"
    with pytest.raises(CorruptFileError, match=r"expected a header gnubg-OS-.* in y\.bd, found b'"):
        parse_header(data, "y.bd")


def test_every_flipped_bit_of_a_header_is_noticed_or_changes_its_meaning() -> None:
    head = header("gnubg-OS-04-15-1-1-0")
    for bit in range(8 * len(head)):
        flipped = bytearray(head)
        flipped[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(CorruptFileError):
            assert parse_header(bytes(flipped)) != parse_header(head)


def test_header_that_no_file_has_cannot_be_made() -> None:
    with pytest.raises(InvalidParameterError, match="1 to 23 points"):
        BearoffHeader("one_sided", 24, 15)
    with pytest.raises(InvalidParameterError, match="25 to 25 points and 1 to 3 checkers"):
        BearoffHeader("hypergammon", 25, 4)
    with pytest.raises(InvalidParameterError, match="uncompressed"):
        BearoffHeader("one_sided", 4, 15, has_gammon=True, is_compressed=True, is_normal=True)
