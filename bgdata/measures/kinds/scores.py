"""The strength of a player: figures of its games, self-play, benchmarks, bearoffs and values in one table.

Figures and their standard errors are read from the manifests of other versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, NamedTuple

from bgdata.endgames.kinds.contact_endgame import POINTS as ANYWHERE
from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import text_declarations
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARKS
from bgdata.measures.kinds.game_scores import DATASET as GAMES
from bgdata.measures.kinds.referee_scores import DATASET as REFEREE
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.kinds.reference_scores import DATASET as REFERENCE_SCORES
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS, HALVES, statistic_name
from bgdata.measures.kinds.shared.players import check_player_name, player_slug, source_input
from bgdata.selfplay.kinds.selfplay import DATASET as SELF_PLAY
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import Parameters, VersionRef, value_text

UNITS = {  # unit of each measure
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
PUBLISHED = HALVES[1]  # split of the reference positions for reported figures
Texts = Mapping[str, Any]  # parameters of a recipe
Figures = Mapping[str, float]  # statistics of a manifest
AGAINST = "Opponent with its plies, set of decisions, set of positions and its theme, or table that judges"
MAX_ROWS = 80  # rows of a player, roughly, for estimates of size
SMALLEST = (
    VersionRef(GAMES.name, GAMES.slug(GAMES.smallest)),
    VersionRef(SELF_PLAY.name, SELF_PLAY.slug(SELF_PLAY.smallest)),
)


class Measure(NamedTuple):
    """One figure about a player, a row of `scores`."""

    measure: str  # a key of UNITS
    against: str
    figure: float
    error: float  # standard error of the figure
    size: int = 0  # number of games, decisions or positions; 0 for all rows of the version
    source: str = ""  # version that the figure comes from


def game_measures(recipe: Texts, statistics: Figures) -> list[Measure]:
    """Return the figure that a series of games gives: points per game, luck-adjusted if luck was measured. `recipe`
    contains the parameters of the games."""
    against = player_slug(recipe["opponent"], recipe["opponent_ply"])
    if recipe["luck"]:
        hedged = statistics["hedged_points_per_game"], statistics["hedged_standard_error"]
        return [Measure("hedged_points_per_game", against, *hedged)]
    return [Measure("points_per_game", against, statistics["points_per_game"], statistics["standard_error"])]


def self_play_measures(recipe: Texts, statistics: Figures) -> list[Measure]:
    """Return the figures that games of self-play give: the shares of gammons, without backgammons, and of backgammons.
    `recipe` contains the parameters of the games."""
    against = player_slug(recipe["player"], 0)
    names = "gammon_share", "backgammon_share"
    return [Measure(name, against, statistics[name], share_error(statistics[name], recipe["games"])) for name in names]


def share_error(share: float, games: int) -> float:
    """Return the standard error of a share among independent games. One success and one failure are added to the games;
    otherwise a sample without backgammons would have an error of 0."""
    likely = (share * games + 1) / (games + 2)
    return sqrt(likely * (1 - likely) / games)


def benchmark_measures(recipe: Texts, statistics: Figures) -> list[Measure]:
    """Return the figure that a benchmark gives: the error rate. `recipe` contains the parameters of the scores."""
    against = f"{recipe['benchmark']['kind']}/{recipe['benchmark']['variant']}"
    return [Measure("error_rate", against, statistics["error_rate"], statistics["standard_error"])]


def referee_measures(recipe: Texts, statistics: Figures) -> list[Measure]:
    """Return the figure that an exact referee gives: the mean loss in bearoffs or contact endgames, with or without the
    player's tables. Empty if the loss has no standard error, because few decisions may all be from one game."""
    if not isfinite(statistics["standard_error"]):
        return []
    is_contact = recipe["points"] == ANYWHERE
    name = ("contact_loss" if is_contact else "bearoff_loss") + ("" if recipe["tables"] else "_without_tables")
    bearoff = f"bearoff_two_sided/{recipe['points']}x{recipe['checkers']}"
    against = f"contact_endgame/{recipe['checkers']}" if is_contact else bearoff
    return [Measure(name, against, statistics["mean_loss"], statistics["standard_error"])]


