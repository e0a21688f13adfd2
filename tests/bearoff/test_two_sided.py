"""Two-sided equities, against exact rational arithmetic and the same recursion in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.bearoff.index import layout_count, position_index
from bgdata.bearoff.tables import equity_limit
from bgdata.bearoff.two_sided import Pairs, equity_rows, pairs_of_total, solve_tasks, solve_total, start_pairs, tasks_of
from bgdata.computations.bearoff_two_sided import error_bound
from bgdata.kernel import threads
from tests.reference.bearoff import cube_value, equities, layouts


def solved(points: int, checkers: int) -> Pairs:
    pairs = start_pairs(points, checkers)
    for total in pairs.totals:
        solve_total(pairs, total)
    return pairs


def solved_in_float64(points: int, checkers: int) -> Pairs:
    pairs = start_pairs(points, checkers)
    pairs.cells[1:] = 0  # not filled yet: may hold anything
    pairs = pairs._replace(cells=pairs.cells.astype(np.float64))
    for total in pairs.totals:
        tasks = np.array(list(tasks_of(pairs, total)), np.int64).reshape(-1, 4)
        solve_tasks(tasks, pairs.play_start, pairs.results, pairs.cells, np.empty(0, np.float64), None)
    return pairs


def rows(pairs: Pairs, dtype: type = np.float64, limit: float = 1.0) -> NDArray[np.float64]:
    count = len(pairs.order)
    table: NDArray[np.float64] = np.empty((count, count, 4), dtype)
    for index, row in equity_rows(pairs, limit, dtype):
        table[index] = row
    return table


@pytest.mark.parametrize(("points", "checkers"), [(6, 2), (3, 3), (4, 3), (8, 2), (1, 15), (2, 4)])
def test_equities_are_exact(points: int, checkers: int) -> None:
    table = rows(solved(points, checkers), np.float32)
    enumerated = layouts(points, checkers)
    for index, on_roll in enumerate(enumerated):
        for other, opponent in enumerate(enumerated):
            if index or other:
                exact = [float(equity) for equity in equities(on_roll, opponent)]
                assert np.abs(table[index, other] - exact).max() < error_bound(points, checkers)


def test_gammons_count_when_all_checkers_are_on_the_board() -> None:
    table = rows(solved(2, 15), np.float32)
    enumerated = layouts(2, 15)
    generator = np.random.default_rng(0)
    for index, other in generator.integers(1, len(enumerated), (8, 2)).tolist():
        exact = [float(equity) for equity in equities(enumerated[index], enumerated[other])]
        assert np.abs(table[index, other] - exact).max() < error_bound(2, 15)
    winner, loser = position_index([1, 0]), position_index([15, 0])
    assert table[winner, loser].tolist() == [2.0] * 4


@pytest.mark.parametrize(("points", "checkers"), [(2, 15), (3, 10), (6, 4), (10, 3), (18, 2), (6, 6)])
def test_rounding_of_the_recursion_stays_within_the_stated_bound(points: int, checkers: int) -> None:
    single, double = rows(solved(points, checkers), np.float32), rows(solved_in_float64(points, checkers))
    assert 0 < np.abs(single - double).max() < equity_limit(checkers) * (1e-6 + 1e-8 * points * checkers)


@pytest.mark.parametrize(("points", "checkers"), [(6, 4), (2, 15)])
def test_codes_round_once_to_nearest(points: int, checkers: int) -> None:
    pairs = solved(points, checkers)
    limit = equity_limit(checkers)
    codes, exact = rows(pairs, np.uint16, limit), rows(pairs)
    assert np.abs(codes * (limit / 32767.5) - limit - exact).max() <= limit / 65535 * (1 + 1e-9)
    assert codes[0].max() <= 65535


def test_example_of_gnubgs_manual() -> None:
    """Roller on the 5 and 2 points, opponent on 3 and 2: in the manual, 67.1 % and 0.3441, 0.3210, 0.1605.

    The manual's centered figure is the equity after the cube decision; the table has what not doubling is worth.
    """
    exact = equities((0, 1, 0, 0, 1), (0, 1, 1, 0, 0))
    assert [round(float(equity), 6) for equity in exact] == [0.342250, 0.344136, 0.160494, 0.160494]
    assert round(float(cube_value(exact[2], exact[3])), 6) == 0.320988
    assert round(float((1 + exact[0]) / 2), 6) == 0.671125
    found = rows(solved(6, 2))[position_index([0, 1, 0, 0, 1, 0]), position_index([0, 1, 1, 0, 0, 0])]
    assert np.abs(found - [float(equity) for equity in exact]).max() < error_bound(6, 2)


def test_values_do_not_depend_on_the_thread_count() -> None:
    with threads(1):
        one = rows(solved(6, 5), np.float32)
    with threads(2):
        two = rows(solved(6, 5), np.float32)
    assert one[1:].tobytes() == two[1:].tobytes()


@pytest.mark.parametrize(("points", "checkers"), [(1, 1), (3, 2), (6, 5)])
def test_every_pair_is_solved_once(points: int, checkers: int) -> None:
    pairs = start_pairs(points, checkers)
    count = layout_count(points, checkers)
    assert sum(pairs_of_total(pairs, total) for total in pairs.totals) == (count - 1) ** 2
    for total in pairs.totals:
        covered = [
            (on_roll, other)
            for a, b, c, d in tasks_of(pairs, total)
            for on_roll in range(a, b)
            for other in range(c, d)
        ]
        assert len(covered) == len(set(covered)) == pairs_of_total(pairs, total)
