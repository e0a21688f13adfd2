"""Escape counts and blocks: every mask against the twin, known blocks by hand."""

from __future__ import annotations

import pytest

from bgdata.evaluation.networks.shots import (
    MASKS,
    escape_counts,
    escapes_from,
    fewest_escapes,
    longest_run,
    most_in_six,
    points_in_front,
)
from tests.reference.contact_inputs import escapes
from tests.reference.contact_inputs import longest_run as slow_longest_run


def points(*numbers: int) -> int:
    return sum(1 << number for number in numbers)


def test_every_mask() -> None:
    counts = escape_counts()
    assert counts.shape == (MASKS,)
    for mask in range(MASKS):
        assert counts[mask] == escapes([distance for distance in range(1, 13) if mask >> (distance - 1) & 1])


@pytest.mark.parametrize(
    ("blocked", "rolls"),
    [
        ([], 36),
        ([8, 9, 10, 11, 12], 36),  # no block near enough
        ([1, 2, 3, 4, 5], 11),  # a 6 leaps a prime of five from its edge
        ([1, 2, 3, 4, 5, 6], 0),  # nothing leaps six
        ([2, 3, 4, 5, 6, 7], 0),
        ([2, 3, 4, 5, 6], 2),  # a pip short of its edge: 61
        ([6], 18 + 2),  # seven pips or more by two dice, and 44 and 55: 33 and 66 stop on 6
    ],
)
def test_known_blocks(blocked: list[int], rolls: int) -> None:
    mask = sum(1 << (distance - 1) for distance in blocked)
    assert escape_counts()[mask] == rolls


def test_squares() -> None:
    prime = points(4, 5, 6, 7, 8, 9)  # the opponent, coming up from the bar at 0, is held
    assert escapes_from(3, prime) == 0
    assert escapes_from(0, prime) == 0
    assert escapes_from(12, prime) == 36
    assert fewest_escapes(0, prime) == (0, 0)
    assert fewest_escapes(10, prime) == (36, 0)  # past it
    assert fewest_escapes(25, 0) == (36, 36)
    lone = points(20)
    assert fewest_escapes(3, lone) == (min(escapes_from(square, lone) for square in range(3, 16)),) * 2


def test_runs() -> None:
    for numbers in ([], [1], [24], [1, 2, 3, 24], [18, 19, 20, 21, 22, 23, 24], [1, 3, 5, 7], list(range(1, 25))):
        held = points(*numbers)
        assert longest_run(held) == slow_longest_run(numbers)
        most = max(len([number for number in numbers if first <= number < first + 6]) for first in range(1, 20))
        assert most_in_six(held) == most
    assert points_in_front(0, points(1, 6, 7, 12, 13)) == 2 + 2 + 1 + 1
    assert points_in_front(25, points(1, 24)) == 0
