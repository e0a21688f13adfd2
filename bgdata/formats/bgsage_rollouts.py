"""bgsage's positions and rollouts: boards of 26 integers, alone or with five chances, and JSON lines.

The 26 integers are ours. Rollout targets are POST-PLAY: the board is that of the player who has just played, the
opponent is to roll, and the chances are those of the player who has played. Checker entries of the JSON lines are such
boards; cube entries are positions before the roll, stored as the post-play boards of the opponent of the player on
roll. Variance reduction leaves chances a little below 0 or above 1: the raw values are kept, see `clipped`.
Source: bgsage's published files and their description; no program text was used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.formats.chance_rules import CHANCE_NAMES, NOISY, reject_chance_flaws
from bgdata.formats.fields import (
    Fields,
    reject_field_counts,
    reject_flaws,
    reject_non_numbers,
    set_comments_aside,
    split_fields,
)
from bgdata.formats.lines import Ledger, RowIntake, read_bytes, split_lines, write_bytes
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards, board_flaws, format_keys

_SLOTS = 26
_DECIMALS = 4
_KEYS = ("board", "equity", "se", "probs")


@dataclass(frozen=True)
class BgsageBoards(RowIntake):
    """The rows of a position file in its order: `boards` int8[n, 26]."""

    boards: Boards


@dataclass(frozen=True)
class BgsageRollouts(RowIntake):
    """The rows of a rollout file in its order, n of them.

    `boards` int8[n, 26] of the player who has played, opponent to roll; `chances` float64[n, 5] of the same player, as
    written.
    """

    boards: Boards
    chances: NDArray[np.float64]


@dataclass(frozen=True)
class BgsageEntries(BgsageRollouts):
    """The rows of a JSON lines file: also `equities` float64[n] as written, of the same player, and the
    `standard_errors` float64[n] of those."""

    equities: NDArray[np.float64]
    standard_errors: NDArray[np.float64]


def clipped(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same chances within 0 to 1."""
    return np.clip(chances, 0, 1)


def read_bgsage_boards(path: str | os.PathLike[str]) -> BgsageBoards:
    """Read a position file, plain, .gz or .bz2; bad lines are quarantined. Errors as in `lines.read_bytes`."""
    return parse_bgsage_boards(read_bytes(path))


def parse_bgsage_boards(data: bytes) -> BgsageBoards:
    """The boards of a position file's content, 26 integers a line; lines that are no legal board are quarantined."""
    lines = split_lines(data)
    ledger, fields = Ledger(lines), split_fields(lines)
    set_comments_aside(ledger, fields)
    rows = reject_field_counts(ledger, fields, _SLOTS, "a board")
    boards = _boards(ledger, fields, rows)
    kept = ledger.is_row(rows)
    return BgsageBoards(ledger, rows[kept] + 1, boards[kept])


def read_bgsage_rollouts(path: str | os.PathLike[str]) -> BgsageRollouts:
    """Read a rollout file, plain, .gz or .bz2; bad lines are quarantined. Errors as in `lines.read_bytes`."""
    return parse_bgsage_rollouts(read_bytes(path))


def parse_bgsage_rollouts(data: bytes) -> BgsageRollouts:
    """The rows of a rollout file's content, 26 integers and five chances a line; bad lines are quarantined.

    Quarantined are: other than 31 fields, a board that is not legal, chances that are no numbers, outside their range
    or out of order by more than noise explains (`chance_rules.NOISY`).
    """
    lines = split_lines(data)
    ledger, fields = Ledger(lines), split_fields(lines)
    set_comments_aside(ledger, fields)
    rows = reject_field_counts(ledger, fields, _SLOTS + 5, "a board and five chances")
    boards = _boards(ledger, fields, rows)
    chances, forms = fields.numbers(fields.first[rows, np.newaxis] + np.arange(_SLOTS, _SLOTS + 5))
    reject_non_numbers(ledger, rows, forms, CHANCE_NAMES)
    reject_chance_flaws(ledger, rows, boards, chances, NOISY)
    kept = ledger.is_row(rows)
    return BgsageRollouts(ledger, rows[kept] + 1, boards[kept], chances[kept])


def _boards(ledger: Ledger, fields: Fields, rows: NDArray[np.int64]) -> Boards:
    """int8[rows, 26] of the first fields; rejects rows without."""
    values, forms = fields.numbers(fields.first[rows, np.newaxis] + np.arange(_SLOTS))
    is_integer = ((forms == 0) & (abs(values) <= CHECKERS)).all(axis=1)
    ledger.reject(rows[~is_integer], f"expected integers from -{CHECKERS} to {CHECKERS} as a board")
    boards = np.where(is_integer[:, np.newaxis], values, 0).astype(np.int8)
    reject_flaws(ledger, rows, board_flaws(boards), "board")
    return boards


def read_bgsage_entries(path: str | os.PathLike[str]) -> BgsageEntries:
    """Read a JSON lines file, plain, .gz or .bz2; bad lines are quarantined. Errors as in `lines.read_bytes`."""
    return parse_bgsage_entries(read_bytes(path))


