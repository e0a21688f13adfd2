"""Sums by groups of pairs, against NumPy over all pairs at once."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bgdata.bearoff.error_sums import GroupSums, add_pairs, start_sums
from bgdata.kernel import threads
from tests.together import each

COUNT = 50


@cache
def groups() -> np.ndarray:
    random = np.random.default_rng(4)
    return np.stack([np.zeros(COUNT, np.int64), random.integers(2, 5, COUNT), random.integers(0, 9, COUNT)], axis=1)


def summed(step: int, values: np.ndarray) -> GroupSums:
    """Sums of all pairs, so many players on roll at a time."""
    sizes = groups().max(axis=0) + 1
    sums = start_sums(int((sizes**2).sum()))
    for first in range(0, COUNT, step):
        add_pairs(sums, sizes, groups(), first, values[first : first + step])
    return sums


@each("sign", [0, 1, -1])
def test_sums_are_those_of_numpy(sign: int) -> None:
    """Of differences of both signs, or of one."""
    # quarters: sums are exact, and extremes come more than once
    differences = np.random.default_rng(5).integers(-40, 40, (COUNT, COUNT)) / 4
    differences = sign * (np.abs(differences) + 1) if sign else differences
    found, row = summed(COUNT, differences), 0
    for grouping, size in enumerate(groups().max(axis=0) + 1):
        for own in range(size):
            for other in range(size):
                inside = (groups()[:, None, grouping] == own) & (groups()[:, grouping] == other)
                values = differences[inside]
                assert found.counts[row] == len(values)
                assert found.sums[row].tolist() == [values.sum(), (values**2).sum(), np.abs(values).sum()]
                if len(values):
                    assert found.extremes[row].tolist() == [values.max(), values.min()]
                    for which, value in enumerate(found.extremes[row]):
                        first = np.argwhere(inside & (value == differences))[0]
                        assert found.places[row, which].tolist() == first.tolist()
                row += 1
    assert row == len(found.counts)


@pytest.mark.parametrize("step", [1, 7, COUNT])
def test_blocks_and_threads_change_no_bit(step: int) -> None:
    values = np.random.default_rng(6).standard_normal((COUNT, COUNT))
    with threads(1):
        one = summed(COUNT, values)
    found = summed(step, values)
    for name in GroupSums._fields:
        assert getattr(found, name).tobytes() == getattr(one, name).tobytes()
