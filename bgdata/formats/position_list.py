"""Lists of positions: one a line in any notation, or in the first column of a CSV file, with or without a heading.

wildbg's benchmark positions are such lists of Position IDs. Other columns are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError
from bgdata.formats.fields import COMMA, reject_flaws, set_comments_aside, split_fields
from bgdata.formats.lines import Ledger, RowIntake, decode_text, split_lines
from bgdata.formats.plain_text import plain_text
from bgdata.game.codec import Boards, format_position_ids, parse_position_ids
from bgdata.game.identifiers import parse_identifier

HEADING = "position_id"
_SLOTS = 26  # of a board
_INTEGER = re.compile(r"\s*-?\d+\s*", re.ASCII)


@dataclass(frozen=True)
class PositionList(RowIntake):
    """The positions of a list in its order, n of them: `boards` int8[n, 26] of the player on roll, before the roll."""

    boards: Boards
    position_ids: NDArray[np.bytes_]


def parse_position_list(data: bytes) -> PositionList:
    """The positions of a list's content; lines whose first column is none of `identifiers.FORMATS` are quarantined.

    26 integers may have commas between them. Text is read as `plain_text` reads it. Blank lines, those that begin with
    '#', and a first line that begins with `position_id` count as comments.
    """
    lines = split_lines(plain_text(data))
    ledger, fields = Ledger(lines), split_fields(lines, COMMA)
    set_comments_aside(ledger, fields)
    rows = ledger.rows
    if rows.size and fields.is_text(fields.first[rows[:1]], HEADING.encode())[0]:
        ledger.set_aside(rows[:1])
        rows = rows[1:]
    places = fields.first[rows]
    is_id = fields.widths(places) == 14
    boards = np.zeros((len(rows), _SLOTS), np.int8)
    boards[is_id], flaws = parse_position_ids(fields.letters(places[is_id], 14))
    reject_flaws(ledger, rows[is_id], flaws, "position id")
    for index in np.flatnonzero(~is_id).tolist():
        try:
            boards[index] = parse_identifier(first_column(decode_text(lines[rows[index]])))[0].board
        except InvalidPositionError:
            ledger.reject(rows[index : index + 1], "expected a position in one of the notations in the first column")
    kept = ledger.is_row(rows)
    ids = format_position_ids(boards[kept])
    return PositionList(ledger, rows[kept] + 1, boards[kept], ids)


def first_column(line: str) -> str:
    """The text before the first comma; of integers the first 26, and of a board in brackets all up to its end."""
    text = line.strip()
    if (end := {"[": "]", "(": ")"}.get(text[:1])) and end in text:
        return text.partition(end)[0] + end
    columns = text.split(",")
    return ",".join(columns[:_SLOTS]) if _INTEGER.fullmatch(columns[0]) else columns[0].strip(' "')


def format_position_list(boards: Boards, *, heading: bool = False) -> Iterator[bytes]:
    """The lines of a list, one Position ID each, below the heading `position_id` if wanted; boards int8[n, 26].

    Raises InvalidPositionError for an illegal board.
    """
    ids = format_position_ids(boards)
    heading_lines = [f"{HEADING}\n".encode()] if heading else []
    return iter([*heading_lines, *(position_id + b"\n" for position_id in ids.tolist())])
