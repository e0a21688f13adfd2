"""FIBS and gnubg boards: formatted boards are parsed back, for both colors."""

from functools import cache

import pytest

from bgdata.errors import InvalidPositionError
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.fibs_board import format_money_board, parse_fibs_board
from bgdata.game.match import Cube, CubeOwner
from bgdata.game.position import START, Position
from tests.random_games import random_game_positions

# where the fields of a line are: `board`, two names, length and two scores, 26 points, then turn, dice and so on
TURN = 1 + 2 + 3 + 26
CUBE, MAY_DOUBLE, OPPONENT_MAY_DOUBLE = TURN + 5, TURN + 6, TURN + 7
COLOR, DIRECTION = TURN + 9, TURN + 10


@cache
def random_positions() -> list[Position]:
    return [Position(board) for board in random_game_positions(5, seed=3).boards[::7].tolist()]


def change_fields(line: str, changes: dict[int, str]) -> str:
    fields = line.split(":")
    for index, value in changes.items():
        fields[index] = value
    return ":".join(fields)


@pytest.mark.parametrize("roll", [None, ROLLS[0]])
def test_formatted_boards_are_parsed_back(roll: Roll | None) -> None:
    for position in random_positions():
        board = parse_fibs_board(format_money_board(position, roll))
        assert (board.position, board.roll, board.cube) == (position, roll, Cube())
        assert board.off == (position.off, position.opponent_off)


def test_unlimited_match_is_money_play() -> None:
    line = format_money_board(START).replace(":0:0:0:", ":9999:0:0:", 1)
    assert parse_fibs_board(line).length == 0


def test_other_color_sees_flipped_board() -> None:
    for position in random_positions():
        line = change_fields(format_money_board(position), {TURN: "-1"})
        assert parse_fibs_board(line).position == position.flip()


@pytest.mark.parametrize("line", ["", "board:", "board:" + "1:" * 30, "XGID=1", "board:a:b" + ":1x" * 50])
def test_malformed_lines_are_refused(line: str) -> None:
    with pytest.raises(InvalidPositionError, match=r"^expected "):
        parse_fibs_board(line)


@pytest.mark.parametrize(("field", "name"), [(COLOR, "color"), (DIRECTION, "direction")])
def test_invalid_colors_and_directions_are_refused(field: int, name: str) -> None:
    with pytest.raises(InvalidPositionError, match=f"^expected a {name} of 1 or -1"):
        parse_fibs_board(change_fields(format_money_board(START), {field: "0"}))


@pytest.mark.parametrize("color", ["1", "-1"])
def test_only_player_that_may_double_owns_the_cube(color: str) -> None:
    """If only one player may double, that player owns the cube, whatever its color: pairs list the reader's value
    first."""
    doubled = {CUBE: "2", MAY_DOUBLE: "1", OPPONENT_MAY_DOUBLE: "0", COLOR: color}
    line = change_fields(format_money_board(START), doubled)
    assert parse_fibs_board(change_fields(line, {TURN: color})).cube == Cube(2, CubeOwner.ON_ROLL)
    assert parse_fibs_board(change_fields(line, {TURN: str(-int(color))})).cube == Cube(2, CubeOwner.OPPONENT)
