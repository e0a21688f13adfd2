"""Boards as text, to print and to parse: the player on roll (X) below, home board at the lower right.

    Position ID: 4HPwATDgc/ABMA
    +-13-14-15-16-17-18-+---+-19-20-21-22-23-24-+
    |  X           O    |   |  O              X |  O
    |  X           O    |   |  O              X |  167 pips
    |  X           O    |   |  O                |
    |  X                |   |  O                |
    |  X                |   |  O                |
    |                   |BAR|                   |
    |  O                |   |  X                |
    |  O                |   |  X                |
    |  O           X    |   |  X                |
    |  O           X    |   |  X              O |  167 pips
    |  O           X    |   |  X              O |  X on roll
    +-12-11-10--9--8--7-+---+--6--5--4--3--2--1-+

Stacks grow from the edge towards the middle. The fifth row of a stack of more than five shows the count. Checkers on
the bar are drawn in the half where they enter. `parse_board_text` ignores the notes beside the board.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bgdata.errors import InvalidPositionError
from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.board_svg import describe_race, describe_stakes
from bgdata.game.dice import Roll
from bgdata.game.match import CubeOwner, Stakes
from bgdata.game.position import Position, parse_position_id

ON_ROLL, OPPONENT = "X", "O"
ID_LABEL = "Position ID: "

_ROWS = 5
_TOP_FRAME = "+-13-14-15-16-17-18-+---+-19-20-21-22-23-24-+"
_MIDDLE = "|                   |BAR|                   |"
_EMPTY = "|                   |   |                   |"
_BOTTOM_FRAME = "+-12-11-10--9--8--7-+---+--6--5--4--3--2--1-+"
_WIDTH = len(_MIDDLE)
_BAR_COLUMN = 21  # first of the two characters of a bar cell
_TOP_COLUMNS = dict(zip(range(13, 25), [*range(2, 19, 3), *range(26, 43, 3)], strict=True))
_BOTTOM_COLUMNS = {25 - point: column for point, column in _TOP_COLUMNS.items()}
_NUMBER = re.compile(r" [6-9]|1[0-5]", re.ASCII)
_ID = re.compile(re.escape(ID_LABEL) + r"(\S+)")


def format_board_text(
    position: Position, *, roll: Roll | None = None, stakes: Stakes | None = None, with_id: bool = True
) -> str:
    """Draw a position as 14 lines of text, the first with its Position ID unless `with_id` is false. No line ends in a
    space. Beside the board: pip counts, checkers borne off, the roll, and the score and cube of `stakes`, the cube next
    to its owner."""
    top = _half(position, _TOP_COLUMNS, BAR)
    bottom = _half(position, _BOTTOM_COLUMNS, OPPONENT_BAR)[::-1]
    notes = _notes(position, roll, stakes)
    board = [line + "  " + note for line, note in zip([*top, _MIDDLE, *bottom], notes, strict=True)]
    lines = [_TOP_FRAME, *board, _BOTTOM_FRAME]
    return "\n".join([ID_LABEL + position.id] * with_id + [line.rstrip() for line in lines])


def parse_board_text(text: str) -> Position:
    """Parse a board that `format_board_text` drew. The board may be indented, with any text around and beside it. A
    Position ID above the board must agree with it. Raises InvalidPositionError, which names the line, point or rule."""
    lines = text.splitlines()
    tops = [line for line, text in enumerate(lines) if _TOP_FRAME in text]
    if len(tops) != 1:
        raise InvalidPositionError(f"expected one line with {_TOP_FRAME!r}, got {len(tops)}")
    top, indent, bottom = tops[0], lines[tops[0]].index(_TOP_FRAME), tops[0] + 2 * _ROWS + 2
    if bottom >= len(lines) or not lines[bottom].startswith(_BOTTOM_FRAME, indent):
        raise InvalidPositionError(f"expected {_BOTTOM_FRAME!r} {bottom - top} lines below the upper frame")
    rows = [line[indent : indent + _WIDTH].ljust(_WIDTH) for line in lines[top + 1 : bottom]]
    for number, row in enumerate(rows):  # outside the checker cells only the frame is allowed
        frame, expected = list(row), _MIDDLE if number == _ROWS else _EMPTY
        for column in [] if number == _ROWS else [*_TOP_COLUMNS.values(), _BAR_COLUMN]:
            frame[column : column + 2] = "  "
        for column, (found, wanted) in enumerate(zip(frame, expected, strict=True), start=1):
            if found != wanted:
                where = f"in column {column} of line {top + number + 2}"
                raise InvalidPositionError(f"expected {wanted!r} {where}, got {found!r}: {row!r}")
    upper, lower = rows[:_ROWS], rows[:_ROWS:-1]
    board = [0] * 26
    for columns, half in ((_TOP_COLUMNS, upper), (_BOTTOM_COLUMNS, lower)):
        for point, column in columns.items():
            board[point] = _count(half, column, f"point {point}")
    board[BAR] = _count(upper, _BAR_COLUMN, "the upper bar")
    board[OPPONENT_BAR] = -_count(lower, _BAR_COLUMN, "the lower bar")
    if board[BAR] < 0 or board[OPPONENT_BAR] < 0:
        raise InvalidPositionError(f"expected only {ON_ROLL} on the upper bar and only {OPPONENT} on the lower one")
    position = Position(board)
    written = _ID.search("\n".join(lines[:top]))
    if written and parse_position_id(written[1]) != position:
        raise InvalidPositionError(f"expected position id {written[1]} on the board, got {position.id}")
    return position


def _half(position: Position, columns: dict[int, int], bar: int) -> list[str]:
    """The five text rows of the upper or lower half of the board, from its edge to the middle. `columns` maps points to
    columns of the text; `bar` is the bar's index in a board."""
    grid = [list(_EMPTY) for _ in range(_ROWS)]
    stacks = [(column, position.board[point]) for point, column in columns.items()]
    stacks.append((_BAR_COLUMN, position.board[bar] if bar == BAR else -position.board[bar]))
    for column, count in stacks:
        for row, cell in zip(grid, _cells(count), strict=True):
            row[column : column + 2] = cell
    return ["".join(row) for row in grid]


