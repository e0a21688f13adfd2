"""The 21 rolls, their chances, and rolls as text."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bgdata.errors import InvalidRollError
from bgdata.game.dice import ORDERED_ROLLS, ROLLS, Roll, parse_roll, roll_of, to_roll
from bgdata.game.position import START
from tests.subtests import each


def test_21_rolls_make_36_ordered_rolls() -> None:
    assert " ".join(map(str, ROLLS)) == "21 31 32 41 42 43 51 52 53 54 61 62 63 64 65 11 22 33 44 55 66"
    assert Counter(roll_of(*dice) for dice in ORDERED_ROLLS) == {roll: roll.weight for roll in ROLLS}
    assert sum(roll.chance for roll in ROLLS) == 1
    assert Roll(6, 6).chance == Fraction(1, 36)
    assert Roll(3, 1).dice == (3, 1)
    assert Roll(4, 4).dice == (4, 4, 4, 4)
    assert type(roll_of(np.uint8(1), np.uint8(2)).high) is int  # type: ignore[arg-type]


@each("roll", ["31", "13", "3-1", "1 3", " 31\n", (3, 1), [1, 3], np.array([1, 3], np.int8), Roll(3, 1)])
def test_to_roll_accepts_every_form(roll: Any) -> None:
    assert to_roll(roll) == Roll(3, 1)
    assert START.legal_plays(roll) == START.legal_plays("31")
    if isinstance(roll, str):
        assert parse_roll(roll) == Roll(3, 1)


@each("text", ["", "3", "311", "07", "3,1", "٣١", "x1"])
def test_invalid_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidRollError, match=r"^expected two dice such as '31', got"):
        parse_roll(text)


@each("value", [31, None, 3.1, (3,), (3, 1, 1), (3.0, 1), (True, 1), ("3", "1"), (7, 1), (0, 1), "", b"31"])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRollError, match=r"^expected two dice"):
        to_roll(value)


@each(("high", "low"), [(1, 3), (7, 1), (3, 0), (3.5, 1)])
def test_invalid_dice_are_refused(high: Any, low: int) -> None:
    with pytest.raises(InvalidRollError, match=f"the higher first, got {high} and {low}$"):
        Roll(high, low)
