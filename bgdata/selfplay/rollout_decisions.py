"""Rolled-out decisions: the better plays of a roll, all with the same dice, and the loss of each against the best.

Standard errors of losses come from differences between plays, block by block. Without variance reduction, the same dice
make these differences more accurate; with it, most of the common noise is already removed.

Close plays can get most of the games. After every round the plays are compared with the best one. A play is settled if
it is several standard errors of the difference behind. It gets no more games unless the values of the other plays fall.
So the smallest losses are the most accurate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.lookahead import largest_in_group, ranks_in_group
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.selfplay import rollout
from bgdata.selfplay.rollout import Limits, RolloutResult, RolloutSettings, Values, Wrapper
from bgdata.selfplay.rollout_kernels import fill_statistics


class Window(NamedTuple):
    """The rule that says which plays are rolled out: those within `within` points of the best by static evaluation, at
    least `least_plays` and at most `most_plays` of them."""

    within: float = 0.16
    least_plays: int = 2
    most_plays: int = 10

    def check(self) -> None:
        """Raise UsageError for a window that excludes every play."""
        if not (self.within >= 0 and 1 <= self.least_plays <= self.most_plays):
            raise UsageError(
                f"expected a window of 0 points or more and 1 <= least <= most plays, got {self.within}, "
                f"{self.least_plays} and {self.most_plays}"
            )


NARROW, ONE_ROUND = Window(), Limits()


class Decision(NamedTuple):
    """The rolled-out plays of one decision, the best first; chances and equities are for the player who moves."""

    boards: Boards  # [k, 26] after the play, the OPPONENT on roll
    result: RolloutResult  # [k]
    losses: Values  # [k] points behind the best, 0 or more
    loss_standard_errors: Values  # [k] 0 for the best
    static_losses: NDArray[np.float32]  # [k] points behind the best by static evaluation
    n_plays: int  # number of legal plays, rolled out or not


def roll_out_decision(
    board: Boards,
    roll: tuple[int, int],
    chooser: Chooser,
    seed: int = 0,
    settings: RolloutSettings = rollout.PLAIN,
    window: Window = NARROW,
    limits: Limits = ONE_ROUND,
    wrap: Wrapper = lambda rolled: rolled,
    settled_at: float | None = None,
) -> Decision:
    """Roll out the better plays of one int8[26] board and roll, all with the dice of item 0 of the seed.

    All plays get as many trials as the least accurate one needs for its standard error. If `settled_at` is given, a
    play that is more than that many standard errors behind gets no more games. `wrap` is passed to `rolled_blocks`.
    Raises UsageError if settings are wrong or the player has no networks, InvalidPositionError for an illegal board,
    and InvalidRollError for an invalid roll.
    """
    if settled_at is not None and not settled_at > 0:
        raise UsageError(f"expected plays settled at more than 0 standard errors, got {settled_at}")
    limits.check()
    window.check()
    require_networks(chooser, "to roll out")
    rollout.numbers_of(board[None], None)  # raises for an invalid position
    offsets, after_play = batch_plays(np.ascontiguousarray(board[None]), np.array([roll], np.int8))
    every = flip_boards(after_play)
    losses = static_losses(chooser, every, offsets)
    chosen = within_window(losses, offsets, window)
    after, items = every[chosen], np.zeros(len(chosen), np.int64)
    still_open = rollout.open_groups(items, limits)
    if settled_at is not None:

        def still_open(blocks: list[Values]) -> NDArray[np.bool_]:
            return open_plays([equities_less_luck(each) for each in blocks], limits.until, settled_at)

    blocks = rollout.rolled_blocks(after, chooser, seed, settings, limits, items, still_open, wrap)
    return rank_plays(after, blocks, losses[chosen], len(every), is_paired=settled_at is None)


def static_losses(chooser: Chooser, after: Boards, offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return how much each play loses against the best play of its decision by static evaluation, in points, as
    float32[k]. Plays are the int8[k, 26] boards after them, for the opponent; plays offsets[i]:offsets[i + 1] belong to
    decision i."""
    equities = -cubeless_equities(evaluations(chooser.networks, chooser.tables, after).chances)
    return np.asarray(largest_in_group(equities, offsets) - equities)


def within_window(losses: NDArray[np.float32], offsets: NDArray[np.int64], window: Window) -> NDArray[np.int64]:
    """Return the ascending indexes of the plays that `window` includes, as int64[m]. Plays offsets[i]:offsets[i + 1]
    belong to decision i."""
    place = ranks_in_group(losses, offsets)
    is_near = (losses <= window.within) & (place < window.most_plays)
    return np.flatnonzero(is_near | (place < window.least_plays))


def open_plays(equities: list[Values], until: float, settled_at: float) -> NDArray[np.bool_]:
    """Return which plays need more games, as bool[k], from float64[blocks] equities of the opponent after each play. A
    play is settled if it is more than `settled_at` standard errors behind the best. No play needs more games if at most
    one is not settled, or if the standard errors of all plays that are not settled are at most `until`."""
    means, errors = np.array([rollout.mean_and_error(each[:, None]) for each in equities])[:, :, 0].T
    best = int(np.argmin(means))
    lost_errors = np.array([rollout.difference_error(each, equities[best]) for each in equities])
    lost_errors[best] = 0.0
    found = means - means[best] <= settled_at * lost_errors
    is_unknown = found.sum() > 1 and bool((errors[found] > until).any())
    return np.asarray(found & is_unknown)


def rank_plays(
    after: Boards, blocks: list[Values], losses: NDArray[np.float32], n_plays: int, *, is_paired: bool
) -> Decision:
    """Rank the plays of one decision, from the opponent's blocks after each play and the static losses. If `is_paired`,
    all plays have equally many blocks with the same dice; otherwise their numbers of blocks may differ."""
    found = RolloutResult.join([rollout.result_of(own_blocks(each)[None]) for each in blocks])
    order = np.argsort(-found.equities, kind="stable")
    result, equities = found.rows(order), [equities_less_luck(blocks[row]) for row in order.tolist()]
    if is_paired:
        means, errors = np.empty((2, len(order), 1))
        fill_statistics((np.stack(equities) - equities[0])[:, :, None], means, errors)
        # rounding can bring a mean of differences below 0
        return Decision(after[order], result, np.maximum(means[:, 0], 0.0), errors[:, 0], losses[order], n_plays)
    errors = np.array([0.0, *(rollout.difference_error(each, equities[0]) for each in equities[1:])])
    return Decision(after[order], result, result.equities[0] - result.equities, errors, losses[order], n_plays)


def equities_less_luck(blocks: Values) -> Values:
    """Return the OPPONENT's equity minus luck in each block, as float64[blocks], from its float64[blocks, 2, 5] chances
    and luck."""
    return rollout.equities_of(blocks[:, 0] - blocks[:, 1])


def own_blocks(blocks: Values) -> Values:
    """Return the chances and luck of the player who moved, as float64[..., 2, 5], from the opponent's blocks."""
    own = blocks[..., [0, 3, 4, 1, 2]]
    own[..., 0, 0] = 1.0 - own[..., 0, 0]
    own[..., 1, 0] = -own[..., 1, 0]
    return np.asarray(own)
