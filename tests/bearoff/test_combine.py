"""One-sided distributions against each other, against sums of fractions and the published study of the error."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.combine import one_sided_equities, win_chance
from bgdata.datasets.bearoff_error import ErrorParameters
from tests.reference.bearoff import layouts, one_sided_win_chance, race


def as_array(chances: dict[int, Fraction]) -> np.ndarray:
    return np.array([float(chances.get(n, 0)) for n in range(max(chances) + 1)])


def test_win_chance_is_the_sum_over_both_distributions() -> None:
    small = [race(layout, 0) for layout in layouts(6, 2)]
    matrix = np.zeros((len(small), max(map(max, small)) + 1))
    for row, chances in enumerate(small):
        matrix[row, : max(chances) + 1] = as_array(chances)
    equities = one_sided_equities(matrix)
    for index, on_roll in enumerate(small):
        for other, opponent in enumerate(small):
            expected = float(one_sided_win_chance(on_roll, opponent))
            assert win_chance(as_array(on_roll), as_array(opponent)) == pytest.approx(expected, abs=1e-14)
            assert equities[index, other] == pytest.approx(2 * expected - 1, abs=1e-14)


# slow: solves the 25 million pairs of 6x9
@pytest.mark.slow
def test_the_published_study_of_the_error(tmp_path: Path) -> None:
    """Over all pairs of 6x9, with all legal plays: claims of 2012, as re-computed with pip-wasting plays."""
    warehouse = bgdata.open_warehouse(tmp_path)
    warehouse.build("bearoff_error", ErrorParameters(6, 9))
    with warehouse.connect() as connection:
        summary = connection.sql(
            "select count(*), round(avg(difference), 6), round(stddev_pop(difference), 5), "
            "round(max(difference)::double, 4), round(min(difference)::double, 4), "
            "round(avg(abs(difference)), 6) from bearoff_error_6x9"
        ).fetchall()[0]
        extremes = connection.sql(
            "select bearoff_index([3,2,1,0,0,0]) || ' ' || bearoff_index([0,0,3,1,0,1]), "
            "bearoff_index([0,0,2,2,2,0]) || ' ' || bearoff_index([3,2,1,0,0,0]), "
            "arg_max(on_roll_index || ' ' || opponent_index, difference), "
            "arg_min(on_roll_index || ' ' || opponent_index, difference), "
            "round(arg_max(exact_equity, difference), 4), round(arg_max(one_sided_equity, difference), 4), "
            "round(arg_min(exact_equity, difference), 4), round(arg_min(one_sided_equity, difference), 4) "
            "from bearoff_error_6x9"
        ).fetchall()[0]
    assert summary == (25_040_016, 0.000197, 0.00249, 0.0236, -0.0279, 0.001687)
    assert extremes[2:4] == extremes[0:2]
    assert extremes[4:] == pytest.approx((0.7445, 0.7681, -0.5275, -0.5554), abs=1.01e-4)
