"""Claims that arithmetic settles: counts of positions, sizes of files, binomial chances, ratings, luck.

Every function returns one number or word; a definition names it, see `register`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from math import comb, log10

from bgdata.bearoff.index import layout_count
from bgdata.evaluation.networks.escapes import escape_counts
from bgdata.game.dice import Roll

HEADER_BYTES = 40  # of gnubg's bearoff files
FILE_LIMIT_BYTES = 1 << 31  # of the program that makes them


def layouts(points: int, checkers: int) -> int:
    """Layouts of 1 to `checkers` on `points` points."""
    return comb(points + checkers, points) - 1


def full_layouts(points: int) -> int:
    """Layouts of exactly 15 checkers."""
    return layout_count(points, 15) - layout_count(points, 14)


def full_layout_share(points: int) -> float:
    """Which part of the layouts of 1 to 15 checkers has all of them."""
    return full_layouts(points) / layouts(points, 15)


def pairs(points: int, checkers: int) -> int:
    """Ordered pairs of layouts, neither side empty."""
    return layouts(points, checkers) ** 2


def pairs_with_empty(points: int, checkers: int) -> int:
    """Ordered pairs of layouts, the empty one included, as gnubg counts."""
    return comb(points + checkers, points) ** 2


def legal_positions() -> int:
    """Positions of 15 checkers a side: one side holds m of the 24 points, the rest of it is on the bar or off, and the
    other side has the remaining points, bar and off."""
    return sum(comb(24, m) * comb(16, m + 1) * comb(40 - m, 15) for m in range(16))


def two_sided_bytes(points: int, checkers: int) -> int:
    """Size of gnubg's two-sided file with cubeful equities: four numbers of two bytes a pair."""
    return HEADER_BYTES + 8 * pairs_with_empty(points, checkers)


def most_two_sided_checkers() -> int:
    """How many checkers fit into a two-sided file of six points below 2 GB."""
    return next(n for n in count(1) if two_sided_bytes(6, n + 1) >= FILE_LIMIT_BYTES)


def hypergammon_bytes(checkers: int) -> int:
    """Size of gnubg's hypergammon file: seven numbers of four bytes a pair of placements on 24 points, bar and off."""
    return HEADER_BYTES + 28 * comb(25 + checkers, checkers) ** 2


def distinct_rolls() -> int:
    """Rolls of two dice that are played differently."""
    return len({Roll(max(one, other), min(one, other)) for one in range(1, 7) for other in range(1, 7)})


def binomial(n: int, chance: str, least: int, most: int) -> float:
    """Chance of `least` to `most` successes in `n` trials, each with a chance given as text, exactly."""
    p = Fraction(chance)
    terms: list[Fraction] = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, most + 1)]
    return float(sum(terms))


def far_from_mean(n: int, chance: str, by: int) -> float:
    """Chance that the successes in `n` trials are at least `by` from their mean."""
    mean = Fraction(chance) * n
    far = [k for k in range(n + 1) if abs(k - mean) >= by]
    return sum(binomial(n, chance, k, k) for k in far)


def rating_gap(chance: float) -> float:
    """Difference of FIBS ratings that stands for a chance of winning a one-point match."""
    return 2000 * log10(chance / (1 - chance))


def difference(one: float, other: float) -> float:
    """What one printed figure is more than another."""
    return one - other


def share_by_errors(loser: float, winner: float) -> float:
    """Percent of matches that a player wins whose errors cost so much less than the other's, all in percent."""
    return 50 + loser - winner


def matches_without_hedging(chance: float, coin: float) -> float:
    """How many times as many matches are as accurate as hedged ones: the variance of a match over that of two coins."""
    return chance * (1 - chance) / (2 * coin**2)


def escape_patterns() -> int:
    """How many patterns of points our table of escaping rolls has."""
    return len(escape_counts())


def average_cube(percentages: Sequence[float]) -> float:
    """Mean of cubes 1, 2, 4, ..., from how often each comes about."""
    return sum(share * (1 << n) for n, share in enumerate(percentages)) / 100


def rest_of_percent(percentages: Sequence[float]) -> float:
    """What is left of 100 %."""
    return 100 - sum(percentages)


def parabola_top(places: Sequence[float], heights: Sequence[float], top: float) -> float:
    """Height of a parabola with its top at a place, through two points."""
    (one, other), (low, high) = ((place - top) ** 2 for place in places), heights
    return low - (high - low) / (other - one) * one


FORMULAS = {
    function.__name__: function
    for function in (
        *(layouts, full_layouts, full_layout_share, pairs, pairs_with_empty, legal_positions, two_sided_bytes),
        *(
            most_two_sided_checkers,
            hypergammon_bytes,
            distinct_rolls,
            binomial,
            far_from_mean,
            rating_gap,
            difference,
        ),
        *(share_by_errors, matches_without_hedging, escape_patterns, average_cube, rest_of_percent, parabola_top),
    )
}
