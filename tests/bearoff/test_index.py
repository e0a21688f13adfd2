"""The index of layouts, against an enumeration in the documented order."""

from functools import partial
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.bearoff.index import check_size, layout_at, layout_count, position_index
from bgdata.errors import InvalidPositionError
from tests.reference.bearoff import layouts
from tests.subtests import all_raise


@pytest.mark.parametrize(("points", "checkers"), [(1, 15), (2, 5), (3, 3), (6, 4), (10, 3), (18, 2)])
def test_index_matches_the_enumeration(points: int, checkers: int) -> None:
    enumerated = layouts(points, checkers)
    assert [position_index(layout) for layout in enumerated] == list(range(layout_count(points, checkers)))
    assert [tuple(layout_at(index, points)) for index in range(len(enumerated))] == enumerated


@given(st.integers(1, 18).flatmap(lambda points: st.tuples(st.just(points), st.integers(0, comb(points + 15, 15) - 1))))
def test_layout_at_inverts_position_index(case: tuple[int, int]) -> None:
    points, index = case
    layout = layout_at(index, points)
    assert len(layout) == points
    assert sum(layout) <= 15
    assert position_index(layout) == index


def test_known_indexes_and_counts() -> None:
    assert position_index([0, 0, 0, 0, 0, 15]) == 54_263
    assert layout_count(6, 9) == 5_005
    assert layout_count(10, 15) == 3_268_760


def test_invalid_layouts_indexes_and_sizes_are_refused() -> None:
    """Layouts with too many checkers, other types, and indexes and sizes out of range raise an error."""
    sizes, indexes = [(0, 1), (19, 1), (1, 0), (1, 16)], [(-1, 6), (54_264, 6), (0, 0), (0, 19)]
    no_indexes: list[Any] = [1.0, True, "1", None, -1, 54_264]
    too_many = "expected at most 15 checkers on 1 to 18 points"
    no_index = "expected an index (as an integer|below 54264), got"
    wrapping: Any = np.array([64, 64, 64, 64], np.int8)
    all_raise(
        InvalidPositionError,
        [
            *((partial(position_index, each), too_many) for each in ([], [0] * 19, [-1, 1], [16], [8, 8], wrapping)),
            *((partial(layout_at, *each), rf"expected .* got ({each[0]}|{each[1]})") for each in indexes),
            *((partial(check_size, *each), "expected 1 to") for each in sizes),
            *((partial(layout_at, each, 6), no_index) for each in no_indexes),
        ],
    )
