"""Distributions of rolls, against exact rational arithmetic and published figures."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.bearoff import race as solver
from bgdata.bearoff.index import position_index
from bgdata.bearoff.kinds.race_compute import CHANCE_ERROR
from bgdata.bearoff.race import Distributions, Race
from bgdata.kernel import threads
from tests.reference.bearoff import Layout, layouts, mean_rolls, race

FIRST_GAMMON = {points: comb(points + 14, points) for points in range(1, 9)}


def solved(points: int, *, gammon: bool = False) -> Race:
    return solver.solve_race(solver.start_race(points, FIRST_GAMMON[points] if gammon else 1))


def row_chances(packed: Distributions, row: int) -> NDArray[np.float64]:
    chances = np.zeros(40)
    stored = packed.chances[packed.offsets[row] : packed.offsets[row + 1]]
    chances[packed.first_roll[row] : packed.first_roll[row] + len(stored)] = stored
    return chances


def check_row(packed: Distributions, row: int, exact: dict[int, Fraction]) -> None:
    expected = np.zeros(40)
    for rolls, chance in exact.items():
        expected[rolls] = float(chance)
    assert np.abs(row_chances(packed, row) - expected).max() < CHANCE_ERROR
    assert packed.mean_rolls[row] == pytest.approx(float(mean_rolls(exact)), abs=1e-7)
    variance = sum(chance * (rolls - mean_rolls(exact)) ** 2 for rolls, chance in exact.items())
    assert packed.sd_rolls[row] == pytest.approx(float(variance) ** 0.5, abs=1e-6)


@pytest.mark.parametrize(("points", "checkers"), [(2, 8), (4, 4), (6, 4), (8, 3)])
def test_one_sided_distributions_are_exact(points: int, checkers: int) -> None:
    packed = solver.distributions(solved(points), 0)
    for index, layout in enumerate(layouts(points, checkers)):
        check_row(packed, index, race(layout, 0))


@pytest.mark.parametrize("points", [2, 3])
def test_gammon_distributions_are_exact(points: int) -> None:
    packed = solver.distributions(solved(points, gammon=True), FIRST_GAMMON[points])
    full = [layout for layout in layouts(points, 15) if sum(layout) == 15]
    assert len(full) == len(packed.first_roll)
    for row, layout in enumerate(full):
        check_row(packed, row, race(layout, 14))


@pytest.mark.parametrize(
    ("layout", "mean", "sd"),
    [
        ((0, 0, 0, 0, 0, 15), 12.26619, 1.51251),
        ((15, 0, 0, 0, 0, 0), 6.97959, None),
        ((3, 3, 3, 2, 2, 2), 7.55503, None),
    ],
)
def test_means_match_published_figures(layout: Layout, mean: float, sd: float | None) -> None:
    packed = solver.distributions(solved(6), 0)
    index = position_index(layout)
    chances = row_chances(packed, index)
    rolls = np.arange(40)
    assert packed.mean_rolls[index] == pytest.approx(float(chances @ rolls), abs=1e-6)
    assert round(float(packed.mean_rolls[index]), 5) == mean
    if sd is not None:
        assert round(float(packed.sd_rolls[index]), 5) == sd


def test_gammon_row_matches_published_figures() -> None:
    packed = solver.distributions(solved(6, gammon=True), FIRST_GAMMON[6])
    row = position_index([0, 0, 0, 0, 0, 15]) - FIRST_GAMMON[6]
    expected = [0, 0.47222, 0.44985, 0.06865, 0.00822, 0.00097, 0.00008]
    assert row_chances(packed, row)[:7].round(5).tolist() == expected


@pytest.mark.parametrize("gammon", [False, True])
def test_integer_rows_sum_to_the_scale(gammon: bool) -> None:
    table = solved(6, gammon=gammon)
    assert (table.chances[table.slot_of].sum(axis=1) == solver.SCALE).all()


def test_layouts_do_not_depend_on_the_points_of_the_table() -> None:
    of_6_points, of_8_points = solver.distributions(solved(6), 0), solver.distributions(solved(8), 0)
    for layout in layouts(6, 3):
        chances = row_chances(of_6_points, position_index(layout))
        assert chances.tolist() == row_chances(of_8_points, position_index([*layout, 0, 0])).tolist()


def test_values_do_not_depend_on_threads() -> None:
    with threads(1):
        on_one = solved(7)
    with threads(2):
        on_two = solved(7)
    for name in ("key", "chances", "length"):
        assert np.array_equal(getattr(on_one, name), getattr(on_two, name)), name


def test_keys_do_not_overflow_their_bits() -> None:
    """The expected rolls of the longest race fit into the upper bits of a key, and its slot into the lower ones."""
    table = solved(8)
    assert int(table.key.max()) < solver.NO_KEY
    assert (table.key & ((1 << solver.SLOT_BITS) - 1) == np.arange(len(table.key))).all()


def test_integer_distributions_drop_late_rolls() -> None:
    table = solver.solve_race(solver.start_race(3, 1, 65535), 32)
    chances = solver.integer_distributions(table, 32)
    assert (chances.sum(axis=1) == 65535).all()
    assert (solver.integer_distributions(table, 4) == chances[:, :4]).all()
