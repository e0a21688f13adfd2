"""Rolled-out decisions on which a play that is clearly behind gets no more games: close plays get most of them.

After every round the plays, which have the same dice, are compared with the best of them. One that is behind by several
standard errors of the difference is settled, and gets no more games unless the others fall. Those that are open go on
until their standard errors are small enough, or only one is open. So a loss is known the better the smaller it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.choices import Chooser
from bgdata.game.codec import Boards
from bgdata.play.rollout import Limits, RolloutResult, RolloutSettings, Values, equities_of, numbers_of, result_of
from bgdata.play.rollout_decisions import Decision, Window, own_blocks, plays_within
from bgdata.play.rounds import blocks_while_open, difference_error, mean_and_error


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

    blocks = blocks_while_open(after, chooser, settings, limits, seed, 0, still_open)
    return ranked_unequal_plays(after, blocks, losses, int(counts[0]))


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


def ranked_unequal_plays(
    after: Boards, blocks: Sequence[Values], losses: NDArray[np.float32], n_plays: int
) -> Decision:
    """One decision from the blocks of its plays, of which some may have more; the opponent's, as rolled out."""
    result = RolloutResult.joined([result_of(own_blocks(each)[None]) for each in blocks])
    order = np.argsort(-result.equities, kind="stable")
    equities = [equities_less_luck(blocks[row]) for row in order]
    errors = np.array([0.0, *(difference_error(each, equities[0]) for each in equities[1:])])
    ranked = result.rows(order)
    return Decision(after[order], ranked, ranked.equities[0] - ranked.equities, errors, losses[order], n_plays)
