"""Files with one position per line: training data of gnubg and wildbg, bgsage's rollouts, lists of positions.

* gnubg (`contact-train-data`, ...): a 20-letter key and five cumulative chances with five decimals, so that two may be
  out of order by 0.00001; comments begin with '#'. The second half of the key's bits is the player on roll.
* wildbg: CSV files with a Position ID and five chances. Values within 0.00001 of 0 or 1 were snapped to them. Published
  sets 0009, 0010, 0012 and 0015 have wrong IDs if the opponent had checkers on the bar: these look borne off. If a
  gammon was possible, the rule "no gammon against a side with a checker off" finds such rows; others look valid.
* bgsage: boards of 26 integers like ours, with five chances, or JSON lines. Both are POST-PLAY: board and chances
  belong to the player who has just played, and the opponent is to roll; cube entries are positions before the roll,
  stored as the post-play boards of the opponent of the player on roll. Variance reduction leaves chances a little below
  0 or above 1: the raw values are kept.
* Lists have a position in any notation per line, or in the first column of a CSV file, with or without a heading, like
  wildbg's benchmark positions. Other columns are ignored.

Chances are those of the player whose board it is. Source: the published files and their descriptions; no program text
was used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.formats.fields import COMMA, NOISY, ROUNDED, Fields, Numbers
from bgdata.formats.lines import (
    Ledger,
    Lines,
    RowIntake,
    comment_text,
    decode_text,
    map_blocks,
)
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards, board_flaws, format_key20s, format_keys, format_position_ids
from bgdata.game.identifiers import parse_alone

HEADING = "position_id"
WILDBG_HEADING = f"{HEADING},win,win_g,win_bg,lose_g,lose_bg"
_SLOTS = 26  # number of counts of a board
_BLOCK = 1 << 16  # number of rows written at a time, to limit memory
_HUGE = 1e300  # larger numbers are errors, and integers might not fit a double
_INTEGER = re.compile(r"\s*-?\d+\s*", re.ASCII)
_KEYS = ("board", "equity", "se", "probs")  # keys of JSON lines
_PLAIN = {  # allowed values, in lower case, of names that describe an entry
    "eval_level": ("rollout",),
    "tier": ("rollout",),
    "cube_owner": ("none",),
    "jacoby": ("false", "none"),
}


@dataclass(frozen=True)
class PositionRows(RowIntake):
    """The n rows of a file with positions, in order, with `boards` int8[n, 26].

    `chances` [n, 5] are those of the player whose board it is: float32 for training data, and float64 as written for
    rollouts. They are [n, 0] for a list. gnubg's files have `comment_index` int32[n]: the nearest comment above the
    row, as an index of `comments`, -1 if there is none. JSON lines have `equities` float64[n] of the same player, and
    their `standard_errors`."""

    boards: Boards
    chances: NDArray[Any]
    comment_index: NDArray[np.int32] | None = None
    comments: tuple[str, ...] = ()
    equities: Numbers | None = None
    standard_errors: Numbers | None = None


class Heading(NamedTuple):
    """The first line of a CSV file that is neither blank nor a comment, and so may be its heading: its text, and its
    index in a block of lines. The line may be before or after the block."""

    place: int
    text: bytes

    def places(self, lines: Lines) -> list[int]:
        """Return a list with the index of the heading if it is one of these lines, otherwise an empty list."""
        return [self.place] if 0 <= self.place < len(lines) else []


NO_HEADING = Heading(-1, b"")


def find_heading(lines: Lines) -> Heading:
    """Find the heading, or the first row, among these lines of a CSV file."""
    fields = Fields(lines, COMMA)
    fields.mark_comments()
    return _heading_of(fields)


def _heading_of(fields: Fields) -> Heading:
    rows = fields.ledger.rows[:1].tolist()
    return Heading(rows[0], fields.lines[rows[0]]) if rows else NO_HEADING


def training_rows(lines: Lines) -> PositionRows:
    """Parse lines of a training file of gnubg. Bad lines are quarantined.

    A bad line has: other than six fields, a key of an illegal position, a chance that is not a number or outside 0 to
    1, a chance that exceeds a chance that includes it by more than 0.00001 (1 - win includes lose_gammon), or a gammon
    chance of more than 0.00001 against a side that has borne off a checker."""
    blocks = map_blocks(_parse_block, lines)
    ledger = Ledger.join(lines, [block.ledger for block in blocks])
    comments = {index: lines[index] for index in ledger.comments.tolist() if lines[index].strip()}
    return PositionRows(
        ledger,
        ledger.rows + 1,
        np.concatenate([block.boards for block in blocks]),
        np.concatenate([block.chances for block in blocks]),
        comment_index=(np.searchsorted(list(comments), ledger.rows) - 1).astype(np.int32),
        comments=tuple(map(comment_text, comments.values())),
    )


def _parse_block(lines: Lines) -> PositionRows:
    fields = Fields(lines)
    fields.mark_comments()
    return _labelled_rows(fields, " (key and five chances)", 20)


def wildbg_rows(lines: Lines, heading: Heading | None = None) -> PositionRows:
    """Parse lines of a training file of wildbg. Bad lines are quarantined. `heading` is the heading of their file, None
    if the lines are the whole file. A heading is optional and counts as a comment; if it names other columns, every row
    is quarantined. A bad line has: other than six fields, an ID of an illegal position, or chances that are not numbers
    or break a rule, as in `training_rows`."""
    fields = Fields(lines, COMMA)
    fields.mark_comments()
    heading = _heading_of(fields) if heading is None else heading
    columns, expected = (
        [column.strip(b" \t") for column in heading.text.split(b",")],
        WILDBG_HEADING.encode().split(b","),
    )
    if columns == expected:
        fields.ledger.set_aside(heading.places(lines))
    elif columns[:1] == expected[:1]:
        fields.ledger.reject(fields.ledger.rows, f"expected the heading {WILDBG_HEADING} or none")
    return _labelled_rows(fields, " (position id and five chances)", 14)


def _labelled_rows(fields: Fields, words: str, width: int) -> PositionRows:
    """Parse lines with a position of `width` letters and five chances; `words` describes their fields in the reason for
    a bad line."""
    ledger = fields.ledger
    rows, places = fields.with_fields(ledger.rows, 6, words)
    boards = fields.boards(rows, places[:, 0], width)
    chances, _ = fields.chances(rows, places[:, 1:], boards, ROUNDED)
    kept = ledger.is_row(rows)
    return PositionRows(ledger, rows[kept] + 1, boards[kept], chances[kept].astype(np.float32))


def rollout_rows(lines: Lines) -> PositionRows:
    """Parse lines of a rollout file of bgsage, with 26 integers and five chances in each. Bad lines are quarantined. A
    bad line has: other than 31 fields, an illegal board, or chances that are not numbers, or outside their range or
    order by more than noise explains (`fields.NOISY`)."""
    fields = Fields(lines)
    fields.mark_comments()
    ledger = fields.ledger
    rows, places = fields.with_fields(ledger.rows, _SLOTS + 5, " (a board and five chances)")
    values, forms = fields.values(places[:, :_SLOTS])
    is_integer = ((forms == 0) & (abs(values) <= CHECKERS)).all(axis=1)
    ledger.reject(rows[~is_integer], f"expected integers from -{CHECKERS} to {CHECKERS} as a board")
    boards = np.where(is_integer[:, np.newaxis], values, 0).astype(np.int8)
    fields.reject_flaws(rows, board_flaws(boards), "board")
    chances, _ = fields.chances(rows, places[:, _SLOTS:], boards, NOISY)
    kept = ledger.is_row(rows)
    return PositionRows(ledger, rows[kept] + 1, boards[kept], chances[kept])


def entry_rows(lines: Lines) -> PositionRows:
    """Parse JSON lines of bgsage. Bad lines are quarantined.

    A line is an object with `board` (26 integers), `equity`, `se` (at least 0) and `probs` (5). Other names are
    ignored, except `eval_level`, `tier`, `cube_owner` and `jacoby`, which must describe a full rollout, cubeless and
    without the Jacoby rule. The other rules are those of `rollout_rows`."""
    fields = Fields(lines)
    ledger = fields.ledger
    ledger.set_aside([index for index in range(len(lines)) if not lines[index].strip()])
    rows = ledger.rows
    values = np.zeros((len(rows), _SLOTS + 2 + 5))
    for row, index in enumerate(rows.tolist()):
        try:
            values[row] = _entry(lines[index])
        except ValueError as error:  # raised by `_entry`
            ledger.reject([index], str(error))
    boards = values[:, :_SLOTS].astype(np.int8)
    fields.reject_flaws(rows, board_flaws(boards), "board")
    chances = np.ascontiguousarray(values[:, _SLOTS + 2 :])
    fields.reject_chance_flaws(rows, boards, chances, NOISY)
    kept = ledger.is_row(rows)
    equities, errors = values[kept, _SLOTS], values[kept, _SLOTS + 1]
    return PositionRows(ledger, rows[kept] + 1, boards[kept], chances[kept], equities=equities, standard_errors=errors)


def _entry(line: bytes) -> list[float]:
    """Parse a JSON line. Returns its board, equity, standard error and chances. Raises ValueError, whose message says
    what was expected."""
    try:
        entry = json.loads(line)
        values = [entry[key] for key in _KEYS]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ValueError(f"expected a JSON object with {', '.join(_KEYS)}") from None
    for name, plain in _PLAIN.items():
        if name in entry and str(entry[name]).lower() not in plain:
            raise ValueError(
                f"expected cubeless values that were rolled out to the end, as {name} {plain[0]} would say"
            )
    board, equity, standard_error, chances = values
    if not _is_list(board, _SLOTS, int) or max(map(abs, board)) > CHECKERS:
        raise ValueError(f"expected integers from -{CHECKERS} to {CHECKERS} as a board")
    if not _is_list(chances, 5, int, float) or not _is_list([equity, standard_error], 2, int, float):
        raise ValueError("expected finite numbers as equity, se and five probs")
    if standard_error < 0:
        raise ValueError("expected se of at least 0")
    return [*board, equity, standard_error, *chances]


def _is_list(values: Any, length: int, *types: type) -> bool:
    """Whether `values` is a list of `length` finite numbers of these types."""
    return (
        isinstance(values, list)
        and len(values) == length
        and all(type(value) in types and abs(value) < _HUGE for value in values)
    )


def list_rows(lines: Lines, heading: Heading | None = None) -> PositionRows:
    """Parse lines of a list of positions. Lines whose first column has none of `identifiers.FORMATS` are quarantined.
    26 integers may be separated by commas. Blank lines, lines that begin with '#', and a first line that begins with
    `position_id` count as comments. `heading` is the heading of their file, None if the lines are the whole file."""
    fields = Fields(lines, COMMA)
    fields.mark_comments()
    ledger = fields.ledger
    heading = _heading_of(fields) if heading is None else heading
    if heading.text.split(b",")[0].strip(b" \t") == HEADING.encode():
        ledger.set_aside(heading.places(lines))
    rows = ledger.rows
    places = fields.first[rows]
    is_id = fields.widths(places) == 14
    boards = np.zeros((len(rows), _SLOTS), np.int8)
    boards[is_id] = fields.boards(rows[is_id], places[is_id], 14)
    for index in np.flatnonzero(~is_id).tolist():
        try:
            boards[index] = parse_alone(_first_column(decode_text(lines[rows[index]])))[0].board
        except InvalidPositionError:
            ledger.reject(rows[index : index + 1], "expected a position in one of the notations in the first column")
    kept = ledger.is_row(rows)
    return PositionRows(ledger, rows[kept] + 1, boards[kept], np.empty((np.count_nonzero(kept), 0)))


def _first_column(line: str) -> str:
    """Return the first column of a line: the text before the first comma. If the line begins with integers, it is the
    first 26 of them; if it begins with a board in brackets, it is the text up to the closing bracket."""
    text = line.strip()
    if (end := {"[": "]", "(": ")"}.get(text[:1])) and end in text:
        return text.partition(end)[0] + end
    columns = text.split(",")
    return ",".join(columns[:_SLOTS]) if _INTEGER.fullmatch(columns[0]) else columns[0].strip(' "')


def format_gnubg_training(
    boards: Boards,
    chances: NDArray[np.float32],
    *,
    comment_index: NDArray[np.int32] | None = None,
    comments: Sequence[str] = (),
) -> Iterator[bytes]:
    """Yield the lines of a training file for gnubg, in chunks. A canonical file is reproduced byte for byte.

    `boards` are int8[n, 26], and `chances` float32[n, 5]. A canonical file has line feeds, single spaces, five
    decimals, and no blank line. A chance that five decimals do not reproduce is written as the shortest text that does.
    A comment is written above the first row with its index or a higher index. Unused comments are written at the end.
    Raises InvalidPositionError for an illegal board and UsageError for arrays or comments that do not match."""
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
    """Write the lines for these rows: five decimals for each value, or more if needed."""
    keys = format_key20s(boards).tolist()
    is_short = ((np.rint(chances * 1e5) / 1e5).astype(np.float32) == chances).all(axis=1)
    wide = chances.astype(np.float64).tolist()
    parts = [b"%s %.5f %.5f %.5f %.5f %.5f\n" % (key, *row) for key, row in zip(keys, wide, strict=True)]
    for row in np.flatnonzero(~is_short).tolist():
        parts[row] = b" ".join([keys[row], *map(_shortest, chances[row])]) + b"\n"
    return b"".join(parts)


def _shortest(chance: np.float32) -> bytes:
    """Write a chance with five decimals, or as the shortest text that reproduces it if five decimals do not."""
    for text in (f"{chance:.5f}", str(chance)):
        if np.float32(float(text)) == chance:
            return text.encode()
    return repr(float(chance)).encode()  # rounding twice can be wrong near the middle of two floats


def format_wildbg_csv(boards: Boards, chances: NDArray[np.float32]) -> Iterator[bytes]:
    """Yield the lines of a training file for wildbg, the heading first. `boards` are int8[n, 26], and `chances`
    float32[n, 5]. Each chance is the shortest decimal that gives the same float32, without an exponent, as wildbg
    writes it. Raises InvalidPositionError for an illegal board and UsageError for chances of another shape."""
    if chances.shape != (len(boards), 5):
        raise UsageError(f"expected chances for {len(boards)} boards, got {list(chances.shape)}")
    ids = format_position_ids(boards).tolist()
    values = np.asarray(chances, np.float32)
    texts = [[np.format_float_positional(chance, unique=True, trim="-") for chance in row] for row in values]
    rows = (b",".join([ids[row], *map(str.encode, texts[row])]) + b"\n" for row in range(len(ids)))
    return iter([f"{WILDBG_HEADING}\n".encode(), *rows])


def format_bgsage_rollouts(boards: Boards, chances: NDArray[np.float64]) -> Iterator[bytes]:
    """Yield the lines of a rollout file for bgsage. `boards` are int8[n, 26], and `chances` float64[n, 5]. Chances have
    four decimals, as in the published files, or as many as they need. Raises InvalidPositionError for an illegal board
    and UsageError for chances of another shape."""
    if chances.shape != (len(boards), 5):
        raise UsageError(f"expected chances for {len(boards)} boards, got {list(chances.shape)}")
    format_keys(boards)  # raises for an illegal board
    lines = [" ".join(map(str, board)) for board in boards.tolist()]
    for number, row in enumerate(chances.tolist()):
        for chance in row:
            text = f"{chance:.{4}f}"
            lines[number] += f" {text if float(text) == chance else repr(chance)}"
    return (f"{line}\n".encode() for line in lines)


def format_position_list(boards: Boards, *, heading: bool = False) -> Iterator[bytes]:
    """Yield the lines of a list of positions: the heading `position_id` if `heading` is true, then a Position ID for
    each of int8[n, 26] boards. Raises InvalidPositionError for an illegal board."""
    ids = format_position_ids(boards)
    heading_lines = [f"{HEADING}\n".encode()] if heading else []
    return iter([*heading_lines, *(position_id + b"\n" for position_id in ids.tolist())])
