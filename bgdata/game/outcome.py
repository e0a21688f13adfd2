"""How a game ends: who has borne off all checkers, and whether it is a single game, a gammon or a backgammon.

Pure Python, one position at a time; `board_kernels` has the same for arrays and for other kernels.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from bgdata.errors import InvalidPositionError
from bgdata.game.board import CHECKERS, HOME_POINTS, OPPONENT_BAR

if TYPE_CHECKING:
    from bgdata.game.position import Position


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
