"""Formulas for how much luck a series of games holds, and how much of it luck adjustment removes.

Source: Douglas Zare, "Hedging toward skill" (GammonVillage, 2000), whose figures `tests/selfplay/test_luck.py`
recomputes; the rating formula is that of the First Internet Backgammon Server.
"""

from __future__ import annotations

from math import comb, exp, fsum, lgamma, log, log1p, log10, sqrt

from bgdata.errors import UsageError

_MOST_COUNTED = 1000  # games of which the number of orders is a float
RATING_SCALE = 2000.0  # rating points to a factor of ten in the odds of a match to one point


def wins_chance(games: int, win_chance: float, fewest: int, most: int) -> float:
    """The chance of `fewest` to `most` wins, both included, in independent games with the same winning chance.

    Raises UsageError for a chance outside 0 to 1 or a negative number of games.
    """
    if games < 0 or not 0 <= win_chance <= 1:
        raise UsageError(f"expected 0 games or more with a chance from 0 to 1, got {games} with {win_chance}")
    wins = range(max(fewest, 0), min(most, games) + 1)
    return fsum(_chance_of(won, games - won, win_chance) for won in wins)


def _chance_of(won: int, lost: int, win_chance: float) -> float:
    """The chance of so many wins and losses in any order."""
    if win_chance in (0, 1):
        return float((lost if win_chance else won) == 0)
    if won + lost <= _MOST_COUNTED:
        return comb(won + lost, won) * win_chance**won * (1 - win_chance) ** lost
    orders = lgamma(won + lost + 1) - lgamma(won + 1) - lgamma(lost + 1)
    return exp(orders + won * log(win_chance) + lost * log1p(-win_chance))


def rating_gap(win_share: float, match_length: int = 1) -> float:
    """The rating difference, in points, of a player who wins this share of matches: 2000 log10(odds) / sqrt(length).

    Raises UsageError for a share that is not between 0 and 1 or a length below 1.
    """
    if not 0 < win_share < 1 or match_length < 1:
        raise UsageError(
            f"expected a share between 0 and 1 of matches to 1 point or more, got {win_share} to {match_length}"
        )
    return RATING_SCALE * log10(win_share / (1 - win_share)) / sqrt(match_length)


def win_share(gap: float, match_length: int = 1) -> float:
    """The share of matches that a player wins who is ahead by this many rating points: the inverse of `rating_gap`."""
    return float(1 / (1 + 10 ** (-gap * sqrt(match_length) / RATING_SCALE)))


def coins_within(coins: int, limit: float) -> float:
    """The chance that a sum of this many independent errors of +1 or -1 is from -limit to limit.

    A luck-adjusted match in which skill varies by 10 % either way, and the estimate of luck errs by 10 % either way,
    has two such errors of 0.1 wins: n matches differ from their mean by at most w wins with chance coins_within(2 n, 10
    w).
    """
    heads = [n for n in range(coins + 1) if abs(2 * n - coins) <= limit]
    return wins_chance(coins, 0.5, heads[0], heads[-1]) if heads else 0.0
