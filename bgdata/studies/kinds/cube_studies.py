"""Studies of cube handling: results of games by cube model and setting, beside published figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import text_declarations
from bgdata.selfplay.kinds.cubeful_selfplay import met_inputs
from bgdata.selfplay.kinds.shared.games import check_count, check_seed
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.store.table import published_folder, published_versions
from bgdata.studies.kinds.shared.cube_arms import CUBES, ENDINGS, OWN_MET, OWN_MET_CUBEFUL, Arm, arms_of, player_of

PUBLISHED = Path(__file__).parents[1] / "versions"  # <variant>/<version>, as in a warehouse
SHARD_GAMES = 5000  # money games of a shard, which has fewer matches; even, so that pairs are not split
# alphabetical, because rows are sorted by key
MATCH_MEASURES = ("games_per_match", "hedged_points_per_match", "points_per_match", "win_share")
MONEY_MEASURES = tuple(
    sorted(
        (
            *("points_per_game", "hedged_points_per_game", "win_share", "mean_cube_value"),
            *(f"{ending}_share" for ending in ENDINGS),
            *(f"cube_{value}_share" for value in CUBES),
        )
    )
)
LUCK_ADJUSTED = ("hedged_points_per_game", "hedged_points_per_match")  # measures with the luck subtracted
UNITS = {
    "points_per_game": "points",
    "points_per_match": "points",
    "hedged_points_per_game": "points",
    "hedged_points_per_match": "points",
    "mean_cube_value": "cube",
    "games_per_match": "games",
}


@dataclass(frozen=True)
class StudyParameters(NetworkChoice):
    """Parameters of `cube_studies`: the name of the study, the number of games (or matches) in each arm, the seed of
    all arms, and whether luck is subtracted. An arm is one series of games."""

    study: str = "statistics"
    games: int = 100_000
    seed: int = 1
    with_luck: bool = False

    def usual_network(self, network: str) -> str:
        """Return the name of a network in this study: see `NetworkChoice.usual_network`."""
        return player_of(self.study, network)

    def arms(self) -> tuple[Arm, ...]:
        """Return the arms (series of games) that make up the study. Raises InvalidParameterError if there is no such
        study."""
        return arms_of(self.study)


def published_studies() -> dict[StudyParameters, Path]:
    """Return the folders of the studies in the package, by parameters. Studies with a damaged manifest are left out."""
    return published_versions(PUBLISHED, StudyParameters)


class CubeStudies(Dataset[StudyParameters]):
    """Kind `cube_studies`: studies of cube handling in played games. One row per arm and measure."""

    name = "cube_studies"
    revision = 2  # 2: 8 plays of each roll measure luck
    summary = "Studies of cube handling: measures of games with the cube by model and setting, with standard errors."
    source = (
        "Computed: games of a network with the cube, plays by cubeless money equity or, where the study says so, by "
        "their value with the cube, each sequence of dice twice with the sides swapped; published figures: "
        "computationalbackgammon.blogspot.com, March and April 2012"
    )
    columns = (
        Column("match_length", "SMALLINT", "points", "Points that win the match, 0 for money"),
        Column("setting", "DOUBLE", "", "Cube life index of the side that is studied, or volatility of the jump model"),
        Column("measure", "VARCHAR", "", "What was measured: " + ", ".join((*MONEY_MEASURES, *MATCH_MEASURES))),
        Column("against", "VARCHAR", "", "Opponent: itself, or how it handles the cube"),
        Column("value", "DOUBLE", "as unit says", "Mean of the sample, of the side that is studied"),
        Column("value_error", "DOUBLE", "as unit says", "Standard error of value"),
        Column("unit", "VARCHAR", "", "Unit of value and value_error"),
        Column("sample_size", "BIGINT", "", "Money games, or matches"),
        Column("published_value", "DOUBLE", "as its row says", "What was published, null where nothing was"),
    )
    sample_rows = 100  # maximum number of games of an arm that verify plays again; larger arms take up to a minute
    key = ("match_length", "setting", "measure")
    arrays = (
        FlatArray("lengths", "int16", "row", "Match length, 0 for money"),
        FlatArray("settings", "float64", "row", "Cube life index, or volatility"),
        *text_declarations("measures", "row", "What was measured"),
        *text_declarations("against", "row", "Opponent"),
        FlatArray("figures", "float64", "row", "Mean of the sample"),
        FlatArray("errors", "float64", "row", "Standard error of the mean"),
        FlatArray("published", "float64", "row", "What was published, NaN where nothing was"),
        FlatArray(
            "sums",
            "int64",
            "row, (sum, sum of squares)",
            "Over pairs, or games where they are no pairs; luck-adjusted points by STEPS",
        ),
    )
    parameters = StudyParameters
    defaults = tuple(published_studies())
    smallest = StudyParameters("tiny", "", 3, 3, "index", 4, 3, True)

    def slug(self, parameters: StudyParameters) -> str:
        how = "-luck" if parameters.with_luck else ""
        return f"{parameters.study}-{parameters.network}-{parameters.games}-seed-{parameters.seed}{how}"

    def check_parameters(self, parameters: StudyParameters) -> None:
        parameters.check_network()
        check_count(parameters.games)
        check_seed(parameters.seed)
        parameters.arms()
        if parameters.games % 2 or parameters.games < 4:
            raise InvalidParameterError(f"expected an even number of at least 4 games, got {parameters.games}")

    def inputs(self, parameters: StudyParameters) -> Mapping[str, tuple[str, Parameters]]:
        longest = max(parameters.arms(), key=lambda arm: arm.length)
        return parameters.network_inputs() | met_inputs(
            longest.length, longest.cube, is_own=parameters.study in (OWN_MET, OWN_MET_CUBEFUL)
        )

    def published_folder(self, parameters: StudyParameters) -> Path | None:
        return published_folder(PUBLISHED, parameters, self.slug(parameters))

    def estimate(self, parameters: StudyParameters) -> Estimate:
        rows = len(MONEY_MEASURES) * len(parameters.arms())
        return Estimate(rows, 200 * rows, (1 << 28) + 100 * SHARD_GAMES)


DATASET = CubeStudies()
