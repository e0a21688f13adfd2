"""Plays the games of each arm of a study, and sums its measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from bgdata.errors import BgdataError, CheckFailedError, CheckSkippedError
from bgdata.kinds.column_values import text_arrays, text_column
from bgdata.selfplay.kinds.cubeful_selfplay import sides_of
from bgdata.selfplay.kinds.shared.rollouts_compute import network_folders, network_versions, open_network_and_rules
from bgdata.selfplay.series import CubefulResults, cubeful_results
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck
from bgdata.store.shards import Work, compute_shards
from bgdata.store.worker_inputs import Settings, worker_inputs
from bgdata.studies.kinds.cube_studies import (
    LUCK_ADJUSTED,
    MATCH_MEASURES,
    MONEY_MEASURES,
    SHARD_GAMES,
    UNITS,
    StudyParameters,
)
from bgdata.studies.kinds.shared.cube_arms import CUBES, ENDINGS, Arm

STEPS = 10_000  # steps in a luck-adjusted point, so that sums are integers


class CubeStudiesComputation(Computation[StudyParameters]):
    """Computes `cube_studies`: plays the games of each arm, and sums its measures."""

    def compute(self, build: Build[StudyParameters]) -> None:
        parameters, job = build.parameters, build.job
        settings = settings_of(parameters, network_folders(build))
        work = Work(f"{__name__}:play_study", settings, inputs=worker_inputs(network_versions(build)))
        parts = shard_ranges(parameters)
        shards = compute_shards(job, "games", work, parts)
        sums: list[Array] = [np.zeros((len(measures_of(parameters, arm)), 2), np.int64) for arm in parameters.arms()]
        for part, shard in zip(parts, shards, strict=True):
            sums[part.start // parameters.games] += shard["sums"]
        for name, values in rows_of(parameters, sums).items():
            job.save(name, values)

    def batches(self, computed: Computed[StudyParameters]) -> Iterator[pa.RecordBatch]:
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
        """Compute the figures from the stored sums again, and, in a small study, play the games of one arm again."""
        table, parameters = recheck.table, recheck.parameters
        sums, arms = np.asarray(table.array("sums")), parameters.arms()
        places = np.cumsum([0, *(len(measures_of(parameters, arm)) for arm in arms)]).tolist()
        by_arm = [sums[start:end] for start, end in pairwise(places)]
        is_played = parameters.games <= recheck.rows
        if is_played:
            number = int(recheck.generator.integers(len(arms)))
            try:
                folders = network_folders(recheck)
            except BgdataError as error:
                raise CheckSkippedError(f"no game can be played again: {error}") from error
            first = number * parameters.games
            by_arm[number] = play_study(settings_of(parameters, folders), first, first + parameters.games)["sums"]
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
    """Return the settings that a worker needs to run `play_study`. `folders` are the folders of the network and tables,
    by role."""
    wanted = ("study", "games", "seed", "with_luck")
    return {**folders, **{name: getattr(parameters, name) for name in wanted}}


def shard_ranges(parameters: StudyParameters) -> list[range]:
    """Return the range of items in each shard; match `match` of arm `arm` is item `arm * games + match`."""
    found = []
    for number, arm in enumerate(parameters.arms()):
        size = max(2, SHARD_GAMES // max(1, arm.length) // 2 * 2)
        start, end = number * parameters.games, (number + 1) * parameters.games
        found += [range(begin, min(end, begin + size)) for begin in range(start, end, size)]
    return found


def play_study(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Play the items from `begin` to before `end`, all of one arm, and return the array `sums` with a row for each
    measure."""
    games, seed = int(settings["games"]), int(settings["seed"])
    with_luck = bool(settings["with_luck"])
    parameters = StudyParameters(study=str(settings["study"]), games=games, seed=seed, with_luck=with_luck)
    arm, first = parameters.arms()[begin // parameters.games], begin % parameters.games
    chooser, rules = open_network_and_rules({**settings, "length": arm.length, "jacoby": int(arm.is_jacoby)})
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
    """Return the MATCH_MEASURES of each match for the first side, as int64[matches, measure]. Matches 2k and 2k + 1 are
    a pair."""
    seats = np.arange(len(found.lucks)) % 2
    won = (found.column("winner")[found.offsets[1:] - 1] == seats).astype(np.int64)
    return {
        "games_per_match": np.diff(found.offsets),
        "points_per_match": 2 * won - 1,
        "hedged_points_per_match": luck_adjusted_steps(2 * won - 1, found.lucks, seats),
        "win_share": won,
    }


def game_values(found: CubefulResults, *, is_paired: bool) -> dict[str, Array]:
    """Return the MONEY_MEASURES of each game for the first side, or for player 0 if games are not in pairs, as
    int64[games, measure]."""
    seats = np.arange(len(found.games)) % 2 if is_paired else np.zeros(len(found.games), np.int64)
    won = (found.column("winner") == seats).astype(np.int64)
    points, cubes, ways = (found.column(name) for name in ("points", "cube_value", "way"))
    results = (2 * won - 1) * points
    return {
        "points_per_game": results,
        "hedged_points_per_game": luck_adjusted_steps(results, found.lucks, seats),
        "win_share": won,
        "mean_cube_value": cubes,
        **{f"{ending}_share": (ways == way).astype(np.int64) for way, ending in enumerate(ENDINGS)},
        **{f"cube_{value}_share": (cubes == value).astype(np.int64) for value in CUBES},
    }


def luck_adjusted_steps(results: Array, lucks: Array, seats: Array) -> Array:
    """Return the results of the players in `seats` minus their luck, in steps of a point, as int64[n]. `lucks` are the
    luck of player 0."""
    own_luck = np.where(seats == 0, lucks, -lucks)
    steps: Array = np.rint((results - own_luck) * STEPS).astype(np.int64)
    return steps


def measures_of(parameters: StudyParameters, arm: Arm) -> tuple[str, ...]:
    """Return the names of the measures that an arm has."""
    names = MATCH_MEASURES if arm.length else MONEY_MEASURES
    return names if parameters.with_luck else tuple(name for name in names if name not in LUCK_ADJUSTED)


def rows_of(parameters: StudyParameters, sums: list[Array]) -> dict[str, Array]:
    """Return all arrays of a version, from int64[measures, (sum, sum of squares)] for each arm."""
    rows = []
    for arm, values in zip(parameters.arms(), sums, strict=True):
        count = parameters.games // 2 if arm.is_paired else parameters.games
        for measure, (total, squares) in zip(measures_of(parameters, arm), values.tolist(), strict=True):
            steps = parameters.games * (STEPS if measure in LUCK_ADJUSTED else 1)
            spread = max(squares - total * total / count, 0.0) * count / (count - 1)
            rows.append((arm, measure, total / steps, spread**0.5 / steps, total, squares))
    return {
        "lengths": np.array([row[0].length for row in rows], np.int16),
        "settings": np.array([row[0].setting for row in rows], np.float64),
        **text_arrays("measures", [row[1] for row in rows]),
        **text_arrays("against", [row[0].against for row in rows]),
        "figures": np.array([row[2] for row in rows], np.float64),
        "errors": np.array([row[3] for row in rows], np.float64),
        "published": np.array(
            [row[0].published.get(row[1].removeprefix("hedged_"), np.nan) for row in rows], np.float64
        ),
        "sums": np.array([row[4:] for row in rows], np.int64),
    }


COMPUTATION = CubeStudiesComputation
