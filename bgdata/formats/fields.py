"""Splits lines into fields and checks numbers, positions and chances with kernels: millions of lines a second.

A number with at most 15 digits and a power of ten within 22 is an integer times or divided by a power of ten. Both are
exact in a double, so one rounding gives the right value. Other numbers are parsed by `float`. Each number also has a
*form* that says how it was written, with which `format_number` writes the same text again.

The five cumulative chances `win, win_gammon, win_backgammon, lose_gammon, lose_backgammon` are those of the player
whose board it is. No chance exceeds a chance that includes it, and a side that has borne off a checker cannot lose a
gammon. Published numbers are rounded or noisy, so these rules have a `Tolerance`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.lines import Ledger, Lines
from bgdata.game.board import CHECKERS, Flaw
from bgdata.game.codec import Boards, parse_key20s, parse_position_ids
from bgdata.kernel import kernel

BLANKS = 32  # stands for the separator "any run of spaces and tabs"
COMMA = 44
NO_NUMBER = -128  # form of a field that is not a finite number
PLAIN = 127  # form of a number that was written with its shortest text
_MAX_DIGITS, _MAX_POWER, _MAX_DECIMALS = 15, 22, 100
_POWERS = np.array([float(10**power) for power in range(_MAX_POWER + 1)])
_HASH, _SPACE, _TAB, _PLUS, _MINUS, _POINT, _ZERO, _NINE = (ord(letter) for letter in "# \t+-.09")
_SMALL_E, _LARGE_E = ord("e"), ord("E")
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Numbers = NDArray[np.float64]
Forms = NDArray[np.int8]

CHANCE_NAMES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far rounded or noisy chances may break the rules: how far they may be outside 0 to 1 (`range`), and how far
    they may exceed a chance that includes them (`order`)."""

    range: float
    order: float


# five decimals: each number is off by at most half a unit of the last decimal, so two numbers are out of order by at
# most one unit; the rest is for binary fractions
ROUNDED = Tolerance(0.0, 1.05e-5)
# noise of variance reduction exceeds the range: by 0.0002 in published rollouts; this is many standard errors
NOISY = Tolerance(0.05, 0.05)
RULES = (  # by number: the rule that the chances of a row break, 0 for none
    "expected anything",
    "expected chances from 0 to 1",
    "expected win_gammon at most win",
    "expected win_backgammon at most win_gammon",
    "expected lose_gammon at most 1 - win",
    "expected lose_backgammon at most lose_gammon",
    "expected no win_gammon once the opponent has borne off a checker",
    "expected no lose_gammon once the player himself has borne off a checker",
)
RANGE, WIN_GAMMON, WIN_BACKGAMMON, LOSE_GAMMON, LOSE_BACKGAMMON, OPPONENT_OFF, OFF = range(1, len(RULES))
_NOTATIONS: dict[int, tuple[str, str, Callable[[Bytes], tuple[Boards, Bytes]]]] = {
    20: ("key of 20 letters", "20-letter key", parse_key20s),
    14: ("position id of 14 characters", "position id", parse_position_ids),
}


