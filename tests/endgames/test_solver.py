"""Rounds of values and bounds; what they lead to is in tests/datasets."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.plays import all_plays
from bgdata.endgames.solver import (
    Bounds,
    extrapolate,
    is_within,
    middles,
    solve_total,
    start_bounds,
    totals_of,
    widen,
)


@pytest.fixture
def bounds() -> Bounds:
    """Values of one checker a side before the first round."""
    layouts = all_layouts(1)
    return start_bounds(layouts, all_plays(layouts), gammons=False)


def solve(bounds: Bounds, rounds: int) -> float:
    """Some rounds; the largest change in the last one."""
    return [max(solve_total(bounds, total) for total in totals_of(bounds.layouts)) for _ in range(rounds)][-1]


def test_extrapolation_adds_the_rest_of_a_geometric_series(bounds: Bounds) -> None:
    before = middles(bounds).copy()
    worths, pair = bounds.worths.reshape(-1, bounds.lanes), 7 * len(bounds.layouts) + 9
    worths[pair] += 0.25
    extrapolate(bounds, before, 0.6)  # 0.25 + 0.15 + 0.09 + ... = 0.25 / (1 - 0.6)
    assert worths[pair] - np.tile(before[pair], 2) == pytest.approx(0.625)
    others = np.delete(worths, pair, axis=0)
    assert np.array_equal(others[:, : bounds.lanes // 2], np.delete(before, pair, axis=0))


def test_extrapolated_values_are_nearer_to_the_solution() -> None:
    layouts = all_layouts(2)
    plays = all_plays(layouts)
    solved, plain, moved = (start_bounds(layouts, plays, gammons=False) for _ in range(3))
    solve(solved, 30)
    solve(plain, 8)
    earlier, last = solve(moved, 5), solve(moved, 1)
    before = middles(moved).copy()
    latest = solve(moved, 1)
    extrapolate(moved, before, latest / last)
    solve(moved, 1)
    assert latest < last < earlier
    off_by = [np.abs(middles(each) - middles(solved)).max() for each in (plain, moved)]
    assert off_by[1] < off_by[0] / 2


def test_bounds_around_the_solution_close_and_others_do_not(bounds: Bounds) -> None:
    solve(bounds, 40)
    solution = middles(bounds).copy()
    widen(bounds, solution, 1e-5)
    solve(bounds, 5)
    assert is_within(bounds, solution, 1e-5)
    wrong = solution.copy()
    wrong[7 * len(bounds.layouts) + 9] += 1e-3
    widen(bounds, wrong, 1e-5)
    solve(bounds, 5)
    assert not is_within(bounds, wrong, 1e-5)