def _cells(count: int) -> list[str]:
    """The five cells of a stack of checkers, two characters each, from the edge to the middle."""
    symbol, height = ON_ROLL if count > 0 else OPPONENT, abs(count)
    cells = [f" {symbol}" if row < height else "  " for row in range(_ROWS)]
    if height > _ROWS:
        cells[-1] = f"{height:>2}"
    return cells


def _notes(position: Position, roll: Roll | None, stakes: Stakes | None) -> list[str]:
    """The texts beside the eleven rows of the board."""
    (score, opponent_score), kind = describe_stakes(stakes)
    notes = [""] * (2 * _ROWS + 1)
    notes[0] = ", ".join(filter(None, [OPPONENT, opponent_score]))
    notes[1] = describe_race(position.opponent_pip_count, position.opponent_off)
    notes[-1] = ", ".join(filter(None, [f"{ON_ROLL} {f'to play {roll}' if roll else 'on roll'}", score]))
    notes[-2] = describe_race(position.pip_count, position.off)
    if stakes:
        cube = f"cube {stakes.cube.value}"
        notes[_ROWS] = f"{cube}, {kind}" if stakes.cube.owner == CubeOwner.CENTERED else kind
        if stakes.cube.owner != CubeOwner.CENTERED:
            notes[-3 if stakes.cube.owner == CubeOwner.ON_ROLL else 2] = cube
    return notes


def _count(half: Sequence[str], column: int, place: str) -> int:
    """Count the checkers in a column of five rows, listed from the edge to the middle; negative for checkers of the
    opponent. `place` names the column in errors."""
    cells = [row[column : column + 2] for row in half]
    symbol = cells[0].strip()
    sign = 1 if symbol == ON_ROLL else -1
    height = int(cells[-1]) if _NUMBER.fullmatch(cells[-1]) else sum(cell != "  " for cell in cells)
    if (symbol not in (ON_ROLL, OPPONENT, "")) or cells != _cells(sign * height):
        raise InvalidPositionError(f"expected a stack of X or O from the edge on {place}, got {cells}")
    return sign * height
