"""Rolls: how many there are, with what chance, and as text."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bgdata.errors import InvalidRollError
from bgdata.game.dice import ORDERED_ROLLS, ROLLS, Roll, parse_roll, roll_of, to_roll
from bgdata.game.position import START
from tests.together import each


def test_21_rolls_are_36_ordered_ones() -> None:
    assert len(ROLLS) == len(set(ROLLS)) == 21
    assert Counter(roll_of(*dice) for dice in ORDERED_ROLLS) == {roll: roll.weight for roll in ROLLS}
    assert sum(roll.chance for roll in ROLLS) == 1
    assert Roll(6, 6).chance == Fraction(1, 36)


def test_order_of_rolls() -> None:
    assert " ".join(map(str, ROLLS)) == "21 31 32 41 42 43 51 52 53 54 61 62 63 64 65 11 22 33 44 55 66"


def test_dice_to_play() -> None:
    assert Roll(3, 1).dice == (3, 1)
    assert Roll(4, 4).dice == (4, 4, 4, 4)


@pytest.mark.parametrize("text", ["31", "13", "3-1", "1 3", " 31\n"])
def test_text(text: str) -> None:
    assert parse_roll(text) == Roll(3, 1)


@pytest.mark.parametrize("text", ["", "3", "311", "07", "3,1", "٣١", "x1"])
def test_wrong_text(text: str) -> None:
    with pytest.raises(InvalidRollError, match="expected two dice such as '31', got"):
        parse_roll(text)


@pytest.mark.parametrize("dice", [(1, 3), (7, 1), (3, 0)])
def test_wrong_dice(dice: tuple[int, int]) -> None:
    with pytest.raises(InvalidRollError, match=f"the higher first, got {dice[0]} and {dice[1]}"):
        Roll(*dice)


@pytest.mark.parametrize("roll", ["31", "13", "3-1", (3, 1), [1, 3], np.array([1, 3], np.int8), Roll(3, 1)])
def test_rolls_of_every_form(roll: Any) -> None:
    assert to_roll(roll) == Roll(3, 1)
    assert START.legal_plays(roll) == START.legal_plays("31")


@each("roll", [31, None, 3.1, (3,), (3, 1, 1), (3.0, 1), (True, 1), ("3", "1"), (7, 1), (0, 1), "", b"31"])
def test_what_is_no_roll(roll: Any) -> None:
    with pytest.raises(InvalidRollError, match="expected two dice"):
        to_roll(roll)


def test_dice_are_plain_integers() -> None:
    assert type(roll_of(np.uint8(1), np.uint8(2)).high) is int  # type: ignore[arg-type]
    with pytest.raises(InvalidRollError, match=r"^expected two dice from 1 to 6"):
        Roll(3.5, 1)  # type: ignore[arg-type]
