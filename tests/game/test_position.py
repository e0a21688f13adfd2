"""Single positions: board, rows, Position ID, key and 20-letter key, and invalid input."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given

from bgdata.errors import InvalidPositionError
from bgdata.game.board import Flaw
from bgdata.game.identifiers import possible_identifiers
from bgdata.game.position import START, Position, board_flaw, format_key20, parse_key20, parse_position_id
from tests.game.strategies import boards, positions
from tests.subtests import each

START_BOARD = (0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0)
TRAINING_BOARD = (0, -1, 0, 0, 2, 2, 3, 2, 3, 0, 0, 0, -3, 2, 0, -1, 0, -2, -1, -3, -2, -2, 0, 1, 0, 0)
CLOSED = [1, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -2, -2, -2, -2, -2, -2, 1]


def row(points: dict[int, int]) -> list[int]:
    return [points.get(point, 0) for point in range(1, 26)]


def test_start_has_known_identifiers() -> None:
    assert START.board == START_BOARD
    assert START.key.hex() == "e073f00130e073f00130"
    assert START.id == str(START) == "4HPwATDgc/ABMA"
    assert START.flip() == START
    assert START.pip_count == 167
    assert START.opponent_pip_count == 167
    assert START.off == 0
    assert START.opponent_off == 0


def test_position_from_rows_has_the_known_id() -> None:
    opponent = {3: 2, 6: 4, 8: 2, 11: 1, 13: 4, 23: 1, 24: 1}
    on_roll = {6: 5, 8: 7, 13: 1, 24: 2}
    position = Position.from_rows(row(opponent), row(on_roll))
    assert position == Position("jGfkASjg8wcBMA")
    assert position.rows == (tuple(row(opponent)), tuple(row(on_roll)))


def test_key_of_a_training_row_is_parsed() -> None:
    position = parse_key20("NIKOIJADCANIGOAHADBA")
    assert position.board == TRAINING_BOARD
    assert position.id == "2K6JAyDYbgcDEA"
    assert format_key20(position) == "NIKOIJADCANIGOAHADBA"
    assert (position.pip_count, position.opponent_pip_count) == (123, 132)


def test_finished_game_counts_checkers_off() -> None:
    position = Position("AAAAAgAAAAAAAA")
    assert position.board == (0, 1, *[0] * 24)
    assert (position.off, position.opponent_off) == (14, 15)


@given(positions)
def test_every_form_is_parsed_back(position: Position) -> None:
    assert parse_position_id(position.id) == position
    assert parse_key20(format_key20(position)) == position
    assert Position.from_rows(*position.rows) == position
    assert Position(np.array(position.board, np.int8)) == position
    assert hash(Position(list(position.board))) == hash(position)


@given(positions)
def test_position_accepts_every_form(position: Position) -> None:
    board = list(position.board)
    forms = [
        position, board, tuple(board), np.array(board), np.array(board, np.int8), np.array([board, board], np.int64)[1],
        *(text for name, text in possible_identifiers(position).items() if name != "match_id"),
    ]  # fmt: skip
    assert {Position(form) for form in forms} == {position}
    assert all(type(count) is int for form in forms for count in Position(form).board)
    assert eval(repr(position)) == position
    assert pickle.loads(pickle.dumps(position)) == position
    assert position != position.board


@pytest.mark.parametrize("name", ["start", "START", " Start\n"])
def test_start_is_a_name(name: str) -> None:
    assert Position(name) == Position.start() == START


def test_position_is_immutable() -> None:
    with pytest.raises(AttributeError):
        START.board = ()  # type: ignore[misc]
    assert repr(START) == "Position('4HPwATDgc/ABMA')"


@given(positions)
def test_flip_swaps_the_sides(position: Position) -> None:
    flipped = position.flip()
    assert flipped.flip() == position
    assert flipped.rows == position.rows[::-1]
    assert (flipped.pip_count, flipped.off) == (position.opponent_pip_count, position.opponent_off)


@given(boards())
def test_pips_and_checkers_match_the_rows(board: list[int]) -> None:
    position = Position(board)
    opponent, on_roll = position.rows
    assert position.pip_count == sum(point * count for point, count in enumerate(on_roll, start=1))
    assert (position.off, position.opponent_off) == (15 - sum(on_roll), 15 - sum(opponent))


@each(
    ("text", "message"),
    [
        ("4HPwATDgc/ABM", "expected 14 characters in a position id, got 13"),
        ("4HPwATDgc/ABMAA", "expected 14 characters in a position id, got 15"),
        ("4HPwATDg_/ABMA", "got '_' at character 9 of '4HPwATDg_/ABMA'"),
        ("4HPwATDgc/ABMé", "got 'é' at character 14"),
        ("4HPwATDgc/ABMA\n", r"got '\\n' at character 15"),
        ("4HPwATDgc/ABMB", "expected one of A, Q, g, w as the last of 14 characters, got 'B'"),
        ("//8AAAAAAAAAAA", "expected at most 15 checkers of the opponent"),
        ("AAAA/v8PAAAAAA", "expected at most 15 checkers of the player on roll"),
        ("/////////////w", "expected at most 15 checkers of the opponent"),
        ("AAAAAAAAAAAAgA", "expected no 1 bit after the 50th 0 bit of the key"),
        ("AQAAAAAAAgAAAA", "expected checkers of one side only on each point"),
        ("27YBANC2bQAABA", "expected an open point when both sides are on the bar"),
        ("", "expected 14 characters"),
    ],
)
def test_invalid_position_ids_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidPositionError, match=message):
        parse_position_id(text)


@each(
    ("text", "message"),
    [
        ("NIKOIJADCANIGOAHADB", "expected 20 characters in a 20-letter key, got 19"),
        ("NIKOIJADCANIGOAHADBQ", "got 'Q' at character 20"),
        ("NIKOIJADCANIGOAHADBa", "got 'a' at character 20"),
        ("PPPPPPPPPPPPPPPPPPPP", "expected at most 15 checkers"),
    ],
)
def test_invalid_keys_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidPositionError, match=message):
        parse_key20(text)


@each(
    ("opponent", "on_roll", "message"),
    [
        ([0] * 24, [0] * 25, "expected two rows of 25 counts, got 24 and 25"),
        (row({1: -1}), row({}), "expected no negative count in a row"),
        (row({1: 1}), row({24: 1}), "expected checkers of one side only on each point, got both on point 24"),
        (row({1: 16}), row({}), "expected at most 15 checkers of the opponent"),
    ],
)
def test_invalid_rows_are_refused(opponent: list[int], on_roll: list[int], message: str) -> None:
    with pytest.raises(InvalidPositionError, match=message):
        Position.from_rows(opponent, on_roll)


@each(
    ("board", "message"),
    [
        ([0] * 25, "expected 26 integers, got 25"),
        ([0.5] * 26, "expected 26 integers"),
        ([True] * 26, "expected 26 integers"),
        (["1"] * 26, "expected 26 integers"),
        ([[0] * 26], "expected 26 integers"),
        (bytes(26), "expected 26 integers"),
        (5, "expected 26 integers"),
        (None, "expected 26 integers"),
        (np.zeros(26), "expected 26 integers"),
        (np.zeros(26, np.bool_), "expected 26 integers"),
        (np.zeros((1, 26), np.int8), "expected 26 integers"),
        (np.zeros((26, 1), np.int8), "expected 26 integers"),
        ([-1] + [0] * 25, "expected no negative count on a bar"),
        ([0] * 25 + [-1], "expected no negative count on a bar"),
        ([0] * 24 + [9, 7], "expected at most 15 checkers of the player on roll"),
        ([9] + [0] * 23 + [-7, 0], "expected at most 15 checkers of the opponent"),
        (CLOSED, "expected an open point"),
    ],
)
def test_invalid_boards_are_refused(board: list[int], message: str) -> None:
    with pytest.raises(InvalidPositionError, match=message) as caught:
        Position(board)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_every_flaw_has_a_rule() -> None:
    assert board_flaw(CLOSED) is Flaw.CLOSED_BOARDS
    assert all(flaw.rule.startswith("expected") for flaw in Flaw)


def test_position_module_loads_no_numba() -> None:
    code = "import sys, bgdata.game.position; print(sorted({'numba', 'duckdb', 'pyarrow'} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "[]\n"
