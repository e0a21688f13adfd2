"""Tests of the search for a rule, against all limits and neighbours."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.bearoff.layouts import all_layouts
from bgdata.studies.race_rules import Penalties, penalized_pips
from bgdata.studies.race_search import PARTS, STARTS, Pairs, best_limits, fill_margins, found_rule, neighbours


@cache
def some_layouts() -> NDArray[np.int8]:
    return all_layouts(6, 3)[1:]


def gain_of(penalties: Penalties, limits: tuple[int, int, int, int], pairs: Pairs) -> int:
    """What a rule gains by doubling, redoubling and taking, as a sum of margins over all pairs."""
    counts, (part, double, redouble, take) = penalized_pips(some_layouts(), penalties).tolist(), limits
    gain = 0
    for own, other, margins, weight in zip(*(each.tolist() for each in pairs), strict=True):
        lead = counts[other] - counts[own] - (counts[own] // part if part else 0)
        acts = (lead >= double, lead >= redouble, lead <= take)
        gain += weight * sum(margin for margin, act in zip(margins, acts, strict=True) if act)
    return gain


def random_pairs(count: int, seed: int) -> Pairs:
    """Random pairs of layouts, with margins that depend on the layouts."""
    generator = np.random.default_rng(seed)
    on_roll, opponent = generator.integers(0, len(some_layouts()), (2, count))
    pips = some_layouts() @ np.arange(1, 7)
    lead = pips[opponent] - pips[on_roll] + 2 * (some_layouts()[opponent, 0] > 1)
    margins = 1000 * (lead[:, None] - [2, 4, 9]) * [1, 1, -1] + generator.integers(-4000, 4000, (count, 3))
    return Pairs(on_roll, opponent, margins.astype(np.int32), generator.integers(1, 5, count))


@pytest.mark.parametrize("seed", range(3))
def test_best_limits_equal_exhaustive_search(seed: int) -> None:
    """The limits that the search finds gain as much as the best of all limits."""
    pairs = random_pairs(60, seed)
    penalties = Penalties(ace=1, gap=1)
    counts = penalized_pips(some_layouts(), penalties)
    sums = np.empty((3, counts.max() + 1, counts.max() + 1), np.int64)
    fill_margins(counts, *pairs, sums)
    gain, limits = best_limits(sums)
    assert gain == gain_of(penalties, limits, pairs)
    never = (99, 99, -99)
    best = 0
    for part in PARTS:
        best_gains = [
            max(gain_of(penalties, (part, *never[:n], limit, *never[n + 1 :]), pairs) for limit in range(-40, 41))
            for n in range(3)
        ]
        best = max(best, sum(best_gains))
    assert gain == best


def test_found_rule_is_better_than_its_neighbours() -> None:
    pairs = random_pairs(3000, 7)
    rule = found_rule(some_layouts(), pairs)
    gain = gain_of(*rule, pairs)
    for penalties in (*neighbours(rule.penalties), *STARTS):
        counts = penalized_pips(some_layouts(), penalties)
        sums = np.empty((3, counts.max() + 1, counts.max() + 1), np.int64)
        fill_margins(counts, *pairs, sums)
        assert best_limits(sums)[0] <= gain


def test_counts_are_never_below_zero() -> None:
    """Counts with any penalties are not negative, as rounding down and indexing of sums need."""
    heaviest = [penalties for start in STARTS for penalties in (start, *neighbours(start._replace(point=1)))]
    for penalties in heaviest:
        assert penalized_pips(some_layouts(), penalties).min() >= 0


def test_search_without_pairs_returns_the_first_start() -> None:
    no_pairs = np.zeros(0, np.int64)
    rule = found_rule(some_layouts(), Pairs(no_pairs, no_pairs, np.zeros((0, 3), np.int32), no_pairs))
    assert rule.penalties == STARTS[0]


def test_neighbours_change_one_penalty_within_its_bounds() -> None:
    start = Penalties(ace=4, three_spare=3)
    found = list(neighbours(start))
    for penalties in found:
        assert sum(new != old for new, old in zip(penalties, start, strict=True)) == 1
    assert {penalties.ace for penalties in found} == {3, 4}
    assert {penalties.three_spare for penalties in found} == {3}  # unused without its penalty
    assert {penalties.ace_spare for penalties in found} == {0, 1}
    assert len(set(found)) == len(found)
