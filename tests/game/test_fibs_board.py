"""Boards of FIBS and gnubg: what is written is read again, from either side."""

from __future__ import annotations

import pytest

from bgdata.errors import InvalidPositionError
from bgdata.game.dice import ROLLS
from bgdata.game.fibs_board import format_money_board, parse_fibs_board
from bgdata.game.match import Cube
from bgdata.game.position import START, Position
from bgdata.play.random_games import random_game_positions

POSITIONS = [Position(board) for board in random_game_positions(5, seed=3).boards[::7].tolist()]


@pytest.mark.parametrize("roll", [None, ROLLS[0]])
def test_what_is_written_is_read(roll: object) -> None:
    for position in POSITIONS:
        board = parse_fibs_board(format_money_board(position, roll))  # type: ignore[arg-type]
        assert (board.position, board.roll, board.cube) == (position, roll, Cube())
        assert board.off == (position.off, position.opponent_off)


def test_the_other_color_sees_the_board_turned() -> None:
    """The same line with the other turn: what is then on roll was the opponent."""
    for position in POSITIONS:
        fields = format_money_board(position).split(":")
        fields[1 + 2 + 3 + 26] = "-1"
        assert parse_fibs_board(":".join(fields)).position == position.flip()


def test_unlimited_matches_are_money() -> None:
    assert parse_fibs_board(format_money_board(START).replace(":0:0:0:", ":9999:0:0:", 1)).length == 0


@pytest.mark.parametrize("text", ["", "board:", "board:" + "1:" * 30, "XGID=1", "board:a:b" + ":1x" * 50])
def test_lines_that_are_no_boards(text: str) -> None:
    with pytest.raises(InvalidPositionError, match=r"^expected "):
        parse_fibs_board(text)
