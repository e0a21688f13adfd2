"""Match equity tables by backward induction, from the positions after the opening.

Post-Crawford games are computed from the positions in which the trailer can first double. The Crawford game is
cubeless. Every other score follows from scores with fewer points to go, with a live cube or a mixture of a live and a
dead cube. Both sides are assumed to be equally strong. Only the post-Crawford row counts backgammons.

Sums are rounded exactly, and the cube's kernels do not reorder them, so the digits are the same on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.equity.cube_models import check_cube_life_index
from bgdata.equity.curves import CENTERED
from bgdata.equity.doubling import janowski
from bgdata.equity.match_cube import MatchGame, match_equities
from bgdata.equity.match_equity import MatchEquity, check_gammon_rate, decided_cells
from bgdata.kernel import read_only

WIN, WIN_GAMMON, WIN_BACKGAMMON, LOSE_GAMMON, LOSE_BACKGAMMON = range(5)


class OpeningStates(NamedTuple):
    """The positions in which the trailer can first double, from the point of view of the leader, who is not on roll:
    the frequency of each, float64[n], and its five cumulative chances, float64[n, 5]."""

    weights: NDArray[np.float64]
    chances: NDArray[np.float64]

    @classmethod
    def from_trailer(cls, weights: NDArray[np.float64], chances: NDArray[np.floating]) -> OpeningStates:
        """Make the states from the trailer's chances [n, 5]."""
        turned = np.asarray(chances, np.float64)[:, [0, 3, 4, 1, 2]]
        turned[:, WIN] = 1 - turned[:, WIN]
        return cls(np.asarray(weights, np.float64), turned)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each chance over all states, as float64[5]."""
        # rounded exactly: a matrix product may round differently on other processors, and change the digest
        return np.array([fsum(self.weights * chances) for chances in self.chances.T])

    @property
    def gammon_rate(self) -> float:
        """The share of games between equal players that end in a gammon or backgammon."""
        return float(self.means[WIN_GAMMON] + self.means[LOSE_GAMMON])

    def fair(self) -> OpeningStates:
        """Return a copy with equal players. Winning chances are shifted to a mean of 0.5, and chances of gammons and
        backgammons are scaled to be equal for both sides, because evaluators are biased in both by some thousandths."""
        means, chances = self.means, self.chances.copy()
        chances[:, WIN] += 0.5 - means[WIN]
        for won, lost in ((WIN_GAMMON, LOSE_GAMMON), (WIN_BACKGAMMON, LOSE_BACKGAMMON)):
            mean = (means[won] + means[lost]) / 2
            for column in (won, lost):
                chances[:, column] *= mean / means[column] if means[column] else 1.0
        return OpeningStates(self.weights, chances)

    def with_gammon_rate(self, rate: float) -> OpeningStates:
        """Return a copy in which the share of gammons and backgammons is `rate`. All their chances are scaled by the
        same factor; if all are 0 they stay 0."""
        chances = self.chances.copy()
        chances[:, WIN_GAMMON:] *= rate / self.gammon_rate if self.gammon_rate else 0.0
        return OpeningStates(self.weights, chances)


def post_crawford_row(states: OpeningStates, length: int) -> NDArray[np.float64]:
    """Compute the trailer's mwc after the Crawford game, 1- to `length`-away against 1-away, as float64[length]. The
    trailer doubles as soon as it can, and the leader takes if that is better than losing a point. `states` should be
    `fair`."""
    leader = np.full(length + 1, 0.5)  # by the trailer's points to go
    chances = states.chances.T
    single = 1 - chances[WIN] - chances[LOSE_GAMMON]
    gammon = chances[LOSE_GAMMON] - chances[LOSE_BACKGAMMON]
    for away in range(2, length + 1):
        after = [leader[away - points] if away > points else 0.0 for points in (2, 4, 6)]
        taken = chances[WIN] + single * after[0] + gammon * after[1] + chances[LOSE_BACKGAMMON] * after[2]
        leader[away] = fsum(states.weights * np.maximum(taken, leader[away - 1]))
    return 1 - leader[1:]


def crawford_row(post_crawford: ArrayLike, gammon_rate: float) -> NDArray[np.float64]:
    """Compute the mwc of the leader before the Crawford game, 1-away against 1- to n-away, as float64[n]. The Crawford
    game has no cube."""
    leader = 1 - np.asarray(post_crawford, float)
    after_single = np.concatenate([[0.0], leader[:-1]])
    after_gammon = np.concatenate([[0.0, 0.0], leader[:-2]])[: len(leader)]
    found = 0.5 + 0.5 * ((1 - gammon_rate) * after_single + gammon_rate * after_gammon)
    found[0] = 0.5
    return found


def induced_table(
    name: str, post_crawford: Sequence[float] | NDArray[np.float64], gammon_rate: float, cube_life_index: float = 1.0
) -> MatchEquity:
    """Compute a whole match equity table, for as many points to go as the row of the trailer's mwc, `post_crawford`,
    has. `gammon_rate` is the share of games that end in a gammon. Raises InvalidParameterError for a rate or cube life
    index outside 0 to 1, or for values that are not chances."""
    check_gammon_rate(gammon_rate)
    check_cube_life_index(cube_life_index)
    row = np.asarray(post_crawford, float)
    before = np.full((row.size, row.size), 0.5)
    MatchEquity.of(name, before, row)  # raises for an invalid row
    before[0] = crawford_row(row, gammon_rate)
    before[:, 0] = 1 - before[0]
    cells = decided_cells(len(row))
    cells[0, 1:, 1:] = before
    cells[1, 1, 1:], cells[1, 1:, 1] = 1 - row, row
    strategy = janowski(cube_life_index)
    chances = np.array([0.5, gammon_rate / 2, 0.0, gammon_rate / 2, 0.0])
    known = read_only(cells.view())  # cells of later scores are already filled
    for away in range(2, len(row) + 1):
        for opponent_away in range(away + 1, len(row) + 1):
            game = MatchGame(away, opponent_away)
            found = match_equities(strategy, known, game, 1, CENTERED, chances).no_double
            cells[0, away, opponent_away], cells[0, opponent_away, away] = found, 1 - found
    cells.flags.writeable = False
    return MatchEquity(name, cells)


def slopes(table: Callable[[float], MatchEquity], gammon_rate: float, step: float = 0.001) -> NDArray[np.float64]:
    """Compute how fast each mwc changes with the gammon rate, as float64[2, n + 1, n + 1], from the tables of two
    rates, `step` below and above. `table` computes the table of a rate."""
    below, above = max(gammon_rate - step, 0.0), min(gammon_rate + step, 1.0)
    return (table(above).cells - table(below).cells) / (above - below)
