"""The candidate plays of one decision, rolled out with the same dice until each is known well enough.

What is at stake is an `Objective`: money without a cube, or the game alone, as at double match point, where the rollout
plays both sides for wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import turned_chances
from bgdata.evaluation.choices import Chooser, networks_of, tables_of
from bgdata.evaluation.lookahead_kernels import evaluations_ahead
from bgdata.evaluation.roll_values import likely_plays
from bgdata.evaluation.win_only import win_only_chooser
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import in_threads
from bgdata.play.rollout import Limits, RolloutSettings, Values, equities_of
from bgdata.play.rollout_decisions import own_blocks
from bgdata.play.rollout_kernels import BLOCK, fill_blocks, fill_statistics

LEAST_PLAYS = 2  # candidates, where there are as many plays
SURE = 3.0  # standard errors of a difference, beyond which it is taken to be one


class Objective(StrEnum):
    """What a game is played for."""

    MONEY = "money"  # points, without a cube
    GAME = "double-match-point"  # to win it, whatever the size

    def chooser(self, chooser: Chooser) -> Chooser:
        """A player with networks as it plays for this."""
        return chooser if self is Objective.MONEY else win_only_chooser(chooser)

    def equities(self, chances: Values) -> Values:
        """float64[...]: what float64[..., 5] chances are worth; a game alone is worth 1 or -1."""
        return equities_of(chances) if self is Objective.MONEY else np.asarray(2.0 * chances[..., 0] - 1.0)


class Wanted(NamedTuple):
    """Rounds of trials are played until the standard error of a candidate is at most `limits.until`, or until it is
    surely more than `within` points behind the best."""

    limits: Limits
    within: float


class RolledPlays(NamedTuple):
    """Candidates, the best first; chances and equities are those of the player who moves."""

    boards: Boards  # [k, 26] after the play, the OPPONENT on roll
    chances: Values  # [k, 5]
    chance_errors: Values  # [k, 5] standard errors
    equities: Values  # [k]
    standard_errors: Values  # [k]
    losses: Values  # [k] points behind the best, 0 and up
    loss_standard_errors: Values  # [k] 0 for the best
    trials: NDArray[np.int64]  # [k]


def candidates_of(
    board: Boards, roll: tuple[int, int], chooser: Chooser, objective: Objective, within: float, most: int
) -> tuple[Boards, int]:
    """(int8[k, 26] boards of the opponent after the plays of a roll that are within `within` points of the best one
    roll ahead, at least LEAST_PLAYS and up to `most`, the best first; the number of legal plays). `chooser` plays for
    the objective. Raises InvalidPositionError and InvalidRollError."""
    _, after_play = batch_plays(np.ascontiguousarray(board[None]), np.array([roll], np.int8))
    after = np.ascontiguousarray(flip_boards(after_play))
    chances = evaluations_ahead(networks_of(chooser), tables_of(chooser), after, 1, likely_plays()).chances
    equities = objective.equities(turned_chances(chances).astype(np.float64))
    order = np.argsort(-equities, kind="stable")[:most]
    is_near = equities[order[0]] - equities[order] <= within
    is_near[:LEAST_PLAYS] = True
    return after[order[is_near]], len(after)


def roll_out_candidates(
    boards: Boards,
    chooser: Chooser,
    objective: Objective,
    wanted: Wanted,
    settings: RolloutSettings,
    seed: int,
    item: int,
) -> RolledPlays:
    """Roll out int8[k, 26] boards of the opponent, those after the candidates of one decision, all with the dice of
    `item` of the seed. `chooser` plays for the objective. The result depends on nothing else. Raises UsageError for
    numbers out of range."""
    wanted.limits.check()
    rolled = block_roller(np.ascontiguousarray(boards), chooser, settings, seed, item)
    count, most = wanted.limits.trials // BLOCK, max(wanted.limits.trials, wanted.limits.most_trials)
    blocks = [np.empty((0, 5))] * len(boards)
    rows = np.arange(len(boards))
    while len(rows):
        begins = np.array([len(blocks[row]) for row in rows.tolist()], np.int64)  # one that was out may come back
        for row, more in zip(rows.tolist(), rolled(rows, begins, count), strict=True):
            blocks[row] = np.concatenate([blocks[row], more])
        found = rolled_plays(boards, blocks, objective)
        known = is_known(found.standard_errors, found.losses, found.loss_standard_errors, wanted)
        rows = np.flatnonzero(~known & (found.trials < most))
    order = np.argsort(found.losses, kind="stable")
    columns: Iterator[Any] = (column[order] for column in found)
    return RolledPlays(*columns)


def block_roller(
    boards: Boards, chooser: Chooser, settings: RolloutSettings, seed: int, item: int
) -> Callable[[NDArray[np.int64], NDArray[np.int64], int], Values]:
    """A function that rolls out `count` blocks of some rows, each from a block of its own: float64[rows, count, 5],
    chances of the player who moved, less luck."""
    kernel_settings = settings.for_kernels(seed)

    def rolled(rows: NDArray[np.int64], begins: NDArray[np.int64], count: int) -> Values:
        found = np.empty((len(rows), count, 2, 5))
        items = np.full(len(rows), item, np.int64)
        in_threads(fill_blocks, len(rows) * count, chooser, kernel_settings, boards[rows], items, begins, found)
        own = own_blocks(found)
        return np.asarray(own[:, :, 0] - own[:, :, 1])

    return rolled


def rolled_plays(boards: Boards, blocks: list[Values], objective: Objective) -> RolledPlays:
    """What float64[blocks, 5] chances of each candidate say, in the given order. Candidates may have different numbers
    of blocks, at least two."""
    worth = [objective.equities(chances) for chances in blocks]
    columns = [np.concatenate([chances, each[:, None]], axis=1) for chances, each in zip(blocks, worth, strict=True)]
    means, errors = (np.stack(each) for each in zip(*map(mean_and_error, columns), strict=True))
    equities, best = means[:, 5], int(np.argmax(means[:, 5]))
    return RolledPlays(
        boards,
        means[:, :5],
        errors[:, :5],
        equities,
        errors[:, 5],
        equities[best] - equities,
        np.array([0.0 if row == best else difference_error(worth[best], each) for row, each in enumerate(worth)]),
        np.array([len(each) * BLOCK for each in worth], np.int64),
    )


def mean_and_error(values: Values) -> tuple[Values, Values]:
    """(float64[columns] means of float64[n, columns], their standard errors), summed in order."""
    means, errors = np.empty((2, 1, values.shape[1]))
    fill_statistics(np.ascontiguousarray(values[None]), means, errors)
    return means[0], errors[0]


def difference_error(first: Values, second: Values) -> float:
    """Standard error of the mean of float64[n] less that of float64[m], whose values up to the smaller of n and m are
    pairs with the same dice."""
    if len(first) < len(second):
        first, second = second, first
    n, m = len(first), len(second)
    (_, paired), (_, alone) = (
        mean_and_error(values[:, None]) for values in (first[:m] * (m / n) - second, first)
    )  # the mean of the first is m/n times that of its pairs, and the rest, which depends on nothing else
    return float(np.sqrt(paired[0] ** 2 + (n - m) / n * alone[0] ** 2))


def is_known(errors: Values, losses: Values, loss_errors: Values, wanted: Wanted) -> NDArray[np.bool_]:
    """bool[k]: which candidates need no more games, by the standard errors of their equities, their losses and the
    standard errors of these."""
    return np.asarray((errors <= wanted.limits.until) | (losses - SURE * loss_errors > wanted.within))
