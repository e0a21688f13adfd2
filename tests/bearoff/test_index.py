"""The dense index of layouts, against an enumeration in the stated order."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.bearoff.index import check_size, layout_at, layout_count, position_index
from bgdata.errors import InvalidPositionError
from tests.reference.bearoff import layouts


@pytest.mark.parametrize(("points", "checkers"), [(1, 15), (2, 5), (3, 3), (6, 4), (10, 3), (18, 2)])
def test_index_is_the_place_in_the_enumeration(points: int, checkers: int) -> None:
    enumerated = layouts(points, checkers)
    assert [position_index(layout) for layout in enumerated] == list(range(layout_count(points, checkers)))
    assert [tuple(layout_at(index, points)) for index in range(len(enumerated))] == enumerated


@given(st.integers(1, 18).flatmap(lambda points: st.tuples(st.just(points), st.integers(0, comb(points + 15, 15) - 1))))
def test_every_index_is_read_back(case: tuple[int, int]) -> None:
    points, index = case
    layout = layout_at(index, points)
    assert len(layout) == points
    assert sum(layout) <= 15
    assert position_index(layout) == index


def test_fewer_checkers_are_a_prefix() -> None:
    assert layouts(4, 5)[: layout_count(4, 3)] == layouts(4, 3)


def test_known_corners() -> None:
    assert position_index([0, 0, 0, 0, 0, 15]) == 54_263
    assert layout_count(6, 9) == 5_005
    assert layout_count(10, 15) == 3_268_760


@pytest.mark.parametrize("layout", [[], [0] * 19, [-1, 1], [16], [8, 8]])
def test_impossible_layouts_are_refused(layout: list[int]) -> None:
    with pytest.raises(InvalidPositionError, match="expected at most 15 checkers on 1 to 18 points"):
        position_index(layout)


@pytest.mark.parametrize(("index", "points"), [(-1, 6), (54_264, 6), (0, 0), (0, 19)])
def test_impossible_indexes_are_refused(index: int, points: int) -> None:
    with pytest.raises(InvalidPositionError, match=rf"expected .* got ({index}|{points})"):
        layout_at(index, points)


@pytest.mark.parametrize(("points", "checkers"), [(0, 1), (19, 1), (1, 0), (1, 16)])
def test_impossible_sizes_are_refused(points: int, checkers: int) -> None:
    with pytest.raises(InvalidPositionError, match="expected 1 to"):
        check_size(points, checkers)


@pytest.mark.parametrize("index", [1.0, True, "1", None, -1, 54_264])
def test_what_is_no_index(index: int) -> None:
    with pytest.raises(InvalidPositionError, match=r"expected an index (as an integer|below 54264), got"):
        layout_at(index, 6)
