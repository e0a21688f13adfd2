"""Figures about how good a player is, with standard errors, from the manifests of versions of other kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, NamedTuple

from bgdata.datasets.benchmark_scores import DATASET as BENCHMARKS
from bgdata.datasets.common.players import player_slug
from bgdata.datasets.game_scores import DATASET as GAMES
from bgdata.datasets.referee_scores import DATASET as REFEREE
from bgdata.datasets.selfplay import DATASET as SELF_PLAY
from bgdata.errors import InvalidParameterError
from bgdata.store.table import Table

UNITS = {  # of every measure
    "points_per_game": "points",
    "hedged_points_per_game": "points",
    "gammon_share": "share of games",
    "backgammon_share": "share of games",
    "error_rate": "thousandths of a point a decision",
    "bearoff_loss": "points a decision",
    "bearoff_loss_without_tables": "points a decision",
}
Texts = Mapping[str, Any]  # parameters of a recipe
Figures = Mapping[str, float]  # statistics of a manifest


class Measure(NamedTuple):
    """A figure about a player: one row of `scores`."""

    measure: str  # of UNITS
    against: str
    figure: float
    error: float  # standard error of the figure
    size: int  # games or decisions
    source: str  # version


def measures_of(table: Table, player: str, ply: int, version: str) -> list[Measure]:
    """The figures that a version has about this player. Raises InvalidParameterError if it is about another player."""
    manifest = table.manifest
    recipe = manifest.parameters
    found = recipe["player"], recipe.get("ply", 0), recipe["version"]
    # without tables a network says another version of itself
    if found != (player, ply, version) and not (found[:2] == (player, ply) and recipe.get("tables") == 0):
        whose, theirs = (f"{name} ({plies}-ply) {said}" for name, plies, said in ((player, ply, version), found))
        raise InvalidParameterError(f"expected results of {whose}, got {table.name} of {theirs}")
    rows = READERS[manifest.dataset](recipe, manifest.statistics)
    return [Measure(name, against, figure, error, manifest.rows, table.name) for name, against, figure, error in rows]


def game_measures(recipe: Texts, found: Figures) -> list[tuple[str, str, float, float]]:
    """Points per game, luck-adjusted if luck was measured."""
    against = player_slug(recipe["opponent"], recipe["opponent_ply"])
    if recipe["luck"]:
        return [("hedged_points_per_game", against, found["hedged_points_per_game"], found["hedged_standard_error"])]
    return [("points_per_game", against, found["points_per_game"], found["standard_error"])]


def self_play_measures(recipe: Texts, found: Figures) -> list[tuple[str, str, float, float]]:
    """Shares of gammons and of backgammons; gammons do not include backgammons."""
    against = player_slug(recipe["player"], 0)
    names = "gammon_share", "backgammon_share"
    return [(name, against, found[name], share_error(found[name], recipe["games"])) for name in names]


def share_error(share: float, games: int) -> float:
    """Standard error of a share of independent games, as if one more game had been won in this way, and one more had
    not: a sample without backgammons does not prove that there are none."""
    likely = (share * games + 1) / (games + 2)
    return sqrt(likely * (1 - likely) / games)


def benchmark_measures(recipe: Texts, found: Figures) -> list[tuple[str, str, float, float]]:
    """The error rate, under the name of the set."""
    benchmark = recipe["benchmark"]
    return [
        (
            "error_rate",
            f"{benchmark['kind']}/{benchmark['variant']}",
            found["error_rate"],
            found["standard_error"],
        )
    ]


def referee_measures(recipe: Texts, found: Figures) -> list[tuple[str, str, float, float]]:
    """The mean loss in bearoffs, with the player's tables or without."""
    name = "bearoff_loss" if recipe["tables"] else "bearoff_loss_without_tables"
    against = f"bearoff_two_sided/{recipe['points']}x{recipe['checkers']}"
    return [(name, against, found["mean_loss"], found["standard_error"])]


READERS: dict[str, Callable[[Texts, Figures], list[tuple[str, str, float, float]]]] = {
    GAMES.name: game_measures,
    SELF_PLAY.name: self_play_measures,
    BENCHMARKS.name: benchmark_measures,
    REFEREE.name: referee_measures,
}
