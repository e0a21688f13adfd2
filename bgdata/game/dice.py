"""The 21 rolls of two dice, their weights, and the 36 ordered rolls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from bgdata.errors import InvalidRollError, cite
from bgdata.game.integers import convert_to_plain_integers, plain_integers

_TEXT = re.compile(r"([1-6])[-\s]?([1-6])", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Roll:
    """A roll of two dice, the higher first: `Roll(3, 1)`. `roll_of(1, 3)` accepts either order, `parse_roll("13")` a
    string. Raises InvalidRollError unless 6 >= high >= low >= 1."""

    high: int
    low: int

    def __post_init__(self) -> None:
        try:
            convert_to_plain_integers(self, "high", "low")
            is_roll = 6 >= self.high >= self.low >= 1
        except TypeError:
            is_roll = False
        if not is_roll:
            raise InvalidRollError(f"expected two dice from 1 to 6, the higher first, got {self.high} and {self.low}")

    @property
    def is_double(self) -> bool:
        """Whether the dice are equal; a double is played four times."""
        return self.high == self.low

    @property
    def dice(self) -> tuple[int, ...]:
        """The dice to play, higher first: two, or four for a double."""
        return (self.high,) * 4 if self.is_double else (self.high, self.low)

    @property
    def weight(self) -> int:
        """How many of the 36 ordered rolls have these dice: 1 for a double, otherwise 2."""
        return 1 if self.is_double else 2

    @property
    def chance(self) -> Fraction:
        """The exact chance of the roll, 1/36 or 1/18."""
        return Fraction(self.weight, 36)

    def __str__(self) -> str:
        return f"{self.high}{self.low}"


RollLike: TypeAlias = "Roll | str | Sequence[int]"  # what `to_roll` accepts


def roll_of(die: int, other_die: int) -> Roll:
    """Make a roll from two dice in any order."""
    return Roll(max(die, other_die), min(die, other_die))


def parse_roll(text: str) -> Roll:
    """Parse a roll such as "31", "13" or "3-1". Raises InvalidRollError if the text is not a roll."""
    match = _TEXT.fullmatch(text.strip())
    if not match:
        raise InvalidRollError(f"expected two dice such as '31', got {cite(text)}")
    return roll_of(int(match[1]), int(match[2]))


def to_roll(roll: RollLike) -> Roll:
    """Convert a text that `parse_roll` reads, two dice in any order, or a `Roll` to a `Roll`. Raises InvalidRollError
    if it is not a roll."""
    if isinstance(roll, Roll):
        return roll
    if isinstance(roll, str):
        return parse_roll(roll)
    try:
        die, other_die = plain_integers(roll)
    except (TypeError, ValueError):
        raise InvalidRollError(f"expected two dice such as '31' or (3, 1), got {cite(roll)}") from None
    return roll_of(die, other_die)


# 21 31 32 41 42 43 51 ... 65, then 11 22 ... 66; `bgdata.bearoff.layouts` uses this order too
ROLLS = (*(Roll(high, low) for high in range(2, 7) for low in range(1, high)), *(Roll(die, die) for die in range(1, 7)))
# (first die, second die): each with chance 1/36
ORDERED_ROLLS = tuple((first, second) for first in range(1, 7) for second in range(1, 7))
PIPS_PER_ROLL = 49.0 / 6.0  # average; converts expected rolls to effective pips
