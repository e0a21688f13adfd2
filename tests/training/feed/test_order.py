"""Shuffling, and sharing out."""

from __future__ import annotations

import pytest

from bgdata.training.feed.feed import share_out
from bgdata.training.feed.rows import shuffled
from tests.reference.position_hash import shuffled as shuffled_twin
from tests.together import each


@each("key", [(0,), (0, 0), (1, 2, 3), ((1 << 63) - 1, 5)])
@each("count", [0, 1, 2, 3, 1000])
def test_shuffling_agrees_with_its_twin(key: tuple[int, ...], count: int) -> None:
    assert shuffled(key, count).tolist() == shuffled_twin(key, count)


def test_every_order_is_as_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(6000):
        order = tuple(shuffled((seed,), 3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 1000) < 150 for count in counts.values())  # five standard deviations


@pytest.mark.parametrize(
    ("total", "weights", "expected"),
    [
        (4096, [2.0, 1.0], [2731, 1365]),
        (10, [1, 1, 1], [4, 3, 3]),
        (100, [0.1, 0.2, 0.7], [10, 20, 70]),
        (7, [3], [7]),
        (2, [1, 1, 1], [1, 1, 0]),
    ],
)
def test_a_total_is_shared_out(total: int, weights: list[float], expected: list[int]) -> None:
    assert share_out(total, weights) == expected
