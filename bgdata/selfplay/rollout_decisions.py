"""Rolled-out decisions: the better plays of a roll, all with the same dice, and the loss of each against the best.

Where luck is not subtracted, the same dice make differences between plays more accurate; where it is, most of what the
plays share is gone already. Standard errors of losses come from the differences, block by block.

Close plays can be given most of the games: after every round the plays are compared with the best of them. One that is
behind by several standard errors of the difference is settled, and gets no more games unless the others fall. So a loss
is known the better the smaller it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.lookahead import largest_of, places_of
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.selfplay import rollout
from bgdata.selfplay.rollout import Limits, RolloutResult, RolloutSettings, Through, Values
from bgdata.selfplay.rollout_kernels import fill_statistics


class Window(NamedTuple):
    """Which plays are rolled out: those within `within` points of the best by static evaluation, but at least
    `least_plays` and at most `most_plays` of the best."""

    within: float = 0.16
    least_plays: int = 2
    most_plays: int = 10

    def check(self) -> None:
        """Raise UsageError for a window that lets nothing through."""
        if not (self.within >= 0 and 1 <= self.least_plays <= self.most_plays):
            raise UsageError(
                f"expected a window of 0 points or more and 1 <= least <= most plays, got {self.within}, "
                f"{self.least_plays} and {self.most_plays}"
            )


NARROW, ONE_ROUND = Window(), Limits()


class Decision(NamedTuple):
    """The rolled-out plays of one decision, the best first; chances and equities are those of the player who moves."""

    boards: Boards  # [k, 26] after the play, the OPPONENT on roll
    result: RolloutResult  # [k]
    losses: Values  # [k] points behind the best, 0 and up
    loss_standard_errors: Values  # [k] 0 for the best
    static_losses: NDArray[np.float32]  # [k] points behind the best by static evaluation
    n_plays: int  # legal ones, rolled out or not


def roll_out_decision(
    board: Boards,
    roll: tuple[int, int],
    chooser: Chooser,
    seed: int = 0,
    settings: RolloutSettings = rollout.PLAIN,
    window: Window = NARROW,
    limits: Limits = ONE_ROUND,
    through: Through = lambda rolled: rolled,
    settled_at: float | None = None,
) -> Decision:
    """Roll out the better plays of one int8[26] board and roll, all with the dice of item 0 of the seed.

    All have as many trials as the slowest needs for its standard error; with `settled_at`, those that are more than so
    many standard errors behind get no further ones. `through` is that of `rolled_blocks`. Raises UsageError, also for a
    player without networks, InvalidPositionError and InvalidRollError.
    """
    if settled_at is not None and not settled_at > 0:
        raise UsageError(f"expected plays settled at more than 0 standard errors, got {settled_at}")
    limits.check()
    window.check()
    require_networks(chooser, "to roll out")
    rollout.numbers_of(board[None], None)  # refuses what is no position
    offsets, after_play = batch_plays(np.ascontiguousarray(board[None]), np.array([roll], np.int8))
    every = flip_boards(after_play)
    losses = static_losses(chooser, every, offsets)
    chosen = within_window(losses, offsets, window)
    after, items = every[chosen], np.zeros(len(chosen), np.int64)
    still_open = rollout.open_groups(items, limits)
    if settled_at is not None:

        def still_open(blocks: list[Values]) -> NDArray[np.bool_]:
            return open_plays([equities_less_luck(each) for each in blocks], limits.until, settled_at)

    blocks = rollout.rolled_blocks(after, chooser, seed, settings, limits, items, still_open, through)
    return rank_plays(after, blocks, losses[chosen], len(every), is_paired=settled_at is None)


def static_losses(chooser: Chooser, after: Boards, offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """float32[k]: static loss of each play in points against the best of its decision; plays lead to int8[k, 26] boards
    of the opponent, those of decision i are offsets[i] to offsets[i + 1]."""
    equities = -cubeless_equities(evaluations(chooser.networks, chooser.tables, after).chances)
    return np.asarray(largest_of(equities, offsets) - equities)


def within_window(losses: NDArray[np.float32], offsets: NDArray[np.int64], window: Window) -> NDArray[np.int64]:
    """int64[m]: the plays that are rolled out, ascending."""
    place = places_of(losses, offsets)
    is_near = (losses <= window.within) & (place < window.most_plays)
    return np.flatnonzero(is_near | (place < window.least_plays))


def open_plays(equities: list[Values], until: float, settled_at: float) -> NDArray[np.bool_]:
    """bool[k]: which plays need more games, from the opponent's float64[blocks] equities after each: none if the errors
    of those that are not settled are at most `until`, or if all but one are settled."""
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
    """One decision from the opponent's blocks of its plays, of which some may have more unless all are pairs with the
    same dice, and from their static losses."""
    found = RolloutResult.join([rollout.result_of(own_blocks(each)[None]) for each in blocks])
    order = np.argsort(-found.equities, kind="stable")
    result, equities = found.rows(order), [equities_less_luck(blocks[row]) for row in order.tolist()]
    if is_paired:
        means, errors = np.empty((2, len(order), 1))
        fill_statistics((np.stack(equities) - equities[0])[:, :, None], means, errors)
        # a mean of differences may be rounded to below 0
        return Decision(after[order], result, np.maximum(means[:, 0], 0.0), errors[:, 0], losses[order], n_plays)
    errors = np.array([0.0, *(rollout.difference_error(each, equities[0]) for each in equities[1:])])
    return Decision(after[order], result, result.equities[0] - result.equities, errors, losses[order], n_plays)


def equities_less_luck(blocks: Values) -> Values:
    """float64[blocks]: equities of the OPPONENT, whose float64[blocks, 2, 5] these are."""
    return rollout.equities_of(blocks[:, 0] - blocks[:, 1])


def own_blocks(blocks: Values) -> Values:
    """float64[..., 2, 5]: blocks of the opponent's chances and luck, as seen by the player who moved."""
    own = blocks[..., [0, 3, 4, 1, 2]]
    own[..., 0, 0] = 1.0 - own[..., 0, 0]
    own[..., 1, 0] = -own[..., 1, 0]
    return np.asarray(own)
