"""Networks of a player, and the learning curve that led to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets._race import RaceParameters
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Parameters
from bgdata.training.recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table

POINTS = 6  # of the bearoff tables that teach and test


@dataclass(frozen=True)
class NetworkParameters(Recipe, Parameters):
    """A recipe of temporal-difference learning, and how often its result is scored: a row of the learning curve every
    `row_games`, from `test_games` games against PubEval."""

    name: str = "td"
    row_games: int = 20_000
    test_games: int = 4_000


class Network(Dataset[NetworkParameters]):
    """One row a point of the learning curve."""

    name = "network"
    revision = 1
    summary = "Networks for race, crashed and contact positions, learned by self-play, and how they learned."
    source = "Computed: temporal-difference learning (Tesauro 1992) by self-play, in float32, rounded once to integers"
    main_table = "learning_curve"
    columns = (
        Column("games", "BIGINT", "games", "Games of self-play so far"),
        Column("rate", "DOUBLE", "", "Learning rate"),
        Column("turns_per_game", "DOUBLE", "rolls", "Mean length of a game of self-play since the row before, both sides' rolls"),
        Column("gammon_share", "DOUBLE", "", "Share of these games that ended in a gammon, backgammons not included"),
        Column("backgammon_share", "DOUBLE", "", "Share of these games that ended in a backgammon"),
        Column("points_per_game", "DOUBLE", "points", "Mean result against PubEval, cubeless, in games with the same dice for both sides"),
        Column("standard_error", "DOUBLE", "points", "Standard error of points_per_game"),
        Column("bearoff_error", "DOUBLE", "points", "Mean absolute error of the race network's equity on 2,000 exact bearoff positions"),
    )
    key = ("games",)
    arrays = (
        FlatArray("shapes", "int64", "race, crashed, contact; column", "Encoder, inputs, first weight, first bias, layers, units of each layer"),
        FlatArray("weights", "int16", "packed", "Units of 2^-12 [input, unit] in first layers, 2^-11 [unit, unit below] in later ones"),
        FlatArray("biases", "int32", "packed", "Units of 2^-18 in first layers, 2^-24 in later ones"),
        FlatArray("curve", "float64", "row, column", "The learning curve"),
    )
    parameters = NetworkParameters
    defaults = ()
    smallest = NetworkParameters(games=400, batch=100, hidden="8", crashed_hidden="8", race_hidden="8-4", row_games=200, test_games=20, name="tiny")

    def slug(self, parameters: NetworkParameters) -> str:
        return parameters.name

    def check_parameters(self, parameters: NetworkParameters) -> None:
        parameters.check()
        name = parameters.name.replace("-", "")
        if not (name.isascii() and name.isalnum() and parameters.name == parameters.name.lower()):
            raise InvalidParameterError(f"expected a name of small letters, digits and -, got {parameters.name!r}")
        if parameters.row_games < parameters.batch or parameters.test_games < 2:
            raise InvalidParameterError(
                f"expected at least {parameters.batch} games a row and 2 test games, "
                f"got {parameters.row_games} and {parameters.test_games}"
            )

    def inputs(self, parameters: NetworkParameters) -> Mapping[str, tuple[str, Parameters]]:
        tables = {"two_sided": ("bearoff_two_sided", TwoSidedParameters(POINTS, 6))}
        if parameters.tables:
            race = RaceParameters(POINTS)
            tables |= {"one_sided": ("bearoff_one_sided", race), "gammon": ("bearoff_gammon", race)}
        return tables

    def estimate(self, parameters: NetworkParameters) -> Estimate:
        rows = -(-parameters.games // parameters.row_games)
        return Estimate(rows, 4 << 20, (1 << 28) + parameters.batch * (1 << 16))

    def compute(self, parameters: NetworkParameters, inputs: Mapping[str, Table], job: Job) -> None:
        from bgdata.bearoff.tables import TwoSidedTable
        from bgdata.evaluation.bearoff import map_tables
        from bgdata.training.learning import rounded_networks
        from bgdata.training.learning_curve import COLUMNS, Tally, bearoff_sample, curve_row
        from bgdata.training.temporal_difference import Trainer

        trainer = Trainer(parameters, map_tables(None, inputs.get("one_sided"), inputs.get("gammon")))
        sample = bearoff_sample(TwoSidedTable(inputs["two_sided"]), seed=0)
        between = parameters.row_games // parameters.batch
        rows = -(-trainer.rounds // between)
        state = {
            "weights": trainer.networks.weights,
            "biases": trainer.networks.biases,
            "curve": np.zeros((rows, len(COLUMNS))),
            "tally": np.zeros(4, np.int64),
        }
        tally = Tally(state["tally"])
        sizes = [parameters.batch] * trainer.rounds
        label = f"{self.name}/{self.slug(parameters)}"
        for number in job.steps(label, "games", range(trainer.rounds), sizes, state):
            trainer.play_round(number)
            tally.add(trainer.record)
            done = number + 1
            if done % between == 0 or done == trainer.rounds:
                games = done * parameters.batch
                row = curve_row(
                    trainer, rounded_networks(trainer.networks), games, tally, sample, parameters.test_games
                )
                state["curve"][(done - 1) // between] = row
                job.progress.note(described(row))
        for name, values in rounded_networks(trainer.networks)._asdict().items():
            job.save(name, values)
        job.save("curve", state["curve"])

    def batches(self, parameters: NetworkParameters, arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        import pyarrow as pa

        curve = np.asarray(arrays["curve"])
        columns = {column.name: curve[:, place] for place, column in enumerate(self.columns)}
        yield pa.record_batch(columns | {"games": columns["games"].astype(np.int64)})

    def statistics(self, parameters: NetworkParameters, arrays: Mapping[str, Array]) -> Mapping[str, float]:  # noqa: ARG002
        last = np.asarray(arrays["curve"])[-1]
        names = [column.name for column in self.columns]
        return {name: float(value) for name, value in zip(names, last, strict=True)}


def described(row: list[float]) -> str:
    """A row of the learning curve for people."""
    games, _, turns, gammons, backgammons, points, error, bearoff = row
    return (
        f"{games:,.0f} games: {points:+.3f} +/- {error:.3f} points per game against PubEval; self-play "
        f"{turns:.1f} rolls, {100 * gammons:.1f} % gammons, {100 * backgammons:.1f} % backgammons; "
        f"bearoff off by {bearoff:.4f}"
    )


DATASET = Network()
