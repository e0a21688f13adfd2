"""Slow reference implementation of `makebearoff -n`: a separate recursion over mean and standard deviation, with every
step rounded to float32.

The moments are not those of the integer distributions of `makebearoff -o` (they differ by up to 2e-4). For each of the
21 rolls (a, b), a = 1..6, b = 1..a, take the play with the smallest stored mean, the first one among equals; with x =
mean + 1 and weight w = 1 or 2: sum w * x and w * (sd * sd + x * x) in that order; multiply by the reciprocal 1/36; s.d.
= sqrt(second moment - mean * mean), the population's. Likewise for the first of 15 checkers, separately.
"""

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

Layout = tuple[int, ...]
ROLLS = [(a, b) for a in range(1, 7) for b in range(1, a + 1)]
ONE, RECIPROCAL = np.float32(1), np.float32(1) / np.float32(36)


def all_layouts(points: int) -> list[Layout]:
    """Every layout of at most 15 checkers in index order: by total, then most on the ace point, deuce point, ..."""
    places = (places for total in range(16) for places in combinations_with_replacement(range(points), total))
    layouts = {tuple(chosen.count(point) for point in range(points)) for chosen in places}
    return sorted(layouts, key=lambda layout: (sum(layout), [-count for count in layout]))


def after_checker_moves(layout: Layout, die: int) -> list[Layout]:
    """Layouts after one checker move, from the highest point down."""
    held = [point for point in range(len(layout), 0, -1) if layout[point - 1]]
    results = []
    for point in held:
        if point <= die and (held[0] > 6 or (point < die and point != held[0])):
            continue
        after = list(layout)
        after[point - 1] -= 1
        if point > die:
            after[point - die - 1] += 1
        results.append(tuple(after))
    return results


def after_roll(layout: Layout, first: int, second: int) -> dict[Layout, None]:
    """Layouts after a whole roll in the order in which they are found, larger die first."""
    results: dict[Layout, None] = {}
    for dice in [[first] * 4] if first == second else [[first, second], [second, first]]:
        reached = {layout: None}
        for die in dice:
            reached = {after: None for before in reached for after in (after_checker_moves(before, die) or [before])}
        results |= reached
    return results


def normal_moments(points: int) -> NDArray[np.float32]:
    """float32[positions, 4]: the data that `makebearoff -o POINTS -n` writes after its header."""
    layouts = all_layouts(points)
    index_of = {layout: index for index, layout in enumerate(layouts)}
    moments = np.zeros((len(layouts), 4), np.float32)
    for index, layout in enumerate(layouts[1:], start=1):
        plays = [(a, b, [index_of[after] for after in after_roll(layout, a, b)]) for a, b in ROLLS]
        for column in (0, 2) if sum(layout) == 15 else (0,):
            first, second = np.float32(0), np.float32(0)
            for a, b, successors in plays:
                best = min(successors, key=lambda successor: moments[successor, column])
                weight = np.float32(1 if a == b else 2)
                mean, deviation = moments[best, column] + ONE, moments[best, column + 1]
                first += weight * mean
                second += weight * (deviation * deviation + mean * mean)
            mean = first * RECIPROCAL
            moments[index, column : column + 2] = mean, np.sqrt(second * RECIPROCAL - mean * mean)
    return moments
