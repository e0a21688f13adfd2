"""Classes of positions as gnubg defines them, and outcomes of games. The class decides which network evaluates a
position and which data set contains it. The outcome says who won, and whether it is a gammon or backgammon.

Pure Python, one position at a time. `board_kernels` has versions for arrays and other kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from bgdata.errors import InvalidPositionError
from bgdata.game.board import CHECKERS, HOME_POINTS, OPPONENT_BAR

if TYPE_CHECKING:
    from bgdata.game.position import Position

TWO_SIDED_CHECKERS = 6  # checkers a side in gnubg's own two-sided table; its one-sided table has all 15
CRASHED_CHECKERS = 6
PASSED_PIPS = 24  # the sides have passed each other if their rearmost points add up to at most this


class PositionClass(IntEnum):
    """The class of a position, with the numbers that `classifypos` in gnubg returns with its standard tables. The
    training and benchmark files of gnubg only have contact, crashed and race: see `file_class`."""

    OVER = 0
    BEAROFF_TWO_SIDED = 4
    BEAROFF_ONE_SIDED = 6
    RACE = 8
    CRASHED = 9
    CONTACT = 10

    @property
    def is_race(self) -> bool:
        """Whether the sides have passed each other and the game goes on."""
        return PositionClass.OVER < self <= PositionClass.RACE

    @property
    def file_class(self) -> PositionClass:
        """The class in gnubg's files: contact, crashed, race or over. Bearoff positions are races."""
        return PositionClass.RACE if self.is_race else self


def position_class(position: Position) -> PositionClass:
    """Return the class of a position, by the first rule that is true: a side has no checkers (over); the sides have not
    passed each other (contact or crashed); a checker is beyond point 6 (race); a side has more than 6 checkers
    (one-sided bearoff); else two-sided bearoff."""
    opponent, on_roll = position.rows
    if not any(opponent) or not any(on_roll):
        return PositionClass.OVER
    rearmost = max(_rearmost(opponent), _rearmost(on_roll))
    if _rearmost(opponent) + _rearmost(on_roll) > PASSED_PIPS:
        is_crashed = any(has_crashed(sum(row), row[0], row[1]) for row in (opponent, on_roll))
        return PositionClass.CRASHED if is_crashed else PositionClass.CONTACT
    if rearmost > HOME_POINTS:
        return PositionClass.RACE
    if max(sum(opponent), sum(on_roll)) > TWO_SIDED_CHECKERS:
        return PositionClass.BEAROFF_ONE_SIDED
    return PositionClass.BEAROFF_TWO_SIDED


def _rearmost(row: Sequence[int]) -> int:
    """Return the highest own point on which a side has a checker; 25 is the bar."""
    return max(point for point, count in enumerate(row, start=1) if count)


def has_crashed(count: int, ace: int, deuce: int) -> bool:
    """Whether a side with `count` checkers has crashed: at most 6 of them are not buried on its ace and deuce points.
    `ace` and `deuce` are its checkers on these points; negative counts are checkers of the other side."""
    if count <= CRASHED_CHECKERS:
        return True
    if ace >= 2:
        return count - ace <= CRASHED_CHECKERS or (deuce >= 2 and count - ace - deuce + 1 <= CRASHED_CHECKERS)
    return deuce >= 1 and count - deuce + 1 <= CRASHED_CHECKERS


class Outcome(IntEnum):
    """The result of a game in points with a cube of 1, for the player whose point of view the board has; 0 while the
    game goes on."""

    LOSES_BACKGAMMON = -3
    LOSES_GAMMON = -2
    LOSES_SINGLE = -1
    UNFINISHED = 0
    WINS_SINGLE = 1
    WINS_GAMMON = 2
    WINS_BACKGAMMON = 3


def game_outcome(position: Position, checkers: int = CHECKERS) -> Outcome:
    """Return the outcome for the player on roll, `Outcome.UNFINISHED` while both sides have checkers on the board. A
    loser that has borne off no checker loses a gammon; if one of its checkers is on the bar or in the winner's home
    board, it loses a backgammon. `checkers` is the number with which each side began, fewer than 15 in hypergammon."""
    if not any(count > 0 for count in position.board[1:]):
        return Outcome(_points(position.flip(), checkers))
    if not any(count < 0 for count in position.board) and not position.board[OPPONENT_BAR]:
        return Outcome(-_points(position, checkers))
    return Outcome.UNFINISHED


def is_over(position: Position) -> bool:
    """Whether a side has no checkers left."""
    return game_outcome(position) is not Outcome.UNFINISHED


def check_has_checkers(position: Position) -> Position:
    """Return the position. Raises InvalidPositionError if neither side has checkers, which cannot happen in a game."""
    if not any(position.board):
        raise InvalidPositionError(f"expected a position with checkers, got {position.id}, which has none")
    return position


def check_in_progress(position: Position) -> Position:
    """Return the position. Raises InvalidPositionError if a side has no checkers left."""
    if is_over(check_has_checkers(position)):
        side = "the player on roll" if position.off == CHECKERS else "the opponent"
        raise InvalidPositionError(
            f"expected a game in progress, got {position.id}, in which {side} has borne off every checker"
        )
    return position


def _points(loser: Position, checkers: int) -> int:
    """Return the points that a lost game costs, 1 to 3. `loser` is the last position as the player who lost sees it."""
    own = [max(count, 0) for count in loser.board[1:]]
    if sum(own) < checkers:
        return 1
    return 3 if any(own[24 - HOME_POINTS :]) else 2
