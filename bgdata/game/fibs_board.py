"""Board lines of FIBS, which gnubg sends too: one line of 52 numbers and names, `board:you:somebody:7:0:3:...`.

The sides have the colors 1 and -1: counts of checkers of color 1 are positive. The board is the same whoever is on
roll; `FibsBoard.position` turns it to the player on roll. FIBS and gnubg order names and scores differently, which
callers must know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bgdata.errors import InvalidPositionError, cite
from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.dice import Roll, roll_of
from bgdata.game.match import Cube, CubeOwner
from bgdata.game.position import Position

PREFIX = "board:"
MAX_LETTERS = 400  # longest line accepted
UNLIMITED = 9999  # match length that means money play on FIBS
_NUMBER = re.compile(r"-?\d{1,5}", re.ASCII)
_NAMES, _HEAD, _POINTS, _TAIL = 2, 3, 26, 21


@dataclass(frozen=True, slots=True)
class FibsBoard:
    """The fields of a FIBS board line, in their order. Pairs are (player with `color`, player with the other color)
    unless a comment says otherwise."""

    names: tuple[str, str]  # in the order of the line
    length: int  # points of the match, 0 for money
    scores: tuple[int, int]  # scores of the two names
    points: tuple[int, ...]  # [26] checkers of color 1 positive, of color -1 negative; 0 and 25 are bars
    turn: int  # the color on roll, or the one that doubled; 0 if the game is over
    dice: tuple[int, int]  # (0, 0) before the roll
    own_dice: tuple[int, int]  # on FIBS, the dice of the reader alone
    cube_value: int
    may_double: tuple[bool, bool]
    is_doubled: bool  # a double has been offered and not answered
    color: int  # the color of the reader on FIBS; 1 from gnubg
    direction: int  # direction of `color`: -1 moves from 24 to 1
    off: tuple[int, int]
    is_post_crawford: bool
    is_crawford: bool  # set by gnubg only

    @property
    def position(self) -> Position:
        """The position from the point of view of the side whose turn it is. Raises InvalidPositionError if it breaks a
        rule."""
        if self.turn not in (1, -1):
            raise InvalidPositionError(f"expected a turn of 1 or -1 in a game in progress, got {self.turn}")
        own = [count * self.turn for count in self.points]
        if self.direction * self.turn * self.color > 0:
            own.reverse()
        return Position([abs(own[OPPONENT_BAR]), *own[1:BAR], abs(own[BAR])])

    @property
    def roll(self) -> Roll | None:
        """The roll of the side whose turn it is; None before the roll. Raises InvalidRollError if the dice are
        invalid."""
        return roll_of(*self.dice) if any(self.dice) else None

    @property
    def cube(self) -> Cube:
        """The cube from the point of view of the side whose turn it is. Raises InvalidScoreError if it is invalid."""
        own, other = self.may_double if self.turn == self.color else self.may_double[::-1]
        owner = CubeOwner.CENTERED if own == other else CubeOwner.ON_ROLL if own else CubeOwner.OPPONENT
        return Cube(self.cube_value, owner)


def parse_fibs_board(text: str) -> FibsBoard:
    """Parse a FIBS board line into its fields. Raises InvalidPositionError, which names the invalid field. The rules of
    the game are checked later, by `position`, `roll` and `cube`."""
    fields = text.strip().removeprefix(PREFIX).split(":")
    if not text.strip().startswith(PREFIX) or len(text) > MAX_LETTERS:
        raise InvalidPositionError(f"expected a line that begins with '{PREFIX}', got {cite(text)}")
    count = _NAMES + _HEAD + _POINTS + _TAIL
    if len(fields) != count:
        raise InvalidPositionError(f"expected {count} fields in a board line, got {len(fields)}: {cite(text)}")
    numbers = [_number(field, place) for place, field in enumerate(fields[_NAMES:], start=_NAMES + 1)]
    length, *scores = numbers[:_HEAD]
    points, tail = numbers[_HEAD : _HEAD + _POINTS], numbers[_HEAD + _POINTS :]
    turn, die1, die2, die3, die4, cube_value, may1, may2, is_doubled, color, direction, *_ = tail
    off, last = tail[13:15], tail[-2:]
    for name, value, is_known in (
        ("turn", turn, turn in (1, -1, 0)),  # 0: the game is over
        ("color", color, color in (1, -1)),
        ("direction", direction, direction in (1, -1)),
    ):
        if not is_known:
            raise InvalidPositionError(f"expected a {name} of 1 or -1 in a board line, got {value}")
    return FibsBoard(
        names=(fields[0], fields[1]),
        length=0 if length == UNLIMITED else length,
        scores=(scores[0], scores[1]),
        points=tuple(points),
        turn=turn,
        dice=(die1, die2) if die1 or die2 else (die3, die4),
        own_dice=(die1, die2),
        cube_value=cube_value,
        may_double=(bool(may1), bool(may2)),
        is_doubled=bool(is_doubled),
        color=color,
        direction=direction,
        off=(off[0], off[1]),
        is_post_crawford=bool(last[0]),
        is_crawford=not last[1],
    )


def format_money_board(position: Position, roll: Roll | None = None) -> str:
    """Write a position as a FIBS board line, in money play with a centered cube; the player on roll has color 1."""
    points = list(position.board)
    points[OPPONENT_BAR] *= -1
    dice = [roll.high, roll.low] if roll else [0, 0]
    off = [position.off, position.opponent_off]
    rest = [1, *dice, *dice, 1, 1, 1, 0, 1, -1, OPPONENT_BAR, BAR, *off, 0, 0, 0, 0, 0, 1]
    return PREFIX + ":".join(map(str, ["us", "them", 0, 0, 0, *points, *rest]))


def _number(field: str, place: int) -> int:
    if not _NUMBER.fullmatch(field):
        raise InvalidPositionError(f"expected a number as field {place} of a board line, got {cite(field)}")
    return int(field)