class Fields:
    """The fields of the lines in a text file. Field f is `data[starts[f]:ends[f]]`; line k has the fields `first[k]` to
    `first[k + 1] - 1`. Fields are separated by runs of spaces and tabs, or by commas; then blanks around fields are
    removed. A blank line has no fields. Methods with an argument `rows` (line indexes) quarantine rows that break a
    rule, in `ledger`."""

    def __init__(self, lines: Lines, separator: int = BLANKS) -> None:
        self.lines, self.ledger = lines, Ledger(lines)
        self.data = np.frombuffer(lines.data, np.uint8)
        self.first = np.zeros(len(lines) + 1, np.int64)
        _fill_field_counts(self.data, lines.starts, lines.ends, separator, self.first[1:])
        np.cumsum(self.first, out=self.first)
        self.starts, self.ends = np.empty(self.first[-1], np.int64), np.empty(self.first[-1], np.int64)
        _fill_fields(self.data, lines.starts, lines.ends, separator, self.first, self.starts, self.ends)

    @property
    def counts(self) -> Places:
        """The number of fields in each line, 0 for a blank line, as int64[lines]."""
        return np.diff(self.first)

    def letters(self, places: Places, width: int) -> Bytes:
        """Return the bytes of the fields with these indexes, cut or padded with zero bytes, as uint8[len(places),
        width]."""
        letters = np.zeros((len(places), width), np.uint8)
        _fill_letters(self.data, self.starts, self.ends, places, letters)
        return letters

    def widths(self, places: Places) -> Places:
        """Return the lengths of the fields with these indexes, in bytes, as int64[len(places)]."""
        return self.ends[places] - self.starts[places]

    def is_text(self, places: Places, text: bytes) -> NDArray[np.bool_]:
        """Return whether each of the fields with these indexes equals `text`, as bool[len(places)]."""
        letters = self.letters(places, len(text))
        same: NDArray[np.bool_] = (letters == np.frombuffer(text, np.uint8)).all(axis=1)
        return np.asarray(same & (self.widths(places) == len(text)))

    def values(self, places: Places) -> tuple[Numbers, Forms]:
        """Parse the fields with these indexes as numbers. Returns their values and their forms (how they are written),
        each in the shape of `places`. Accepts ASCII decimal numbers, with exponents; anything else, such as `nan` and
        `inf`, has form NO_NUMBER."""
        values = np.zeros(places.size, np.float64)
        forms = np.zeros(places.size, np.int8)
        flat = places.ravel()
        _fill_numbers(self.data, self.starts, self.ends, flat, values, forms)
        for index in np.flatnonzero(forms == PLAIN).tolist():
            values[index] = float(self.data[self.starts[flat[index]] : self.ends[flat[index]]].tobytes())
            if not np.isfinite(values[index]):
                values[index], forms[index] = 0, NO_NUMBER
        return values.reshape(places.shape), forms.reshape(places.shape)

    def mark_comments(self) -> None:
        """Mark blank lines, and lines whose first field begins with '#', as comments."""
        is_blank = self.counts == 0
        self.ledger.set_aside(np.flatnonzero(is_blank))
        filled = np.flatnonzero(~is_blank)
        self.ledger.set_aside(filled[self.data[self.starts[self.first[filled]]] == _HASH])

    def with_fields(self, rows: Places, expected: int, words: str = "") -> tuple[Places, Places]:
        """Keep the rows that have the expected number of fields, and quarantine the others. Returns the rows that are
        kept, and the indexes of their fields, int64[rows, expected]. `words` describes the fields in the reason."""
        counts = self.counts[rows]
        for count in np.unique(counts[counts != expected]).tolist():
            self.ledger.reject(rows[counts == count], f"expected {expected} fields{words}, got {count}")
        rows = rows[counts == expected]
        return rows, self.first[rows, np.newaxis] + np.arange(expected)

    def boards(self, rows: Places, places: Places, width: int = 20) -> Boards:
        """Parse a field of each row as a board: a 20-letter key, or a Position ID if `width` is 14. `places` contains
        the indexes of the fields. Returns int8[rows, 26]."""
        expected, words, parse = _NOTATIONS[width]
        self.ledger.reject(rows[self.widths(places) != width], f"expected a {expected}")
        boards, flaws = parse(self.letters(places, width))
        self.reject_flaws(rows, flaws, words)
        return boards

    def reject_flaws(self, rows: Places, flaws: NDArray[np.uint8], words: str) -> None:
        """Quarantine the rows whose position has a flaw. `words` names the notation in the reason, such as 'position
        id'."""
        for flaw in np.unique(flaws[flaws != Flaw.NONE]).tolist():
            self.ledger.reject(rows[flaws == flaw], f"{Flaw(flaw).rule} in the {words}")

    def numbers(self, rows: Places, places: Places, names: tuple[str, ...]) -> tuple[Numbers, Forms]:
        """Parse fields that must be numbers, as `values` does. `places` are their indexes, int64[rows, names]. Rows
        with other fields are quarantined; `names` are the names of the fields in the reasons."""
        values, forms = self.values(places)
        for column, name in enumerate(names):
            self.ledger.reject(rows[forms[:, column] == NO_NUMBER], f"expected a number as {name}")
        return values, forms

    def chances(self, rows: Places, places: Places, boards: Boards, tolerance: Tolerance) -> tuple[Numbers, Forms]:
        """Parse five chances in each row, which are those of the player whose board it is. Returns their values and
        forms, both [rows, 5], and quarantines rows whose chances break a rule by more than the tolerance."""
        values, forms = self.numbers(rows, places, CHANCE_NAMES)
        self.reject_chance_flaws(rows, boards, values, tolerance)
        return values, forms

    def reject_chance_flaws(self, rows: Places, boards: Boards, chances: Numbers, tolerance: Tolerance) -> None:
        """Quarantine the rows whose chances break a rule by more than the tolerance."""
        flaws = chance_flaws(boards, chances, tolerance)
        for flaw in np.unique(flaws[flaws > 0]).tolist():
            self.ledger.reject(rows[flaws == flaw], RULES[flaw])


