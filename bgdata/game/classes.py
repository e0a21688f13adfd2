"""The class of a position, as gnubg defines classes: it decides which network evaluates the position, and which data
set holds it; and how a game ends: who has borne off all checkers, and whether it is a gammon or a backgammon.

Pure Python, one position at a time; `board_kernels` has the same for arrays and for other kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from bgdata.errors import InvalidPositionError
from bgdata.game.board import CHECKERS, HOME_POINTS, OPPONENT_BAR

if TYPE_CHECKING:
    from bgdata.game.position import Position

TWO_SIDED_CHECKERS = 6  # of gnubg's own two-sided table; its one-sided table holds all 15
CRASHED_CHECKERS = 6
PASSED_PIPS = 24  # the sides are past each other when their rearmost points add up to no more


class PositionClass(IntEnum):
    """Class of a position, numbered as gnubg's `classifypos` does with the tables that it is installed with.

    gnubg's training and benchmark files know contact, crashed and race only: `file_class`.
    """

    OVER = 0
    BEAROFF_TWO_SIDED = 4
    BEAROFF_ONE_SIDED = 6
    RACE = 8
    CRASHED = 9
    CONTACT = 10

    @property
    def is_race(self) -> bool:
        """Whether the sides are past each other and the game goes on."""
        return PositionClass.OVER < self <= PositionClass.RACE

    @property
    def file_class(self) -> PositionClass:
        """Contact, crashed, race or over: bearoff positions are races."""
        return PositionClass.RACE if self.is_race else self


def position_class(position: Position) -> PositionClass:
    """The first of these that holds: over, contact or crashed (a rearmost checker is not past the other side's),
    both sides within 6 points with at most 6 or 15 checkers, race."""
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
    """Highest own point with a checker; the bar is 25."""
    return max(point for point, count in enumerate(row, start=1) if count)


def has_crashed(count: int, ace: int, deuce: int) -> bool:
    """Whether a side of `count` checkers has no more than 6 left to play with: those deep on the ace and deuce points,
    where it has `ace` and `deuce` (below 0: the other side's), left out."""
    if count <= CRASHED_CHECKERS:
        return True
    if ace >= 2:
        return count - ace <= CRASHED_CHECKERS or (deuce >= 2 and count - ace - deuce + 1 <= CRASHED_CHECKERS)
    return deuce >= 1 and count - deuce + 1 <= CRASHED_CHECKERS


class Outcome(IntEnum):
    """Points that a game gives to the player who sees the board, with a cube of 1; 0 while it goes on."""

    LOSES_BACKGAMMON = -3
    LOSES_GAMMON = -2
    LOSES_SINGLE = -1
    UNFINISHED = 0
    WINS_SINGLE = 1
    WINS_GAMMON = 2
    WINS_BACKGAMMON = 3


def game_outcome(position: Position, checkers: int = CHECKERS) -> Outcome:
    """The outcome for the player on roll, `Outcome.UNFINISHED` while both sides have checkers on the board.

    The loser loses a gammon while none of its `checkers` (fewer in hypergammon) is off, and a backgammon when besides
    one of them is on the bar or in the winner's home board.
    """
    if not any(count > 0 for count in position.board[1:]):
        return Outcome(_points(position.flip(), checkers))
    if not any(count < 0 for count in position.board) and not position.board[OPPONENT_BAR]:
        return Outcome(-_points(position, checkers))
    return Outcome.UNFINISHED


def is_over(position: Position) -> bool:
    """Whether a side has no checkers left."""
    return game_outcome(position) is not Outcome.UNFINISHED


def check_occurs(position: Position) -> Position:
    """The position itself. Raises InvalidPositionError for a board without checkers of either side, which no game
    reaches."""
    if not any(position.board):
        raise InvalidPositionError(f"expected a position with checkers, got {position.id}, which has none")
    return position


def check_in_progress(position: Position) -> Position:
    """The position itself. Raises InvalidPositionError if a side has no checkers left, so that there is nothing to
    decide."""
    if is_over(check_occurs(position)):
        side = "the player on roll" if position.off == CHECKERS else "the opponent"
        raise InvalidPositionError(
            f"expected a game in progress, got {position.id}, in which {side} has borne off every checker"
        )
    return position


def _points(loser: Position, checkers: int) -> int:
    """Points that a game costs its loser, who is seen as the player on roll."""
    own = [max(count, 0) for count in loser.board[1:]]
    if sum(own) < checkers:
        return 1
    return 3 if any(own[24 - HOME_POINTS :]) else 2
