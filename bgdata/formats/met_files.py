"""Match equity tables in gnubg's XML, and in the INI files (.met) of eXtreme Gammon and Snowie.

In XML, as met.dtd describes it, pre-Crawford `row i`, `me j` is the chance of the row's player at i-away against
j-away; the first row and column are the Crawford game. Post-Crawford `me n` is the chance of the trailer, n-away
against 1-away. A file has one such row for both players, or one for `player` 0 (of the rows) and one for `player` 1.
Types zadeh and mec have parameters of a formula instead of chances, which are read, but not evaluated. Chances that
gnubg extrapolates beyond the length of a file are left out.

    [Current]             Name, Version, Description
    [PostCrawford]        Size=3, Data=0.50 0.49 0.32: of the trailer, 1-away, 2-away ... against 1-away
    [PreCrawford]         Size=3, 1=0.50 0.68 0.75: of the player at 1, 2, 3-away, against 1-away, 2-away ...

In INI files both players have the same chances. Source: the published met.dtd in words, the files of Debian's
gnubg-data, and such INI files; no program text was used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidElementError, UsageError
from bgdata.formats.lines import Intake, Ledger, Lines, decode_text, is_utf8, plain_text, split_lines

MAX_AWAY = 64
MAX_DEPTH = 100  # greatest depth of nested elements
ROUNDED = 0.0025  # tolerance for both sides' chances, since printed tables are rounded
SUM = 1e-9  # tolerance of a sum of 1, at 1-away 1-away
FORMS = ("explicit", "zadeh", "mec")
_NUMBER = re.compile(r"\d*\.?\d+(?:[eE][-+]?\d+)?|\d+\.", re.ASCII)
_TAG = re.compile(rb"<")
_END = re.compile(rb"</met\s*>")
_SECTION = re.compile(r"\[\s*(\w+)\s*\]")
_ENTRY = re.compile(r"(\w+)\s*=\s*(.*)")
_CHANCE = re.compile(r"\d*\.?\d+|\d+\.", re.ASCII)
_HEADING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[;#][^\n]*\n\s*)*\[")
_INFO, _POST, _PRE = "current", "postcrawford", "precrawford"
Section = dict[str, tuple[int, str]]  # (line number, text) by lower-case name


@dataclass(frozen=True)
class MetTable:
    """A match equity table as it is in a file. Chances are float64 mwc of player 0. `before`, [n, n], is the
    pre-Crawford table by (away - 1, opponent_away - 1), None if the file has parameters instead. `post_crawford` and
    `opponent_post_crawford`, [m], are the chances of each player as the trailer. `parameters` are those of formulas, by
    table (pre_crawford, post_crawford_both, ...) and name."""

    name: str
    description: str
    length: int | None
    form: str  # form of the pre-Crawford table, one of FORMS
    before: NDArray[np.float64] | None
    post_crawford: NDArray[np.float64] | None
    opponent_post_crawford: NDArray[np.float64] | None
    parameters: Mapping[str, Mapping[str, float]]
    notice: str  # the comments of the file, with author and licence

    @property
    def is_symmetric(self) -> bool:
        """Whether both players have the same chances: the file has one post-Crawford table for both."""
        return self.post_crawford is self.opponent_post_crawford


@dataclass(frozen=True)
class MetFile(Intake):
    """The match equity table in a file, None if it is missing or invalid, and the ledger of the file's lines."""

    table: MetTable | None