def reference_measures(recipe: Texts, statistics: Figures) -> list[Measure]:
    """Return the figures that reference positions give: the RMSE of the equity over the test split, and for each theme
    that has a standard error."""
    name = "equity_rmse" if recipe["tables"] else "equity_rmse_without_tables"
    against = f"{REFERENCE.name}/{recipe['reference']['variant']}"
    rows = []
    for group in GROUPS:
        rmse, error, size = (
            statistics.get(statistic_name(PUBLISHED, group, each))
            for each in ("rmse", "rmse_standard_error", "positions")
        )
        if rmse is not None and error is not None and size is not None:
            whom = against if group == EVERY_THEME else f"{against} {group}"
            rows.append(Measure(name, whom, rmse, error, round(size)))
    return rows


READERS: dict[str, Callable[[Texts, Figures], list[Measure]]] = {
    GAMES.name: game_measures,
    SELF_PLAY.name: self_play_measures,
    BENCHMARKS.name: benchmark_measures,
    REFEREE.name: referee_measures,
    REFERENCE_SCORES.name: reference_measures,
}


@dataclass(frozen=True)
class ScoresParameters(Parameters):
    """Parameters of `scores`: a player, its ply and version, and the sources of its figures. The sources are versions,
    sorted by name. A source that names no version is the smallest variant of its kind, which is built first."""

    player: str = "pubeval"
    ply: int = 0
    version: str = "2"
    sources: tuple[VersionRef, ...] = SMALLEST


class Scores(Dataset[ScoresParameters]):
    """Kind `scores`: the strength of a player in figures. One row per measure."""

    name = "scores"
    made_again = BY_PLAYERS
    revision = 1
    summary = (
        "How good players are: games, luck-adjusted too, gammons, error rates, bearoffs, values by theme; with errors."
    )
    source = "Computed: figures of other versions here, which say how they were found"
    columns = (
        Column("measure", "VARCHAR", "", "What was measured: " + ", ".join(UNITS)),
        Column("against", "VARCHAR", "", AGAINST),
        Column("player_name", "VARCHAR", "", "Player"),
        Column("ply", "INTEGER", "", "How many rolls it looked ahead; 0 is the static evaluation"),
        Column("player_version", "VARCHAR", "", "Version of the player as it says it"),
        Column("value", "DOUBLE", "as unit says", "Mean of the sample, or root of its mean square"),
        Column("value_error", "DOUBLE", "as unit says", "Standard error of value"),
        Column("unit", "VARCHAR", "", "Unit of value and value_error"),
        Column("sample_size", "BIGINT", "", "Games, decisions or positions"),
        Column("source_version", "VARCHAR", "", "Where each game or decision is: dataset/variant/version"),
    )
    key = ("measure", "against")
    arrays = (
        *text_declarations("measures", "row", "What was measured"),
        *text_declarations("against", "row", AGAINST),
        *text_declarations("units", "row", "Unit of the figure and its error"),
        *text_declarations("sources", "row", "Versions that the figures are from"),
        FlatArray("figures", "float64", "row", "Mean of the sample, or root of its mean square"),
        FlatArray("errors", "float64", "row", "Standard error of the figure"),
        FlatArray("sizes", "int64", "row", "Games, decisions or positions"),
    )
    parameters = ScoresParameters
    defaults = ()
    smallest = ScoresParameters()

    def slug(self, parameters: ScoresParameters) -> str:
        return player_slug(parameters.player, parameters.ply)

    def check_parameters(self, parameters: ScoresParameters) -> None:
        check_player_name(parameters.player)
        for place in parameters.sources:
            if place.kind not in READERS:
                raise InvalidParameterError(
                    f"expected sources KIND/VARIANT/VERSION of {', '.join(sorted(READERS))}, got '{place}'"
                )
        if not parameters.sources or list(parameters.sources) != sorted(set(parameters.sources), key=str):
            raise InvalidParameterError(f"expected sources in order, each once, got {value_text(parameters.sources)!r}")
        self.inputs(parameters)

    def inputs(self, parameters: ScoresParameters) -> Mapping[str, Input]:
        return {role_of(place): source_input(place) for place in parameters.sources if not place.version}

    def estimate(self, _parameters: ScoresParameters) -> Estimate:
        return Estimate(MAX_ROWS, 200 * MAX_ROWS, 1 << 20)


def role_of(place: VersionRef) -> str:
    """Return the role that a source has among the inputs."""
    return str(place).replace("/", "_").replace("-", "_")


DATASET = Scores()
