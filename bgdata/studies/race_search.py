"""The search for the best cube rule of the family of Keith's, Thorp's and Ward's.

Such a rule counts pips and integer penalties for each side, adds a part for the player on roll, and has three limits.
Sums of margins by the counts of both sides give the best part and limits directly. Penalties are changed one at a time,
as long as the rule gains in the training half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.kernel import Array, kernel
from bgdata.studies.race_rules import Penalties, penalized_pips

PARTS = (0, *range(5, 15))  # the player on roll adds 1 / part of its count; nothing if part is 0
MAX_PENALTIES = Penalties(
    4, 4, 4, 4, 4, 4, 4, 4, 3, 1
)  # counts stay above 0, because a home point with a checker has at least one pip
STARTS = (  # Keith's and Thorp's counts; Ward's and Isight's without comparisons
    Penalties(ace=2, ace_spare=1, deuce=1, deuce_spare=1, three=1, three_spare=3, gap=1),
    Penalties(ace=1, checker=2, point=1),
    Penalties(ace=2, ace_spare=2, deuce=1, deuce_spare=2, checker=2, point=1),
    Penalties(ace=2, ace_spare=2, deuce=1, deuce_spare=2, three=1, three_spare=3, checker=1, gap=1),
)


class Pairs(NamedTuple):
    """Pairs of layouts on which the search compares rules: rows of the layouts, margins int32[n, decisions], weights
    int64[n]."""

    on_roll: NDArray[np.int64]
    opponent: NDArray[np.int64]
    margins: NDArray[np.int32]
    weights: NDArray[np.int64]


class FoundRule(NamedTuple):
    """A rule of the family: its penalties and four limits. The first limit says which part of its count the player on
    roll adds (1 / part, rounded down). The others are limits of the opponent's excess: double from the second limit on,
    redouble from the third, take up to the fourth."""

    penalties: Penalties
    limits: tuple[int, int, int, int]


@kernel()
def fill_margins(counts: Array, on_roll: Array, opponent: Array, margins: Array, weights: Array, sums: Array) -> None:
    """Fill sums[decision, count of the player on roll, count of the opponent] with the sums of weighted margins[pair,
    decision]. on_roll[pair] and opponent[pair] are indexes into `counts`."""
    sums[:] = 0
    for pair in range(len(on_roll)):
        own, other, weight = counts[on_roll[pair]], counts[opponent[pair]], weights[pair]
        for decision in range(len(sums)):
            sums[decision, own, other] += weight * margins[pair, decision]


def best_limits(sums: NDArray[np.int64]) -> tuple[float, tuple[int, int, int, int]]:
    """Return the total gain and the limits of the best rule. `sums` is int64[decisions, own count, other count]. Ties
    go to the smaller part and limits."""
    own, other = np.indices(sums.shape[1:])
    found: list[tuple[float, tuple[int, int, int, int]]] = []
    for part in PARTS:
        lead = other - (own + own // part if part else own)
        lowest = int(lead.min())
        by_lead = [np.bincount((lead - lowest).ravel(), each.ravel().astype(np.float64)) for each in sums]
        acts = [np.append(each[::-1].cumsum()[::-1], 0.0) for each in by_lead[:2]]  # act from a lead on, or never
        takes = np.append(0.0, by_lead[2].cumsum())  # take never, or up to a lead
        double, redouble, take = (int(each.argmax()) for each in (*acts, takes))
        gain = float(acts[0][double] + acts[1][redouble] + takes[take])
        found.append((gain, (part, lowest + double, lowest + redouble, lowest + take - 1)))
    return max(found, key=lambda each: each[0])


def neighbours(penalties: Penalties) -> Iterator[Penalties]:
    """Yield all penalties that differ from these by one pip or one spare checker in one place. The number of spare
    checkers does not change where the penalty is 0."""
    for name, value, most in zip(Penalties._fields, penalties, MAX_PENALTIES, strict=True):
        is_used = not name.endswith("_spare") or getattr(penalties, name.removesuffix("_spare"))
        for changed in (value - 1, value + 1):
            if is_used and 0 <= changed <= most:
                yield penalties._replace(**{name: changed})


def found_rule(layouts: NDArray[np.int8], pairs: Pairs) -> FoundRule:
    """Return the best rule that the search finds for these pairs of int8[n, points] layouts. From each of STARTS, it
    goes to the best neighbour, step by step."""
    known: dict[Penalties, tuple[float, tuple[int, int, int, int]]] = {}

    def gain_of(penalties: Penalties) -> float:
        if penalties not in known:
            counts = penalized_pips(layouts, penalties)
            size = int(counts.max()) + 1
            sums = np.empty((pairs.margins.shape[1], size, size), np.int64)
            fill_margins(counts, *pairs, sums)
            gain, limits = best_limits(sums)
            known[penalties] = gain, limits
        return known[penalties][0]

    for start in STARTS:
        here, best = None, start
        while best != here:  # of equal rules the first is taken, so the loop ends
            here, best = best, max((best, *neighbours(best)), key=gain_of)
    best = max(known, key=gain_of)
    return FoundRule(best, known[best][1])