@dataclass
class Element:
    """An XML element; its `line` counts from 1."""

    name: str
    attributes: dict[str, str]
    line: int
    texts: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of this element without that of its children, and without blanks around it."""
        return "".join(self.texts).strip()

    def children_named(self, name: str) -> list[Element]:
        """All children of this element that have this name."""
        return [child for child in self.children if child.name == name]

    def child(self, name: str) -> Element:
        """The only child that has this name. Raises InvalidElementError if there is not exactly one."""
        found = self.children_named(name)
        if len(found) != 1:
            raise InvalidElementError(f"expected one <{name}> in <{self.name}>, found {len(found)}", self.line)
        return found[0]


def parse_met(data: bytes) -> MetFile:
    """Parse the match equity table in a file: INI if it begins with a section in brackets, otherwise XML.

    If the table is invalid, all its lines are quarantined: one line has the reason, and all others refer to it. Lines
    of chances are rows, and all others comments. In XML, lines before and after the table that are not `#` comments are
    quarantined. If there are no line feeds, carriage returns end the lines."""
    text = plain_text(data)
    is_ini = _HEADING.match(text) is not None
    lines = split_lines(text if is_ini else data if b"\n" in data else data.replace(b"\r", b"\n"))
    ledger, begin, end = Ledger(lines), 0, len(lines)
    if not is_ini:
        begin, end = _extent(lines)
        outside = [*range(begin), *range(end, len(lines))]
        ledger.set_aside([n for n in outside if not lines[n].strip() or lines[n].lstrip().startswith(b"#")])
        ledger.reject(outside, "expected nothing but one <met> in the file")
        if begin == end:
            return MetFile(ledger, None)
    try:
        table, rows = _ini_table(lines) if is_ini else _xml_table(lines, begin, end)
    except InvalidElementError as error:
        reason, line = error.args
        place = min(begin + line, end) - 1
        ledger.reject([place], reason)
        ledger.reject(list(range(begin, end)), f"expected a table that is whole, see line {lines.number(place)}")
        return MetFile(ledger, None)
    ledger.set_aside([n for n in range(begin, end) if n not in rows])
    return MetFile(ledger, table)


def format_met(table: MetTable) -> list[bytes]:
    """Return the lines of an XML file with a match equity table. Each chance is the shortest decimal that gives the
    same float64. gnubg 1.07 reads all but the last post-Crawford chance, at as many points to go as the match has. It
    makes up that chance, but no match reaches that score. Raises UsageError for a table of parameters, and for a notice
    that cannot be an XML comment."""
    before, own, other = table.before, table.post_crawford, table.opponent_post_crawford
    if before is None or own is None or other is None:
        raise UsageError(f"expected a table of chances to write, got {table.name}, which has parameters of a formula")
    if "--" in table.notice or table.notice.endswith("-"):
        raise UsageError(f"expected a notice without two hyphens side by side, got {table.notice!r}")

    def row(chances: NDArray[np.float64]) -> list[str]:
        texts = [np.format_float_positional(chance, unique=True, trim="-") for chance in chances]
        return ["    <row>", *(f"      <me>{text}</me>" for text in texts), "    </row>"]

    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE met PUBLIC "-//GNU Backgammon//DTD Match Equity Tables//EN" "met.dtd">',
        *(["<!--", table.notice, "-->"] if table.notice else []),
        "<met>",
        "  <info>",
        f"    <name>{escape(table.name)}</name>",
        f"    <description>{escape(table.description)}</description>",
        f"    <length>{len(before)}</length>",
        "  </info>",
        '  <pre-crawford-table type="explicit">',
        *(line for each in before for line in row(each)),
        "  </pre-crawford-table>",
    ]
    both = table.is_symmetric or np.array_equal(own, other)
    for player, chances in (("both", own),) if both else (("0", own), ("1", other)):
        lines += [
            f'  <post-crawford-table type="explicit" player="{player}">',
            *row(chances),
            "  </post-crawford-table>",
        ]
    return [f"{line}\n".encode() for line in [*lines, "</met>"]]


def _extent(lines: Lines) -> tuple[int, int]:
    """Find the lines of the XML document, from the first tag to the last `</met>`, or to the end. Returns the first
    line, and one past the last; they are equal if there is no document."""
    begin = next(_lines_with(_TAG, lines), None)
    if begin is None or lines[begin].lstrip()[:1] != b"<":
        return 0, 0
    *_, last = -1, *_lines_with(_END, lines)
    return begin, last + 1 or len(lines)


def _lines_with(pattern: re.Pattern[bytes], lines: Lines) -> Iterator[int]:
    """Yield the indexes of lines that match a pattern, except `#` comments."""
    for match in pattern.finditer(lines.data):
        index = int(np.searchsorted(lines.starts, match.start(), "right")) - 1
        if not lines[index].lstrip().startswith(b"#"):
            yield index


def parse_elements(data: bytes) -> tuple[list[Element], list[str]]:
    """Parse an XML document. Returns its elements in order, the outermost first, and its comments.

    Nothing outside the document is read, and entities are refused, so a file cannot make the parser open other files or
    use memory without limit. Text that is neither UTF-8 nor in the declared encoding is read as ISO-8859-1. Raises
    InvalidElementError if the document is not well-formed."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    elements: list[Element] = []
    ancestors: list[Element] = []
    comments: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        element = Element(name, attributes, parser.CurrentLineNumber)
        if len(ancestors) >= MAX_DEPTH:
            raise InvalidElementError(f"expected at most {MAX_DEPTH} elements in one another", element.line)
        if ancestors:
            ancestors[-1].children.append(element)
        ancestors.append(element)
        elements.append(element)

    def refuse(name: str, *_: object) -> None:
        raise InvalidElementError(f"expected no entities but those of XML, found {name}", parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: ancestors.pop()
    parser.CharacterDataHandler = lambda text: ancestors[-1].texts.append(text)
    parser.CommentHandler = lambda text: comments.append("\n".join(map(str.strip, text.strip().splitlines())))
    parser.EntityDeclHandler = parser.SkippedEntityHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN] and not is_utf8(data):
            return parse_elements(data.decode("latin-1").encode("utf-8"))
        reason = f"expected well-formed XML, found: {expat.ErrorString(error.code)}"
        raise InvalidElementError(reason, error.lineno) from error
    except InvalidElementError:
        raise
    except (LookupError, ValueError) as error:  # the codec is not for text
        raise InvalidElementError(f"expected an encoding that is known, found: {error}", 1) from error
    return elements, comments


