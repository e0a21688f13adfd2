"""The candidate plays of a decision, rolled out with the same dice until each is known precisely enough.

The `Objective` is points without a cube, as in money play, or only winning the game, as at double match point. In the
second case the rollout plays both sides for wins.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import turned_chances
from bgdata.evaluation.choices import Chooser, win_only_chooser
from bgdata.evaluation.roll_values import evaluations_ahead, likely_plays
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.selfplay.rollout import (
    Limits,
    RolloutResult,
    RolloutSettings,
    Values,
    difference_error,
    equities_of,
    result_of,
    rolled_blocks,
)
from bgdata.selfplay.rollout_decisions import own_blocks

MIN_PLAYS = 2  # minimum number of candidates, if the roll has as many plays
SURE = 3.0  # a difference of more than this number of standard errors counts as real


class Objective(StrEnum):
    """What both players play for: points, or winning at double match point."""

    MONEY = "money"  # points, without a cube
    GAME = "double-match-point"  # winning; gammons count as much as single games

    def chooser(self, chooser: Chooser) -> Chooser:
        """Return the same networks, as a player that plays for this objective."""
        return chooser if self is Objective.MONEY else win_only_chooser(chooser)

    def equities(self, chances: Values) -> Values:
        """Return the equities of float64[..., 5] chances for this objective, as float64[...]. At double match point a
        game is worth 1 or -1."""
        return equities_of(chances) if self is Objective.MONEY else np.asarray(2.0 * chances[..., 0] - 1.0)


class RolloutTarget(NamedTuple):
    """When rollouts of a candidate may stop: if its standard error is at most `limits.until`, or if it is surely more
    than `within` points behind the best candidate."""

    limits: Limits
    within: float


class RolledPlays(NamedTuple):
    """The rolled-out candidates of a decision, best first. Chances and equities are for the player who moves."""

    boards: Boards  # [k, 26] after the play, the OPPONENT on roll
    result: RolloutResult  # [k]
    losses: Values  # [k] points behind the best, 0 or more
    loss_standard_errors: Values  # [k] 0 for the best


def candidates_of(
    board: Boards, roll: tuple[int, int], chooser: Chooser, objective: Objective, within: float, most: int
) -> tuple[Boards, int]:
    """Return the candidates of a roll, best first, and the number of legal plays. Candidates are int8[k, 26] boards
    after the play with the opponent on roll. They are within `within` points of the best play one roll ahead, at least
    MIN_PLAYS and at most `most`. `chooser` plays for the objective. Raises InvalidPositionError for an illegal board,
    and InvalidRollError for an invalid roll."""
    _, after_play = batch_plays(np.ascontiguousarray(board[None]), np.array([roll], np.int8))
    after = np.ascontiguousarray(flip_boards(after_play))
    chances = evaluations_ahead(chooser.networks, chooser.tables, after, 1, likely_plays()).chances
    equities = objective.equities(turned_chances(chances).astype(np.float64))
    order = np.argsort(-equities, kind="stable")[:most]
    is_near = equities[order[0]] - equities[order] <= within
    is_near[:MIN_PLAYS] = True
    return after[order[is_near]], len(after)


def roll_out_candidates(
    boards: Boards,
    chooser: Chooser,
    objective: Objective,
    target: RolloutTarget,
    settings: RolloutSettings,
    seed: int,
    item: int,
) -> RolledPlays:
    """Roll out int8[k, 26] boards of the opponent after the candidates of a decision, all with the dice of `item` and
    the seed. `chooser` plays for the objective. The result depends only on the arguments. Raises UsageError for numbers
    out of range."""

    def is_open(blocks: list[Values]) -> NDArray[np.bool_]:
        found = rolled_plays(boards, blocks, objective)
        errors = found.result.equity_standard_errors
        return ~is_known(errors, found.losses, found.loss_standard_errors, target)

    items = np.full(len(boards), item, np.int64)
    blocks = rolled_blocks(boards, chooser, seed, settings, target.limits, items, is_open)
    found = rolled_plays(boards, blocks, objective)
    order = np.argsort(found.losses, kind="stable")
    return RolledPlays(boards[order], found.result.rows(order), found.losses[order], found.loss_standard_errors[order])


def rolled_plays(boards: Boards, blocks: list[Values], objective: Objective) -> RolledPlays:
    """Return the results of the candidates in the order of `boards`, from float64[blocks, 2, 5] of the opponent after
    each candidate. Candidates may have different numbers of blocks, at least two."""
    own = [own_blocks(each) for each in blocks]
    result = RolloutResult.join([result_of(each[None], objective.equities) for each in own])
    worth, best = [objective.equities(each[:, 0] - each[:, 1]) for each in own], int(np.argmax(result.equities))
    errors = [0.0 if row == best else difference_error(worth[best], each) for row, each in enumerate(worth)]
    return RolledPlays(boards, result, result.equities[best] - result.equities, np.array(errors))


def is_known(errors: Values, losses: Values, loss_errors: Values, target: RolloutTarget) -> NDArray[np.bool_]:
    """Return which candidates need no more games to reach the target, as bool[k], from the standard errors of their
    equities, their losses, and the standard errors of the losses."""
    return np.asarray((errors <= target.limits.until) | (losses - SURE * loss_errors > target.within))
