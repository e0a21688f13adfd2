"""Rounds of values and bounds. The resulting tables are tested in tests/endgames/kinds."""

import numpy as np
import pytest

from bgdata.endgames import solver
from bgdata.endgames.kinds.contact_endgame_compute import Successors
from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.solver import Bounds
from bgdata.kernel import threads
from bgdata.store.arrays import Array

UNIT = np.float32(2.5e-8)


@pytest.fixture
def values() -> Bounds:
    """Initial values of one checker per side."""
    return solver.start_values(all_layouts(1), gammons=False)


def solve(bounds: Bounds, rounds: int) -> float:
    """Run some rounds; returns the largest change in the last one."""
    return [solver.solve_round(bounds) for _ in range(rounds)][-1]


def with_bounds(values: Bounds) -> Bounds:
    """The same values with bounds around them."""
    bounds = values._replace(slack=np.zeros(2 * len(values.cube_values), np.uint8), unit=UNIT)
    solver.add_bounds(bounds)
    return bounds


def by_pair(values: Bounds) -> Array:
    """cube_values[on roll, opponent, lane]."""
    return values.cube_values.reshape(len(values.layouts), len(values.layouts), values.lanes)


def test_extrapolation_adds_the_rest_of_a_geometric_series(values: Bounds) -> None:
    before = values.cube_values.copy()
    by_pair(values)[7, 9] += 0.25
    changed = values.cube_values.copy()
    solver.extrapolate(values, before, 0.6)  # 0.25 + 0.15 + 0.09 + ... = 0.25 / (1 - 0.6) = 0.625
    assert by_pair(values)[7, 9] == pytest.approx(0.625)
    by_pair(values)[7, 9] -= np.float32(0.625 - 0.25)
    assert np.array_equal(values.cube_values, changed), "other values stay"


def test_extrapolated_values_are_nearer_to_the_solution() -> None:
    """After the same 18 rounds."""
    layouts = all_layouts(2)
    solved, plain, extrapolated = (solver.start_values(layouts, gammons=False) for _ in range(3))
    solve(solved, 40)
    solve(plain, 18)
    change_15, change_16 = solve(extrapolated, 15), solve(extrapolated, 1)
    before = extrapolated.cube_values.copy()
    change_17 = solve(extrapolated, 1)
    assert change_17 < change_16 < change_15
    solver.extrapolate(extrapolated, before, change_17 / change_16)
    solve(extrapolated, 1)
    error, plain_error = (
        np.abs(values.cube_values[4:] - solved.cube_values[4:]).max() for values in (extrapolated, plain)
    )
    assert error < plain_error / 2


def test_only_bounds_around_the_solution_close(values: Bounds) -> None:
    solve(values, 60)
    bounds = with_bounds(values)
    growth = [solver.solve_round(bounds) for _ in range(12)]
    assert growth[0] > 0, "a doubled cube doubles them"
    assert growth[-1] <= 0
    assert bounds.slack.max() <= 2 * solver.START_SLACK
    values.cube_values[values.lanes :] += np.float32(1e-3)
    assert max(solver.solve_round(with_bounds(values)) for _ in range(12)) == np.inf


def test_bounds_around_unsettled_values_contain_the_solution(values: Bounds) -> None:
    solved = solver.start_values(values.layouts, gammons=False)
    solve(solved, 60)
    while solve(values, 1) > 1e-6:  # stop before the values have settled
        pass
    bounds = with_bounds(values)
    while solver.solve_round(bounds) > 0:
        pass
    errors = by_pair(solved)[1:] - by_pair(values)[1:]  # layout 0 on roll has all checkers off
    n_layouts = len(values.layouts)
    low_and_high = bounds.slack.reshape(n_layouts, n_layouts, 2, values.lanes)[1:] * UNIT
    rounding = 2e-7
    assert (errors >= -low_and_high[:, :, 0] - rounding).all()
    assert (errors <= low_and_high[:, :, 1] + rounding).all()


@pytest.mark.parametrize("checkers", [2, 3])
def test_value_is_the_mean_over_rolls_of_the_best_play(checkers: int) -> None:
    """For 8 random blocks of three opponents, and 200 random layouts on roll for each."""
    layouts = all_layouts(checkers)
    values = solver.start_values(layouts, gammons=False)
    generator = np.random.default_rng(checkers)
    cube_values = by_pair(values)
    cube_values[1:, 1:] = generator.random(cube_values[1:, 1:].shape, np.float32)  # but not of finished games, layout 0
    layout_at = values.steps.layout  # values are in the order of `steps`
    place_of = np.argsort(layout_at)
    for first in generator.integers(1, len(layouts) - 3, 8).tolist():
        block = layout_at[first : first + 3].astype(np.int64)
        on_roll, opponent = np.repeat(generator.integers(1, len(layouts), 200), 3), np.tile(block, 200)
        is_pair = solver.are_pairs(layouts, on_roll, opponent)  # layouts may share a point
        on_roll, opponent = on_roll[is_pair], opponent[is_pair]
        successors = Successors(layouts, on_roll, opponent)
        after = cube_values[place_of[successors.on_roll], place_of[successors.opponent]]
        expected = np.stack([-successors.mean_of_lowest(after[:, lane]) for lane in range(4)], axis=1)
        new_values = solver.values_of(values, solver.scratch_of(values), first, first + 3)
        assert np.abs(new_values[place_of[opponent] - first, place_of[on_roll]] - expected).max() < 1e-6


def test_rounds_do_not_depend_on_threads() -> None:
    one, two = (solver.start_values(all_layouts(2), gammons=True) for _ in range(2))
    with threads(1):
        solve(one, 3)
    with threads(2):
        solve(two, 3)
    assert np.array_equal(one.cube_values, two.cube_values)