def _xml_table(lines: Lines, begin: int, end: int) -> tuple[MetTable, set[int]]:
    """Parse the <met> element in the lines begin to end - 1. Returns its table, and the indexes of the lines with
    chances. Raises InvalidElementError if an element is missing or malformed."""
    elements, comments = parse_elements(lines.data[lines.starts[begin] : lines.ends[end - 1]].lstrip())
    root, rows = elements[0], {begin + each.line - 1 for each in elements if each.name in ("me", "parameter")}
    if root.name != "met":
        raise InvalidElementError(f"expected a <met>, found <{root.name}>", root.line)
    info, pre = root.child("info"), root.child("pre-crawford-table")
    posts = root.children_named("post-crawford-table")
    element = info.child("length")
    stated = int(element.text) if re.fullmatch(r"-1|[0-9]{1,4}", element.text) else 0
    if stated != -1 and not 1 <= stated <= MAX_AWAY:
        raise InvalidElementError(f"expected a length of 1 to {MAX_AWAY}, or -1 for a formula", element.line)
    length = None if stated == -1 else stated
    parameters: dict[str, Mapping[str, float]] = {}
    form, before = _pre_crawford(pre, length, parameters)
    own, other = _post_crawford(root, posts, length, parameters)
    table = MetTable(
        info.child("name").text, info.child("description").text, length, form, before, own, other, parameters,
        "\n\n".join(comments),
    )  # fmt: skip
    if own is not None and other is not None and abs(own[0] + other[0] - 1) > SUM:
        raise InvalidElementError("expected chances at 1-away 1-away that sum to 1", posts[0].line)
    if table.is_symmetric and before is not None and (unequal := unequal_score(before)):
        reason = "expected the same chances for both sides, as the post-crawford table says, found others at"
        raise InvalidElementError(f"{reason} {unequal[1]}", pre.line)
    return table, rows


def _pre_crawford(
    pre: Element, length: int | None, parameters: dict[str, Mapping[str, float]]
) -> tuple[str, NDArray[np.float64] | None]:
    form = _form(pre)
    if form != "explicit":
        parameters["pre_crawford"] = _parameters(pre)
        return form, None
    rows = pre.children_named("row")
    if length is None or len(rows) != length:
        raise InvalidElementError(
            f"expected as many rows as the length {length or 'is none'}, found {len(rows)}", pre.line
        )
    found = [_chances(row) for row in rows]
    for row, chances in zip(rows, found, strict=True):
        if len(chances) != length:
            raise InvalidElementError(f"expected {length} chances in the row, found {len(chances)}", row.line)
    return form, np.array(found)


