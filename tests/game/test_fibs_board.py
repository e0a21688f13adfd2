"""FIBS and gnubg boards: formatted boards are parsed back, for both colors."""

from functools import cache, partial

import pytest

from bgdata.errors import InvalidPositionError
from bgdata.game.dice import ROLLS
from bgdata.game.fibs_board import format_money_board, parse_fibs_board
from bgdata.game.match import Cube, CubeOwner
from bgdata.game.position import START, Position
from tests.random_games import random_game_positions
from tests.subtests import all_raise


@cache
def random_positions() -> list[Position]:
    return [Position(board) for board in random_game_positions(5, seed=3).boards[::7].tolist()]


@pytest.mark.parametrize("roll", [None, ROLLS[0]])
def test_formatted_boards_are_parsed_back(roll: object) -> None:
    for position in random_positions():
        board = parse_fibs_board(format_money_board(position, roll))  # type: ignore[arg-type]
        assert (board.position, board.roll, board.cube) == (position, roll, Cube())
        assert board.off == (position.off, position.opponent_off)
    assert parse_fibs_board(format_money_board(START).replace(":0:0:0:", ":9999:0:0:", 1)).length == 0  # unlimited


def test_other_color_sees_flipped_board() -> None:
    for position in random_positions():
        fields = format_money_board(position).split(":")
        fields[1 + 2 + 3 + 26] = "-1"
        assert parse_fibs_board(":".join(fields)).position == position.flip()


def test_invalid_lines_are_refused() -> None:
    fields = format_money_board(START).split(":")
    tail = 1 + 2 + 3 + 26
    texts = ["", "board:", "board:" + "1:" * 30, "XGID=1", "board:a:b" + ":1x" * 50]
    cases = [(text, "^expected ") for text in texts]
    for place, name in ((9, "color"), (10, "direction")):
        changed = [*fields[: tail + place], "0", *fields[tail + place + 1 :]]
        cases.append((":".join(changed), f"^expected a {name} of 1 or -1"))
    all_raise(InvalidPositionError, [(partial(parse_fibs_board, text), message) for text, message in cases])


@pytest.mark.parametrize("color", ["1", "-1"])
def test_only_player_that_may_double_owns_the_cube(color: str) -> None:
    """If only one player may double, that player owns the cube, whatever its color: pairs list the reader's value
    first."""
    fields = format_money_board(START).split(":")
    tail = 1 + 2 + 3 + 26
    fields[tail], fields[tail + 9] = color, color
    fields[tail + 5 : tail + 8] = "2", "1", "0"
    assert parse_fibs_board(":".join(fields)).cube == Cube(2, CubeOwner.ON_ROLL)
    fields[tail] = str(-int(color))
    assert parse_fibs_board(":".join(fields)).cube == Cube(2, CubeOwner.OPPONENT)
