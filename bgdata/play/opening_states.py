"""The 330 positions after which the cube can first be turned by a side that wants to: what a post-Crawford game hinges
on.

The leader may win the first roll: then the trailer can double after 15 rolls. Or the trailer wins it, and can double
once the leader has answered: 15 x 21. All other ways to count (who rolls higher) give the same chances.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances
from bgdata.evaluation.evaluator import Evaluations
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.position import START

FIRST_ROLLS = tuple(roll for roll in ROLLS if not roll.is_double)
COUNT = len(FIRST_ROLLS) * (1 + len(ROLLS))


class StatePlayer(Protocol):
    """Plays and evaluates, as `LookaheadPlayer` and `NetworkPlayer` do."""

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The positions after the chosen plays: see `evaluation.player.Player`."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Chances of boards int8[n, 26] and who says so: see `evaluation.evaluator.Evaluator`."""


class FirstDoubles(NamedTuple):
    """The 330 positions: boards int8[n, 26] of the trailer, who is on roll, the weight float64[n] of each, and its five
    cumulative chances float32[n, 5]."""

    boards: Boards
    weights: NDArray[np.float64]
    chances: Chances


def first_doubles(player: StatePlayer) -> FirstDoubles:
    """Where the trailer can first double when `player` plays both sides, by cubeless money equity: in the order of the
    rolls, those of the leader's first roll first."""
    start = np.array([START.board], np.int8)
    opened = played(player, start, np.array([(roll.high, roll.low) for roll in FIRST_ROLLS], np.int8))
    answered = played(player, opened, np.array([(roll.high, roll.low) for roll in ROLLS], np.int8))
    first = 0.5 / len(FIRST_ROLLS)
    answers = np.array([float(roll.chance) for roll in ROLLS])
    boards = np.concatenate([opened, answered])
    weights = np.concatenate([np.full(len(opened), first), np.tile(first * answers, len(opened))])
    return FirstDoubles(boards, weights, player.evaluate_many(boards).chances)


def played(player: StatePlayer, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
    """int8[n x m, 26]: each of n boards after the play of each of int8[m, 2] rolls, seen by the opponent, who is on
    roll."""
    every = np.repeat(boards, len(rolls), axis=0)
    return np.ascontiguousarray(player.choose_plays(every, np.tile(rolls, (len(boards), 1))))