def _post_crawford(
    root: Element, posts: list[Element], length: int | None, parameters: dict[str, Mapping[str, float]]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Parse the post-Crawford chances of player 0 and player 1; both are the same array if the file has one table for
    both, and None if it has parameters, which are added to `parameters`."""
    found: dict[str, NDArray[np.float64] | None] = {}
    for post in posts:
        player = post.attributes.get("player", "both")
        if player in found or player not in ("both", "0", "1"):
            raise InvalidElementError(
                f"expected one post-crawford table for player both, or 0 and 1, found {player}", post.line
            )
        if _form(post) != "explicit":
            parameters[f"post_crawford_{player}"], found[player] = _parameters(post), None
            continue
        row = post.child("row")
        chances = np.array(_chances(row))
        if length is None or not 1 <= len(chances) <= length:
            raise InvalidElementError(
                f"expected up to {length or 0} chances in the row, found {len(chances)}", row.line
            )
        found[player] = chances
    if set(found) not in ({"both"}, {"0", "1"}):
        raise InvalidElementError("expected a post-crawford table for player both, or for 0 and 1", root.line)
    return found.get("both", found.get("0")), found.get("both", found.get("1"))


def unequal_score(before: NDArray[np.float64]) -> tuple[int, str] | None:
    """Find the score of a pre-Crawford table at which the chances of the two players differ most. Returns the row, and
    the score as text, or None if the chances are equal up to rounding."""
    gaps = np.abs(before + before.T - 1)
    if gaps.max() <= ROUNDED:
        return None
    row, column = np.unravel_index(gaps.argmax(), gaps.shape)
    return int(row), f"{row + 1}-away {column + 1}-away"


def _form(table: Element) -> str:
    form = table.attributes.get("type", "explicit")
    if form not in FORMS:
        raise InvalidElementError(f"expected the type {', '.join(FORMS)}, found {form}", table.line)
    return form


def _parameters(table: Element) -> dict[str, float]:
    elements = table.child("parameters").children_named("parameter")
    return {element.attributes.get("name", ""): _number(element) for element in elements}


def _chances(row: Element) -> list[float]:
    found = [_number(element) for element in row.children_named("me")]
    for element, chance in zip(row.children_named("me"), found, strict=True):
        if not 0 <= chance <= 1:
            raise InvalidElementError("expected chances from 0 to 1", element.line)
    return found


def _number(element: Element) -> float:
    if not _NUMBER.fullmatch(element.text):
        raise InvalidElementError("expected a number", element.line)
    if math.isinf(number := float(element.text)):
        raise InvalidElementError("expected a finite number", element.line)
    return number


def _ini_sections(lines: Lines) -> dict[str, Section]:
    """Parse the sections of an INI file, by lower-case name. Raises InvalidElementError if a line belongs to no
    section."""
    sections: dict[str, Section] = {}
    section: Section = {}
    for number in range(1, len(lines) + 1):
        line = decode_text(lines[number - 1]).strip()
        if found := _SECTION.fullmatch(line):
            section = sections.setdefault(found[1].lower(), {})
        elif found := _ENTRY.fullmatch(line):
            if found[1].lower() in section:
                raise InvalidElementError(f"expected {found[1]} once in its section", number)
            section[found[1].lower()] = number, found[2].strip()
        elif line and line[0] not in ";#":
            raise InvalidElementError("expected a section such as [PreCrawford], or NAME=VALUE", number)
    return sections


def _ini_table(lines: Lines) -> tuple[MetTable, set[int]]:
    """Parse an INI file. Returns its table, and the indexes of its lines with chances. Raises InvalidElementError if an
    entry is missing or malformed."""
    sections = _ini_sections(lines)
    if _PRE not in sections or _POST not in sections:
        raise InvalidElementError("expected sections [PreCrawford] and [PostCrawford]", 1)
    pre, post = sections[_PRE], sections[_POST]
    if "size" not in pre:
        first = min((number for number, _ in pre.values()), default=1)
        raise InvalidElementError("expected Size= in [PreCrawford]", first)
    number, text = pre["size"]
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= MAX_AWAY:
        raise InvalidElementError(f"expected a size of 1 to {MAX_AWAY}", number)
    length = int(text)
    before = np.empty((length, length))
    for row in range(1, length + 1):
        if str(row) not in pre:
            raise InvalidElementError(f"expected {length} rows of chances, found no {row}=", number)
        chances = _ini_chances(pre, str(row))
        if len(chances) != length:
            reason = f"expected {length} chances in the row, found {len(chances)}"
            raise InvalidElementError(reason, pre[str(row)][0])
        before[row - 1] = chances
    post_crawford = _ini_chances(post, "data")
    if len(post_crawford) > length:
        raise InvalidElementError(f"expected up to {length} chances, found {len(post_crawford)}", post["data"][0])
    if unequal := unequal_score(before):
        reason = f"expected the same chances for both sides, found others at {unequal[1]}"
        raise InvalidElementError(reason, pre[str(unequal[0] + 1)][0])
    info = {name: text for name, (_, text) in sections.get(_INFO, {}).items()}
    name, description, notice = (info.get(key, "") for key in ("name", "description", "version"))
    table = MetTable(name, description, length, "explicit", before, post_crawford, post_crawford, {}, notice)
    entries = [entry for section in (pre, post) for name, entry in section.items() if name != "size"]
    return table, {number - 1 for number, _ in entries}


def _ini_chances(section: Section, name: str) -> NDArray[np.float64]:
    """Parse the chances in an entry of an INI file, which are separated by spaces. Raises InvalidElementError if the
    entry is missing or malformed."""
    number, text = section.get(name, (1, ""))
    if not text:
        raise InvalidElementError(f"expected chances in {name.capitalize()}=", number)
    for word in text.split():
        if not _CHANCE.fullmatch(word):
            raise InvalidElementError("expected numbers with spaces between them", number)
        if float(word) > 1:
            raise InvalidElementError("expected chances from 0 to 1", number)
    return np.array([float(word) for word in text.split()])
