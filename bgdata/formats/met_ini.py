"""Match equity tables as eXtreme Gammon and Snowie keep them (.met): INI text of two tables of chances.

    [Current]           Name, Version, Description
    [PostCrawford]      Size=3, Data=0.50 0.49 0.32: of the trailer, 1-away, 2-away ... against 1-away
    [PreCrawford]       Size=3, 1=0.50 0.68 0.75: of the player who has 1, 2, 3 to go, against 1-away, 2-away ...

Both players have the same chances. Source: such files; no program text was used.
"""

from __future__ import annotations

import os
import re

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidElementError
from bgdata.formats.lines import Ledger, decoded_text, read_bytes, split_lines
from bgdata.formats.met_xml import MOST_AWAY, ROUNDED, MetFile, MetTable, parse_met
from bgdata.formats.plain_text import plain_text
from bgdata.formats.xml_elements import flaw

_SECTION = re.compile(r"\[\s*(\w+)\s*\]")
_ENTRY = re.compile(r"(\w+)\s*=\s*(.*)")
_CHANCE = re.compile(r"\d*\.?\d+|\d+\.", re.ASCII)
_HEADING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[;#][^\n]*\n\s*)*\[")
_INFO, _POST, _PRE = "current", "postcrawford", "precrawford"
Section = dict[str, tuple[int, str]]  # of each entry, in small letters: the number of its line, and its text


def read_met_file(path: str | os.PathLike[str]) -> MetFile:
    """The table of an XML or INI file, plain, .gz or .bz2. Errors as in `lines.read_bytes`."""
    return parse_met_file(read_bytes(path))


def parse_met_file(data: bytes) -> MetFile:
    """The table of the content of a file: of INI where that begins with a section in brackets, else as `parse_met`."""
    text = plain_text(data)
    return parse_met_ini(text) if _HEADING.match(text) else parse_met(data)


def parse_met_ini(data: bytes) -> MetFile:
    """The table of an INI file's content. A file that is no table of chances is set aside as a whole: the line in which
    that shows with the reason, and all others. Lines of chances are rows, all others comments."""
    lines = split_lines(data)
    ledger = Ledger(lines)
    try:
        sections = _sections([decoded_text(lines[index]).strip() for index in range(len(lines))])
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
                raise flaw(number, f"expected {found[1]} once in its section")
            section[found[1].lower()] = number, found[2].strip()
        elif line and line[0] not in ";#":
            raise flaw(number, "expected a section such as [PreCrawford], or NAME=VALUE")
    return sections


def _table(sections: dict[str, Section]) -> MetTable:
    """What the sections say. Raises InvalidElementError."""
    for name in (_PRE, _POST):
        if name not in sections:
            raise flaw(1, "expected sections [PreCrawford] and [PostCrawford]")
    length, before = _before(sections[_PRE])
    post = _chances(sections[_POST], "data")
    if len(post) > length:
        raise flaw(sections[_POST]["data"][0], f"expected up to {length} chances, found {len(post)}")
    apart = np.abs(before + before.T - 1)
    if apart.max() > ROUNDED:
        row, column = np.unravel_index(apart.argmax(), apart.shape)
        where = f"{row + 1}-away {column + 1}-away"
        raise flaw(
            sections[_PRE][str(row + 1)][0], f"expected the same chances for both sides, found others at {where}"
        )
    info = {name: text for name, (_, text) in sections.get(_INFO, {}).items()}
    name, description = info.get("name", ""), info.get("description", "")
    return MetTable(name, description, length, "explicit", before, post, post, {}, info.get("version", ""))


def _before(section: Section) -> tuple[int, NDArray[np.float64]]:
    """(length, chances before the Crawford game and in it)."""
    if "size" not in section:
        raise flaw(min((number for number, _ in section.values()), default=1), "expected Size= in [PreCrawford]")
    number, text = section["size"]
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= MOST_AWAY:
        raise flaw(number, f"expected a size of 1 to {MOST_AWAY}")
    length = int(text)
    rows = []
    for row in range(1, length + 1):
        if str(row) not in section:
            raise flaw(number, f"expected {length} rows of chances, found no {row}=")
        rows.append(_chances(section, str(row)))
        if len(rows[-1]) != length:
            raise flaw(section[str(row)][0], f"expected {length} chances in the row, found {len(rows[-1])}")
    return length, np.array(rows)


def _chances(section: Section, name: str) -> NDArray[np.float64]:
    """The chances of an entry, with spaces between them."""
    number, text = section.get(name, (1, ""))
    if not text:
        raise flaw(number, f"expected chances in {name.capitalize()}=")
    for word in text.split():
        if not _CHANCE.fullmatch(word):
            raise flaw(number, "expected numbers with spaces between them")
        if float(word) > 1:
            raise flaw(number, "expected chances from 0 to 1")
    return np.array([float(word) for word in text.split()])
