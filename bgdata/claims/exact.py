"""Claims that ask for more digits than tables keep: two-sided equities in float64, and one-sided chances cut short.

Every function of READINGS gets the tables first, by dataset/variant.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.plays import Plays
from bgdata.bearoff.race import ROLL_COUNT
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.claims.bearoff import WEIGHTS, Tables, keeps_pips, open_table, plays_of
from bgdata.store.table import Table

CHANGED = 1e-12  # equities that differ by less are the same: sums of float64 are right to 1e-15


def changed_pairs(tables: Tables, points: int, checkers: int) -> int:  # noqa: ARG001
    """Pairs of layouts, none empty, whose equity changes if nobody has the plays that waste pips."""
    legal = exact_equities(plays_of(points, checkers)[0])
    return int((np.abs(legal - exact_equities(filtered_plays(points, checkers))) > CHANGED).sum())


def filtered_plays(points: int, checkers: int) -> Plays:
    """All plays but those that such a generator drops."""
    plays, _ = plays_of(points, checkers)
    kept = keeps_pips(points, checkers)
    counts = np.add.reduceat(kept, plays.start[:-1], dtype=np.int64)
    return Plays(np.concatenate([[0], np.cumsum(counts)]), plays.results[kept])


def exact_equities(plays: Plays) -> NDArray[np.float64]:
    """float64[layouts, layouts]: cubeless equities of the player on roll (first), no layout empty.

    Plays lead to lower indexes. So the equities of layout m against all before it follow from those of the ones before
    it against what m plays to, which are known; then those of all up to m against it.
    """
    count = (len(plays.start) - 1) // ROLL_COUNT
    equities, turned = np.empty((count, count)), np.empty((count, count))  # and with the opponent first
    equities[1:, 0] = turned[0, 1:] = -1  # the opponent is off
    for m in range(1, count):
        row = -best_of_row(plays, m, turned)
        equities[m, 1:m] = turned[1:m, m] = row
        column = -best_of_all(plays, m, equities[m, :m])
        equities[1 : m + 1, m] = turned[m, 1 : m + 1] = column
    return equities[1:, 1:]


def best_of_row(plays: Plays, m: int, turned: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[m - 1]: the mean, over rolls, of what opponents 1 to m - 1 have after layout m played its best."""
    starts = plays.start[m * ROLL_COUNT : (m + 1) * ROLL_COUNT + 1]
    found, places = np.unique(plays.results[starts[0] : starts[-1]], return_inverse=True)
    known = turned[found, 1:m]
    total = np.zeros(m - 1)
    for roll in range(ROLL_COUNT):
        begin, end = starts[roll : roll + 2] - starts[0]
        total += WEIGHTS[roll] * known[places[begin:end]].min(axis=0)
    return total


def best_of_all(plays: Plays, m: int, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[m]: the same of opponent m after layouts 1 to m played their best; `row` is what it has against each."""
    starts = plays.start[ROLL_COUNT : (m + 1) * ROLL_COUNT + 1]
    after = row[plays.results[starts[0] : starts[-1]]]
    lowest = np.minimum.reduceat(after, starts[:-1] - starts[0])
    return np.asarray(lowest.reshape(m, ROLL_COUNT) @ WEIGHTS)


def truncated_difference(tables: Tables, points: int, checkers: int, terms: int, what: str) -> float:
    """Mean or sd of one-sided less exact equity where a layout keeps so many chances, the likeliest, made to sum to
    one."""
    two_sided = open_table(tables, f"bearoff_two_sided/{points}x{checkers}")
    return truncated_differences(open_table(tables, "bearoff_one_sided/6x15"), two_sided, terms)[what]


@lru_cache(maxsize=1)
def truncated_differences(one_sided: Table, two_sided: Table, terms: int) -> dict[str, float]:
    """Mean and standard deviation, over all pairs."""
    from bgdata.bearoff.combine import one_sided_equities

    exact = TwoSidedTable(two_sided)
    differences = one_sided_equities(cut_short(RaceTable(one_sided).chances_matrix(len(exact.stored))[1:], terms))
    differences -= exact.decode(exact.stored[1:, 1:, 0])
    return {"mean": float(differences.mean()), "sd": float(differences.std())}


def cut_short(chances: NDArray[np.float64], terms: int) -> NDArray[np.float64]:
    """The chances with all but the `terms` largest of each row 0, and each row of sum one."""
    kept = chances.copy()
    np.put_along_axis(kept, np.argsort(-kept, axis=1, kind="stable")[:, terms:], 0, axis=1)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


READINGS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (changed_pairs, truncated_difference)
}
