"""Rolled-out decisions: the better plays of a roll, all with the same dice, and the loss of each against the best.

Where luck is not subtracted, the same dice make differences between plays more accurate; where it is, most of what the
plays share is gone already. Standard errors of losses come from the differences, block by block.

`roll_out_unsettled` gives close plays most of the games: after every round the plays are compared with the best of
them. One that is behind by several standard errors of the difference is settled, and gets no more games unless the
others fall. So a loss is known the better the smaller it is.
"""

from __future__ import annotations

from itertools import pairwise
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
from bgdata.selfplay.rollout import (
    PLAIN,
    Limits,
    RolloutResult,
    RolloutSettings,
    Through,
    Values,
    difference_error,
    equities_of,
    mean_and_error,
    numbers_of,
    open_groups,
    result_of,
    rolled_blocks,
)
from bgdata.selfplay.rollout_kernels import fill_statistics

ONE_ROUND = Limits()


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


NARROW = Window()


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
    settings: RolloutSettings = PLAIN,
    window: Window = NARROW,
    limits: Limits = ONE_ROUND,
    through: Through = lambda rolled: rolled,
) -> Decision:
    """Roll out the better plays of one int8[26] board and roll. See `roll_out_decisions`."""
    rolls = np.array([roll], np.int8)
    return roll_out_decisions(board[None], rolls, chooser, seed, settings, window, limits, through=through)[0]


def roll_out_decisions(
    boards: Boards,
    rolls: NDArray[np.integer],
    chooser: Chooser,
    seed: int = 0,
    settings: RolloutSettings = PLAIN,
    window: Window = NARROW,
    limits: Limits = ONE_ROUND,
    items: NDArray[np.int64] | None = None,
    through: Through = lambda rolled: rolled,
) -> list[Decision]:
    """Roll out the better plays of int8[n, 26] boards and integers[n, 2] rolls.

    All plays of decision i have the dice of items[i] (by default i), and as many trials as the slowest needs for its
    standard error; `through` is that of `rolled_blocks`. Raises UsageError, InvalidPositionError and InvalidRollError.
    """
    numbers = numbers_of(boards, items)
    after, losses, decision, counts = plays_within(boards, rolls, chooser, window)
    still_open = open_groups(decision, limits)
    blocks = rolled_blocks(after, chooser, seed, settings, limits, numbers[decision], still_open, through)
    ends = np.searchsorted(decision, np.arange(len(boards) + 1))
    return [
        ranked_plays(after[begin:end], blocks[begin:end], losses[begin:end], int(count))
        for (begin, end), count in zip(pairwise(ends.tolist()), counts, strict=True)
    ]


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

    Each play comes out as by `roll_out_decision` with as many games of the same seed. Raises what `roll_out_decision`
    raises, and UsageError for a number of standard errors that is not above 0.
    """
    limits.check()
    if not settled_at > 0:
        raise UsageError(f"expected plays settled at more than 0 standard errors, got {settled_at}")
    numbers_of(board[None], None)  # refuses what is no position
    after, losses, _, counts = plays_within(board[None], np.array([roll], np.int8), chooser, window)

    def still_open(blocks: list[Values]) -> NDArray[np.bool_]:
        return open_plays([equities_less_luck(each) for each in blocks], limits.until, settled_at)

    blocks = rolled_blocks(after, chooser, seed, settings, limits, np.zeros(len(after), np.int64), still_open)
    return ranked_unequal_plays(after, blocks, losses, int(counts[0]))


class Candidates(NamedTuple):
    """The plays of decisions that are rolled out."""

    after: Boards  # [k, 26] after the play, the OPPONENT on roll
    losses: NDArray[np.float32]  # [k] points behind the best by static evaluation
    decision: NDArray[np.int64]  # [k] ascending
    counts: NDArray[np.int64]  # [decisions] legal plays, rolled out or not


def plays_within(boards: Boards, rolls: NDArray[np.integer], chooser: Chooser, window: Window) -> Candidates:
    """The plays of int8[n, 26] boards and integers[n, 2] rolls that a window lets through.

    Raises UsageError for a wrong window and for a player without networks, and what `batch_plays` raises.
    """
    window.check()
    require_networks(chooser, "to roll out")
    offsets, after_play = batch_plays(np.ascontiguousarray(boards), rolls)
    after, counts = flip_boards(after_play), np.diff(offsets)
    losses = static_losses(chooser, after, offsets)
    chosen = within_window(losses, offsets, window)
    return Candidates(after[chosen], losses[chosen], np.repeat(np.arange(len(boards)), counts)[chosen], counts)


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


def ranked_plays(after: Boards, blocks: list[Values], losses: NDArray[np.float32], n_plays: int) -> Decision:
    """One decision from the blocks of its plays, which are seen by the opponent."""
    values = np.stack(blocks)
    result = result_of(own_blocks(values))
    order = np.argsort(-result.equities, kind="stable")
    best = order[0]
    equities = equities_of(values[:, :, 0] - values[:, :, 1])
    means, errors = np.empty((2, len(order), 1))
    fill_statistics((equities - equities[best])[:, :, None], means, errors)
    lost = np.maximum(means[order, 0], 0.0)  # a mean of differences may be rounded to below 0
    return Decision(after[order], result.rows(order), lost, errors[order, 0], losses[order], n_plays)


def equities_less_luck(blocks: Values) -> Values:
    """float64[blocks]: equities of the OPPONENT, whose float64[blocks, 2, 5] these are."""
    return equities_of(blocks[:, 0] - blocks[:, 1])


def open_plays(equities: list[Values], until: float, settled_at: float) -> NDArray[np.bool_]:
    """bool[k]: which plays need more games, from the opponent's float64[blocks] equities after each: none if the errors
    of those that are not settled are at most `until`, or if all but one are settled."""
    means, errors = np.array([mean_and_error(each[:, None]) for each in equities])[:, :, 0].T
    best = int(np.argmin(means))
    lost_errors = np.array([difference_error(each, equities[best]) for each in equities])
    lost_errors[best] = 0.0
    found = means - means[best] <= settled_at * lost_errors
    is_unknown = found.sum() > 1 and bool((errors[found] > until).any())
    return np.asarray(found & is_unknown)


def ranked_unequal_plays(after: Boards, blocks: list[Values], losses: NDArray[np.float32], n_plays: int) -> Decision:
    """One decision from the blocks of its plays, of which some may have more; the opponent's, as rolled out."""
    result = RolloutResult.joined([result_of(own_blocks(each)[None]) for each in blocks])
    order = np.argsort(-result.equities, kind="stable")
    equities = [equities_less_luck(blocks[row]) for row in order]
    errors = np.array([0.0, *(difference_error(each, equities[0]) for each in equities[1:])])
    ranked = result.rows(order)
    return Decision(after[order], ranked, ranked.equities[0] - ranked.equities, errors, losses[order], n_plays)


def own_blocks(blocks: Values) -> Values:
    """float64[..., 2, 5]: blocks of the opponent's chances and luck, as seen by the player who moved."""
    own = blocks[..., [0, 3, 4, 1, 2]]
    own[..., 0, 0] = 1.0 - own[..., 0, 0]
    own[..., 1, 0] = -own[..., 1, 0]
    return np.asarray(own)
