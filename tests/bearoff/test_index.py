"""The index of layouts, against an enumeration in the documented order."""

from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.bearoff.index import check_size, layout_at, layout_count, position_index
from bgdata.errors import InvalidPositionError
from tests.reference.bearoff import layouts


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


@pytest.mark.parametrize("layout", [[], [0] * 19, [-1, 1], [16], [8, 8], np.array([64, 64, 64, 64], np.int8)], ids=str)
def test_invalid_layouts_are_refused(layout: Any) -> None:
    """The last one has 256 checkers, which is 0 in eight bits."""
    with pytest.raises(InvalidPositionError, match="expected at most 15 checkers on 1 to 18 points"):
        position_index(layout)


@pytest.mark.parametrize("index", [1.0, True, "1", None, -1, 54_264])
def test_invalid_indexes_are_refused(index: Any) -> None:
    with pytest.raises(InvalidPositionError, match=r"expected an index (as an integer|below 54264), got"):
        layout_at(index, 6)


@pytest.mark.parametrize("points", [0, 19])
def test_invalid_points_are_refused(points: int) -> None:
    with pytest.raises(InvalidPositionError, match=rf"expected .* got {points}"):
        layout_at(0, points)


@pytest.mark.parametrize(("points", "checkers"), [(0, 1), (19, 1), (1, 0), (1, 16)])
def test_invalid_sizes_are_refused(points: int, checkers: int) -> None:
    with pytest.raises(InvalidPositionError, match="expected 1 to"):
        check_size(points, checkers)
