"""Rolled-out decisions on which a play that is clearly behind gets no more games: close plays get most of them.

After every round the open plays, which have the same dice and as many games, are compared with the best of them. A play
that is behind by several standard errors of the difference is settled, and keeps what it has. The others go on until
their standard errors are small enough, or only one is open. So a loss is known the better the smaller it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.choices import NETWORK, Chooser
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.play.rollout import (
    Limits,
    Rolled,
    RolloutResult,
    RolloutSettings,
    Through,
    Values,
    equities_of,
    numbers_of,
    result_of,
    rolled_blocks,
)
from bgdata.play.rollout_decisions import Decision, Window, own_blocks, static_losses, within_window
from bgdata.play.rollout_kernels import BLOCK, fill_statistics


def roll_out_unsettled(
    board: Boards,
    roll: tuple[int, int],
    chooser: Chooser,
    seed: int,
    settings: RolloutSettings,
    window: Window,
    limits: Limits,
    settled_at: float,
) -> Decision:
    """Roll out the better plays of one int8[26] board and roll, those no further that are more than `settled_at`
    standard errors behind.

    Each play comes out as by `roll_out_decision` with as many games of the same seed. The standard error of a loss is
    that of the difference over the games that both plays have. Raises what `roll_out_decision` raises, and UsageError
    for a number of standard errors that is not above 0.
    """
    window.check()
    if chooser.kind != NETWORK:
        raise UsageError("expected a player with networks to roll out, got one that only chooses plays")
    limits.check()
    if not settled_at > 0:
        raise UsageError(f"expected plays settled at more than 0 standard errors, got {settled_at}")
    boards = np.ascontiguousarray(board)[None]
    numbers_of(boards, None)  # refuses what is no position
    offsets, after_play = batch_plays(boards, np.array([roll], np.int8))
    after = flip_boards(after_play)
    losses = static_losses(chooser, after, offsets)
    chosen = within_window(losses, offsets, window)
    blocks = unsettled_blocks(after[chosen], chooser, seed, settings, limits, settled_at)
    return ranked_unequal_plays(after[chosen], blocks, losses[chosen], len(after))


def unsettled_blocks(
    after: Boards, chooser: Chooser, seed: int, settings: RolloutSettings, limits: Limits, settled_at: float
) -> list[Values]:
    """float64[blocks, 2, 5] of `rolled_blocks` for each int8[k, 26] board of the opponent, more for those that stay
    open."""
    blocks, rows = [np.empty((0, 2, 5))] * len(after), np.arange(len(after))
    for number in range(max(1, limits.most_trials // limits.trials)):
        zeros, later = np.zeros(len(rows), np.int64), begun_at(number * limits.trials // BLOCK)
        found = rolled_blocks(after[rows], chooser, seed, settings, Limits(limits.trials), zeros, zeros, later)
        for row, more in zip(rows.tolist(), found, strict=True):
            blocks[row] = np.concatenate([blocks[row], more])
        rows = rows[open_plays(np.stack([equities_less_luck(blocks[row]) for row in rows]), limits.until, settled_at)]
        if not len(rows):
            break
    return blocks


def begun_at(block: int) -> Through:
    """Rolls out later blocks: the first one that is asked for is `block`."""

    def through(rolled: Rolled) -> Rolled:
        return lambda rows, begin, end: rolled(rows, begin + block, end + block)

    return through


def equities_less_luck(blocks: Values) -> Values:
    """float64[blocks]: equities of the OPPONENT, whose float64[blocks, 2, 5] these are."""
    return equities_of(blocks[:, 0] - blocks[:, 1])


def open_plays(equities: Values, until: float, settled_at: float) -> NDArray[np.int64]:
    """int64[m]: which plays need more games, from the opponent's float64[k, blocks] equities after them: none if the
    error of each is at most `until`, or if all but one are settled."""
    means, errors = statistics_of(equities)
    lost, lost_errors = statistics_of(equities - equities[np.argmin(means)])
    rows = np.flatnonzero(lost <= settled_at * lost_errors)
    return rows[:0] if len(rows) == 1 or (errors[rows] <= until).all() else rows


def statistics_of(values: Values) -> tuple[Values, Values]:
    """(float64[k], float64[k]): means of float64[k, blocks] values and their standard errors."""
    means, errors = np.empty((2, len(values), 1))
    fill_statistics(np.ascontiguousarray(values)[:, :, None], means, errors)
    return means[:, 0], errors[:, 0]


def ranked_unequal_plays(
    after: Boards, blocks: Sequence[Values], losses: NDArray[np.float32], n_plays: int
) -> Decision:
    """One decision from the blocks of its plays, of which some may have more; the opponent's, as rolled out."""
    result = RolloutResult.joined([result_of(own_blocks(each)[None]) for each in blocks])
    order = np.argsort(-result.equities, kind="stable")
    equities = [equities_less_luck(blocks[row]) for row in order]
    errors = np.array([error_of_difference(each, equities[0]) for each in equities])
    ranked = result.rows(order)
    return Decision(after[order], ranked, ranked.equities[0] - ranked.equities, errors, losses[order], n_plays)


def error_of_difference(equities: Values, others: Values) -> float:
    """Standard error of the difference of two plays over the blocks that both have."""
    count = min(len(equities), len(others))
    return float(statistics_of((equities[:count] - others[:count])[None])[1][0])
