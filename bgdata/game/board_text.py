"""Boards as text: the player on roll (X) below, home board at the lower right.

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
the bar are drawn in the half where they enter.
"""

from __future__ import annotations

from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.board_svg import describe_race, describe_stakes
from bgdata.game.dice import Roll
from bgdata.game.match import CubeOwner, Stakes
from bgdata.game.position import Position

ON_ROLL, OPPONENT = "X", "O"
ID_LABEL = "Position ID: "

_ROWS = 5
_TOP_FRAME = "+-13-14-15-16-17-18-+---+-19-20-21-22-23-24-+"
_MIDDLE = "|                   |BAR|                   |"
_EMPTY = "|                   |   |                   |"
_BOTTOM_FRAME = "+-12-11-10--9--8--7-+---+--6--5--4--3--2--1-+"
_BAR_COLUMN = 21  # first of the two characters of a bar cell
_TOP_COLUMNS = dict(zip(range(13, 25), [*range(2, 19, 3), *range(26, 43, 3)], strict=True))
_BOTTOM_COLUMNS = {25 - point: column for point, column in _TOP_COLUMNS.items()}


def format_board_text(
    position: Position, *, roll: Roll | None = None, stakes: Stakes | None = None, with_id: bool = True
) -> str:
    """Draw a position as 14 lines of text. The first contains the Position ID; it is left out if `with_id` is false.
    Pip counts, checkers borne off, the roll, and score and cube of `stakes` are beside the board, the cube next to its
    owner. No line ends in a space."""
    top = _half(position, _TOP_COLUMNS, BAR)
    bottom = _half(position, _BOTTOM_COLUMNS, OPPONENT_BAR)[::-1]
    notes = _notes(position, roll, stakes)
    board = [line + "  " + note for line, note in zip([*top, _MIDDLE, *bottom], notes, strict=True)]
    lines = [_TOP_FRAME, *board, _BOTTOM_FRAME]
    return "\n".join([ID_LABEL + position.id] * with_id + [line.rstrip() for line in lines])


def _half(position: Position, columns: dict[int, int], bar: int) -> list[str]:
    """Return the five text rows of the upper or lower half of the board, from its edge to the middle. `columns` maps
    points to columns of the text; `bar` is the index of the half's bar in a board."""
    grid = [list(_EMPTY) for _ in range(_ROWS)]
    stacks = [(column, position.board[point]) for point, column in columns.items()]
    stacks.append((_BAR_COLUMN, position.board[bar] if bar == BAR else -position.board[bar]))
    for column, count in stacks:
        for row, cell in zip(grid, _cells(count), strict=True):
            row[column : column + 2] = cell
    return ["".join(row) for row in grid]


def _cells(count: int) -> list[str]:
    """Return the five cells of a stack of checkers, two characters each, from the edge to the middle."""
    symbol, height = ON_ROLL if count > 0 else OPPONENT, abs(count)
    cells = [f" {symbol}" if row < height else "  " for row in range(_ROWS)]
    if height > _ROWS:
        cells[-1] = f"{height:>2}"
    return cells


def _notes(position: Position, roll: Roll | None, stakes: Stakes | None) -> list[str]:
    """Return the texts beside the eleven rows of the board."""
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
