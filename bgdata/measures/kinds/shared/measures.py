"""Figures about how good a player is, with standard errors, from the manifests of versions of other kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite, sqrt
from typing import Any, NamedTuple

from bgdata.endgames.kinds.contact_endgame import POINTS as ANYWHERE
from bgdata.errors import InvalidParameterError
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARKS
from bgdata.measures.kinds.game_scores import DATASET as GAMES
from bgdata.measures.kinds.referee_scores import DATASET as REFEREE
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.kinds.reference_scores import DATASET as REFERENCE_SCORES
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS, HALVES, statistic_name
from bgdata.measures.kinds.shared.players import player_slug
from bgdata.selfplay.kinds.selfplay import DATASET as SELF_PLAY
from bgdata.store.table import Table

UNITS = {  # of every measure
    "points_per_game": "points",
    "hedged_points_per_game": "points",
    "gammon_share": "share of games",
    "backgammon_share": "share of games",
    "error_rate": "thousandths of a point a decision",
    "bearoff_loss": "points a decision",
    "bearoff_loss_without_tables": "points a decision",
    "contact_loss": "points a decision",
    "contact_loss_without_tables": "points a decision",
    "equity_rmse": "points",
    "equity_rmse_without_tables": "points",
}
PUBLISHED = HALVES[1]  # split of the reference positions that figures are of
Texts = Mapping[str, Any]  # parameters of a recipe
Figures = Mapping[str, float]  # statistics of a manifest


class Measure(NamedTuple):
    """A figure about a player: one row of `scores`."""

    measure: str  # of UNITS
    against: str
    figure: float
    error: float  # standard error of the figure
    size: int  # games, decisions or positions
    source: str  # version


class Reading(NamedTuple):
    """A figure of a version."""

    measure: str  # of UNITS
    against: str
    figure: float
    error: float
    size: int = 0  # 0: all rows of the version


def measures_of(table: Table, player: str, ply: int, version: str) -> list[Measure]:
    """The figures that a version has about this player. Raises InvalidParameterError if it is about another player."""
    manifest = table.manifest
    recipe = manifest.parameters
    found = recipe["player"], recipe.get("ply", 0), recipe["version"]
    # without tables a network says another version of itself
    if found != (player, ply, version) and not (found[:2] == (player, ply) and recipe.get("tables") == 0):
        whose, theirs = (f"{name} ({plies}-ply) {said}" for name, plies, said in ((player, ply, version), found))
        raise InvalidParameterError(f"expected results of {whose}, got {table.name} of {theirs}")
    rows: list[Reading] = READERS[manifest.dataset](recipe, manifest.statistics)
    return [Measure(*row[:4], row.size or manifest.rows, table.name) for row in rows]


def game_measures(recipe: Texts, found: Figures) -> list[Reading]:
    """Points per game, luck-adjusted if luck was measured."""
    against = player_slug(recipe["opponent"], recipe["opponent_ply"])
    if recipe["luck"]:
        hedged = found["hedged_points_per_game"], found["hedged_standard_error"]
        return [Reading("hedged_points_per_game", against, *hedged)]
    return [Reading("points_per_game", against, found["points_per_game"], found["standard_error"])]


def self_play_measures(recipe: Texts, found: Figures) -> list[Reading]:
    """Shares of gammons and of backgammons; gammons do not include backgammons."""
    against = player_slug(recipe["player"], 0)
    names = "gammon_share", "backgammon_share"
    return [Reading(name, against, found[name], share_error(found[name], recipe["games"])) for name in names]


def share_error(share: float, games: int) -> float:
    """Standard error of a share of independent games, as if one more game had been won in this way, and one more had
    not: a sample without backgammons does not prove that there are none."""
    likely = (share * games + 1) / (games + 2)
    return sqrt(likely * (1 - likely) / games)


def benchmark_measures(recipe: Texts, found: Figures) -> list[Reading]:
    """The error rate, under the name of the set."""
    against = f"{recipe['benchmark']['kind']}/{recipe['benchmark']['variant']}"
    return [Reading("error_rate", against, found["error_rate"], found["standard_error"])]


def referee_measures(recipe: Texts, found: Figures) -> list[Reading]:
    """The mean loss in bearoffs, or in endgames with contact, with the player's tables or without, if it has a standard
    error: a few decisions may all be of one game."""
    if not isfinite(found["standard_error"]):
        return []
    is_contact = recipe["points"] == ANYWHERE
    name = ("contact_loss" if is_contact else "bearoff_loss") + ("" if recipe["tables"] else "_without_tables")
    bearoff = f"bearoff_two_sided/{recipe['points']}x{recipe['checkers']}"
    against = f"contact_endgame/{recipe['checkers']}" if is_contact else bearoff
    return [Reading(name, against, found["mean_loss"], found["standard_error"])]


def reference_measures(recipe: Texts, found: Figures) -> list[Reading]:
    """The RMSE of the equity over all positions of the test split, and by theme where it has a standard error."""
    name = "equity_rmse" if recipe["tables"] else "equity_rmse_without_tables"
    against = f"{REFERENCE.name}/{recipe['reference']['variant']}"
    rows = []
    for group in GROUPS:
        rmse, error, size = (
            found.get(statistic_name(PUBLISHED, group, each)) for each in ("rmse", "rmse_standard_error", "positions")
        )
        if rmse is not None and error is not None and size is not None:
            whom = against if group == EVERY_THEME else f"{against} {group}"
            rows.append(Reading(name, whom, rmse, error, round(size)))
    return rows


READERS: dict[str, Callable[[Texts, Figures], list[Reading]]] = {
    GAMES.name: game_measures,
    SELF_PLAY.name: self_play_measures,
    BENCHMARKS.name: benchmark_measures,
    REFEREE.name: referee_measures,
    REFERENCE_SCORES.name: reference_measures,
}
