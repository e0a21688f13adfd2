"""Rates players by the games of all pairings, with a Bradley-Terry model of points per game.

A player with the rating r expects against a player with the rating s

    scale * tanh((r - s) / scale)

points per game: about r - s for close ratings, and never more than `scale`, the largest possible mean result. With
scale 1 and matches that count 1 or -1 this is the model of Bradley and Terry, whose chance of winning is 1 / (1 +
exp(-2 (r - s))). The Gauss-Newton method finds the ratings with the least sum of squares of (points - expected) /
error; one player is rated 0. Their covariance is the inverse of the normal matrix. If chi-square per degree of freedom
is above 1, pairings deviate by more than their errors, and no model with one number per player fits them. The
covariance is then multiplied by this ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, isfinite, sqrt, tanh
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckSkippedError, InvalidParameterError, MissingTableError, UsageError
from bgdata.kinds.column_values import text_arrays, text_column
from bgdata.kinds.rechecking import check_arrays
from bgdata.measures.kinds.ladder import SMALLEST, Entrant, LadderParameters
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text

LEVEL = 1.959964  # standard errors on each side of a 95 % interval
MAX_POINTS = 3.0  # largest mean result of a money game; the largest of a match is 1
MIN_ERROR = 0.001  # minimum error in points: identical players would have an error of 0 and an infinite weight
MAX_RATING = 12.0  # limit of ratings; no rating fits a player that lost more than the scale
DIGITS = 9  # digits of rounded ratings: the last bit of `tanh` may differ between machines
_STEPS, _CLOSE = 200, 1e-13
_MIN_SLOPE = 1e-5  # minimum slope of the curve, which is flat far from 0: a slope of 0 gives no step


class Pairing(NamedTuple):
    """The result of one player against another: mean points per game, and their standard error."""

    player: int
    opponent: int
    points: float  # points per game, to the player
    error: float  # standard error of points


class Ratings(NamedTuple):
    """The ratings that fit best, and how well they fit."""

    values: list[float]  # rating of each player
    covariances: list[list[float]]  # covariance of the ratings of each two players
    chi_square: float
    degrees_of_freedom: int


class LadderComputation(Computation[LadderParameters]):
    """Computes `ladder`: rates players by the games of all pairings."""

    def compute(self, build: Build[LadderParameters]) -> None:
        build.job.progress.start(build.job.title, len(build.parameters.sources), "sources")
        for name, values in ladder_arrays(build).items():
            build.job.save(name, values)
        build.job.progress.advance(len(build.parameters.sources))

    def batches(self, computed: Computed[LadderParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        ratings, pairs = np.asarray(arrays["ratings"]), np.asarray(arrays["pairs"])
        errors = np.sqrt(np.diagonal(np.asarray(arrays["covariances"])))
        played = np.zeros(len(ratings), np.int64)
        for side in pairs.T:
            np.add.at(played, side, np.asarray(arrays["counts"]))
        yield pa.record_batch(
            {
                "rank": np.arange(1, len(ratings) + 1, dtype=np.int16),
                "player_name": text_column(arrays, "names"),
                "ply": np.asarray(arrays["plies"]),
                "player_version": text_column(arrays, "versions"),
                "rating": ratings,
                "rating_error": errors,
                "rating_low": ratings - LEVEL * errors,
                "rating_high": ratings + LEVEL * errors,
                "opponents": np.bincount(pairs.ravel(), minlength=len(ratings)).astype(np.int32),
                "games": played,
            }
        )

    def side_batches(self, _name: str, computed: Computed[LadderParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        names, plies = text_column(arrays, "names"), np.asarray(arrays["plies"])
        player, opponent = np.asarray(arrays["pairs"]).T
        points, ratings = np.asarray(arrays["points"]), np.asarray(arrays["ratings"])
        scale, differences = scale_of(computed.parameters), (ratings[player] - ratings[opponent]).tolist()
        expected = np.array([expected_points(difference, scale) for difference in differences])
        yield pa.record_batch(
            {
                "player_name": names.take(pa.array(player)),
                "ply": plies[player],
                "opponent": names.take(pa.array(opponent)),
                "opponent_ply": plies[opponent],
                "games": np.asarray(arrays["counts"]),
                "mean_points": points,
                "points_error": np.asarray(arrays["errors"]),
                "expected": expected,
                "deviation": points - expected,
            }
        )

    def statistics(self, computed: Computed[LadderParameters]) -> Mapping[str, float]:
        arrays, parameters = computed.arrays, computed.parameters
        plies = np.asarray(arrays["plies"]).tolist()
        players = list(zip(text_column(arrays, "names").to_pylist(), plies, strict=True))
        pairs, *figures = (np.asarray(arrays[name]).tolist() for name in ("pairs", "points", "errors"))
        pairings = [Pairing(*pair, *figure) for pair, *figure in zip(pairs, *figures, strict=True)]
        zero = players.index((parameters.zero, parameters.zero_ply))
        found = fit_ratings(len(players), zero, pairings, scale_of(parameters))
        return {
            "players": len(players),
            "pairings": len(arrays["counts"]),
            "games": int(np.asarray(arrays["counts"]).sum()),
            "chi_square": round(found.chi_square, 6),
            "degrees_of_freedom": found.degrees_of_freedom,
        }

    def check_sample(self, recheck: Recheck[LadderParameters]) -> str:
        """Compute the ratings again from the stored games, if all games still exist."""
        table = recheck.table
        try:
            expected = ladder_arrays(recheck)
        except MissingTableError as error:
            raise CheckSkippedError(f"the games of a pairing are gone: {error}") from error
        check_arrays(table, expected)
        return sample_text(table.manifest.rows, table.manifest.rows, "ratings")


def scale_of(parameters: LadderParameters) -> float:
    """Return the largest possible mean result of a game or match, in points."""
    return 1.0 if parameters.length else MAX_POINTS


def ladder_arrays(context: Context[LadderParameters]) -> dict[str, Array]:
    """Return all declared arrays. Raises InvalidParameterError if games are of another kind of play, of two versions of
    a player, or if the player that is rated 0 has no games. Raises UsageError if pairings do not connect all players,
    and MissingTableError if games are missing."""
    results = pair_results(context)
    players = sorted({player for pair in results for player in pair})
    names = [player[:2] for player in players]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidParameterError(f"expected games of one version of {twice[0][0]} ({twice[0][1]}-ply), got of two")
    wanted = context.parameters.zero, context.parameters.zero_ply
    if wanted not in names:
        raise InvalidParameterError(f"expected games of {wanted[0]} ({wanted[1]}-ply), which is rated 0, found none")
    pairings, counts = [], []
    for (first, second), points in sorted(results.items()):
        mean = fsum(points) / len(points)
        error = sqrt(fsum((each - mean) ** 2 for each in points) / (len(points) - 1) / len(points))
        pairings.append(Pairing(players.index(first), players.index(second), mean, error))
        counts.append(2 * len(points))
    found = fit_ratings(len(players), names.index(wanted), pairings, scale_of(context.parameters))
    order = sorted(range(len(players)), key=lambda player: (-found.values[player], players[player]))
    places = np.argsort(order)
    return {
        **text_arrays("names", [players[player].name for player in order]),
        **text_arrays("versions", [players[player].version for player in order]),
        "plies": np.array([players[player].ply for player in order], np.int32),
        "ratings": np.array(found.values)[order],
        "covariances": np.array(found.covariances)[np.ix_(order, order)],
        "pairs": places[[each[:2] for each in pairings]].astype(np.int32),
        "counts": np.array(counts, np.int64),
        "points": np.array([each.points for each in pairings]),
        "errors": np.array([each.error for each in pairings]),
    }


def pair_results(context: Context[LadderParameters]) -> dict[tuple[Entrant, Entrant], list[float]]:
    """Return the mean points per game of each two games with the same dice, by pair of players, to the player whose
    name sorts first. Points are luck-adjusted if luck was measured. Raises InvalidParameterError if games are of
    another kind of play, or if two series of a pairing have the same dice."""
    parameters = context.parameters
    found: dict[tuple[Entrant, Entrant], list[float]] = {}
    dice: set[tuple[Entrant, Entrant, int]] = set()
    for source in parameters.sources:
        table = context.inputs["smallest"] if source == SMALLEST else context.warehouse.open_reference(source)
        recipe = table.manifest.parameters
        if recipe.get("length", 0) != parameters.length:
            raise InvalidParameterError(f"expected games of {parameters.play}, got {table.name}")
        first = Entrant(recipe["player"], recipe["ply"], recipe["version"])
        second = Entrant(recipe["opponent"], recipe["opponent_ply"], recipe["opponent_version"])
        pair, sign = (min(first, second), max(first, second)), 1.0 if first < second else -1.0
        if (*pair, recipe["seed"]) in dice:
            raise InvalidParameterError(f"expected other dice in each part of a pairing, got {table.name} of the same")
        dice.add((*pair, recipe["seed"]))
        outcomes, lucks = (np.asarray(table.array(name)).astype(np.float64) for name in ("outcomes", "lucks"))
        adjusted = outcomes - (lucks if recipe["luck"] else 0.0)
        points = ((adjusted[::2] + adjusted[1::2]) / 2).tolist()
        found.setdefault(pair, []).extend(sign * each for each in points)
    return found


def expected_points(difference: float, scale: float) -> float:
    """Return the expected points per game of a player whose rating is higher than the opponent's by `difference`.
    `scale` is the largest possible mean result."""
    return scale * tanh(difference / scale)


def fit_ratings(players: int, zero: int, pairings: Sequence[Pairing], scale: float) -> Ratings:
    """Fit the ratings of players 0, 1, ... to the results of their pairings. Player `zero` is rated 0. Raises
    UsageError if pairings do not connect all players, or if a result or error is not finite, such as the error of a
    single pair of games."""
    for each in pairings:
        if not (isfinite(each.points) and isfinite(each.error)):
            raise UsageError(f"expected finite results of pairings, got {each.points} +/- {each.error}")
    reached = {zero}
    for _ in range(players):
        reached |= {b for a, b, *_ in pairings if a in reached} | {a for a, b, *_ in pairings if b in reached}
    if len(reached) < players:
        missing = min(set(range(players)) - reached)
        raise UsageError(f"expected pairings that lead from every player to player {zero}, none leads from {missing}")
    values, others = [0.0] * players, [player for player in range(players) if player != zero]
    best = _chi_square(values, pairings, scale)
    for _ in range(_STEPS):  # Gauss-Newton steps, each halved until chi-square is lower
        matrix, gradient = _normal_equations(values, pairings, scale)
        step = _solve([[matrix[a][b] for b in others] for a in others], [gradient[a] for a in others])
        moved, found, share = values, best, 1.0
        while share > _CLOSE and not found < best:
            moved = list(values)
            for player, change in zip(others, step, strict=True):
                moved[player] = min(max(values[player] + share * change, -MAX_RATING), MAX_RATING)
            found, share = _chi_square(moved, pairings, scale), share / 2
        if not found < best:
            break
        values, best = moved, found
    freedom = len(pairings) - len(others)
    inflation = max(1.0, best / freedom) if freedom > 0 else 1.0
    matrix, _ = _normal_equations(values, pairings, scale)
    reduced = [[matrix[a][b] for b in others] for a in others]
    covariances = [[0.0] * players for _ in range(players)]
    for place, player in enumerate(others):
        column = _solve(reduced, [float(place == other) for other in range(len(others))])
        for other, value in zip(others, column, strict=True):
            covariances[other][player] = round(inflation * value, DIGITS)
    return Ratings([round(value, DIGITS) for value in values], covariances, best, freedom)


def _weight(pairing: Pairing) -> float:
    return 1.0 / max(pairing.error, MIN_ERROR) ** 2


def _chi_square(values: list[float], pairings: Sequence[Pairing], scale: float) -> float:
    """Return the chi-square of the ratings against the results of the pairings."""
    return fsum(
        _weight(each) * (each.points - expected_points(values[each.player] - values[each.opponent], scale)) ** 2
        for each in pairings
    )


def _normal_equations(
    values: list[float], pairings: Sequence[Pairing], scale: float
) -> tuple[list[list[float]], list[float]]:
    """Return the normal matrix and the gradient of the fit, by player."""
    count = len(values)
    matrix, gradient = [[0.0] * count for _ in range(count)], [0.0] * count
    for each in pairings:
        expected = expected_points(values[each.player] - values[each.opponent], scale)
        slope, weight = max(1.0 - (expected / scale) ** 2, _MIN_SLOPE), _weight(each)
        for sign, player in ((1.0, each.player), (-1.0, each.opponent)):
            gradient[player] += sign * weight * slope * (each.points - expected)
            matrix[player][player] += weight * slope * slope
        matrix[each.player][each.opponent] -= weight * slope * slope
        matrix[each.opponent][each.player] -= weight * slope * slope
    return matrix, gradient


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a symmetric, positive definite system by elimination, in the same order on every machine."""
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


COMPUTATION = LadderComputation
