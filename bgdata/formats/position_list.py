"""Lists of positions: a Position ID a line, or in the first column of a CSV file, with or without a heading.

wildbg's benchmark positions are such lists. Other columns are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.fields import COMMA, reject_flaws, set_comments_aside, split_fields
from bgdata.formats.lines import Ledger, RowIntake, read_bytes, split_lines, write_bytes
from bgdata.game.codec import Boards, format_position_ids, parse_position_ids

HEADING = "position_id"


@dataclass(frozen=True)
class PositionList(RowIntake):
    """The positions of a list in its order, n of them: `boards` int8[n, 26] of the player on roll, before the roll."""

    boards: Boards
    position_ids: NDArray[np.bytes_]


def read_position_list(path: str | os.PathLike[str]) -> PositionList:
    """Read a list, plain, .gz or .bz2; bad lines are quarantined. Errors as in `lines.read_bytes`."""
    return parse_position_list(read_bytes(path))


def parse_position_list(data: bytes) -> PositionList:
    """The positions of a list's content; lines whose first column is no Position ID are quarantined.

    Blank lines, those that begin with '#', and a first line that begins with `position_id` count as comments.
    """
    lines = split_lines(data)
    ledger, fields = Ledger(lines), split_fields(lines, COMMA)
    set_comments_aside(ledger, fields)
    rows = ledger.rows
    if rows.size and fields.is_text(fields.first[rows[:1]], HEADING.encode())[0]:
        ledger.set_aside(rows[:1])
        rows = rows[1:]
    places = fields.first[rows]
    ledger.reject(rows[fields.widths(places) != 14], "expected a position id of 14 characters in the first column")
    letters = fields.letters(places, 14)
    boards, flaws = parse_position_ids(letters)
    reject_flaws(ledger, rows, flaws, "position id")
    kept = ledger.is_row(rows)
    return PositionList(ledger, rows[kept] + 1, boards[kept], letters[kept].view("S14").reshape(-1))


def write_position_list(path: str | os.PathLike[str], boards: Boards, *, heading: bool = False) -> None:
    """Write a list; compressed if the name ends in .gz or .bz2. Errors as in `format_position_list`, and StorageError
    where the file cannot be written."""
    write_bytes(path, format_position_list(boards, heading=heading))


def format_position_list(boards: Boards, *, heading: bool = False) -> Iterator[bytes]:
    """The lines of a list, one Position ID each, below the heading `position_id` if wanted; boards int8[n, 26].

    Raises InvalidPositionError for an illegal board.
    """
    ids = format_position_ids(boards)
    heading_lines = [f"{HEADING}\n".encode()] if heading else []
    return iter([*heading_lines, *(position_id + b"\n" for position_id in ids.tolist())])
