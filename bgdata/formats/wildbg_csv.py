"""wildbg's training data: CSV files with a Position ID and five cumulative chances.

The second half of the ID's bits is the player on roll; the chances are of this player, before the roll. Values within
0.00001 of 0 or 1 were snapped to them, so that two chances may be out of order by that much. Published sets 0009, 0010,
0012 and 0015 have wrong IDs where the opponent had checkers on the bar: these look borne off. Where a gammon was
possible the rule "no gammon against a side with a checker off" finds such rows; others cannot be told from good ones.
Source: wildbg's description of its data and published rows; no program text was used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.formats.chance_rules import CHANCE_NAMES, ROUNDED, reject_chance_flaws
from bgdata.formats.fields import (
    COMMA,
    reject_field_counts,
    reject_flaws,
    reject_non_numbers,
    set_comments_aside,
    split_fields,
)
from bgdata.formats.lines import Ledger, RowIntake, split_lines
from bgdata.game.codec import Boards, format_position_ids, parse_position_ids

HEADING = "position_id,win,win_g,win_bg,lose_g,lose_bg"
_COLUMNS = HEADING.encode().split(b",")


@dataclass(frozen=True)
class WildbgData(RowIntake):
    """The rows of a training file in its order, n of them.

    `boards` int8[n, 26] before the roll, `position_ids` S14[n], `chances` float32[n, 5] of the player on roll.
    """

    boards: Boards
    position_ids: NDArray[np.bytes_]
    chances: NDArray[np.float32]


def parse_wildbg_csv(data: bytes) -> WildbgData:
    """The rows of a training file's content; bad lines are quarantined.

    The heading may be missing; it counts as a comment. With a heading of other columns every row is quarantined.
    Otherwise quarantined are: other than six fields, an ID that is no legal position, and chances that are no numbers
    or break a rule, as in `gnubg_training.parse_gnubg_training`.
    """
    lines = split_lines(data)
    ledger, fields = Ledger(lines), split_fields(lines, COMMA)
    set_comments_aside(ledger, fields)
    first = ledger.rows[:1]
    columns = [column.strip(b" \t") for column in lines[int(first[0])].split(b",")] if first.size else []
    if columns == _COLUMNS:
        ledger.set_aside(first)
    elif columns[:1] == _COLUMNS[:1]:
        ledger.reject(ledger.rows, f"expected the heading {HEADING} or none")
    rows = reject_field_counts(ledger, fields, 6, "position id and five chances")
    places = fields.first[rows, np.newaxis] + np.arange(6)
    ledger.reject(rows[fields.widths(places[:, 0]) != 14], "expected a position id of 14 characters")
    letters = fields.letters(places[:, 0], 14)
    boards, flaws = parse_position_ids(letters)
    reject_flaws(ledger, rows, flaws, "position id")
    values, forms = fields.numbers(places[:, 1:])
    reject_non_numbers(ledger, rows, forms, CHANCE_NAMES)
    reject_chance_flaws(ledger, rows, boards, values, ROUNDED)
    kept = ledger.is_row(rows)
    ids = letters[kept].view("S14").reshape(-1)
    return WildbgData(ledger, rows[kept] + 1, boards[kept], ids, values[kept].astype(np.float32))


def format_wildbg_csv(boards: Boards, chances: NDArray[np.float32]) -> Iterator[bytes]:
    """The lines of a training file, heading first: boards int8[n, 26], chances float32[n, 5].

    Each chance is the shortest decimal that gives the float32 back, without an exponent, as wildbg writes them.
    Raises InvalidPositionError for an illegal board and UsageError for chances of another shape.
    """
    if chances.shape != (len(boards), 5):
        raise UsageError(f"expected chances for {len(boards)} boards, got {list(chances.shape)}")
    ids = format_position_ids(boards).tolist()
    values = np.asarray(chances, np.float32)
    texts = [[np.format_float_positional(chance, unique=True, trim="-") for chance in row] for row in values]
    rows = (b",".join([ids[row], *map(str.encode, texts[row])]) + b"\n" for row in range(len(ids)))
    return iter([f"{HEADING}\n".encode(), *rows])
