"""Local volatility: how far the winning chance of a position will have jumped when the player is on roll again, two
rolls later, on average without regard to sign.

Both sides choose their plays by cubeless equity, and chances are static evaluations. Jumps are from the mean over all
pairs of rolls, so that they are zero on average, as the jump model (`equity.jump`) has them. A game that is over stays
as it is.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.evaluator import Evaluator
from bgdata.evaluation.lookahead import evaluate_ahead, rank_all
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import LikelyPlays, RollScratch, fill_roll_values, new_roll_scratch
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import game_outcomes, outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.outcome import check_in_progress
from bgdata.game.position import Position
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import kernel


def chances_in_two_rolls(evaluator: Evaluator, position: Position) -> NDArray[np.float64]:
    """float64[21, 21]: the winning chance of the player on roll after each of its rolls and each of the opponent's, by
    any evaluator. Raises InvalidPositionError for a finished game."""
    board = np.array([check_in_progress(position).board], np.int8)
    replies, own = best_replies(evaluator, board)
    open_rows = np.flatnonzero(game_outcomes(replies) == 0)
    wins = np.repeat(own[:, None], len(DICE), axis=1)
    if len(open_rows):
        wins[open_rows] = 1 - best_replies(evaluator, replies[open_rows])[1].reshape(-1, len(DICE))
    return wins


def best_replies(evaluator: Evaluator, boards: Boards) -> tuple[Boards, NDArray[np.float64]]:
    """int8[21 n, 26]: boards after the best play of each roll, with the opponent on roll, and the winning chance of who
    moved, float64[21 n]."""
    dice = np.tile(DICE, (len(boards), 1))
    ranked = rank_all(partial(evaluate_ahead, evaluator), np.repeat(boards, len(DICE), axis=0), dice, 0)
    best = ranked.best()
    chances: Chances = ranked.chances[best]
    return ranked.boards[best], 1 - chances[:, 0].astype(np.float64)


def local_volatility_by(evaluator: Evaluator, position: Position) -> float:
    """The local volatility of a position by any evaluator. Raises InvalidPositionError for a finished game."""
    wins, weights = chances_in_two_rolls(evaluator, position), np.outer(CHANCES, CHANCES)
    return float((weights * np.abs(wins - (weights * wins).sum())).sum())


class VolatilityScratch(NamedTuple):
    """Scratch of one thread."""

    first: RollScratch
    second: RollScratch
    reply: Boards  # [26]
    wins: NDArray[np.float64]  # [21, 21] as in `chances_in_two_rolls`


@kernel()
def new_volatility_scratch(networks: Networks) -> VolatilityScratch:
    """Scratch for one thread."""
    n = len(CHANCES)
    rolls = new_roll_scratch(networks), new_roll_scratch(networks)
    return VolatilityScratch(rolls[0], rolls[1], np.empty(26, np.int8), np.empty((n, n), np.float64))


@kernel(borrows=True)
def local_volatility(
    networks: Networks, tables: BearoffArrays, likely: LikelyPlays, board: Boards, scratch: VolatilityScratch
) -> float:
    """The local volatility of board[slot] before the roll, by networks, from all plays or likely ones."""
    n, first, second, reply, wins = len(CHANCES), scratch.first, scratch.second, scratch.reply, scratch.wins
    fill_roll_values(networks, tables, likely, board, first)
    mean = 0.0
    for roll in range(n):
        is_over = outcome_of(first.best[roll], CHECKERS) != 0
        if not is_over:
            flip_into(first.best[roll], reply)
            fill_roll_values(networks, tables, likely, reply, second)
        for answer in range(n):
            wins[roll, answer] = first.values[roll, 0] if is_over else 1.0 - second.values[answer, 0]
            mean += CHANCES[roll] * CHANCES[answer] * wins[roll, answer]
    found = 0.0
    for roll in range(n):
        for answer in range(n):
            found += CHANCES[roll] * CHANCES[answer] * abs(wins[roll, answer] - mean)
    return found
