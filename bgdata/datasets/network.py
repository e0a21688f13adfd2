"""Networks of a player, and the learning curve that led to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.datasets.common.networks import known_variant, opened
from bgdata.datasets.common.race import RaceParameters
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.networks.shipped import SHIPPED
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.published import published_versions
from bgdata.training.temporal_difference.recipe import TemporalDifferenceRecipe

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.bearoff_kernels import BearoffArrays
    from bgdata.store.arrays import Array
    from bgdata.store.table import Table
    from bgdata.training.networks import FloatNetworks
    from bgdata.training.temporal_difference.run import Trainer

POINTS = 6  # of the bearoff tables that teach and test
SAMPLE_SEED = 0  # of the bearoff positions that test
MOST_INPUTS = 256  # of any encoder, or somewhat fewer: for estimates
LEAST_GAMES = 100  # to play again: fewer do not tell how far they may be off
DEVIATIONS = 5  # standard errors that some of the test games may be away from all of them


@dataclass(frozen=True)
class NetworkParameters(TemporalDifferenceRecipe, Parameters):
    """A recipe of temporal-difference learning, and how often its result is scored: a row of the learning curve every
    `row_games`, from `test_games` games against PubEval.

    `start` is a version of a network, or the variant of one that comes with bgdata; none for new networks.
    """

    name: str = "td"
    start: VersionRef | None = None
    row_games: int = 20_000
    test_games: int = 4_000

    @property
    def rounds_per_row(self) -> int:
        """Rounds of the recipe between two rows."""
        return self.row_games // self.round_games

    @property
    def rows(self) -> int:
        """Rows of the learning curve; the last one may follow fewer rounds than the others."""
        return -(-self.rounds // self.rounds_per_row)


def published_networks() -> dict[NetworkParameters, Path]:
    """Folders of the networks that come with the package, by recipe; one whose manifest is damaged is none."""
    return published_versions(SHIPPED, NetworkParameters)


class Network(Dataset[NetworkParameters]):
    """One row a point of the learning curve."""

    name = "network"
    revision = 1
    summary = "Networks for race, crashed and contact positions, learned by self-play, and how they learned."
    source = "Computed: temporal-difference learning (Tesauro 1992) by self-play, in float32, rounded once to integers"
    main_table = "learning_curve"
    columns = (
        Column("games", "BIGINT", "games", "Games of self-play so far"),
        Column("rate", "DOUBLE", "share of the error", "Learning rate"),
        Column("turns_per_game", "DOUBLE", "rolls a game", "Mean number of rolls in self-play since the row before"),
        Column("gammon_share", "DOUBLE", "share of games", "Of these games, won as a gammon but no backgammon"),
        Column("backgammon_share", "DOUBLE", "share of games", "Of these games, won as a backgammon"),
        Column("points_per_game", "DOUBLE", "points", "Mean result against PubEval, cubeless, both with the same dice"),
        Column("standard_error", "DOUBLE", "points", "Standard error of points_per_game"),
        Column("bearoff_error", "DOUBLE", "points", "Mean absolute error of the race network in bearoffs"),
    )
    key = ("games",)
    arrays = (
        FlatArray(
            "shapes",
            "int64",
            "race, crashed, contact; column",
            "Encoder, inputs, first weight, first bias, layers, units of each layer",
        ),
        FlatArray(
            "weights",
            "int16",
            "packed",
            "In 2^-12 [input, unit] in first layers, in 2^-11 [unit, unit below] in later ones",
        ),
        FlatArray("biases", "int32", "packed", "In 2^-18 in first layers, in 2^-24 in later ones"),
        FlatArray("curve", "float64", "row, column", "The learning curve"),
    )
    parameters = NetworkParameters
    defaults = tuple(published_networks())
    smallest = NetworkParameters(
        games=400,
        round_games=100,
        hidden="8",
        crashed_hidden="8",
        race_hidden="8-4",
        row_games=200,
        test_games=20,
        name="tiny",
        td_lambda=0.0,
    )

    def slug(self, parameters: NetworkParameters) -> str:
        return parameters.name

    def check_parameters(self, parameters: NetworkParameters) -> None:
        parameters.check()
        name = parameters.name.replace("-", "")
        if not (name.isascii() and name.isalnum() and parameters.name == parameters.name.lower()):
            raise InvalidParameterError(f"expected a name of small letters, digits and -, got {parameters.name!r}")
        if parameters.row_games < parameters.round_games or parameters.test_games < 2:
            raise InvalidParameterError(
                f"expected at least {parameters.round_games} games a row and 2 test games, "
                f"got {parameters.row_games} and {parameters.test_games}"
            )
        self.inputs(parameters)

    def inputs(self, parameters: NetworkParameters) -> Mapping[str, tuple[str, Parameters]]:
        tables: dict[str, tuple[str, Parameters]] = {"two_sided": ("bearoff_two_sided", TwoSidedParameters(POINTS, 6))}
        if parameters.tables:
            race = RaceParameters(POINTS)
            tables |= {"one_sided": ("bearoff_one_sided", race), "gammon": ("bearoff_gammon", race)}
        if parameters.start and not parameters.start.version:
            tables["start"] = known_variant(parameters.start)
        return tables

    def published(self, parameters: NetworkParameters) -> Path | None:
        return published_networks().get(parameters)

    def estimate(self, parameters: NetworkParameters) -> Estimate:
        weights = sum(MOST_INPUTS * units[0] + sum(map(mul, units, units[1:])) for units in parameters.layers())
        return Estimate(
            parameters.rows, 2 * weights + 200 * parameters.rows, (1 << 28) + parameters.round_games * (1 << 16)
        )

    def compute(self, build: Build[NetworkParameters]) -> None:
        from bgdata.bearoff.tables import TwoSidedTable
        from bgdata.training.networks import rounded_networks
        from bgdata.training.temporal_difference.learning_curve import COLUMNS, Tally, bearoff_sample, curve_row
        from bgdata.training.temporal_difference.run import Trainer

        parameters, inputs, job = build.parameters, build.inputs, build.job
        networks = networks_to_start(build) if parameters.start else None
        trainer, tally = Trainer(parameters, teaching_tables(inputs), networks), Tally(np.zeros(4, np.int64))
        sample = bearoff_sample(TwoSidedTable(inputs["two_sided"]), SAMPLE_SEED)
        curve = np.zeros((parameters.rows, len(COLUMNS)))
        state: dict[str, Array] = {**weights_of(trainer), "curve": curve, "tally": tally.counts}
        sizes = [parameters.round_games] * parameters.rounds
        for number in job.steps(f"{self.name}/{self.slug(parameters)}", "games", range(len(sizes)), sizes, state):
            trainer.play_round(number)
            tally.add(trainer.record)
            done = number + 1
            if done % parameters.rounds_per_row == 0 or done == parameters.rounds:
                row = curve_row(trainer, done * parameters.round_games, tally, sample, parameters.test_games)
                curve[number // parameters.rounds_per_row] = row
                job.progress.note(described(row))
        for name, values in rounded_networks(trainer.networks)._asdict().items():
            job.save(name, values)
        job.save("curve", curve)

    def batches(self, computed: Computed[NetworkParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        curve = np.asarray(computed.arrays["curve"])
        columns = {column.name: curve[:, place] for place, column in enumerate(self.columns)}
        yield pa.record_batch(columns | {"games": columns["games"].astype(np.int64)})

    def statistics(self, computed: Computed[NetworkParameters]) -> Mapping[str, float]:
        last = np.asarray(computed.arrays["curve"])[-1]
        names = [column.name for column in self.columns]
        return {name: float(value) for name, value in zip(names, last, strict=True)}

    def check_sample(self, recheck: Recheck[NetworkParameters]) -> str:
        """The last row follows from the networks: their error on the bearoff positions, and their games against
        PubEval, of which up to `rows` are played again."""
        from bgdata.bearoff.tables import TwoSidedTable
        from bgdata.evaluation.networks.mapped import open_networks
        from bgdata.training.temporal_difference.learning_curve import bearoff_sample, result_against_pubeval

        table, parameters = recheck.table, recheck.parameters
        networks, curve = open_networks(table), np.asarray(table.array("curve"))
        check_schedule(parameters, curve, table.name)
        *_, points, _, bearoff_error = curve[-1].tolist()
        found = bearoff_sample(TwoSidedTable(recheck.inputs["two_sided"]), SAMPLE_SEED).error_of(networks)
        if found != bearoff_error:
            raise CheckFailedError(
                f"expected a bearoff_error of {found} in the last row of {table.name}, found {bearoff_error}"
            )
        count = min(max(recheck.rows, LEAST_GAMES), parameters.test_games)
        result = result_against_pubeval(networks, teaching_tables(recheck.inputs), count)
        margin = 0.0 if count == parameters.test_games else DEVIATIONS * result.standard_error
        if not abs(result.points_per_game - points) <= margin:
            raise CheckFailedError(
                f"expected {result.points_per_game:+.4f} points per game within {margin:.4f}, as in the first {count} "
                f"test games, in the last row of {table.name}, found {points:+.4f}"
            )
        return f"{count:,} of {parameters.test_games:,} test games, and the error on bearoffs; it was not trained again"


def teaching_tables(inputs: Mapping[str, Table]) -> BearoffArrays:
    """The tables that positions are played and taught by. The two-sided one only tests: the race network, and what
    the one-sided ones teach it, are measured against exact equities."""
    from bgdata.evaluation.bearoff import map_tables

    return map_tables(None, inputs.get("one_sided"), inputs.get("gammon"))


def networks_to_start(build: Build[NetworkParameters]) -> FloatNetworks:
    """The networks that learning goes on from. Raises MissingTableError, CorruptFileError, and InvalidParameterError
    for those of other inputs, or with more hidden units."""
    from bgdata.evaluation.networks.mapped import open_networks
    from bgdata.training.networks import input_sets_of, started_networks

    parameters = build.parameters
    assert parameters.start
    networks = open_networks(opened(parameters.start, build.inputs.get("start"), build.warehouse))
    if input_sets_of(networks) != parameters.input_sets():
        labels = ", ".join(encoder.label for encoder in input_sets_of(networks))
        raise InvalidParameterError(
            f"expected a recipe with the inputs {labels} (race, crashed, contact) of {parameters.start}, got "
            f"{', '.join(encoder.label for encoder in parameters.input_sets())}"
        )
    return started_networks(networks, parameters.layers(), parameters.seed)


def weights_of(trainer: Trainer) -> dict[str, Array]:
    """What a checkpoint saves of the networks."""
    return {"weights": trainer.networks.weights, "biases": trainer.networks.biases}


def check_schedule(parameters: NetworkParameters, curve: Array, name: str) -> None:
    """Raise CheckFailedError unless the rows of a learning curve have the games and rates of the recipe."""
    rounds = [min((row + 1) * parameters.rounds_per_row, parameters.rounds) for row in range(parameters.rows)]
    games = [done * parameters.round_games for done in rounds]
    expected = [[count, parameters.rate_after(count)] for count in games]
    if curve[:, :2].tolist() != expected:
        raise CheckFailedError(
            f"expected games {games} and their rates in the curve of {name}, found {curve[:, :2].tolist()}"
        )


def described(row: list[float]) -> str:
    """A row of the learning curve for people."""
    games, _, turns, gammons, backgammons, points, error, bearoff = row
    return (
        f"{games:,.0f} games: {points:+.3f} +/- {error:.3f} points per game against PubEval; self-play "
        f"{turns:.1f} rolls, {100 * gammons:.1f} % gammons, {100 * backgammons:.1f} % backgammons; "
        f"bearoff off by {bearoff:.4f}"
    )


DATASET = Network()
