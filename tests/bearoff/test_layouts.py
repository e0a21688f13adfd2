"""All layouts at once, against the slow enumeration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bgdata.bearoff.index import layout_count
from bgdata.bearoff.layouts import all_layouts, pip_counts, pip_layers
from tests.reference.bearoff import layouts


@pytest.mark.parametrize(("points", "checkers"), [(1, 1), (1, 15), (3, 3), (6, 5), (12, 3), (18, 2)])
def test_layouts_come_in_index_order(points: int, checkers: int) -> None:
    assert [tuple(row) for row in all_layouts(points, checkers).tolist()] == layouts(points, checkers)


def test_pip_counts() -> None:
    expected = [sum(point * count for point, count in enumerate(row, start=1)) for row in layouts(6, 4)]
    assert pip_counts(all_layouts(6, 4)).tolist() == expected
    assert pip_counts(np.array([[*[0] * 17, 15]], np.int8)).tolist() == [270]  # of the largest table


def test_layers_hold_every_position_once_by_pips_then_index() -> None:
    pips = pip_counts(all_layouts(6, 5))
    order, start = pip_layers(pips)
    assert sorted(order.tolist()) == list(range(layout_count(6, 5)))
    assert order.tolist() == sorted(range(len(pips)), key=lambda index: (pips[index], index))
    for layer, (begin, end) in enumerate(pairwise(start.tolist())):
        assert (pips[order[begin:end]] == layer).all()
