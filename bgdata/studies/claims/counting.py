"""Claims answered by arithmetic: counts of positions, file sizes, binomial chances, ratings, luck.

Every function returns one number or word; definitions refer to it by name, see `register`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from math import comb, log10

from bgdata.bearoff.index import layout_count
from bgdata.game.dice import Roll

HEADER_BYTES = 40  # header of gnubg's bearoff files
FILE_LIMIT_BYTES = 1 << 31  # largest file that the program writes


def layouts(points: int, checkers: int) -> int:
    """Number of layouts of 1 to `checkers` checkers on `points` points."""
    return comb(points + checkers, points) - 1


def full_layouts(points: int) -> int:
    """Number of layouts of exactly 15 checkers."""
    return layout_count(points, 15) - layout_count(points, 14)


def full_layout_share(points: int) -> float:
    """The share of the layouts of 1 to 15 checkers that have all 15."""
    return full_layouts(points) / layouts(points, 15)


def pairs(points: int, checkers: int) -> int:
    """Number of ordered pairs of layouts, neither side empty."""
    return layouts(points, checkers) ** 2


def pairs_with_empty(points: int, checkers: int) -> int:
    """Number of ordered pairs of layouts, the empty one included, as gnubg counts."""
    return comb(points + checkers, points) ** 2


def legal_positions() -> int:
    """Number of positions with 15 checkers a side. One side holds m of the 24 points, with other checkers on the bar or
    off; the other side has the remaining points, bar and off."""
    return sum(comb(24, m) * comb(16, m + 1) * comb(40 - m, 15) for m in range(16))


def two_sided_bytes(points: int, checkers: int) -> int:
    """Size of gnubg's two-sided file with cubeful equities: four numbers of two bytes per pair."""
    return HEADER_BYTES + 8 * pairs_with_empty(points, checkers)


def most_two_sided_checkers() -> int:
    """The largest number of checkers for which a two-sided file of six points is below 2 GB."""
    return next(n for n in count(1) if two_sided_bytes(6, n + 1) >= FILE_LIMIT_BYTES)


def distinct_rolls() -> int:
    """Number of different rolls of two dice."""
    return len({Roll(max(one, other), min(one, other)) for one in range(1, 7) for other in range(1, 7)})


def binomial(n: int, chance: str, least: int, most: int) -> float:
    """Exact chance of `least` to `most` successes in `n` trials; the chance of a success is given as a string."""
    p = Fraction(chance)
    terms: list[Fraction] = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, most + 1)]
    return float(sum(terms))


def far_from_mean(n: int, chance: str, by: int) -> float:
    """Chance that the number of successes in `n` trials is at least `by` from its mean."""
    mean = Fraction(chance) * n
    far = [k for k in range(n + 1) if abs(k - mean) >= by]
    return sum(binomial(n, chance, k, k) for k in far)


def rating_gap(win_share: float) -> float:
    """Rating difference, in points of the First Internet Backgammon Server (FIBS), that gives a player this share of
    wins. Matches are to one point; 2000 points are a factor of ten in the odds."""
    return 2000.0 * log10(win_share / (1 - win_share))


def difference(one: float, other: float) -> float:
    """One printed figure minus another."""
    return one - other


def share_by_errors(loser: float, winner: float) -> float:
    """Percentage of matches that the better player wins, from the cost of both players' errors in percent."""
    return 50 + loser - winner


def matches_without_hedging(chance: float, coin: float) -> float:
    """How many times as many matches give the same accuracy without hedging, which is to subtract luck. A match is won
    with the probability `chance`; a hedged match varies like two coins, each of which adds or takes `coin` of a win."""
    return chance * (1 - chance) / (2 * coin**2)


def luck_of_a_good_roll(value: float, results: Sequence[float], is_unbiased: bool) -> float:
    """The luck of the best of equally likely results: its excess over their mean, or, if biased, over the stated
    value."""
    return max(results) - (sum(results) / len(results) if is_unbiased else value)


def average_cube(percentages: Sequence[float]) -> float:
    """The mean of cubes 1, 2, 4, ..., from the percentage of games with each."""
    return sum(share * (1 << n) for n, share in enumerate(percentages)) / 100


def rest_of_percent(percentages: Sequence[float]) -> float:
    """100 minus the sum of these percentages."""
    return 100 - sum(percentages)


def parabola_top(places: Sequence[float], heights: Sequence[float], top: float) -> float:
    """Height of the top of a parabola through two points, from the place of the top."""
    (one, other), (low, high) = ((place - top) ** 2 for place in places), heights
    return low - (high - low) / (other - one) * one


FORMULAS = {
    function.__name__: function
    for function in (
        *(layouts, full_layouts, full_layout_share, pairs, pairs_with_empty, legal_positions, two_sided_bytes),
        *(most_two_sided_checkers, distinct_rolls, binomial, far_from_mean, rating_gap, difference),
        *(share_by_errors, matches_without_hedging, luck_of_a_good_roll, average_cube),
        *(rest_of_percent, parabola_top),
    )
}
