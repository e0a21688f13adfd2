"""Boards as text are parsed back, alone or inside other text; ambiguous ones are refused."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError
from bgdata.game import board_text
from bgdata.game.board_text import format_board_text, parse_board_text
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START, Position
from tests.game.match_strategies import states_without_offer
from tests.game.strategies import positions
from tests.subtests import each

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


def test_board_shows_roll_and_stakes() -> None:
    assert format_board_text(CROWDED, roll=Roll(3, 1), stakes=STAKES) == DRAWN
    assert parse_board_text(DRAWN) == CROWDED


def test_start_matches_documentation() -> None:
    assert textwrap.indent(format_board_text(START), "    ") in (board_text.__doc__ or "")
    assert parse_board_text(board_text.__doc__ or "") == START


@given(
    positions, st.none() | st.sampled_from(ROLLS), st.none() | states_without_offer(), st.booleans(), st.integers(0, 8)
)
def test_text_boards_are_parsed_back(position: Position, roll: Roll, match: object, with_id: bool, indent: int) -> None:
    stakes = getattr(match, "stakes", None)
    text = format_board_text(position, roll=roll, stakes=stakes, with_id=with_id)
    assert parse_board_text(text) == position
    assert parse_board_text(f"look:\n{textwrap.indent(text, ' ' * indent)}\nnice") == position
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert len(text.splitlines()) == 13 + with_id


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


def corrupted(line: int, column: int, letters: str) -> str:
    """The drawn board with letters written over it; line and column count from 1, as in errors."""
    lines = DRAWN.splitlines()
    text, begin = lines[line - 1], column - 1
    lines[line - 1] = text[:begin] + letters + text[begin + len(letters) :]
    return "\n".join(lines)


@each(
    ("text", "rule"),
    [
        ("", "one line with .*, got 0"),
        (DRAWN + "\n" + DRAWN, "one line with .*, got 2"),
        ("\n".join(DRAWN.splitlines()[:-1]), "12 lines below the upper frame"),
        (DRAWN.replace("|BAR|                   |  post-crawford\n", "|BAR|\n\n"), "12 lines below the upper frame"),
        (corrupted(8, 1, " "), r"expected '\|' in column 1 of line 8, got ' '"),
        (corrupted(8, 4, "X"), r"expected ' ' in column 4 of line 8, got 'X'"),
        (corrupted(3, 2, "X"), r"expected ' ' in column 2 of line 3, got 'X'"),
        (corrupted(6, 16, "O"), "a stack of X or O from the edge on point 17"),
        (corrupted(4, 16, "X"), "a stack of X or O from the edge on point 17"),
        (corrupted(4, 16, "o"), "a stack of X or O from the edge on point 17"),
        (corrupted(9, 4, "5"), "a stack of X or O from the edge on point 12"),
        (corrupted(9, 3, "16"), "a stack of X or O from the edge on point 12"),
        (corrupted(10, 4, "7"), "a stack of X or O from the edge on point 12"),
        (corrupted(9, 3, "6 "), "a stack of X or O from the edge on point 12"),
        (corrupted(3, 23, "O"), "expected only X on the upper bar and only O on the lower one"),
        (
            corrupted(12, 23, "X").replace("| O |  X  O  X  X       |", "| X |  X  O  X  X       |"),
            "a stack of X or O from the edge on the lower bar",
        ),
        (corrupted(9, 27, "15"), "at most 15 checkers of the player on roll"),
        (corrupted(3, 16, " "), "expected a stack of X or O from the edge on point 17"),
        (corrupted(4, 16, " "), "expected position id gMEPGBmb/wEAEA on the board, got"),
        (corrupted(1, 14, "4HPwATDgc/ABMA"), "expected position id 4HPwATDgc/ABMA on the board, got gMEP"),
        (corrupted(1, 14, "!"), "expected letters of a position id, got '!'"),
    ],
)
def test_invalid_drawings_are_refused(text: str, rule: str) -> None:
    with pytest.raises(InvalidPositionError, match=rule):
        parse_board_text(text)
