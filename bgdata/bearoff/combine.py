"""Two one-sided distributions against each other: as if each side just raced.

P(win of the player on roll) = sum over n of P(off in exactly n rolls) * Q(opponent not off in n - 1 rolls or fewer).
The equity is 2 P - 1. This is an approximation: it assumes that both sides play for the fewest expected rolls, whatever
the other side does. A trailer who plays for large rolls loses less than that, above all with little wastage, and what
it gains is the leader's `excess`. Looking one roll ahead with all plays, `one_roll_ahead`, finds a small part of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.plays import Plays
from bgdata.bearoff.race import NON_DOUBLES, ROLL_COUNT
from bgdata.kernel import Array, kernel, prange

# of `excess`: fitted to all pairs of 6x9 and rounded; on 7x8 and 8x7 it halves the error as well
_EXCESS, _BY_LEADER, _BY_TRAILER = 0.019, 0.0007, 0.0021


@kernel(inline=True)
def excess(equity: float, wastage: float, opponent_wastage: float) -> float:
    """How far the combined equity of the player on roll is above the exact one, on average; below 0 if it trails.
    Wastage is effective less plain pip count [pips]."""
    leader, trailer = (wastage, opponent_wastage) if equity > 0.0 else (opponent_wastage, wastage)
    rate = max(0.0, _EXCESS + _BY_LEADER * leader - _BY_TRAILER * trailer)
    return rate * equity * (1.0 - equity * equity)


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


@kernel(parallel=True)
def correct_equities(equities: Array, wastages: Array) -> None:
    """Takes the excess from equities[on roll, opponent]; wastages[position] is in pips."""
    for on_roll in prange(len(equities)):
        row = equities[on_roll]
        for opponent in range(len(row)):
            row[opponent] -= excess(row[opponent], wastages[on_roll], wastages[opponent])


@kernel(parallel=True)
def fill_one_roll_ahead(equities: Array, start: Array, results: Array, found: Array) -> None:
    """Fills found[on roll, opponent] with the mean over the rolls of the best play by equities[opponent, on roll] of
    the opponent after it. Both leave out the empty layout, index 0; results[start[index * 21 + roll]:] are indexes."""
    count = len(equities)
    for on_roll in prange(count):
        best, total = np.empty(count), np.zeros(count)
        for roll in range(ROLL_COUNT):
            place = (on_roll + 1) * ROLL_COUNT + roll
            best[:] = -1.0
            for item in range(start[place], start[place + 1]):
                after = results[item]
                for opponent in range(count):
                    value = 1.0 if after == 0 else -equities[opponent, after - 1]
                    best[opponent] = max(best[opponent], value)
            total += (2.0 if roll < NON_DOUBLES else 1.0) / 36.0 * best
        found[on_roll] = total


def one_roll_ahead(equities: NDArray[np.float64], plays: Plays) -> NDArray[np.float64]:
    """float64[N, N]: equities of the player on roll when it makes the best play of the next roll by the `equities`
    float64[N, N] of its opponent, both for every ordered pair of layouts but the empty one."""
    found = np.empty_like(equities)
    fill_one_roll_ahead(np.asfortranarray(equities), plays.start, plays.results, found)
    return found
