"""Match equity tables as gnubg reads them: XML files of the form that its met.dtd describes.

Pre-Crawford `row i`, `me j` is the chance of the row's player when it has i points to go and the opponent j; the first
row and column are the Crawford game. Post-Crawford `me n` is that of the trailer, n-away against 1-away; a file has one
such row for both players, or one for each, `player` 0 (of the rows) and 1. Instead of numbers a file may have
parameters of a formula (types zadeh and mec): they are read, and nothing is computed from them. Chances that gnubg
extrapolates beyond the length of a file are not part of it. Source: the published met.dtd in words, and the files of
Debian's gnubg-data; no program text was used.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidElementError, UsageError
from bgdata.formats.lines import Intake, Ledger, Lines, read_bytes, split_lines, write_bytes
from bgdata.formats.xml_elements import Element, flaw, parse_elements

MOST_AWAY = 64
ROUNDED = 0.0025  # how far a table for equal players may be from it: printed ones are rounded
SUM = 1e-9  # how far chances at 1-away 1-away may be from it
FORMS = ("explicit", "zadeh", "mec")
_NUMBER = re.compile(r"\d*\.?\d+(?:[eE][-+]?\d+)?|\d+\.", re.ASCII)
_TAG = re.compile(rb"<")
_END = re.compile(rb"</met\s*>")


@dataclass(frozen=True)
class MetTable:
    """The content of a file. Chances are float64 mwc of player 0: `before` [n, n] by (away - 1, opponent_away - 1),
    None where it has parameters; `post_crawford` and `opponent_post_crawford` [m] of either player when it trails.

    `parameters` are those of formulas, by the table (pre_crawford, post_crawford_both, ...) and name.
    """

    name: str
    description: str
    length: int | None
    form: str  # of the pre-Crawford table, one of FORMS
    before: NDArray[np.float64] | None
    post_crawford: NDArray[np.float64] | None
    opponent_post_crawford: NDArray[np.float64] | None
    parameters: Mapping[str, Mapping[str, float]]
    notice: str  # who made it and how it may be copied: the comments of the file

    @property
    def is_symmetric(self) -> bool:
        """Whether both players have the same chances: the file has one post-Crawford table for both."""
        return self.post_crawford is self.opponent_post_crawford


@dataclass(frozen=True)
class MetFile(Intake):
    """The table of a file, None where the file holds none or it was set aside."""

    table: MetTable | None


def read_met(path: str | os.PathLike[str]) -> MetFile:
    """Read a file, plain, .gz or .bz2. Errors as in `lines.read_bytes`."""
    return parse_met(read_bytes(path))


def parse_met(data: bytes) -> MetFile:
    """The table of a file's content. A file that is no table of chances is set aside as a whole: the line in which that
    shows with the reason, and all others. Lines before and after the table that are no `#` comment are quarantined.
    In a file without line feeds, carriage returns end the lines."""
    lines = split_lines(data if b"\n" in data else data.replace(b"\r", b"\n"))
    ledger = Ledger(lines)
    blank = [n for n in range(len(lines)) if not lines[n].strip() or lines[n].lstrip().startswith(b"#")]
    begin, end = _extent(lines)
    ledger.set_aside([n for n in blank if not begin <= n < end])
    ledger.reject([*range(begin), *range(end, len(lines))], "expected nothing but one <met> in the file")
    if begin == end:
        return MetFile(ledger, None)
    try:
        root, comments = parse_elements(lines.data[lines.starts[begin] : lines.ends[end - 1]].lstrip())
        table = _table(root, comments)
    except InvalidElementError as error:
        reason, line = error.args
        place = min(begin + line, end) - 1
        ledger.reject([place], reason)
        ledger.reject(list(range(begin, end)), f"expected a table that is whole, see line {lines.number(place)}")
        return MetFile(ledger, None)
    rows = {begin + element.line - 1 for element in root.all() if element.name in ("me", "parameter")}
    ledger.set_aside([n for n in range(begin, end) if n not in rows])
    return MetFile(ledger, table)


def write_met(path: str | os.PathLike[str], table: MetTable) -> None:
    """Write a file that gnubg loads. Errors as in `format_met`, and StorageError where it cannot be written."""
    write_bytes(path, format_met(table))


def format_met(table: MetTable) -> Iterator[bytes]:
    """The lines of a file. Each chance is the shortest decimal that gives the float64 back.

    gnubg 1.07 takes over all but the last post-Crawford chance, of as many points to go as a match has, which it makes
    up; no match comes there.

    Raises UsageError for a table of parameters, and for a notice that cannot stand in a comment.
    """
    before, own, other = table.before, table.post_crawford, table.opponent_post_crawford
    if before is None or own is None or other is None:
        raise UsageError(f"expected a table of chances to write, got {table.name}, which has parameters of a formula")
    if "--" in table.notice or table.notice.endswith("-"):
        raise UsageError(f"expected a notice without two hyphens side by side, got {table.notice!r}")
    return iter([line.encode() for line in _lines(table, before, own, other)])


def _lines(
    table: MetTable, before: NDArray[np.float64], own: NDArray[np.float64], other: NDArray[np.float64]
) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<!DOCTYPE met PUBLIC "-//GNU Backgammon//DTD Match Equity Tables//EN" "met.dtd">\n'
    if table.notice:
        yield f"<!--\n{table.notice}\n-->\n"
    yield "<met>\n  <info>\n"
    for tag, text in (("name", table.name), ("description", table.description), ("length", str(len(before)))):
        yield f"    <{tag}>{escape(text)}</{tag}>\n"
    yield '  </info>\n  <pre-crawford-table type="explicit">\n'
    for row in before:
        yield from _row(row)
    yield "  </pre-crawford-table>\n"
    both = table.is_symmetric or np.array_equal(own, other)
    for player, chances in (("both", own),) if both else (("0", own), ("1", other)):
        yield f'  <post-crawford-table type="explicit" player="{player}">\n'
        yield from _row(chances)
        yield "  </post-crawford-table>\n"
    yield "</met>\n"


def _row(chances: NDArray[np.float64]) -> Iterator[str]:
    yield "    <row>\n"
    for chance in chances:
        yield f"      <me>{np.format_float_positional(chance, unique=True, trim='-')}</me>\n"
    yield "    </row>\n"


def _extent(lines: Lines) -> tuple[int, int]:
    """The lines from the first that begins a tag to that of the last `</met>`, or to the last of all: (first, one past
    the last); equal where there are none."""
    begin = next(_lines_with(_TAG, lines), None)
    if begin is None or lines[begin].lstrip()[:1] != b"<":
        return 0, 0
    *_, last = -1, *_lines_with(_END, lines)
    return begin, last + 1 or len(lines)


def _lines_with(pattern: re.Pattern[bytes], lines: Lines) -> Iterator[int]:
    """The lines that have it, but for `#` comments."""
    for match in pattern.finditer(lines.data):
        index = int(np.searchsorted(lines.starts, match.start(), "right")) - 1
        if not lines[index].lstrip().startswith(b"#"):
            yield index


def _table(root: Element, comments: list[str]) -> MetTable:
    """What a <met> says. Raises InvalidElementError."""
    if root.name != "met":
        raise flaw(root.line, f"expected a <met>, found <{root.name}>")
    info, pre = root.child("info"), root.child("pre-crawford-table")
    posts = root.children_named("post-crawford-table")
    length = _length(info.child("length"))
    parameters: dict[str, Mapping[str, float]] = {}
    form, before = _pre_crawford(pre, length, parameters)
    own, other = _post_crawford(root, posts, length, parameters)
    table = MetTable(
        info.child("name").text, info.child("description").text, length, form, before, own, other, parameters,
        "\n\n".join(comments),
    )  # fmt: skip
    _check_sides(table, pre, posts)
    return table


def _length(element: Element) -> int | None:
    if element.text == "-1":
        return None
    if not re.fullmatch(r"[0-9]{1,4}", element.text) or not 1 <= int(element.text) <= MOST_AWAY:
        raise flaw(element.line, f"expected a length of 1 to {MOST_AWAY}, or -1 for a formula")
    return int(element.text)


def _pre_crawford(
    pre: Element, length: int | None, parameters: dict[str, Mapping[str, float]]
) -> tuple[str, NDArray[np.float64] | None]:
    form = _form(pre)
    if form != "explicit":
        parameters["pre_crawford"] = _parameters(pre)
        return form, None
    rows = pre.children_named("row")
    if length is None or len(rows) != length:
        raise flaw(pre.line, f"expected as many rows as the length {length or 'is none'}, found {len(rows)}")
    found = [_chances(row) for row in rows]
    for row, chances in zip(rows, found, strict=True):
        if len(chances) != length:
            raise flaw(row.line, f"expected {length} chances in the row, found {len(chances)}")
    return form, np.array(found)


def _post_crawford(
    root: Element, posts: list[Element], length: int | None, parameters: dict[str, Mapping[str, float]]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """The rows of player 0 and 1, the same array where one table is for both; None for parameters."""
    found: dict[str, NDArray[np.float64] | None] = {}
    for post in posts:
        player = post.attributes.get("player", "both")
        if player in found or player not in ("both", "0", "1"):
            raise flaw(post.line, f"expected one post-crawford table for player both, or 0 and 1, found {player}")
        if _form(post) != "explicit":
            parameters[f"post_crawford_{player}"], found[player] = _parameters(post), None
            continue
        row = post.child("row")
        chances = np.array(_chances(row))
        if length is None or not 1 <= len(chances) <= length:
            raise flaw(row.line, f"expected up to {length or 0} chances in the row, found {len(chances)}")
        found[player] = chances
    if set(found) not in ({"both"}, {"0", "1"}):
        raise flaw(root.line, "expected a post-crawford table for player both, or for 0 and 1")
    return found.get("both", found.get("0")), found.get("both", found.get("1"))


def _check_sides(table: MetTable, pre: Element, posts: list[Element]) -> None:
    """Raise InvalidElementError where chances of the two players cannot belong together."""
    own, other, before = table.post_crawford, table.opponent_post_crawford, table.before
    if own is not None and other is not None and abs(own[0] + other[0] - 1) > SUM:
        raise flaw(posts[0].line, "expected chances at 1-away 1-away that sum to 1")
    if table.is_symmetric and before is not None and np.abs(before + before.T - 1).max() > ROUNDED:
        row, column = np.unravel_index(np.abs(before + before.T - 1).argmax(), before.shape)
        where = f"{row + 1}-away {column + 1}-away"
        raise flaw(
            pre.line,
            f"expected the same chances for both sides, as the post-crawford table says, found others at {where}",
        )


def _form(table: Element) -> str:
    form = table.attributes.get("type", "explicit")
    if form not in FORMS:
        raise flaw(table.line, f"expected the type {', '.join(FORMS)}, found {form}")
    return form


def _parameters(table: Element) -> dict[str, float]:
    elements = table.child("parameters").children_named("parameter")
    return {element.attributes.get("name", ""): _number(element) for element in elements}


def _chances(row: Element) -> list[float]:
    found = [_number(element) for element in row.children_named("me")]
    for element, chance in zip(row.children_named("me"), found, strict=True):
        if not 0 <= chance <= 1:
            raise flaw(element.line, "expected chances from 0 to 1")
    return found


def _number(element: Element) -> float:
    if not _NUMBER.fullmatch(element.text):
        raise flaw(element.line, "expected a number")
    if math.isinf(number := float(element.text)):
        raise flaw(element.line, "expected a finite number")
    return number