def format_number(value: float, form: int = PLAIN) -> str:
    """Write a number with the decimals of its form, or with six significant digits where they are exact. A number that
    was read is written exactly as before if it has at most 15 digits, a power of ten within 22 (see the top of this
    module), and no redundant sign, leading zero or letter E."""
    written = f".{form}f" if form >= 0 else f".{-1 - form}e"
    text = format(value, ".6g" if form == PLAIN else written)
    return text if float(text) == value else repr(value)  # 12.5e3 has too many digits before the point


@kernel(inline=True)
def _is_blank(byte: int) -> bool:
    return byte in (_SPACE, _TAB)


@kernel()
def _next_field(data: Bytes, place: int, end: int, separator: int) -> tuple[int, int, int]:
    """Find the next field in a line from `place` on. The line must have one. Returns its start, its end, and the place
    where to continue."""
    while place < end and _is_blank(data[place]):
        place += 1
    start = place
    if separator == BLANKS:
        while place < end and not _is_blank(data[place]):
            place += 1
        stop = place
        while place < end and _is_blank(data[place]):
            place += 1
        return start, stop, place
    while place < end and data[place] != separator:
        place += 1
    stop = place
    while stop > start and _is_blank(data[stop - 1]):
        stop -= 1
    return start, stop, place + 1


@kernel(inline=True)
def _end_of_reading(data: Bytes, start: int, end: int, separator: int) -> int:
    """Return the place where the search for fields in a line stops. A comma at the end is followed by one more, empty,
    field. Blank lines have no fields."""
    place = start
    while place < end and _is_blank(data[place]):
        place += 1
    if place == end:
        return start
    return end if separator == BLANKS else end + 1


@kernel()
def _fill_field_counts(data: Bytes, starts: Places, ends: Places, separator: int, counts: Places) -> None:
    for line in range(len(starts)):
        place, count = starts[line], 0
        last = _end_of_reading(data, place, ends[line], separator)
        while place < last:
            place = _next_field(data, place, ends[line], separator)[2]
            count += 1
        counts[line] = count


@kernel()
def _fill_fields(
    data: Bytes, starts: Places, ends: Places, separator: int, first: Places, field_starts: Places, field_ends: Places
) -> None:
    for line in range(len(starts)):
        place = starts[line]
        for field in range(first[line], first[line + 1]):
            field_starts[field], field_ends[field], place = _next_field(data, place, ends[line], separator)


@kernel()
def _fill_letters(data: Bytes, starts: Places, ends: Places, places: Places, letters: Bytes) -> None:
    for row in range(len(places)):
        start = starts[places[row]]
        for place in range(min(letters.shape[1], ends[places[row]] - start)):
            letters[row, place] = data[start + place]


@kernel()
def _fill_numbers(data: Bytes, starts: Places, ends: Places, places: Places, values: Numbers, forms: Forms) -> None:
    """Fill the values and forms of the fields with indexes `places`; the caller must parse the values of PLAIN
    numbers."""
    for row in range(len(places)):
        values[row], forms[row] = _number(data, starts[places[row]], ends[places[row]])


