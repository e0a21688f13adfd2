"""Rates players by the games of all pairings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import fsum, sqrt
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, MissingTableError
from bgdata.kinds.column_values import text_arrays, text_column
from bgdata.measures.kinds.ladder import SMALLEST, LadderParameters
from bgdata.measures.ratings import Pairing, Ratings, expected_points, fit_ratings
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.table import Table

LEVEL = 1.959964  # standard errors to either side of a 95 % interval
MOST_POINTS = 3.0  # that a mean money game can give; a match gives 1


class Player(NamedTuple):
    """A player of a ladder."""

    name: str
    ply: int
    version: str


class LadderComputation(Computation[LadderParameters]):
    """Computation of `ladder`."""

    def compute(self, build: Build[LadderParameters]) -> None:
        build.job.progress.start(build.job.title, len(build.parameters.sources), "sources")
        for name, values in arrays_of(build).items():
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
        points, expected = np.asarray(arrays["points"]), expectations(arrays, scale_of(computed.parameters))
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
        found = fitted(arrays, zero_place(arrays, parameters), scale_of(parameters))
        return {
            "players": len(arrays["plies"]),
            "pairings": len(arrays["counts"]),
            "games": int(np.asarray(arrays["counts"]).sum()),
            "chi_square": round(found.chi_square, 6),
            "degrees_of_freedom": found.degrees_of_freedom,
        }

    def check_sample(self, recheck: Recheck[LadderParameters]) -> str:
        """Fit everything again, where all games are still there."""
        table = recheck.table
        try:
            expected = arrays_of(recheck)
        except MissingTableError as error:
            raise CheckSkippedError(f"the games of a pairing are gone: {error}") from error
        for name, values in expected.items():
            if not np.array_equal(values, table.array(name)):
                raise CheckFailedError(f"expected the {name} of {table.name} as the games have them, found others")
        return sample_text(table.manifest.rows, table.manifest.rows, "ratings")


def scale_of(parameters: LadderParameters) -> float:
    """The most points that a mean result can be."""
    return 1.0 if parameters.length else MOST_POINTS


def arrays_of(context: Context[LadderParameters]) -> dict[str, Array]:
    """Every declared array. Raises InvalidParameterError for games of another play, of two versions of a player, or
    without the player that is rated 0, UsageError where pairings do not connect all players, and MissingTableError for
    games that are gone."""
    results = pair_results(context)
    players = sorted({player for pair in results for player in pair})
    zero = place_of_zero(players, context.parameters)
    pairings = [
        Pairing(players.index(first), players.index(second), *mean_of(points))
        for (first, second), points in sorted(results.items())
    ]
    found = fit_ratings(len(players), zero, pairings, scale_of(context.parameters))
    order = sorted(range(len(players)), key=lambda player: (-found.values[player], players[player]))
    places = np.argsort(order)
    counts = [2 * len(points) for _, points in sorted(results.items())]
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


def pair_results(context: Context[LadderParameters]) -> dict[tuple[Player, Player], list[float]]:
    """Points per game to the first of two players in each pair of games with the same dice, the lesser one first.
    Raises InvalidParameterError for two series of a pairing with the same dice, whose games are no others."""
    found: dict[tuple[Player, Player], list[float]] = {}
    dice: set[tuple[Player, Player, int]] = set()
    for source in context.parameters.sources:
        table = context.inputs["smallest"] if source == SMALLEST else context.warehouse.open_reference(source)
        first, second = players_of(table, context.parameters)
        sign = 1.0 if first < second else -1.0
        pair, seed = (min(first, second), max(first, second)), table.manifest.parameters["seed"]
        if (*pair, seed) in dice:
            raise InvalidParameterError(f"expected other dice in each part of a pairing, got {table.name} of the same")
        dice.add((*pair, seed))
        found.setdefault(pair, []).extend(sign * points for points in points_of(table))
    return found


def players_of(table: Table, parameters: LadderParameters) -> tuple[Player, Player]:
    """Who played. Raises InvalidParameterError for games of another play."""
    recipe = table.manifest.parameters
    if recipe.get("length", 0) != parameters.length:
        raise InvalidParameterError(f"expected games of {parameters.play}, got {table.name}")
    first = Player(recipe["player"], recipe["ply"], recipe["version"])
    return first, Player(recipe["opponent"], recipe["opponent_ply"], recipe["opponent_version"])


def points_of(table: Table) -> list[float]:
    """Points per game to the player in each pair of games, luck-adjusted if luck was measured."""
    outcomes, lucks = (np.asarray(table.array(name)).astype(np.float64) for name in ("outcomes", "lucks"))
    adjusted = outcomes - (lucks if table.manifest.parameters["luck"] else 0.0)
    found: list[float] = ((adjusted[::2] + adjusted[1::2]) / 2).tolist()
    return found


def mean_of(points: list[float]) -> tuple[float, float]:
    """(mean, standard error of it) of at least two pairs of games."""
    mean = fsum(points) / len(points)
    return mean, sqrt(fsum((each - mean) ** 2 for each in points) / (len(points) - 1) / len(points))


def place_of_zero(players: list[Player], parameters: LadderParameters) -> int:
    """Which player is rated 0. Raises InvalidParameterError if it did not play, and for two versions of a player."""
    names = [player[:2] for player in players]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidParameterError(f"expected games of one version of {twice[0][0]} ({twice[0][1]}-ply), got of two")
    wanted = parameters.zero, parameters.zero_ply
    if wanted not in names:
        raise InvalidParameterError(f"expected games of {wanted[0]} ({wanted[1]}-ply), which is rated 0, found none")
    return names.index(wanted)


def zero_place(arrays: Mapping[str, Array], parameters: LadderParameters) -> int:
    """The row of who is rated 0."""
    names, plies = text_column(arrays, "names").to_pylist(), np.asarray(arrays["plies"]).tolist()
    return list(zip(names, plies, strict=True)).index((parameters.zero, parameters.zero_ply))


def fitted(arrays: Mapping[str, Array], zero: int, scale: float) -> Ratings:
    """The fit of the pairings of a version."""
    columns = (np.asarray(arrays[name]).tolist() for name in ("points", "errors"))
    pairs = np.asarray(arrays["pairs"]).tolist()
    pairings = [Pairing(*pair, *figures) for pair, *figures in zip(pairs, *columns, strict=True)]
    return fit_ratings(len(arrays["plies"]), zero, pairings, scale)


def expectations(arrays: Mapping[str, Array], scale: float) -> Array:
    """float64[pairings]: points per game by the ratings."""
    ratings = np.asarray(arrays["ratings"]).tolist()
    pairs = np.asarray(arrays["pairs"]).tolist()
    return np.array([expected_points(ratings[player] - ratings[opponent], scale) for player, opponent in pairs])


COMPUTATION = LadderComputation
