"""Match equity tables of eXtreme Gammon and Snowie: an example, and every rule."""

from __future__ import annotations

from bgdata.formats.lines import LineCounts
from bgdata.formats.met_ini import parse_met_file
from tests.formats.test_met_xml import parts_of
from tests.formats.test_met_xml import text as xml_text
from tests.together import each

EXAMPLE = """\
; made up
[Current]
Name=Invented
Version=1.0
Description=three points

[PostCrawford]
Size=3
Data=0.50 0.49 0.32

[PreCrawford]
Size=3
 1=0.50 0.68 0.75
 2=0.32 0.50 0.60
 3=0.25 .4 0.50
"""


def test_the_example() -> None:
    for data in (EXAMPLE.encode(), EXAMPLE.replace("\n", "\r\n").encode(), EXAMPLE.encode("utf-16")):
        file = parse_met_file(data)
        assert file.counts == LineCounts(15, 4, 11, 0)
        table = file.table
        assert table is not None
        assert (table.name, table.description, table.length, table.form) == ("Invented", "three points", 3, "explicit")
        post = [0.5, 0.49, 0.32]
        assert parts_of(table) == [[[0.5, 0.68, 0.75], [0.32, 0.5, 0.6], [0.25, 0.4, 0.5]], post, post]
        assert table.is_symmetric


@each(
    ("old", "new", "line", "reason"),
    [
        ("[PreCrawford]", "[Other]", 1, "expected sections [PreCrawford] and [PostCrawford]"),
        ("Size=3\n 1=", "Size=65\n 1=", 12, "expected a size of 1 to 64"),
        ("Size=3\n 1=", "Size=x\n 1=", 12, "expected a size of 1 to 64"),
        ("Size=3\n 1=", " 1=", 12, "expected Size= in [PreCrawford]"),
        ("Size=3\n 1=", "Size=2\n 1=", 13, "expected 2 chances in the row, found 3"),
        (" 2=0.32 0.50 0.60\n", "", 12, "expected 3 rows of chances, found no 2="),
        (" 2=0.32 0.50 0.60", " 2=0.32 0.50", 14, "expected 3 chances in the row, found 2"),
        (" 2=0.32 0.50 0.60", " 2=", 14, "expected chances in 2="),
        (" 2=0.32", " 2=0,32", 14, "expected numbers with spaces between them"),
        (" 2=0.32", " 2=nan", 14, "expected numbers with spaces between them"),
        (" 2=0.32", " 2=32.0", 14, "expected chances from 0 to 1"),
        (" 2=0.32", " 2=0.42", 13, "expected the same chances for both sides, found others at 1-away 2-away"),
        (" 2=0.32", " 1=0.32", 14, "expected 1 once in its section"),
        (" 2=0.32", "hello 0.32", 14, "expected a section such as [PreCrawford], or NAME=VALUE"),
        ("Data=0.50 0.49 0.32", "Data=0.50 0.49 0.32 0.3", 9, "expected up to 3 chances, found 4"),
        ("Data=0.50 0.49 0.32", "", 1, "expected chances in Data="),
    ],
)
def test_each_rule(old: str, new: str, line: int, reason: str) -> None:
    assert old in EXAMPLE
    file = parse_met_file(EXAMPLE.replace(old, new).encode())
    assert file.table is None
    reasons = {bad.line: bad.reason for bad in file.quarantined}
    assert reasons.pop(line) == reason
    assert set(reasons.values()) == {f"expected a table that is whole, see line {line}"}


def test_xml_is_read_as_xml() -> None:
    assert parse_met_file(xml_text()).table is not None


@each("data", [b"", b"\n", b"nothing"])
def test_missing_table(data: bytes) -> None:
    assert parse_met_file(data).table is None
