"""gnubg's training data for its networks: `contact-train-data`, `crashed-train-data`, `race-train-data`.

A line is a 20-letter key and five cumulative chances, or a comment that begins with '#'. The second half of the key's
bits is the player on roll; the chances are of this player, before the roll. Chances have five decimals, so that two of
them may be out of order by 0.00001; rows that are worse are quarantined. Source: gnubg's published data and their
description; no program text was used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.formats.chance_rules import CHANCE_NAMES, ROUNDED, reject_chance_flaws
from bgdata.formats.fields import (
    reject_field_counts,
    reject_flaws,
    reject_non_numbers,
    set_comments_aside,
    split_fields,
)
from bgdata.formats.lines import (
    Ledger,
    Lines,
    RowIntake,
    comment_text,
    map_blocks,
    split_lines,
)
from bgdata.game.codec import Boards, fill_ids_of_keys, format_key20s, parse_key20s

_DECIMALS = 5
_BLOCK = 1 << 16  # rows written at a time: bounds the memory
_PER_RECORD = np.arange(1 + len(CHANCE_NAMES))


@dataclass(frozen=True)
class TrainingData(RowIntake):
    """The rows of a training file in its order, n of them.

    `boards` int8[n, 26] before the roll, `position_ids` S14[n], `chances` float32[n, 5] of the player on roll,
    `comment_index` int32[n]: the comment above the row that is nearest, as an index of `comments`, -1 for none.
    """

    boards: Boards
    position_ids: NDArray[np.bytes_]
    chances: NDArray[np.float32]
    comment_index: NDArray[np.int32]
    comments: tuple[str, ...]


def parse_gnubg_training(data: bytes) -> TrainingData:
    """The rows of a training file's content; bad lines are quarantined.

    Quarantined are: other than six fields, a key that is no legal position, a chance that is no number or outside
    0 to 1, a chance above the one that contains it by more than 0.00001 (1 - win contains lose_gammon), and a gammon
    chance of more than 0.00001 against a side that has borne off a checker.
    """
    lines = split_lines(data)
    ledgers, columns = zip(*map_blocks(_parse_block, lines), strict=True)
    ledger = Ledger.join(lines, list(ledgers))
    boards, position_ids, chances = map(np.concatenate, zip(*columns, strict=True))
    comments = {index: lines[index] for index in ledger.comments.tolist() if lines[index].strip()}
    return TrainingData(
        ledger,
        ledger.rows + 1,
        boards,
        position_ids,
        chances,
        comment_index=(np.searchsorted(list(comments), ledger.rows) - 1).astype(np.int32),
        comments=tuple(map(comment_text, comments.values())),
    )


def _parse_block(lines: Lines) -> tuple[Ledger, tuple[NDArray[Any], ...]]:
    """The verdicts on some lines, and (boards, position_ids, chances) of their rows."""
    ledger, fields = Ledger(lines), split_fields(lines)
    set_comments_aside(ledger, fields)
    rows = reject_field_counts(ledger, fields, 6, "key and five chances")
    places = fields.first[rows, np.newaxis] + _PER_RECORD
    ledger.reject(rows[fields.widths(places[:, 0]) != 20], "expected a key of 20 letters")
    letters = fields.letters(places[:, 0], 20)
    boards, flaws = parse_key20s(letters)
    reject_flaws(ledger, rows, flaws, "20-letter key")
    values, forms = fields.numbers(places[:, 1:])
    reject_non_numbers(ledger, rows, forms, CHANCE_NAMES)
    reject_chance_flaws(ledger, rows, boards, values, ROUNDED)
    kept = ledger.is_row(rows)
    # the ten bytes of a key, which an ID writes in another base
    nibbles = letters[kept] - np.uint8(ord("A"))
    ids = np.empty((len(nibbles), 14), np.uint8)
    fill_ids_of_keys(nibbles[:, ::2] * 16 + nibbles[:, 1::2], ids)
    return ledger, (boards[kept], ids.view("S14").reshape(-1), values[kept].astype(np.float32))


def format_gnubg_training(
    boards: Boards,
    chances: NDArray[np.float32],
    *,
    comment_index: NDArray[np.int32] | None = None,
    comments: Sequence[str] = (),
) -> Iterator[bytes]:
    """The lines of a training file, in chunks; what was read from a canonical file comes out byte for byte.

    boards int8[n, 26], chances float32[n, 5]. Canonical: line feeds, single spaces, five decimals, no blank line. A
    chance that five decimals do not give back is written as the shortest text that does. Comments stand above the first
    row with their index or a higher one, those that no row needs at the end.
    Raises InvalidPositionError for an illegal board and UsageError for arrays or comments that do not fit.
    """
    index = np.full(len(boards), -1, np.int32) if comment_index is None else comment_index
    if chances.shape != (len(boards), 5) or index.shape != (len(boards),):
        raise UsageError(f"expected chances for {len(boards)} boards, got {list(chances.shape)}, {list(index.shape)}")
    if index.size and (np.diff(index) < 0).any() | (index[-1] >= len(comments)) | (index[0] < -1):
        raise UsageError(f"expected ascending indexes of {len(comments)} comments, got {index.min()} to {index.max()}")
    for comment in comments:
        if not comment.lstrip(" \t").startswith("#") or "\n" in comment:
            raise UsageError(f"expected a comment as one line that begins with '#', got {comment!r}")
    return _format(boards, np.asarray(chances, np.float32), index, [f"{comment}\n".encode() for comment in comments])


def _format(
    boards: Boards, chances: NDArray[np.float32], index: NDArray[np.int32], comments: list[bytes]
) -> Iterator[bytes]:
    written = 0
    changes = np.flatnonzero(np.diff(index, prepend=-1)).tolist()
    for begin, end in pairwise([0, *changes, len(boards)]):
        if begin < end:
            yield b"".join(comments[written : index[begin] + 1])
            written = index[begin] + 1
        for start in range(begin, end, _BLOCK):
            rows = slice(start, min(start + _BLOCK, end))
            yield _records(boards[rows], chances[rows])
    yield b"".join(comments[written:])


def _records(boards: Boards, chances: NDArray[np.float32]) -> bytes:
    """The lines of some rows, each value with five decimals unless those do not give it back."""
    keys = format_key20s(boards).tolist()
    scale = 10.0**_DECIMALS
    is_short = ((np.rint(chances * scale) / scale).astype(np.float32) == chances).all(axis=1)
    wide = chances.astype(np.float64).tolist()
    parts = [b"%s %.5f %.5f %.5f %.5f %.5f\n" % (key, *row) for key, row in zip(keys, wide, strict=True)]
    for row in np.flatnonzero(~is_short).tolist():
        parts[row] = b" ".join([keys[row], *map(_shortest, chances[row])]) + b"\n"
    return b"".join(parts)


def _shortest(chance: np.float32) -> bytes:
    """Five decimals, or if they do not give the value back the shortest text that does."""
    for text in (f"{chance:.5f}", str(chance)):
        if np.float32(float(text)) == chance:
            return text.encode()
    return repr(float(chance)).encode()  # a shortest text so close to the middle that rounding twice misses
