"""Slow reference implementation of lookahead with the cube: plain recursion over rolls, plays and cube actions.

A judge returns five chances of a board for the player on roll, and whether the game is over. A model returns the
worth of a position to the player on roll without a double.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.reference.cubeful_games import Chances, Model, Score, cubeless
from tests.reference.lookahead import Board, boards_after

TURNED = {"centered": "centered", "on_roll": "opponent", "opponent": "on_roll"}
Judge = Callable[[Board], tuple[Chances, bool]]


@dataclass(frozen=True)
class Situation:
    """The cube and the score as the player on roll sees them."""

    cube: int
    owner: str
    score: Score

    @property
    def turned(self) -> Situation:
        score = Score(self.score.opponent_away, self.score.away, self.score.is_crawford)
        return Situation(self.cube, TURNED[self.owner], score)


@dataclass(frozen=True)
class Tree:
    """Values of positions by a judge and a model, in points per unit of the current cube, or in mwc."""

    judge: Judge
    model: Model

    def no_double(self, board: Board, now: Situation, as_it_stands: Situation, ply: int) -> float:
        """Worth of a position to the player on roll without a double. Replies are chosen with the cube in its present
        state."""
        chances, is_over = self.judge(board)
        if ply == 0 or is_over:
            return self.model(chances, now.cube, now.owner, now.score)[0]
        total = 0.0
        for die in range(1, 7):
            for other_die in range(1, 7):
                replies = boards_after(board, die, other_die)
                theirs = as_it_stands.turned
                values = [(self.decided(reply, theirs, theirs, 0), self.cubeless(reply)) for reply in replies]
                reply = replies[values.index(min(values))]
                value = self.decided(reply, now.turned, theirs, ply - 1)
                total += 1 - value if now.score.away else -value
        return total / 36

    def decided(self, board: Board, now: Situation, as_it_stands: Situation, ply: int) -> float:
        """The same with the best cube actions of both sides."""
        value = self.no_double(board, now, as_it_stands, ply)
        if now.owner == "opponent" or now.score.is_crawford or 0 < now.score.away <= now.cube:
            return value
        doubled = Situation(2 * now.cube, "opponent", now.score)
        taken = self.no_double(board, doubled, as_it_stands, ply) * (1 if now.score.away else 2)
        _, _, passed = self.model(self.judge(board)[0], now.cube, now.owner, now.score)
        return max(value, min(taken, passed))

    def cubeless(self, board: Board) -> float:
        """Cubeless equity, which decides ties."""
        return cubeless([], self.judge(board)[0], 1, "centered", Score(0, 0, False))
