"""Claims about a play generator that drops plays which waste pips. They are answered by solving with and without these
plays.

Every function of READINGS takes the tables as first argument, by dataset/variant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import position_index
from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT, Plays, all_layouts, all_plays, pip_counts
from bgdata.kernel import kernel
from bgdata.studies.claims.bearoff import Tables, difference_figures

WEIGHTS = np.where(np.arange(ROLL_COUNT) < NON_DOUBLES, 2, 1) / 36  # chances of the rolls of `Plays`
LONGEST = 48  # maximum number of rolls in the distributions of layouts
SAME = 1e-7  # means that differ by less count as equal


def results_of_roll(tables: Tables, layout: Sequence[int], high: int, low: int, keeps_wasting: bool) -> int:  # noqa: ARG001
    """Return the number of different layouts to which a roll of two different dice leads. All legal plays count, or, if
    `keeps_wasting` is false, only plays that waste no pips."""
    plays, _ = plays_of(len(layout), sum(layout))
    place = position_index(layout) * ROLL_COUNT + (high - 1) * (high - 2) // 2 + low - 1
    begin, end = plays.start[place : place + 2]
    return int(end - begin if keeps_wasting else keeps_pips(len(layout), sum(layout))[begin:end].sum())


@lru_cache(maxsize=2)
def plays_of(points: int, checkers: int) -> tuple[Plays, NDArray[np.int64]]:
    """Return all legal plays from every layout, and the pip count of every layout."""
    return all_plays(points, checkers), pip_counts(all_layouts(points, checkers)).astype(np.int64)


@lru_cache(maxsize=2)
def keeps_pips(points: int, checkers: int) -> NDArray[np.bool_]:
    """Return a mask of the plays in `plays_of` that use the most pips of their roll. A generator that drops plays which
    waste pips generates these plays."""
    plays, pips = plays_of(points, checkers)
    left = pips[plays.results]
    least = np.minimum.reduceat(left, plays.start[:-1])
    return np.asarray(left == np.repeat(least, np.diff(plays.start)))


class Rolls(NamedTuple):
    """The fewest expected rolls that bear off each layout, and the distribution of their number."""

    means: NDArray[np.float64]  # [positions]
    chances: NDArray[np.float64]  # [positions, rolls]


@lru_cache(maxsize=2)
def solved_rolls(points: int, checkers: int, is_filtered: bool) -> Rolls:
    """Solve one-sided bearoffs by all legal plays, or, if `is_filtered`, by the plays that waste no pips."""
    plays, _ = plays_of(points, checkers)
    dropped = ~keeps_pips(points, checkers) if is_filtered else np.zeros(len(plays.results), bool)
    count = (len(plays.start) - 1) // ROLL_COUNT
    means, chances = np.zeros(count), np.zeros((count, LONGEST))
    chances[0, 0] = 1
    for index in range(1, count):
        starts = plays.start[index * ROLL_COUNT : (index + 1) * ROLL_COUNT + 1]
        results = plays.results[starts[0] : starts[-1]]
        values = np.where(dropped[starts[0] : starts[-1]], np.inf, means[results])
        ends = starts - starts[0]
        best = [int(results[begin + values[begin:end].argmin()]) for begin, end in pairwise(ends.tolist())]
        means[index] = 1 + WEIGHTS @ means[best]
        chances[index, 1:] = WEIGHTS @ chances[best, :-1]
    return Rolls(means, chances)


@lru_cache(maxsize=1)
def legal_differences(points: int, checkers: int) -> dict[str, float]:
    """Return the `difference_figures` of combined one-sided equity minus exact equity, both solved by all legal plays
    in float64."""
    from bgdata.bearoff.combine import one_sided_equities

    differences = one_sided_equities(solved_rolls(points, checkers, False).chances[1:])
    differences -= exact_equities(plays_of(points, checkers)[0])
    return difference_figures(differences)


def legal_difference(tables: Tables, points: int, checkers: int, what: str) -> float:  # noqa: ARG001
    """Return one figure of `legal_differences`; `what` is its name."""
    return legal_differences(points, checkers)[what]


@lru_cache(maxsize=1)
def filtered_differences(points: int, checkers: int) -> dict[str, float]:
    """Return the `difference_figures` of combined one-sided equity minus exact equity if plays that waste pips are
    dropped."""
    from bgdata.bearoff.combine import one_sided_equities

    differences = one_sided_equities(solved_rolls(points, checkers, True).chances[1:])
    differences -= filtered_equities(points, checkers)
    return difference_figures(differences)


def filtered_difference(tables: Tables, points: int, checkers: int, what: str) -> float:  # noqa: ARG001
    """Return one figure of `filtered_differences`; `what` is its name."""
    return filtered_differences(points, checkers)[what]


@lru_cache(maxsize=1)
def filtered_equities(points: int, checkers: int) -> NDArray[np.float64]:
    """Return the `exact_equities` by the plays that waste no pips, cached for the next claim."""
    return exact_equities(filtered_plays(points, checkers))


def filtered_plays(points: int, checkers: int) -> Plays:
    """Return all plays that waste no pips."""
    plays, _ = plays_of(points, checkers)
    kept = keeps_pips(points, checkers)
    counts = np.add.reduceat(kept, plays.start[:-1], dtype=np.int64)
    return Plays(np.concatenate([[0], np.cumsum(counts)]), plays.results[kept])


def exact_equities(plays: Plays) -> NDArray[np.float64]:
    """Return cubeless equities by the given plays for the player on roll (first index), without the empty layout, as
    float64[layouts, layouts]."""
    count = (len(plays.start) - 1) // ROLL_COUNT
    equities, turned = np.empty((count, count)), np.empty((count, count))  # `turned` has the opponent first
    equities[1:, 0] = turned[0, 1:] = -1  # the opponent has borne off
    fill_equities(plays.start, plays.results.astype(np.int32), WEIGHTS, equities, turned)
    return equities[1:, 1:]


@kernel()
def fill_equities(
    start: NDArray[np.int64],
    results: NDArray[np.int32],
    weights: NDArray[np.float64],
    equities: NDArray[np.float64],
    turned: NDArray[np.float64],
) -> None:
    """Fill equities[player, opponent] and turned[opponent, player] from layout 1 on, by backward induction. `start` and
    `results` are as in `Plays`. Plays lead to lower indexes. So for each layout, first its equities against all lower
    layouts are filled, then the equities of all layouts up to this one against it."""
    count = (len(start) - 1) // ROLL_COUNT
    least = np.empty(count)  # equity of each opponent after the best play of the player
    for layout in range(1, count):
        row = equities[layout]
        row[1:layout] = 0
        for roll in range(ROLL_COUNT):
            begin, end = start[layout * ROLL_COUNT + roll], start[layout * ROLL_COUNT + roll + 1]
            least[1:layout] = turned[results[begin], 1:layout]
            for play in range(begin + 1, end):
                after = turned[results[play]]
                for opponent in range(1, layout):
                    least[opponent] = min(least[opponent], after[opponent])
            for opponent in range(1, layout):
                row[opponent] -= weights[roll] * least[opponent]
        turned[1:layout, layout] = row[1:layout]
        for player in range(1, layout + 1):
            equities[player, layout] = turned[layout, player] = mean_of_best(start, results, weights, player, row)


@kernel()
def mean_of_best(
    start: NDArray[np.int64],
    results: NDArray[np.int32],
    weights: NDArray[np.float64],
    player: int,
    row: NDArray[np.float64],
) -> float:
    """Return the equity of layout `player` on roll, the mean over all rolls after the best play of each. `row` contains
    the opponent's equities against each layout."""
    total = 0.0
    for roll in range(ROLL_COUNT):
        begin, end = start[player * ROLL_COUNT + roll], start[player * ROLL_COUNT + roll + 1]
        least = row[results[begin]]
        for play in range(begin + 1, end):
            least = min(least, row[results[play]])
        total -= weights[roll] * least
    return total


READINGS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (results_of_roll, legal_difference, filtered_difference)
}
