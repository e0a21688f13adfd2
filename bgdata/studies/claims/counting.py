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
    """Return the number of layouts of 1 to `checkers` checkers on `points` points."""
    return comb(points + checkers, points) - 1


def full_layouts(points: int) -> int:
    """Return the number of layouts of exactly 15 checkers on `points` points, with no checker off."""
    return layout_count(points, 15) - layout_count(points, 14)


def full_layout_share(points: int) -> float:
    """Return the share of layouts with all 15 checkers among the layouts of 1 to 15 checkers on `points` points."""
    return full_layouts(points) / layouts(points, 15)


def pairs(points: int, checkers: int) -> int:
    """Return the number of ordered pairs of layouts of 1 to `checkers` checkers on `points` points."""
    return layouts(points, checkers) ** 2


def pairs_with_empty(points: int, checkers: int) -> int:
    """Return the number of ordered pairs of layouts of 0 to `checkers` checkers on `points` points, as gnubg counts
    them."""
    return comb(points + checkers, points) ** 2


def legal_positions() -> int:
    """Return the number of backgammon positions with 15 checkers a side. One side has checkers on m of the 24 points,
    and its other checkers on the bar or off. The other side has the remaining points, the bar and off."""
    return sum(comb(24, m) * comb(16, m + 1) * comb(40 - m, 15) for m in range(16))


def two_sided_bytes(points: int, checkers: int) -> int:
    """Return the size of gnubg's two-sided bearoff file with cubeful equities: four numbers of two bytes for each pair
    of layouts."""
    return HEADER_BYTES + 8 * pairs_with_empty(points, checkers)


def most_two_sided_checkers() -> int:
    """Return the largest number of checkers for which gnubg's two-sided bearoff file of six points is below 2 GB."""
    return next(n for n in count(1) if two_sided_bytes(6, n + 1) >= FILE_LIMIT_BYTES)


def distinct_rolls() -> int:
    """Return the number of different rolls of two dice."""
    return len({Roll(max(one, other), min(one, other)) for one in range(1, 7) for other in range(1, 7)})


def binomial(n: int, chance: str, least: int, most: int) -> float:
    """Return the exact chance of `least` to `most` successes in `n` trials. `chance` is the chance of one success, as a
    string."""
    p = Fraction(chance)
    terms: list[Fraction] = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, most + 1)]
    return float(sum(terms))


def far_from_mean(n: int, chance: str, by: int) -> float:
    """Return the chance that the number of successes in `n` trials differs from its mean by at least `by`."""
    mean = Fraction(chance) * n
    far = [k for k in range(n + 1) if abs(k - mean) >= by]
    return sum(binomial(n, chance, k, k) for k in far)


def rating_gap(win_share: float) -> float:
    """Return the rating difference, in points of the First Internet Backgammon Server (FIBS), with which a player wins
    this share of one-point matches. 2000 points are a factor of ten in the odds."""
    return 2000.0 * log10(win_share / (1 - win_share))


def difference(one: float, other: float) -> float:
    """Return one printed figure minus another."""
    return one - other


def share_by_errors(loser: float, winner: float) -> float:
    """Return the percentage of matches that the better player wins, from what the errors of both players cost in
    percent."""
    return 50 + loser - winner


def matches_without_hedging(chance: float, coin: float) -> float:
    """Return how many times as many matches one needs for the same accuracy if luck is not subtracted (hedging). A
    match is won with probability `chance`; a hedged match varies like two coins, each of which adds or subtracts `coin`
    of a win."""
    return chance * (1 - chance) / (2 * coin**2)


def luck_of_a_good_roll(value: float, results: Sequence[float], is_unbiased: bool) -> float:
    """Return the luck of the best of several equally likely results. It is the result minus their mean, or, if
    `is_unbiased` is false, minus the stated value."""
    return max(results) - (sum(results) / len(results) if is_unbiased else value)


def average_cube(percentages: Sequence[float]) -> float:
    """Return the mean cube value, from the percentages of games that end with the cube at 1, 2, 4, ..."""
    return sum(share * (1 << n) for n, share in enumerate(percentages)) / 100


def rest_of_percent(percentages: Sequence[float]) -> float:
    """Return 100 minus the sum of these percentages."""
    return 100 - sum(percentages)


def parabola_top(places: Sequence[float], heights: Sequence[float], top: float) -> float:
    """Return the height at the top of a parabola through two points. `top` is the x coordinate of the top."""
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
