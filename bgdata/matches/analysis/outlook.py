"""The outlook from a position before the roll: what each of the 21 rolls is worth with the cube, and so what every cube
action is worth.

Chances come first, then the model of the cube. Plays are evaluated statically, and turned into worths by the model and
the stakes; of each roll the play that is then best, of equals that of the highest cubeless equity, is looked into
further, `ply` rolls ahead. The mean over the rolls is the worth of rolling. Whichever play is looked into, the luck of
a roll, its worth less this mean, averages to zero exactly, since all rolls are treated alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import CubeRules, Worths, seen_by_other, worth_of_result, worths
from bgdata.evaluation.chances import AnswerSource, Chances, cubeless_equities
from bgdata.evaluation.cube_lookahead import lowest_of
from bgdata.evaluation.lookahead import EvaluationCache
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.match import Money, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import Position
from bgdata.game.rolls import DICE, WAYS
from bgdata.kernel import threads
from bgdata.matches.analysis.acts import CubeWorths

FIRST_WEIGHTS = np.where(DICE[:, 0] == DICE[:, 1], 0.0, WAYS)  # the first roll of a game is never a double
# sources of positions that exact tables of the cube may know, contact endgames among them
UNCONTESTED = [AnswerSource.EXACT, AnswerSource.COMBINED, AnswerSource.RACE_NETWORK, AnswerSource.PROGRAM]
_KEPT = 16  # outlooks: a double, its answer and the roll after them are about one position


class Plays(NamedTuple):
    """The plays of the 21 rolls of a position, in the order of `dice.ROLLS`, statically evaluated."""

    offsets: NDArray[np.int64]  # [22] those of roll r are rows offsets[r]:offsets[r + 1]
    after: Boards  # [k, 26] seen by the player who moved
    turned: Boards  # [k, 26] seen by the OPPONENT, who is on roll
    chances: Chances  # [k, 5] of the opponent
    sources: NDArray[np.int8]  # [k] numbers of `AnswerSource`


class RollWorths(NamedTuple):
    """What the 21 rolls are worth to the player on roll."""

    static: Worths  # [k] of every play, at 0-ply
    worths: Worths  # [21] of the play that is best at 0-ply, at the ply of the analyst

    def mean(self, weights: Worths = WAYS) -> float:
        """What it is worth to roll: the mean over the rolls."""
        return float(self.worths @ weights / weights.sum())


class Analyst:
    """What positions are worth by a player's chances, `player.ply` rolls ahead, and by the model of `rules`; by exact
    tables of the cube where the player has them."""

    def __init__(self, player: LookaheadPlayer, rules: CubeRules) -> None:
        self.player, self.rules = player, rules
        self._look = EvaluationCache(player.evaluator)
        self._plays, self._rolls = lru_cache(_KEPT)(self._plays_of), lru_cache(_KEPT)(self._rolls_of)

    def plays(self, board: Boards) -> Plays:
        """All plays of int8[26] board, seen by the player on roll."""
        return self._plays(board.tobytes())

    def _plays_of(self, key: bytes) -> Plays:
        board = np.frombuffer(key, np.int8)
        with threads(1):  # for so little, threads would wait for one another longer than they compute
            offsets, after = batch_plays(board[None].repeat(len(DICE), axis=0), DICE)
        turned = flip_boards(after)
        return Plays(offsets, after, turned, *self._look(turned, 0))

    def rolls(self, board: Boards, stakes: Stakes) -> RollWorths:
        """What the rolls from int8[26] board are worth to the player on roll, who plays for `stakes`."""
        return self._rolls(board.tobytes(), stakes)

    def _rolls_of(self, key: bytes, stakes: Stakes) -> RollWorths:
        self._exact(np.frombuffer(key, np.int8), stakes)  # what it leads to is solved at once
        plays = self._plays(key)
        static = self._worths(plays, slice(None), stakes, 0)
        best = lowest_of(-static, cubeless_equities(plays.chances), plays.offsets)
        return RollWorths(
            static, self._worths(plays, best, stakes, self.player.ply) if self.player.ply else static[best]
        )

    def rows(self, board: Boards, rows: NDArray[np.int64], stakes: Stakes, ply: int) -> Worths:
        """float64[m]: what the given rows of `plays(board)` are worth to the player on roll, at a ply."""
        return self._worths(self.plays(board), rows, stakes, ply)

    def cube(self, board: Boards, stakes: Stakes) -> CubeWorths:
        """What the cube actions are worth to the player on roll, who may double."""
        return CubeWorths(
            self.rolls(board, stakes).mean(),
            self.rolls(board, stakes.after_take()).mean(),
            worth_of_result(stakes.cube.value, stakes, self.rules),
        )

    def _worths(self, plays: Plays, rows: NDArray[np.int64] | slice, stakes: Stakes, ply: int) -> Worths:
        boards, sources, theirs = plays.turned[rows], plays.sources[rows], stakes.flip()
        chances = self._look(boards, ply).chances if ply else plays.chances[rows]
        found = worths(chances, theirs, self.rules)
        for row in np.flatnonzero(np.isin(sources, UNCONTESTED)) if self.player.cubes else ():
            exact = self._exact(boards[row], theirs)
            found[row] = found[row] if exact is None else exact
        return seen_by_other(found, stakes)

    def _exact(self, board: Boards, stakes: Stakes) -> float | None:
        """The worth by the first table that has it, unless the rules say by the model. Tables do not know beavers: they
        are left to the model."""
        if self.rules.has_beavers or self.rules.by_model:
            return None
        found = self.player.exact_worth(Position(board.tolist()), stakes, self.rules)
        is_money = isinstance(stakes.score, Money)
        return found * stakes.cube.value if found is not None and is_money else found
