"""Two one-sided distributions against each other: as if each side just raced.

P(win of the player on roll) = sum over n of P(off in exactly n rolls) * Q(opponent not off in n - 1 rolls or fewer).
The equity is 2 P - 1. This is an approximation: it assumes that both sides play for the fewest expected rolls, whatever
the other side does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.kernel import Array, kernel, prange


def win_chance(on_roll: NDArray[np.float64], opponent: NDArray[np.float64]) -> float:
    """Chance that the player on roll is off first; both arrays hold the chance of exactly n rolls at index n."""
    length = max(len(on_roll), len(opponent))
    first = np.zeros(length)
    first[: len(on_roll)] = on_roll
    tail = np.zeros(length)
    tail[: len(opponent)] = opponent
    return float(first @ tail[::-1].cumsum()[::-1])


@kernel(parallel=True)
def fill_equities(chances: Array, not_before: Array, equities: Array) -> None:
    """Fills equities[on roll, opponent] from chances[position, n] of being off in exactly n rolls and not_before[n,
    position], the chance of needing n rolls or more; each pair is summed by ascending n."""
    count = chances.shape[0]
    for on_roll in prange(count):
        total = np.zeros(count)
        for n in range(chances.shape[1]):
            chance = chances[on_roll, n]
            if chance > 0.0:
                row = not_before[n]
                for opponent in range(count):
                    total[opponent] += chance * row[opponent]
        for opponent in range(count):
            equities[on_roll, opponent] = 2.0 * total[opponent] - 1.0


def one_sided_equities(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[N, N] equity of the player on roll for every ordered pair, from float64[N, rolls] chances."""
    not_before = np.zeros_like(chances)
    running = np.zeros(len(chances))
    for n in range(chances.shape[1] - 1, -1, -1):  # not cumsum: the order of addition is part of the recipe
        running = running + chances[:, n]
        not_before[:, n] = running
    equities = np.empty((len(chances), len(chances)))
    fill_equities(chances, np.ascontiguousarray(not_before.T), equities)
    return equities