@kernel()
def _number(data: Bytes, start: int, end: int) -> tuple[float, int]:
    """Parse the number in data[start:end]: its value and its form."""
    is_negative = start < end and data[start] == _MINUS
    place = start + (start < end and (data[start] in (_PLUS, _MINUS)))
    mantissa, n_digits, n_significant, n_decimals = np.int64(0), 0, 0, 0
    has_point = False
    while place < end:
        byte = np.int64(data[place])
        if byte == _POINT and not has_point:
            has_point = True
        elif _ZERO <= byte <= _NINE:
            n_digits += 1
            n_decimals += has_point
            n_significant += n_significant > 0 or byte != _ZERO
            if n_significant <= _MAX_DIGITS:
                mantissa = mantissa * 10 + (byte - _ZERO)
        else:
            break
        place += 1
    if n_digits == 0:
        return 0.0, NO_NUMBER
    power, has_exponent = -n_decimals, place < end
    if has_exponent:
        exponent = _exponent(data, place, end)
        if exponent == _NO_EXPONENT:
            return 0.0, NO_NUMBER
        power += exponent
    if n_significant > _MAX_DIGITS or n_decimals > _MAX_DECIMALS or abs(power) > _MAX_POWER:
        return 0.0, PLAIN
    value = mantissa * _POWERS[power] if power >= 0 else mantissa / _POWERS[-power]
    return (-value if is_negative else value), (-1 - n_decimals if has_exponent else n_decimals)


_NO_EXPONENT = 1 << 40
_LARGE_EXPONENT = 1 << 20


@kernel()
def _exponent(data: Bytes, start: int, end: int) -> int:
    """Parse the exponent in data[start:end], which should begin with the letter E. Returns at most _LARGE_EXPONENT, or
    _NO_EXPONENT for anything else."""
    if data[start] != _SMALL_E and data[start] != _LARGE_E:
        return _NO_EXPONENT
    place = start + 1
    is_negative = place < end and data[place] == _MINUS
    place += place < end and (data[place] in (_PLUS, _MINUS))
    if place == end:
        return _NO_EXPONENT
    exponent = 0
    while place < end:
        byte = int(data[place])
        if byte < _ZERO or byte > _NINE:
            return _NO_EXPONENT
        exponent = min(exponent * 10 + byte - _ZERO, _LARGE_EXPONENT)
        place += 1
    return -exponent if is_negative else exponent


def chance_flaws(boards: Boards, chances: Numbers, tolerance: Tolerance) -> Bytes:
    """Return the index in RULES of the rule that each row of float64[n, 5] chances breaks, 0 for none, as uint8[n].
    `boards`, int8[n, 26], are those of the same player."""
    flaws = np.empty(len(boards), np.uint8)
    _fill_chance_flaws(boards, chances, tolerance.range, tolerance.order, flaws)
    return flaws


@kernel()
def _fill_chance_flaws(
    boards: Boards, chances: Numbers, range_tolerance: float, order_tolerance: float, flaws: Bytes
) -> None:
    for row in range(len(boards)):
        flaws[row] = _chance_flaw(boards[row], chances[row], range_tolerance, order_tolerance)


@kernel()
def _chance_flaw(board: Boards, chances: Numbers, range_tolerance: float, order_tolerance: float) -> int:
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    if not (chances.min() >= -range_tolerance and chances.max() <= 1 + range_tolerance):  # catches NaN too
        return RANGE
    if win_gammon - win > order_tolerance:
        return WIN_GAMMON
    if win_backgammon - win_gammon > order_tolerance:
        return WIN_BACKGAMMON
    if lose_gammon - (1 - win) > order_tolerance:
        return LOSE_GAMMON
    if lose_backgammon - lose_gammon > order_tolerance:
        return LOSE_BACKGAMMON
    ours, theirs = np.int64(board[25]), np.int64(board[0])
    for point in range(1, 25):
        ours += max(board[point], 0)
        theirs -= min(board[point], 0)
    if theirs < CHECKERS and win_gammon > order_tolerance:
        return OPPONENT_OFF
    if ours < CHECKERS and lose_gammon > order_tolerance:
        return OFF
    return 0
