"""The 330 positions in which the trailer of a post-Crawford game can first double.

If the leader wins the first roll, one of 15, the trailer can double after it. If the trailer wins the first roll, it
can double once the leader has replied: 15 x 21 positions.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, Evaluations
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.position import START
from bgdata.game.rolls import CHANCES, DICE

FIRST_ROLLS = tuple(roll for roll in ROLLS if not roll.is_double)
COUNT = len(FIRST_ROLLS) * (1 + len(ROLLS))


class StatePlayer(Protocol):
    """A player that both chooses plays and evaluates, such as `LookaheadPlayer` and `NetworkPlayer`."""

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The positions after the chosen plays: see `evaluation.player.Player`."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Chances and sources of int8[n, 26] boards: see `evaluation.chances.Evaluator`."""


class FirstDoubles(NamedTuple):
    """The 330 positions: boards int8[n, 26] of the trailer, who is on roll, the weight float64[n] of each, and its five
    cumulative chances float32[n, 5]."""

    boards: Boards
    weights: NDArray[np.float64]
    chances: Chances


def first_doubles(player: StatePlayer) -> FirstDoubles:
    """The positions in which the trailer can first double if `player` plays both sides by cubeless money equity, in the
    order of the rolls; those after a first roll of the leader come first."""
    start = np.array([START.board], np.int8)
    opened = play_rolls(player, start, DICE[[not roll.is_double for roll in ROLLS]])
    answered = play_rolls(player, opened, DICE)
    first = 0.5 / len(FIRST_ROLLS)
    boards = np.concatenate([opened, answered])
    weights = np.concatenate([np.full(len(opened), first), np.tile(first * CHANCES, len(opened))])
    return FirstDoubles(boards, weights, player.evaluate_many(boards).chances)


def play_rolls(player: StatePlayer, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
    """int8[n x m, 26]: each of n boards after the play of each of int8[m, 2] rolls, seen by the opponent, who is on
    roll."""
    every = np.repeat(boards, len(rolls), axis=0)
    return np.ascontiguousarray(player.choose_plays(every, np.tile(rolls, (len(boards), 1))))
