"""Ratings from results of pairings: a Bradley-Terry model of points per game.

A player rated r expects against one rated s

    scale * tanh((r - s) / scale)

points per game: r - s where they are close, never more than `scale`, the most that a mean result can be. With scale 1
and matches won or lost, for 1 and -1, it is the model of Bradley and Terry: the chance of winning is
1 / (1 + exp(-2 (r - s))). The ratings are those with the least sum of squares of (points - expected) / error, by Gauss
and Newton; one player is rated 0. Their covariance is the inverse of the normal matrix, times chi-square per degree of
freedom where that is above 1: then pairings deviate by more than their errors, and no model with one number for a
player fits them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite, tanh
from typing import NamedTuple

from bgdata.errors import UsageError

LEAST_ERROR = 0.001  # of points: two players that play alike would have none, and weigh more than all others
MOST_RATING = 12.0  # where a player lost more than the scale, no rating would be low enough
DIGITS = 9  # to which ratings are rounded: `tanh` may differ in its last bit from machine to machine
_STEPS, _CLOSE = 200, 1e-13
_LEAST_SLOPE = 1e-5  # far from 0 the curve is flat: a slope of 0 leaves no step to take


class Pairing(NamedTuple):
    """The result of one player against another."""

    player: int
    opponent: int
    points: float  # per game, to the player
    error: float  # standard error of points


class Ratings(NamedTuple):
    """The fit."""

    values: list[float]  # by player
    covariances: list[list[float]]  # by player and player
    chi_square: float
    degrees_of_freedom: int


def expected_points(difference: float, scale: float) -> float:
    """Points per game to a player whose rating is higher by `difference`."""
    return scale * tanh(difference / scale)


def fit_ratings(players: int, zero: int, pairings: Sequence[Pairing], scale: float) -> Ratings:
    """The ratings of players 0, 1, ... by their pairings. Raises UsageError where pairings do not connect them all, and
    for results or errors that are not finite, as one pair of games has."""
    for each in pairings:
        if not (isfinite(each.points) and isfinite(each.error)):
            raise UsageError(f"expected finite results of pairings, got {each.points} +/- {each.error}")
    check_connected(players, zero, pairings)
    values, others = [0.0] * players, [player for player in range(players) if player != zero]
    best = _squares(values, pairings, scale)
    for _ in range(_STEPS):
        moved, found = _better(values, others, pairings, scale, best)
        if not found < best:
            break
        values, best = moved, found
    freedom = len(pairings) - len(others)
    inflation = max(1.0, best / freedom) if freedom > 0 else 1.0
    covariances = _covariances(values, others, pairings, scale, inflation)
    return Ratings([round(value, DIGITS) for value in values], covariances, best, freedom)


def _better(
    values: list[float], others: list[int], pairings: Sequence[Pairing], scale: float, best: float
) -> tuple[list[float], float]:
    """(values, chi-square) after a step of Gauss and Newton, halved until chi-square is below `best`."""
    matrix, gradient = _normal(values, pairings, scale)
    step = _solved([[matrix[a][b] for b in others] for a in others], [gradient[a] for a in others])
    moved, found, share = values, best, 1.0
    while share > _CLOSE and not found < best:
        moved = _moved(values, others, step, share)
        found, share = _squares(moved, pairings, scale), share / 2
    return moved, found


def _covariances(
    values: list[float], others: list[int], pairings: Sequence[Pairing], scale: float, inflation: float
) -> list[list[float]]:
    """The inverse of the normal matrix without the player that is rated 0, times `inflation`."""
    matrix, _ = _normal(values, pairings, scale)
    reduced = [[matrix[a][b] for b in others] for a in others]
    found = [[0.0] * len(values) for _ in values]
    for place, player in enumerate(others):
        column = _solved(reduced, [float(place == other) for other in range(len(others))])
        for other, value in zip(others, column, strict=True):
            found[other][player] = round(inflation * value, DIGITS)
    return found


def check_connected(players: int, zero: int, pairings: Sequence[Pairing]) -> None:
    """Raise UsageError unless pairings lead from every player to the one that is rated 0."""
    reached = {zero}
    for _ in range(players):
        reached |= {b for a, b, *_ in pairings if a in reached} | {a for a, b, *_ in pairings if b in reached}
    if len(reached) < players:
        missing = min(set(range(players)) - reached)
        raise UsageError(f"expected pairings that lead from every player to player {zero}, none leads from {missing}")


def _weight(pairing: Pairing) -> float:
    return 1.0 / max(pairing.error, LEAST_ERROR) ** 2


def _squares(values: list[float], pairings: Sequence[Pairing], scale: float) -> float:
    """Chi-square."""
    return fsum(
        _weight(each) * (each.points - expected_points(values[each.player] - values[each.opponent], scale)) ** 2
        for each in pairings
    )


def _normal(values: list[float], pairings: Sequence[Pairing], scale: float) -> tuple[list[list[float]], list[float]]:
    """(normal matrix, gradient) by player."""
    count = len(values)
    matrix, gradient = [[0.0] * count for _ in range(count)], [0.0] * count
    for each in pairings:
        expected = expected_points(values[each.player] - values[each.opponent], scale)
        slope, weight = max(1.0 - (expected / scale) ** 2, _LEAST_SLOPE), _weight(each)
        for sign, player in ((1.0, each.player), (-1.0, each.opponent)):
            gradient[player] += sign * weight * slope * (each.points - expected)
            matrix[player][player] += weight * slope * slope
        matrix[each.player][each.opponent] -= weight * slope * slope
        matrix[each.opponent][each.player] -= weight * slope * slope
    return matrix, gradient


def _moved(values: list[float], others: list[int], step: list[float], share: float) -> list[float]:
    """The values after a share of a step, none beyond MOST_RATING."""
    moved = list(values)
    for player, change in zip(others, step, strict=True):
        moved[player] = min(max(values[player] + share * change, -MOST_RATING), MOST_RATING)
    return moved


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a symmetric, positive definite system by elimination, in the same order on every machine."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column, pivot in enumerate(rows):
        for row in rows[column + 1 :]:
            factor = row[column] / pivot[column]
            for place in range(column, len(row)):
                row[place] -= factor * pivot[place]
    found = [0.0] * len(rows)
    for column in reversed(range(len(rows))):
        known = sum(rows[column][place] * found[place] for place in range(column + 1, len(rows)))
        found[column] = (rows[column][-1] - known) / rows[column][column]
    return found