def parse_bgsage_entries(data: bytes) -> BgsageEntries:
    """The entries of a JSON lines file's content; bad lines are quarantined.

    A line is an object with `board` (26 integers), `equity`, `se` (at least 0) and `probs` (5); other names are passed
    over, but for `eval_level`, `tier`, `cube_owner` and `jacoby`: none may say other than a rollout to the end,
    cubeless and without the Jacoby rule. The other rules are those of `parse_bgsage_rollouts`.
    """
    lines = split_lines(data)
    ledger = Ledger(lines)
    ledger.set_aside([index for index in range(len(lines)) if not lines[index].strip()])
    rows, numbers = ledger.rows, []
    for row in rows.tolist():
        try:
            numbers.append(_entry(lines[row]))
        except ValueError as error:
            numbers.append(_NO_ENTRY)
            ledger.reject([row], str(error))
    values = np.array(numbers, np.float64).reshape(-1, len(_NO_ENTRY))
    boards = values[:, :_SLOTS].astype(np.int8)
    reject_flaws(ledger, rows, board_flaws(boards), "board")
    chances = np.ascontiguousarray(values[:, _SLOTS + 2 :])
    reject_chance_flaws(ledger, rows, boards, chances, NOISY)
    kept = ledger.is_row(rows)
    equities, errors = values[kept, _SLOTS], values[kept, _SLOTS + 1]
    return BgsageEntries(ledger, rows[kept] + 1, boards[kept], chances[kept], equities, errors)


_NO_ENTRY = [0.0] * (_SLOTS + 2 + 5)
_PLAIN = {  # what names that say how an entry was made may say, in small letters; others are set aside
    "eval_level": ("rollout",),
    "tier": ("rollout",),
    "cube_owner": ("none",),
    "jacoby": ("false", "none"),
}


def _entry(line: bytes) -> list[float]:
    """Board, equity, standard error and chances of one line; ValueError says what was expected."""
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
    """Whether this is a list of so many finite numbers of these types."""
    return (
        isinstance(values, list)
        and len(values) == length
        and all(type(value) in types and abs(value) < _HUGE for value in values)
    )


_HUGE = 1e300  # larger is no number that anyone meant, and an integer might not fit a double


def write_bgsage_boards(path: str | os.PathLike[str], boards: Boards) -> None:
    """Write a position file; compressed if the name ends in .gz or .bz2. Errors as in `format_bgsage_boards`, and
    StorageError where the file cannot be written."""
    write_bytes(path, format_bgsage_boards(boards))


def format_bgsage_boards(boards: Boards) -> Iterator[bytes]:
    """The lines of a position file; boards int8[n, 26]. Raises InvalidPositionError for an illegal board."""
    return (f"{text}\n".encode() for text in _board_texts(boards))


def write_bgsage_rollouts(path: str | os.PathLike[str], boards: Boards, chances: NDArray[np.float64]) -> None:
    """Write a rollout file; compressed if the name ends in .gz or .bz2. Errors as in `format_bgsage_rollouts`, and
    StorageError where the file cannot be written."""
    write_bytes(path, format_bgsage_rollouts(boards, chances))


def format_bgsage_rollouts(boards: Boards, chances: NDArray[np.float64]) -> Iterator[bytes]:
    """The lines of a rollout file: boards int8[n, 26], chances float64[n, 5].

    Chances have four decimals, as many as the published files, or all they need. Raises InvalidPositionError for an
    illegal board and UsageError for chances of another shape.
    """
    if chances.shape != (len(boards), 5):
        raise UsageError(f"expected chances for {len(boards)} boards, got {list(chances.shape)}")
    rows = zip(_board_texts(boards), chances.tolist(), strict=True)
    return (f"{board} {' '.join(map(_chance_text, row))}\n".encode() for board, row in rows)


def write_bgsage_entries(path: str | os.PathLike[str], entries: BgsageEntries) -> None:
    """Write a JSON lines file; compressed if the name ends in .gz or .bz2. Errors as in `format_bgsage_entries`, and
    StorageError where the file cannot be written."""
    write_bytes(path, format_bgsage_entries(entries))


def format_bgsage_entries(entries: BgsageEntries) -> Iterator[bytes]:
    """The lines of a JSON lines file, as Python's json writes them.

    Raises InvalidPositionError for an illegal board.
    """
    format_keys(entries.boards)
    columns = (entries.boards, entries.equities, entries.standard_errors, entries.chances)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return (f"{json.dumps(dict(zip(_KEYS, row, strict=True)))}\n".encode() for row in rows)


def _board_texts(boards: Boards) -> list[str]:
    format_keys(boards)  # raises for an illegal board
    return [" ".join(map(str, board)) for board in boards.tolist()]


def _chance_text(chance: float) -> str:
    text = f"{chance:.{_DECIMALS}f}"
    return text if float(text) == chance else repr(chance)
