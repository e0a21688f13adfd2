"""Scores of players on decisions whose plays were rolled out: what each choice loses.

The error rate is 1000 x the mean loss over all decisions, each counted once. A choice that was not rolled out counts as
the worst listed play, which flatters weak players; the share of such choices is reported. Source: this is the
definition behind the field's published figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange

ERROR_RATE = 1000.0  # of a mean loss in points
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class RolledOutDecisions:
    """Decisions with their rolled-out plays, best first.

    `boards` int8[n, 26] before and `rolls` int8[n, 2]; the plays of decision i are first_plays[i] to first_plays[i + 1]
    (int64[n + 1]); `play_boards` int8[k, 26] after them, the OPPONENT on roll; `losses` float64[k] points, ascending.
    """

    boards: Boards
    rolls: NDArray[np.int8]
    first_plays: NDArray[np.int64]
    play_boards: Boards
    losses: NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Error rate (thousandths of a point a decision) with its 95 % interval, and shares of best and unlisted plays."""

    decisions: int
    error_rate: float
    standard_error: float
    unlisted_share: float
    best_share: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the error rate, decisions being a random sample of those that occur.

        It is a normal approximation, cut off at 0, and of little use for only a few decisions.
        """
        half = NORMAL_95 * self.standard_error
        return max(self.error_rate - half, 0.0), self.error_rate + half


def rank_choices(decisions: RolledOutDecisions, chosen: Boards) -> NDArray[np.int16]:
    """int16[n]: place of each chosen next position among the listed plays, 0 for the best, -1 for an unlisted one."""
    ranks = np.empty(len(chosen), np.int16)
    fill_ranks(decisions.first_plays, decisions.play_boards, chosen, ranks)
    return ranks


@kernel(parallel=True)
def fill_ranks(first_plays: NDArray[np.int64], play_boards: Boards, chosen: Boards, ranks: NDArray[np.int16]) -> None:
    """Fills ranks[row] with the first of play_boards[first_plays[row]:first_plays[row + 1]] that is chosen[row]."""
    for row in prange(len(chosen)):
        ranks[row] = -1
        for play in range(first_plays[row], first_plays[row + 1]):
            is_same = True
            for slot in range(26):
                is_same &= play_boards[play, slot] == chosen[row, slot]
            if is_same:
                ranks[row] = play - first_plays[row]
                break


def losses_of(decisions: RolledOutDecisions, ranks: NDArray[np.int16]) -> NDArray[np.float64]:
    """float64[n]: points that each choice loses; an unlisted one loses as much as the last listed play."""
    last = decisions.first_plays[1:] - 1
    places = np.where(ranks < 0, last, decisions.first_plays[:-1] + ranks)
    return np.asarray(decisions.losses[places])


def score_of(losses: NDArray[np.float64], ranks: NDArray[np.int16]) -> Score:
    """The score of all choices; zeros if there are none."""
    count = len(losses)
    if count == 0:
        return Score(0, 0.0, 0.0, 0.0, 0.0)
    spread = float(losses.std(ddof=1)) if count > 1 else 0.0
    return Score(
        decisions=count,
        error_rate=ERROR_RATE * float(losses.mean()),
        standard_error=ERROR_RATE * spread / sqrt(count),
        unlisted_share=float((ranks < 0).mean()),
        best_share=float((losses == 0).mean()),
    )
