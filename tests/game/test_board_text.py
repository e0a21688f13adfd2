"""Drawings of boards have every checker in its place; the roll, the score and the cube stand beside them."""

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.game import board_text
from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.board_text import format_board_text
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START, Position
from tests.game.match_strategies import states_without_offer
from tests.game.strategies import positions

CROWDED = Position([2, 0, -1, 2, 2, -2, 10, 0, 0, 0, 0, 0, -6, 0, 0, 0, 0, -2, 0, 0, 0, 0, 0, 0, 0, 1])
DRAWN = """\
Position ID: gMEPGBmb/wEAEA
+-13-14-15-16-17-18-+---+-19-20-21-22-23-24-+
|              O    | X |                   |  O, 1-away
|              O    |   |                   |  207 pips, 2 off
|                   |   |                   |  cube 2
|                   |   |                   |
|                   |   |                   |
|                   |BAR|                   |  post-crawford
|  6                |   | 10                |
|  O                |   |  X                |
|  O                |   |  X                |
|  O                | O |  X  O  X  X       |  99 pips
|  O                | O |  X  O  X  X  O    |  X to play 31, 2-away
+-12-11-10--9--8--7-+---+--6--5--4--3--2--1-+"""
STAKES = Stakes(MatchScore(2, 1), Cube(2, CubeOwner.OPPONENT))


def drawn_position(text: str) -> Position:
    """The position of a drawing: below or above the number of a point is a stack of letters, or its fifth row is its
    height."""
    rows = text.splitlines()[-13:]
    board = [0] * 26
    for frame, half, bar in ((rows[0], rows[1:6], BAR), (rows[12], rows[11:6:-1], OPPONENT_BAR)):
        ends = {int(label[0]): label.end() for label in re.finditer(r"\d+", frame)} | {bar: frame.index("---+") + 2}
        for place, end in ends.items():
            cells = [row[end - 2 : end].strip() for row in half]
            height = int(cells[-1]) if cells[-1].isdigit() else len("".join(cells))
            letter = "O" if place == OPPONENT_BAR else "X"  # whose checkers a board counts there as positive
            board[place] = height if cells[0] == letter else -height
    return Position(board)


def test_board_shows_roll_and_stakes() -> None:
    assert format_board_text(CROWDED, roll=Roll(3, 1), stakes=STAKES) == DRAWN
    assert drawn_position(DRAWN) == CROWDED


def test_start_matches_documentation() -> None:
    assert textwrap.indent(format_board_text(START), "    ") in (board_text.__doc__ or "")
    assert drawn_position(format_board_text(START)) == START


@given(positions, st.none() | st.sampled_from(ROLLS), st.none() | states_without_offer(), st.booleans())
def test_every_checker_is_drawn(position: Position, roll: Roll, match: object, with_id: bool) -> None:
    text = format_board_text(position, roll=roll, stakes=getattr(match, "stakes", None), with_id=with_id)
    lines = text.splitlines()
    assert drawn_position(text) == position
    assert lines[0] == f"Position ID: {position.id}" or not with_id
    assert not any(line.endswith(" ") for line in lines)
    assert len(lines) == 13 + with_id


@pytest.mark.parametrize(
    ("stakes", "line", "words"),
    [
        (Stakes(Money(is_jacoby=True)), 7, "cube 1, money with jacoby rule"),
        (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)), 7, "money"),
        (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)), 10, "cube 2"),
        (Stakes(MatchScore(3, 5)), 2, "O, 5-away"),
        (Stakes(MatchScore(3, 5)), 12, "X on roll, 3-away"),
        (Stakes(MatchScore(1, 5, is_crawford=True)), 7, "cube 1, crawford game"),
    ],
)
def test_stakes_are_shown_beside_the_board(stakes: Stakes, line: int, words: str) -> None:
    lines = format_board_text(START, stakes=stakes).splitlines()
    assert lines[line].endswith(f"|  {words}")


def test_one_pip_is_singular() -> None:
    assert "  1 pip, 14 off\n" in format_board_text(Position((0, 1, *[0] * 24)))
