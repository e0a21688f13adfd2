"""Match equity tables as XML and INI files: reading, reasons of quarantined ones, writing, reading back by gnubg."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.formats.lines import LineCounts
from bgdata.formats.met_files import MetTable, format_met, parse_met
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.subtests import each

INSTALLED = Path("/usr/share/gnubg/met")  # tables of Debian's gnubg-data
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE met SYSTEM "met.dtd">\n<!--\n  Copyright (C) nobody;\n  free.\n-->\n'
INFO = "<info><name>A &amp; B</name>\n<description>by hand</description><length>{}</length></info>\n"


def row(*chances: float | str) -> str:
    return "<row>\n" + "".join(f"<me>{chance}</me>\n" for chance in chances) + "</row>\n"


def after_crawford(player: str, *chances: float) -> str:
    return f'<post-crawford-table type="explicit" player="{player}">\n{row(*chances)}</post-crawford-table>\n'


def xml(
    rows: str = row(0.5, "0.70") + row(0.3, ".5"),
    post: str = after_crawford("both", 0.5, 0.49),
    length: str = "2",
    head: str = HEAD,
    pre: str = 'type="explicit"',
) -> bytes:
    """A file with these rows before Crawford, tables after Crawford, and attributes `pre` of the former."""
    table = f"<pre-crawford-table {pre}>\n{rows}</pre-crawford-table>\n"
    return f"{head}<met>\n{INFO.format(length)}{table}{post}</met>\n".encode()


def parse_table(data: bytes) -> MetTable:
    file = parse_met(data)
    assert file.rejects == []
    assert file.table is not None
    return file.table


def chance_lists(table: MetTable) -> tuple[Any, Any, Any]:
    """Chances before Crawford, and those after Crawford of both players."""
    assert table.before is not None
    assert table.post_crawford is not None
    assert table.opponent_post_crawford is not None
    return table.before.tolist(), table.post_crawford.tolist(), table.opponent_post_crawford.tolist()


def test_table_for_equal_players_is_read() -> None:
    table = parse_table(xml())
    assert table.name == "A & B"
    assert table.description == "by hand"
    assert table.length == 2
    assert table.form == "explicit"
    assert chance_lists(table) == ([[0.5, 0.7], [0.3, 0.5]], [0.5, 0.49], [0.5, 0.49])
    assert table.is_symmetric
    assert table.parameters == {}
    assert table.notice == "Copyright (C) nobody;\nfree."
    assert parse_met(xml()).counts.rows == 6


def test_table_may_favour_a_side() -> None:
    post = after_crawford("1", 0.49, 0.48) + after_crawford("0", 0.51, 0.5)
    table = parse_table(xml(row(0.51, 0.72) + row(0.32, 0.51), post))
    assert not table.is_symmetric
    _, post_crawford_0, post_crawford_1 = chance_lists(table)
    assert post_crawford_0 == [0.51, 0.5]
    assert post_crawford_1 == [0.49, 0.48]


def formula(parameters: str) -> bytes:
    """A file of formulas with these parameters."""
    element = f"<parameters>{parameters}</parameters>"
    post = f'<post-crawford-table type="mec" player="both">{element}</post-crawford-table>'
    return xml(element, post, "-1", pre='type="zadeh"')


def test_parameters_of_a_formula_are_read() -> None:
    table = parse_table(formula('<parameter name="gammon-rate">0.26</parameter>\n<parameter name="x">1</parameter>'))
    assert table.form == "zadeh"
    assert table.length is None
    assert table.before is None
    assert table.post_crawford is None
    expected = {"gammon-rate": 0.26, "x": 1.0}
    assert table.parameters == {"pre_crawford": expected, "post_crawford_both": expected}


def test_table_may_have_fewer_post_crawford_chances() -> None:
    assert chance_lists(parse_table(xml(post=after_crawford("both", 0.5))))[1] == [0.5]


HEADS = ("", f"\n# a comment\n\n{HEAD}", f"\ufeff{HEAD}", "<!-- \xe4 -->")


@each("head", [*HEADS, HEAD.replace('"1.0"', '"1.0" encoding="ISO-8859-1"')])
def test_text_before_a_table_is_ignored(head: str) -> None:
    assert parse_table(xml(head=head)).length == 2
    assert parse_table(xml(head=head).replace(b"\n", b"\r\n")).length == 2


def test_text_in_an_older_encoding_is_decoded() -> None:
    data = xml().replace(b"by hand", "by hand, in Jyväskylä".encode("latin-1"))
    assert parse_table(data).description == "by hand, in Jyväskylä"


WRONG: list[tuple[bytes, str, str]] = [  # content, text of the bad line, reason
    (xml(row(0.5, 1.2) + row(-0.2, 0.5)), "<me>1.2</me>", "expected chances from 0 to 1"),
    (xml(row(0.5, "-0.2") + row(0.3, 0.5)), "<me>-0.2</me>", "expected a number"),
    (xml(row(0.5, "nan") + row(0.3, 0.5)), "<me>nan</me>", "expected a number"),
    (xml(row(0.5, "") + row(0.3, 0.5)), "<me></me>", "expected a number"),
    (xml(row(0.5, "1_0") + row(0.3, 0.5)), "<me>1_0</me>", "expected a number"),
    (xml(row(0.5, 0.7)), "<pre-crawford-table", "expected as many rows as the length 2, found 1"),
    (xml(length="3"), "<pre-crawford-table", "expected as many rows as the length 3, found 2"),
    (xml(length="-1"), "<pre-crawford-table", "expected as many rows as the length is none, found 2"),
    (xml(length="65"), "<description>", "expected a length of 1 to 64, or -1 for a formula"),
    (xml(length="two"), "<description>", "expected a length of 1 to 64, or -1 for a formula"),
    (xml(row(0.5, 0.7) + row(0.3)), "<row>", "expected 2 chances in the row, found 1"),
    (xml(post=after_crawford("both", 0.5, 0.4, 0.3)), "<row>", "expected up to 2 chances in the row, found 3"),
    (xml(post=after_crawford("both")), "<row>", "expected up to 2 chances in the row, found 0"),
    (xml(post=after_crawford("both", 0.6)), "<post-crawford", "expected chances at 1-away 1-away that sum to 1"),
    (
        xml(row(0.5, 0.71) + row(0.3, 0.5)),
        "<pre-crawford-table",
        "expected the same chances for both sides, as the post-crawford table says, found others at 1-away 2-away",
    ),
    (xml(post=""), "<met>", "expected a post-crawford table for player both, or for 0 and 1"),
    (xml(post=after_crawford("0", 0.5)), "<met>", "expected a post-crawford table for player both, or for 0 and 1"),
    (xml(post=2 * after_crawford("0", 0.5)), "<post-", "expected one post-crawford table for .*, or 0 and 1, found 0"),
    (xml(post=after_crawford("2", 0.5)), "<post-", "expected one post-crawford table for .*, or 0 and 1, found 2"),
    (xml(pre='type="magic"'), "<pre-crawford-table", "expected the type explicit, zadeh, mec, found magic"),
    (xml(pre='type="mec"'), "<pre-crawford-table", "expected one <parameters> in <pre-crawford-table>, found 0"),
    (xml().replace(b"<name>A &amp; B</name>", b""), "<info>", "expected one <name> in <info>, found 0"),
    (xml().replace(b"<met>", b"<a>").replace(b"</met>", b"</a>"), "<a>", "expected a <met>, found <a>"),
    (xml().replace(b"&amp;", b"&"), "A & B", "expected well-formed XML, found: not well-formed .invalid token."),
    (xml().replace(b"</info>", b""), "</met>", "expected well-formed XML, found: mismatched tag"),
    (xml()[:-8], "</post-crawford-table", "expected well-formed XML, found: no element found"),
    (xml(head=HEAD.replace("1.0", '1.0" encoding="x')), "<?xml", "expected .*unknown encoding.*"),
    (xml(head='<!DOCTYPE met [<!ENTITY a "b">]>\n'), "<!DOCTYPE", "expected no entities but those of XML, found a"),
    (
        xml(head='<!DOCTYPE met [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>\n'),
        "<!DOCTYPE",
        "expected no entities but those of XML, found a",
    ),
    (xml().replace(b"&amp;", b"&auml;"), "A &auml; B", "expected no entities but those of XML, found auml"),
    (b"<met>" * 200, "<met>", "expected at most 100 elements in one another"),
]  # fmt: skip


@each(("data", "line", "reason"), WRONG)
def test_invalid_tables_are_quarantined(data: bytes, line: str, reason: str) -> None:
    """One line of an invalid table has the reason, all others refer to it, and none is a row."""
    file = parse_met(data)
    assert file.table is None
    assert file.counts.rows == 0
    (cause,) = (bad for bad in file.rejects if not bad.reason.startswith("expected a table that is whole"))
    assert re.fullmatch(reason, cause.reason)
    assert line in cause.text
    other_reasons = {bad.reason for bad in file.rejects if bad != cause}
    assert other_reasons <= {f"expected a table that is whole, see line {cause.line}"}


def test_text_around_a_table_is_quarantined() -> None:
    file = parse_met(b"nonsense\n" + xml() + b"\n# a comment\nmore\n")
    assert file.table is not None
    last_line = len(xml().splitlines()) + 4
    assert [(bad.line, bad.text) for bad in file.rejects] == [(1, "nonsense"), (last_line, "more")]


def test_file_with_two_tables_is_refused() -> None:
    file = parse_met(xml() + xml())
    assert file.table is None
    assert "expected well-formed XML, found: junk after document element" in {bad.reason for bad in file.rejects}


@pytest.mark.parametrize("data", [b"", b"\n", b"# only\n"])
def test_file_without_content_has_no_table(data: bytes) -> None:
    file = parse_met(data)
    assert file.table is None
    assert file.rejects == []


def random_table(length: int, *, is_symmetric: bool) -> MetTable:
    generator = np.random.default_rng(length)
    before = generator.random((length, length))
    post_crawford = generator.random(length)
    if is_symmetric:
        before = np.triu(before, 1) + np.tril(1 - before.T, -1) + 0.5 * np.eye(length)
        post_crawford[0] = 0.5
        opponents = post_crawford
    else:
        opponents = generator.random(length)
        opponents[0] = 1 - post_crawford[0]
    notice = "No rights\nreserved"
    return MetTable("R <&> D", "random", length, "explicit", before, post_crawford, opponents, {}, notice)


@each("is_symmetric", [True, False])
@each("length", [1, 7, 64])
def test_tables_round_trip(length: int, is_symmetric: bool) -> None:
    table = random_table(length, is_symmetric=is_symmetric)
    again = parse_table(b"".join(format_met(table)))
    assert chance_lists(again) == chance_lists(table)
    assert again.is_symmetric == is_symmetric
    assert again.length == length
    assert again.name == table.name
    assert again.description == table.description
    assert again.notice == table.notice


def test_table_of_a_formula_is_not_written() -> None:
    table = replace(random_table(3, is_symmetric=True), before=None)
    with pytest.raises(UsageError, match="expected a table of chances to write, got R <&> D, which has parameters"):
        format_met(table)


@pytest.mark.parametrize("notice", ["a--b", "a-"])
def test_notice_that_xml_cannot_hold_is_not_written(notice: str) -> None:
    with pytest.raises(UsageError, match=f"expected a notice without two hyphens side by side, got '{notice}'"):
        format_met(replace(random_table(3, is_symmetric=True), notice=notice))


# by name: length, some chances (away, opponent_away, mwc), and those after Crawford at 2- to 5-away
PUBLISHED = {
    "Kazaross-XG2": (25, [(1, 2, 0.67736), (2, 3, 0.59947), (7, 11, 0.700209)], [0.48803, 0.32264, 0.31002, 0.19012]),
    "Rockwell-Kazaross": (25, [(1, 2, 0.676888), (3, 4, 0.571438)], [0.487677, 0.323112, 0.310299, 0.190796]),
    "g11": (25, [(1, 2, 0.68145), (5, 7, 0.62867)], [0.48811, 0.3177, 0.30588, 0.18538]),
    "mec26": (25, [(1, 2, 0.685), (7, 11, 0.694)], [0.484989, 0.3195, 0.302314, 0.189355]),
    "jacobs": (25, [(1, 2, 0.690), (2, 3, 0.603)], [0.489, 0.312, 0.308, 0.182]),
    "snowie": (15, [(1, 2, 0.685), (3, 4, 0.572)], [0.485, 0.315, 0.305, 0.187]),
    "woolsey": (15, [(1, 2, 0.70), (3, 4, 0.59)], [0.485, 0.30, 0.296, 0.18]),
    "ortega": (15, [(1, 2, 0.70), (2, 3, 0.598)], [0.49, 0.30, 0.29, 0.17]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_tables_of_gnubg_are_read(name: str) -> None:
    path = INSTALLED / f"{name}.xml"
    if not path.is_file():
        pytest.skip(f"no {path} (Debian package gnubg-data)")
    length, chances, published = PUBLISHED[name]
    table = parse_table(path.read_bytes())
    before, post_crawford, _ = chance_lists(table)
    assert table.length == len(before) == length
    assert len(post_crawford) == (24 if name in ("g11", "mec26") else length)
    for away, opponent_away, mwc in chances:
        assert before[away - 1][opponent_away - 1] == pytest.approx(mwc, abs=1e-9)
    assert post_crawford[1:5] == pytest.approx(published, abs=1e-6)
    assert "permitted in any medium without royalty" in table.notice


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_gnubg_reads_back_every_cell(tmp_path: Path, is_symmetric: bool) -> None:
    """gnubg reads every cell that we write, except the last post-Crawford chance, which gnubg 1.07 makes up and no
    match needs."""
    table = random_table(25, is_symmetric=is_symmetric)
    path = tmp_path / "ours.xml"
    path.write_bytes(b"".join(format_met(table)))
    script = f"gnubg.command('set met {path}')\npre, own, other = gnubg.met(25)\n"
    script += "for row in list(pre) + [own, other]:\n    tell(' '.join(repr(float(mwc)) for mwc in row))\n"
    lines = ask_gnubg(script, tmp_path)
    gnubg_rows = np.array([[float(mwc) for mwc in line.split()] for line in lines])
    before, post_crawford, opponents = chance_lists(table)
    differences = np.abs(gnubg_rows - [*before, post_crawford, opponents])
    assert differences[:25].max() < 1e-7  # float32
    assert differences[25:, :24].max() < 1e-7


@pytest.mark.parametrize("comment", [b"# by <me@x.org>\n", b"  # see </met>\n", b"#<met>\n"])
def test_comments_around_a_table_may_have_tags(comment: bytes) -> None:
    parse_table(comment + xml() + comment)


def test_carriage_returns_end_lines() -> None:
    file = parse_met(xml().replace(b"\n", b"\r"))
    assert file.counts == parse_met(xml()).counts
    assert file.table is not None


@pytest.mark.parametrize(("number", "expected"), [("1e999", "a finite number"), ("\u0663", "a number")])
def test_invalid_parameters_are_refused(number: str, expected: str) -> None:
    file = parse_met(formula(f'<parameter name="x">{number}</parameter>'))
    assert file.table is None
    assert f"expected {expected}" in [bad.reason for bad in file.rejects]


INI = """\
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


@pytest.mark.parametrize("data", [INI.encode(), INI.replace("\n", "\r\n").encode(), INI.encode("utf-16")])
def test_ini_file_is_read(data: bytes) -> None:
    assert parse_met(data).counts == LineCounts(lines=15, rows=4, comments=11, quarantined=0)
    table = parse_table(data)
    assert table.name == "Invented"
    assert table.description == "three points"
    assert table.length == 3
    assert table.form == "explicit"
    before, post_crawford, opponents = chance_lists(table)
    assert before == [[0.5, 0.68, 0.75], [0.32, 0.5, 0.6], [0.25, 0.4, 0.5]]
    assert post_crawford == opponents == [0.5, 0.49, 0.32]
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
def test_invalid_ini_file_is_refused_with_its_reason(old: str, new: str, line: int, reason: str) -> None:
    assert old in INI
    file = parse_met(INI.replace(old, new).encode())
    assert file.table is None
    reasons = {bad.line: bad.reason for bad in file.rejects}
    assert reasons.pop(line) == reason
    assert set(reasons.values()) == {f"expected a table that is whole, see line {line}"}
