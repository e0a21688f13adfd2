"""Bearoff layouts and their index, which is a combinatorial number system, the same as gnubg's position index.

A *layout* is one side's checkers on its own points 1..P, ace point first. At most C checkers are on the board; the
others are borne off. The index, from 0, sorts layouts by number of checkers (ascending), then by the count on the ace
point (descending), then on the deuce point, and so on. It does not depend on C, so a table for fewer checkers is a
prefix of a larger one. Every checker move lowers the index and the pip count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from bgdata.errors import InvalidPositionError, cite
from bgdata.game.integers import plain_integers

MAX_POINTS = 18
MAX_CHECKERS = 15

# BINOMIAL[n][r] large enough for layouts of 15 checkers on 18 points, or 4 on 25
BINOMIAL = [[comb(n, r) for r in range(27)] for n in range(MAX_POINTS + MAX_CHECKERS + 8)]


def layout_count(points: int, checkers: int) -> int:
    """Return the number of layouts with at most `checkers` checkers on `points` points, including the empty one:
    binom(P + C, P)."""
    check_size(points, checkers)
    return comb(points + checkers, points)


def check_size(points: int, checkers: int) -> None:
    """Raise InvalidPositionError unless 1 <= points <= 18 and 1 <= checkers <= 15."""
    if not 1 <= points <= MAX_POINTS:
        raise InvalidPositionError(f"expected 1 to {MAX_POINTS} points, got {points}")
    if not 1 <= checkers <= MAX_CHECKERS:
        raise InvalidPositionError(f"expected 1 to {MAX_CHECKERS} checkers, got {checkers}")


def position_index(layout: Sequence[int]) -> int:
    """Return the position index of a layout (checkers on points 1..P, ace point first; P is its length).

    >>> position_index([0, 0, 0, 0, 0, 15])
    54263

    Raises InvalidPositionError for a negative count, more than 15 checkers, or anything but integers."""
    try:
        counts = plain_integers(layout)
    except TypeError:
        raise InvalidPositionError(f"expected checkers on each point as integers, got {cite(layout)}") from None
    if not 1 <= len(counts) <= MAX_POINTS or min(counts) < 0 or sum(counts) > MAX_CHECKERS:
        raise InvalidPositionError(
            f"expected at most {MAX_CHECKERS} checkers on 1 to {MAX_POINTS} points, got {cite(list(counts))}"
        )
    return rank(counts)


def rank(counts: Sequence[int]) -> int:
    """Return the position index of a layout of up to 25 points, without checking the layout."""
    index = above = 0
    for column, count in enumerate(reversed(counts), start=1):
        above += count
        index += BINOMIAL[above + column - 1][column]
    return index


def whole_index(index: object) -> int:
    """Return a position index as a Python integer. Raises InvalidPositionError for other types."""
    try:
        return plain_integers([index])[0]
    except TypeError:
        raise InvalidPositionError(f"expected an index as an integer, got {cite(index)}") from None


def layout_at(index: int, points: int) -> list[int]:
    """Return the layout on `points` points with this position index: the inverse of `position_index`.

    >>> layout_at(26, 6)
    [0, 0, 0, 0, 1, 1]

    Raises InvalidPositionError when no layout of at most 15 checkers has this index."""
    check_size(points, 1)
    index = whole_index(index)
    if not 0 <= index < comb(points + MAX_CHECKERS, points):
        raise InvalidPositionError(f"expected an index below {comb(points + MAX_CHECKERS, points)}, got {index}")
    cumulative = []
    rest = index
    for column in range(points, 0, -1):
        above = 0
        while comb(above + column, column) <= rest:
            above += 1
        rest -= comb(above + column - 1, column)
        cumulative.append(above)
    return [here - after for here, after in zip(cumulative, [*cumulative[1:], 0], strict=True)]
