"""Rollouts of the plays of one decision in rounds, with the same dice, after which only some plays go on.

A play that is known well enough gets no more games. If what the others then say leaves it open again, it goes on with
its own next games, so what a play has depends on its number of games alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.choices import Chooser
from bgdata.game.codec import Boards
from bgdata.kernel import in_threads
from bgdata.play.rollout import Limits, RolloutSettings, Values
from bgdata.play.rollout_kernels import BLOCK, fill_blocks, fill_statistics

StillOpen = Callable[[list[Values]], NDArray[np.bool_]]
"""bool[k]: which plays need more games, from the float64[blocks, 2, 5] of each."""


def blocks_while_open(
    boards: Boards,
    chooser: Chooser,
    settings: RolloutSettings,
    limits: Limits,
    seed: int,
    item: int,
    still_open: StillOpen,
) -> list[Values]:
    """float64[blocks, 2, 5] of `rollout.rolled_blocks` for each of int8[k, 26] boards, all with the dice of `item` of
    the seed: a round of `limits.trials` for all, and more for those that are still open, up to `limits.most_trials`
    each. Raises UsageError for numbers out of range."""
    limits.check()
    kernel_settings, count = settings.for_kernels(seed), limits.trials // BLOCK
    most = max(limits.trials, limits.most_trials) // BLOCK
    blocks, rows = [np.empty((0, 2, 5))] * len(boards), np.arange(len(boards))
    while len(rows):
        begins = np.array([len(blocks[row]) for row in rows.tolist()], np.int64)
        found = np.empty((len(rows), count, 2, 5))
        items = np.full(len(rows), item, np.int64)
        in_threads(fill_blocks, len(rows) * count, chooser, kernel_settings, boards[rows], items, begins, found)
        for row, more in zip(rows.tolist(), found, strict=True):
            blocks[row] = np.concatenate([blocks[row], more])
        rows = np.flatnonzero(still_open(blocks) & (np.array([len(each) for each in blocks]) < most))
    return blocks


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
