"""bgsage's rollouts: boards of 26 integers with five chances, and JSON lines.

The 26 integers are ours. Rollout targets are POST-PLAY: the board is that of the player who has just played, the
opponent is to roll, and the chances are those of the player who has played. Checker entries of the JSON lines are such
boards; cube entries are positions before the roll, stored as the post-play boards of the opponent of the player on
roll. Variance reduction leaves chances a little below 0 or above 1: the raw values are kept, see `clip_chances`.
Source: bgsage's published files and their description; no program text was used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.formats.chance_rules import CHANCE_NAMES, NOISY, reject_chance_flaws
from bgdata.formats.fields import (
    reject_field_counts,
    reject_flaws,
    reject_non_numbers,
    set_comments_aside,
    split_fields,
)
from bgdata.formats.lines import Ledger, RowIntake, split_lines
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards, board_flaws, format_keys

_SLOTS = 26
_DECIMALS = 4
_KEYS = ("board", "equity", "se", "probs")


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


def clip_chances(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same chances within 0 to 1."""
    return np.clip(chances, 0, 1)


def parse_bgsage_rollouts(data: bytes) -> BgsageRollouts:
    """The rows of a rollout file's content, 26 integers and five chances a line; bad lines are quarantined.

    Quarantined are: other than 31 fields, a board that is not legal, chances that are no numbers, outside their range
    or out of order by more than noise explains (`chance_rules.NOISY`).
    """
    lines = split_lines(data)
    ledger, fields = Ledger(lines), split_fields(lines)
    set_comments_aside(ledger, fields)
    rows = reject_field_counts(ledger, fields, _SLOTS + 5, "a board and five chances")
    values, forms = fields.numbers(fields.first[rows, np.newaxis] + np.arange(_SLOTS))
    is_integer = ((forms == 0) & (abs(values) <= CHECKERS)).all(axis=1)
    ledger.reject(rows[~is_integer], f"expected integers from -{CHECKERS} to {CHECKERS} as a board")
    boards = np.where(is_integer[:, np.newaxis], values, 0).astype(np.int8)
    reject_flaws(ledger, rows, board_flaws(boards), "board")
    chances, forms = fields.numbers(fields.first[rows, np.newaxis] + np.arange(_SLOTS, _SLOTS + 5))
    reject_non_numbers(ledger, rows, forms, CHANCE_NAMES)
    reject_chance_flaws(ledger, rows, boards, chances, NOISY)
    kept = ledger.is_row(rows)
    return BgsageRollouts(ledger, rows[kept] + 1, boards[kept], chances[kept])


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
        except ValueError as error:  # of `_entry`
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


def format_bgsage_rollouts(boards: Boards, chances: NDArray[np.float64]) -> Iterator[bytes]:
    """The lines of a rollout file: boards int8[n, 26], chances float64[n, 5].

    Chances have four decimals, as many as the published files, or all they need. Raises InvalidPositionError for an
    illegal board and UsageError for chances of another shape.
    """
    if chances.shape != (len(boards), 5):
        raise UsageError(f"expected chances for {len(boards)} boards, got {list(chances.shape)}")
    format_keys(boards)  # raises for an illegal board
    lines = [" ".join(map(str, board)) for board in boards.tolist()]
    for number, row in enumerate(chances.tolist()):
        for chance in row:
            text = f"{chance:.{_DECIMALS}f}"
            lines[number] += f" {text if float(text) == chance else repr(chance)}"
    return (f"{line}\n".encode() for line in lines)
