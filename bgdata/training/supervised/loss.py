"""The cross-entropy of chances, the same to the last bit on any machine: logarithms of libraries differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, possible_outcomes
from bgdata.game.codec import Boards
from bgdata.kernel import kernel

LEAST_CHANCE = 1e-5  # what an answer of 0 counts as
_LN_2 = 0.6931471805599453
_TERMS = 17  # of the series: the rest is below 2^-53


def cross_entropies(boards: Boards, chances: Chances, targets: Chances) -> NDArray[np.float64]:
    """float64[n]: of each position, the sum over the chances that its board allows of
    -target log(chance) - (1 - target) log(1 - chance)."""
    answers = np.clip(chances.astype(np.float64), LEAST_CHANCE, 1 - LEAST_CHANCE)
    wanted = targets.astype(np.float64)
    each = -wanted * natural_logarithms(answers) - (1 - wanted) * natural_logarithms(1 - answers)
    is_possible = np.empty(chances.shape, np.bool_)
    fill_possible(boards, is_possible)
    each *= is_possible
    total: NDArray[np.float64] = each[:, 0] + each[:, 1] + each[:, 2] + each[:, 3] + each[:, 4]
    return total


def natural_logarithms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of values above 0, within 2^-50: a power of two apart, then the series of the inverse hyperbolic tangent."""
    parts, powers = np.frexp(values)
    is_small = parts < np.sqrt(0.5)
    parts, powers = np.where(is_small, 2 * parts, parts), powers - is_small
    ratio = (parts - 1) / (parts + 1)  # at most 0.172
    square, series = ratio * ratio, np.zeros_like(ratio)
    for term in range(2 * _TERMS - 1, 0, -2):
        series = series * square + 1 / term
    return np.asarray(2 * ratio * series + powers * _LN_2)


@kernel()
def fill_possible(boards: Boards, is_possible: NDArray[np.bool_]) -> None:
    """Fills is_possible[row, chance] with whether chances[0:5] of boards[row, slot] may be above 0; a win always."""
    for row in range(len(boards)):
        possible = 2 * possible_outcomes(boards[row]) + 1
        for chance in range(5):
            is_possible[row, chance] = possible >> chance & 1
