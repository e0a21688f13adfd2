"""Studies of cube handling: how games with the cube go by model and setting, beside what was published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.common.columns import text_arrays, text_column, text_declarations
from bgdata.datasets.common.cube_arms import CUBES, ENDINGS, Arm, arms_of
from bgdata.datasets.common.cube_players import CubePlayerParameters, folders_of, met_inputs, open_played, sides_of
from bgdata.errors import BgdataError, CheckFailedError, CheckSkippedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.store.published import published_versions
from bgdata.store.shards import Settings, Work, compute_shards

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.play.cubeful_series import CubefulResults
    from bgdata.store.arrays import Array

PUBLISHED = Path(__file__).parents[1] / "play" / "studies"  # of the package: <variant>/<version>, as in a warehouse
SHARD_GAMES = 5000  # money games of a shard; matches are fewer. Even: pairs are never split
STEPS = 10_000  # of a hedged point: sums are integers
# in alphabetical order, as rows come in the order of their key
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
HEDGED = ("hedged_points_per_game", "hedged_points_per_match")  # with the luck subtracted
UNITS = {
    "points_per_game": "points",
    "points_per_match": "points",
    "hedged_points_per_game": "points",
    "hedged_points_per_match": "points",
    "mean_cube_value": "cube",
    "games_per_match": "games",
}


@dataclass(frozen=True)
class StudyParameters(CubePlayerParameters):
    """Which study, how many games (or matches) each arm has, the seed of their dice, the same for all arms, and
    whether luck is measured and subtracted as well."""

    study: str = "statistics"
    games: int = 100_000
    seed: int = 1
    with_luck: bool = False

    def arms(self) -> tuple[Arm, ...]:
        """Its series. Raises InvalidParameterError."""
        return arms_of(self.study)


def published_studies() -> dict[StudyParameters, Path]:
    """Folders of the studies that come with the package, by recipe; one whose manifest is damaged is none."""
    return published_versions(PUBLISHED, StudyParameters)


class CubeStudies(Dataset[StudyParameters]):
    """One row a measure of an arm."""

    name = "cube_studies"
    revision = 1
    summary = "Studies of cube handling: measures of games with the cube by model and setting, with standard errors."
    source = (
        "Computed: games of a network with the cube, plays by cubeless money equity, each sequence of dice twice with "
        "the sides swapped; published figures: computationalbackgammon.blogspot.com, March and April 2012"
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
    sample_rows = 100  # games: an arm of more takes up to a minute
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
            "Over pairs, or games where they are no pairs; hedged points by STEPS",
        ),
    )
    parameters = StudyParameters
    defaults = tuple(published_studies())
    smallest = StudyParameters("tiny", "", 3, 3, "index", 4, 3, True)

    def slug(self, parameters: StudyParameters) -> str:
        how = "-luck" if parameters.with_luck else ""
        return f"{parameters.study}-{parameters.network}-{parameters.games}-seed-{parameters.seed}{how}"

    def check_parameters(self, parameters: StudyParameters) -> None:
        parameters.check_player(parameters.games, parameters.seed)
        parameters.arms()
        if parameters.games % 2 or parameters.games < 4:
            raise InvalidParameterError(f"expected an even number of at least 4 games, got {parameters.games}")

    def inputs(self, parameters: StudyParameters) -> Mapping[str, tuple[str, Parameters]]:
        longest = max(parameters.arms(), key=lambda arm: arm.length)
        return parameters.network_inputs() | met_inputs(longest.length, longest.cube)

    def published(self, parameters: StudyParameters) -> Path | None:
        return published_studies().get(parameters)

    def estimate(self, parameters: StudyParameters) -> Estimate:
        rows = len(MONEY_MEASURES) * len(parameters.arms())
        return Estimate(rows, 200 * rows, (1 << 28) + 100 * SHARD_GAMES)

    def compute(self, build: Build[StudyParameters]) -> None:
        parameters, job = build.parameters, build.job
        settings = settings_of(parameters, folders_of(build))
        parts = shard_ranges(parameters)
        shards = compute_shards(
            job, f"{self.name}/{self.slug(parameters)}", "games", Work(f"{__name__}:studied", settings), parts
        )
        sums: list[Array] = [np.zeros((len(measures_of(parameters, arm)), 2), np.int64) for arm in parameters.arms()]
        for part, shard in zip(parts, shards, strict=True):
            sums[part.start // parameters.games] += shard["sums"]
        for name, values in rows_of(parameters, sums).items():
            job.save(name, values)

    def batches(self, computed: Computed[StudyParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        arrays = computed.arrays
        n, measures = len(arrays["figures"]), text_column(arrays, "measures")
        yield pa.record_batch(
            {
                "match_length": np.asarray(arrays["lengths"]),
                "setting": np.asarray(arrays["settings"]),
                "measure": measures,
                "against": text_column(arrays, "against"),
                "value": np.asarray(arrays["figures"]),
                "value_error": np.asarray(arrays["errors"]),
                "unit": pa.array([UNITS.get(measure, "share") for measure in measures.to_pylist()], pa.string()),
                "sample_size": np.full(n, computed.parameters.games, np.int64),
                "published_value": pa.array(np.asarray(arrays["published"]), from_pandas=True),
            }
        )

    def check_sample(self, recheck: Recheck[StudyParameters]) -> str:
        """The figures again from the sums, and in a study of few games one arm from its games."""
        table, parameters = recheck.table, recheck.parameters
        sums, arms = np.asarray(table.array("sums")), parameters.arms()
        places = np.cumsum([0, *(len(measures_of(parameters, arm)) for arm in arms)]).tolist()
        by_arm = [sums[start:end] for start, end in pairwise(places)]
        is_played = parameters.games <= recheck.rows
        if is_played:
            number = int(recheck.generator.integers(len(arms)))
            try:
                folders = folders_of(recheck)
            except BgdataError as error:
                raise CheckSkippedError(f"no game can be played again: {error}") from error
            first = number * parameters.games
            by_arm[number] = studied(settings_of(parameters, folders), first, first + parameters.games)["sums"]
        for name, values in rows_of(parameters, by_arm).items():
            if np.asarray(table.array(name)).tobytes() != values.tobytes():
                raise CheckFailedError(f"expected the {name} of {table.name} as they are computed again, found others")
        if not is_played:
            raise CheckSkippedError(
                f"its figures follow from its sums, but no game was played again; try: --sample {parameters.games}, "
                f"which plays one of its {len(arms)} arms"
            )
        return f"one of {len(arms)} arms played again, and all figures from the sums"


def settings_of(parameters: StudyParameters, folders: Mapping[str, str]) -> Settings:
    """What `studied` needs in a worker."""
    from bgdata.kernel_cache import kernel_fingerprint

    wanted = ("study", "games", "seed", "with_luck")
    return {**folders, **{name: getattr(parameters, name) for name in wanted}, "kernels": kernel_fingerprint()}


def shard_ranges(parameters: StudyParameters) -> list[range]:
    """Arms one after the other, each in shards: item `arm * games + match`."""
    found = []
    for number, arm in enumerate(parameters.arms()):
        size = max(2, SHARD_GAMES // max(1, arm.length) // 2 * 2)
        start, end = number * parameters.games, (number + 1) * parameters.games
        found += [range(begin, min(end, begin + size)) for begin in range(start, end, size)]
    return found


def studied(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """`sums` of the items of one arm, a row a measure. Raises WorkerError where other kernels would play."""
    from bgdata.play.cubeful_series import cubeful_results

    games, seed = int(settings["games"]), int(settings["seed"])
    with_luck = bool(settings["with_luck"])
    parameters = StudyParameters(study=str(settings["study"]), games=games, seed=seed, with_luck=with_luck)
    arm, first = parameters.arms()[begin // parameters.games], begin % parameters.games
    chooser, rules = open_played({**settings, "length": arm.length, "jacoby": 0})
    found = cubeful_results(
        chooser,
        sides_of(arm.cube),
        rules,
        end - begin,
        parameters.seed,
        first,
        is_paired=arm.is_paired,
        with_luck=parameters.with_luck,
    )
    by_measure = match_values(found) if arm.length else game_values(found, is_paired=arm.is_paired)
    values = np.stack([by_measure[measure] for measure in measures_of(parameters, arm)], axis=1)
    sums = values.reshape(-1, 2, values.shape[1]).sum(1) if arm.is_paired else values
    return {"sums": np.stack([sums.sum(0), (sums**2).sum(0)], axis=1)}


def match_values(found: CubefulResults) -> dict[str, Array]:
    """int64[matches] by MATCH_MEASURES of the side named first, matches in pairs from an even one on."""
    seats = np.arange(len(found.lucks)) % 2
    won = (found.column("winner")[found.offsets[1:] - 1] == seats).astype(np.int64)
    return {
        "games_per_match": np.diff(found.offsets),
        "points_per_match": 2 * won - 1,
        "hedged_points_per_match": hedged_steps(2 * won - 1, found.lucks, seats),
        "win_share": won,
    }


def game_values(found: CubefulResults, *, is_paired: bool) -> dict[str, Array]:
    """int64[games] by MONEY_MEASURES of the side named first, or of player 0 where there are no pairs."""
    seats = np.arange(len(found.games)) % 2 if is_paired else np.zeros(len(found.games), np.int64)
    won = (found.column("winner") == seats).astype(np.int64)
    points, cubes, ways = (found.column(name) for name in ("points", "cube_value", "way"))
    results = (2 * won - 1) * points
    return {
        "points_per_game": results,
        "hedged_points_per_game": hedged_steps(results, found.lucks, seats),
        "win_share": won,
        "mean_cube_value": cubes,
        **{f"{ending}_share": (ways == way).astype(np.int64) for way, ending in enumerate(ENDINGS)},
        **{f"cube_{value}_share": (cubes == value).astype(np.int64) for value in CUBES},
    }


def hedged_steps(results: Array, lucks: Array, seats: Array) -> Array:
    """int64[n]: results of players in these seats less their luck, in steps of a point; luck is that of player 0."""
    own_luck = np.where(seats == 0, lucks, -lucks)
    steps: Array = np.rint((results - own_luck) * STEPS).astype(np.int64)
    return steps


def measures_of(parameters: StudyParameters, arm: Arm) -> tuple[str, ...]:
    """What is measured in an arm."""
    names = MATCH_MEASURES if arm.length else MONEY_MEASURES
    return names if parameters.with_luck else tuple(name for name in names if name not in HEDGED)


def rows_of(parameters: StudyParameters, sums: list[Array]) -> dict[str, Array]:
    """Every array of a version, from int64[measures, (sum, sum of squares)] of each arm."""
    rows = []
    for arm, values in zip(parameters.arms(), sums, strict=True):
        count = parameters.games // 2 if arm.is_paired else parameters.games
        for measure, (total, squares) in zip(measures_of(parameters, arm), values.tolist(), strict=True):
            steps = parameters.games * (STEPS if measure in HEDGED else 1)
            spread = max(squares - total * total / count, 0.0) * count / (count - 1)
            rows.append((arm, measure, total / steps, spread**0.5 / steps, total, squares))
    return {
        "lengths": np.array([row[0].length for row in rows], np.int16),
        "settings": np.array([row[0].setting for row in rows], np.float64),
        **text_arrays("measures", [row[1] for row in rows]),
        **text_arrays("against", [row[0].against for row in rows]),
        "figures": np.array([row[2] for row in rows], np.float64),
        "errors": np.array([row[3] for row in rows], np.float64),
        "published": np.array([published_of(row[0], row[1]) for row in rows], np.float64),
        "sums": np.array([row[4:] for row in rows], np.int64),
    }


def published_of(arm: Arm, measure: str) -> float:
    """What was published of a measure, hedged or not; not a number where nothing was."""
    return arm.published.get(measure.removeprefix("hedged_"), np.nan)


DATASET = CubeStudies()
