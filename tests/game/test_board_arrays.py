"""Conversion of boards and rolls: every integer type, lists of every notation, and invalid input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError, InvalidRollError
from bgdata.game.board_arrays import board_array, dice_array
from bgdata.game.dice import Roll
from bgdata.game.identifiers import possible_identifiers
from bgdata.game.position import START, Position
from tests.game.strategies import positions
from tests.subtests import each


@given(st.lists(positions, max_size=4))
def test_board_array_accepts_every_form(some_positions: list[Position]) -> None:
    expected = np.array([position.board for position in some_positions], np.int8).reshape(-1, 26)
    ids = [position.id for position in some_positions]
    xgids = [possible_identifiers(position)["xgid"] for position in some_positions]
    forms: list[Any] = [
        *(expected, expected.astype(np.int64), np.asfortranarray(expected.astype(np.int32))),
        *(expected.tolist(), list(expected), some_positions, tuple(some_positions)),
        *(ids, np.array(ids, object), xgids),
    ]
    for form in forms:
        boards = board_array(form)
        assert boards.dtype == np.int8
        assert boards.flags.c_contiguous
        assert boards.tolist() == expected.tolist()


STARTS = np.array([START.board, START.board])
WRONG_BOARDS: list[tuple[Any, str]] = [
    (STARTS.astype(float), r"expected boards as int8\[n, 26\], got float64\[2, 26\]"),
    (STARTS != 0, r"expected boards as int8\[n, 26\], got bool\[2, 26\]"),
    (STARTS[0], r"expected boards as int8\[n, 26\], got .*\[26\]"),
    (STARTS[:, :25], r"expected boards as int8\[n, 26\], got .*\[2, 25\]"),
    (STARTS * 3 + 256, "expected boards as int8"),  # would wrap to 0
    (STARTS * 3, "expected at most 15 checkers of the player on roll"),
    ("start", "a list of positions, got 'start'"),
    (START, "a list of positions, got Position"),
    (None, "a list of positions, got None"),
    (5, "a list of positions, got 5"),
    (["start", "nope"], "in row 1"),
    (["start", None], "expected 26 integers or the text of a position, got None, in row 1"),
    ([[1.5] * 26], "got .* in row 0"),
]


@each(("boards", "message"), WRONG_BOARDS)
def test_invalid_boards_are_refused(boards: Any, message: str) -> None:
    with pytest.raises(InvalidPositionError, match=message):
        board_array(boards)


@pytest.mark.parametrize(
    "rolls",
    [["31", "66"], [Roll(3, 1), Roll(6, 6)], [[3, 1], (6, 6)], ["3-1", (6, 6)], np.array([[3, 1], [6, 6]], np.uint8)],
)
def test_dice_array_accepts_every_form(rolls: Any) -> None:
    dice = dice_array(rolls, 2)
    assert dice.dtype == np.int8
    assert dice.tolist() == [[3, 1], [6, 6]]
    assert dice_array([], 0).shape == (0, 2)


WRONG_ROLLS: list[tuple[Any, str]] = [
    (["31"], r"expected rolls as integers\[2, 2\], got int64\[1, 2\]"),
    (["31", "37"], "expected two dice such as '31', got '37'"),
    ([[3, 1], [3, 7]], "expected two dice from 1 to 6, the higher first, got 7 and 3"),
    (np.array([[3, 1], [3, 7]]), r"expected dice from 1 to 6, got \[3, 7\] in row 1"),
    ([[3, 1], [3, 1, 1]], r"expected two dice such as '31' or \(3, 1\), got \[3, 1, 1\]"),
    ([[3, 1], [3.0, 1.0]], r"got \[3.0, 1.0\]"),
    ([[3, 1], [True, 1]], r"got \[True, 1\]"),
    ([31, 31], "got 31"),
    (np.ones((2, 2)), r"expected rolls as integers\[2, 2\], got float64\[2, 2\]"),
    ("31", "a list of rolls, got '31'"),
    (None, "a list of rolls, got None"),
]


@pytest.mark.parametrize(("rolls", "message"), WRONG_ROLLS)
def test_invalid_rolls_are_refused(rolls: Any, message: str) -> None:
    with pytest.raises(InvalidRollError, match=message):
        dice_array(rolls, 2)
