"""Match equity tables as eXtreme Gammon and Snowie keep them (.met): INI text of two tables of chances.

    [Current]           Name, Version, Description
    [PostCrawford]      Size=3, Data=0.50 0.49 0.32: of the trailer, 1-away, 2-away ... against 1-away
    [PreCrawford]       Size=3, 1=0.50 0.68 0.75: of the player who has 1, 2, 3 to go, against 1-away, 2-away ...

Both players have the same chances. Source: such files; no program text was used.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidElementError
from bgdata.formats.lines import Ledger, decode_text, split_lines
from bgdata.formats.met_xml import MOST_AWAY, MetFile, MetTable, parse_met, unequal_score
from bgdata.formats.plain_text import plain_text

_SECTION = re.compile(r"\[\s*(\w+)\s*\]")
_ENTRY = re.compile(r"(\w+)\s*=\s*(.*)")
_CHANCE = re.compile(r"\d*\.?\d+|\d+\.", re.ASCII)
_HEADING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[;#][^\n]*\n\s*)*\[")
_INFO, _POST, _PRE = "current", "postcrawford", "precrawford"
Section = dict[str, tuple[int, str]]  # (line number, text) by name, in small letters


def parse_met_file(data: bytes) -> MetFile:
    """The table of a file's content: INI if it begins with a section in brackets, else XML as in `parse_met`.

    If it is invalid, all lines are quarantined: one for the reason, the others refer to it. Lines of chances are rows,
    all others comments.
    """
    text = plain_text(data)
    if not _HEADING.match(text):
        return parse_met(data)
    lines = split_lines(text)
    ledger = Ledger(lines)
    try:
        sections = _sections([decode_text(lines[index]).strip() for index in range(len(lines))])
        table = _table(sections)
    except InvalidElementError as error:
        reason, line = error.args
        ledger.reject([line - 1], reason)
        ledger.reject(list(range(len(lines))), f"expected a table that is whole, see line {line}")
        return MetFile(ledger, None)
    entries = [entry for name in (_POST, _PRE) for key, entry in sections[name].items() if key != "size"]
    rows = {number - 1 for number, _ in entries}
    ledger.set_aside([index for index in range(len(lines)) if index not in rows])
    return MetFile(ledger, table)


def _sections(lines: list[str]) -> dict[str, Section]:
    """The sections by name, in small letters. Raises InvalidElementError."""
    sections: dict[str, Section] = {}
    section: Section = {}
    for number, line in enumerate(lines, start=1):
        if found := _SECTION.fullmatch(line):
            section = sections.setdefault(found[1].lower(), {})
        elif found := _ENTRY.fullmatch(line):
            if found[1].lower() in section:
                raise InvalidElementError(f"expected {found[1]} once in its section", number)
            section[found[1].lower()] = number, found[2].strip()
        elif line and line[0] not in ";#":
            raise InvalidElementError("expected a section such as [PreCrawford], or NAME=VALUE", number)
    return sections


def _table(sections: dict[str, Section]) -> MetTable:
    """The table of these sections. Raises InvalidElementError."""
    if _PRE not in sections or _POST not in sections:
        raise InvalidElementError("expected sections [PreCrawford] and [PostCrawford]", 1)
    pre, post = sections[_PRE], sections[_POST]
    if "size" not in pre:
        first = min((number for number, _ in pre.values()), default=1)
        raise InvalidElementError("expected Size= in [PreCrawford]", first)
    number, text = pre["size"]
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= MOST_AWAY:
        raise InvalidElementError(f"expected a size of 1 to {MOST_AWAY}", number)
    length = int(text)
    before = np.empty((length, length))
    for row in range(1, length + 1):
        if str(row) not in pre:
            raise InvalidElementError(f"expected {length} rows of chances, found no {row}=", number)
        chances = _chances(pre, str(row))
        if len(chances) != length:
            reason = f"expected {length} chances in the row, found {len(chances)}"
            raise InvalidElementError(reason, pre[str(row)][0])
        before[row - 1] = chances
    post_crawford = _chances(post, "data")
    if len(post_crawford) > length:
        raise InvalidElementError(f"expected up to {length} chances, found {len(post_crawford)}", post["data"][0])
    if unequal := unequal_score(before):
        reason = f"expected the same chances for both sides, found others at {unequal[1]}"
        raise InvalidElementError(reason, pre[str(unequal[0] + 1)][0])
    info = {name: text for name, (_, text) in sections.get(_INFO, {}).items()}
    name, description, notice = (info.get(key, "") for key in ("name", "description", "version"))
    return MetTable(name, description, length, "explicit", before, post_crawford, post_crawford, {}, notice)


def _chances(section: Section, name: str) -> NDArray[np.float64]:
    """The chances of an entry, with spaces between them. Raises InvalidElementError."""
    number, text = section.get(name, (1, ""))
    if not text:
        raise InvalidElementError(f"expected chances in {name.capitalize()}=", number)
    for word in text.split():
        if not _CHANCE.fullmatch(word):
            raise InvalidElementError("expected numbers with spaces between them", number)
        if float(word) > 1:
            raise InvalidElementError("expected chances from 0 to 1", number)
    return np.array([float(word) for word in text.split()])
