"""Networks of a player, and the learning curve that led to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets._race import RaceParameters
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import BgdataError, CheckFailedError, InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Parameters
from bgdata.store.manifest import load_manifest
from bgdata.training.recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table

PUBLISHED = Path(__file__).parents[1] / "evaluation" / "networks"  # <name>/<version>/, see docs/ship_network.py
POINTS = 6  # of the bearoff tables that teach and test
TRIAL_POINTS = 3  # the same in a trial, a run of fewer games than this: such tables are there at once
TRIAL_GAMES = 1000


@dataclass(frozen=True)
class NetworkParameters(Recipe, Parameters):
    """A recipe of temporal-difference learning, and how often its result is scored: a row of the learning curve every
    `row_games`, from `test_games` games against PubEval."""

    name: str = "td"
    row_games: int = 20_000
    test_games: int = 4_000


def published_networks() -> dict[NetworkParameters, Path]:
    """Folders of the networks that come with the package, by recipe; one whose manifest is damaged is none."""
    found = {}
    for folder in sorted(PUBLISHED.glob("*/r*-*")):
        try:
            found[NetworkParameters.from_manifest(load_manifest(folder).parameters)] = folder
        except BgdataError:
            continue
    return found


class Network(Dataset[NetworkParameters]):
    """One row a point of the learning curve."""

    name = "network"
    revision = 1
    summary = "Networks for race, crashed and contact positions, learned by self-play, and how they learned."
    source = "Computed: temporal-difference learning (Tesauro 1992) by self-play, in float32, rounded once to integers"
    main_table = "learning_curve"
    columns = (
        Column("games", "BIGINT", "games", "Games of self-play so far"),
        Column("rate", "DOUBLE", "share", "Learning rate: how much of an error is taken back at once"),
        Column("turns_per_game", "DOUBLE", "turns", "Mean length of the games of self-play since the row before"),
        Column("gammon_share", "DOUBLE", "share", "These games that ended in a gammon, backgammons not included"),
        Column("backgammon_share", "DOUBLE", "share", "These games that ended in a backgammon"),
        Column(
            "points_per_game",
            "DOUBLE",
            "points",
            "Mean cubeless result against PubEval, each dice played from both sides",
        ),
        Column("standard_error", "DOUBLE", "points", "Standard error of points_per_game"),
        Column(
            "bearoff_error", "DOUBLE", "points", "Mean absolute error of the race network's equity on exact positions"
        ),
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
            "Units of 2^-12 [input, unit] in first layers, 2^-11 [unit, unit below] in later ones",
        ),
        FlatArray("biases", "int32", "packed", "Units of 2^-18 in first layers, 2^-24 in later ones"),
        FlatArray("curve", "float64", "row, column", "The learning curve"),
    )
    parameters = NetworkParameters
    defaults = tuple(published_networks())
    smallest = NetworkParameters(
        name="tiny",
        games=400,
        batch=100,
        row_games=200,
        test_games=20,
        hidden="8",
        crashed_hidden="8",
        race_hidden="8-4",
    )

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
        points = TRIAL_POINTS if parameters.games < TRIAL_GAMES else POINTS
        tables: dict[str, tuple[str, Parameters]] = {
            "two_sided": ("bearoff_two_sided", TwoSidedParameters(points, points))
        }
        if parameters.tables:
            race = RaceParameters(points)
            tables |= {"one_sided": ("bearoff_one_sided", race), "gammon": ("bearoff_gammon", race)}
        return tables

    def published(self, parameters: NetworkParameters) -> Path | None:
        return published_networks().get(parameters)

    def estimate(self, parameters: NetworkParameters) -> Estimate:
        from bgdata.evaluation.encoders import input_count

        rows = -(-rounds(parameters) // rounds_a_row(parameters))
        disk_bytes = rows * 16 * len(self.columns)
        for encoder, hidden in zip(parameters.encoders(), parameters.layers(), strict=True):
            sizes = (input_count(encoder), *hidden, 5)
            disk_bytes += sum(2 * below * units + 4 * units for below, units in pairwise(sizes))
        return Estimate(rows, disk_bytes, (1 << 28) + parameters.batch * (1 << 16))

    def compute(self, parameters: NetworkParameters, inputs: Mapping[str, Table], job: Job) -> None:
        from bgdata.bearoff.tables import TwoSidedTable
        from bgdata.evaluation.bearoff import map_tables
        from bgdata.training.learning import rounded_networks
        from bgdata.training.learning_curve import Tally, bearoff_sample, curve_row
        from bgdata.training.temporal_difference import Trainer

        trainer = Trainer(parameters, map_tables(None, inputs.get("one_sided"), inputs.get("gammon")))
        sample = bearoff_sample(TwoSidedTable(inputs["two_sided"]), seed=0)
        between = rounds_a_row(parameters)
        rows = -(-trainer.rounds // between)
        state: dict[str, Array] = {
            "weights": trainer.networks.weights,
            "biases": trainer.networks.biases,
            "curve": np.zeros((rows, len(self.columns))),
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

    def check_sample(
        self,
        table: Table,
        inputs: Mapping[str, Table],
        rows: int,  # noqa: ARG002
        generator: np.random.Generator,  # noqa: ARG002
    ) -> None:
        """Play the games of the last row against PubEval again; learning is not done again, which may take hours."""
        from bgdata.bearoff.tables import TwoSidedTable
        from bgdata.evaluation.bearoff import map_tables
        from bgdata.evaluation.network import open_networks
        from bgdata.training.learning_curve import bearoff_sample, scores_of

        parameters = NetworkParameters.from_manifest(table.manifest.parameters)
        bearoff = map_tables(None, inputs.get("one_sided"), inputs.get("gammon"))
        sample = bearoff_sample(TwoSidedTable(inputs["two_sided"]), seed=0)
        expected = scores_of(open_networks(table), bearoff, sample, parameters.test_games)
        found = np.asarray(table.array("curve"))[-1, -len(expected) :].tolist()
        if found != expected:
            raise CheckFailedError(
                f"expected points per game, standard error and bearoff error of {expected} from the weights of "
                f"{table.name}, found {found}"
            )


def rounds(parameters: NetworkParameters) -> int:
    """Batches of games in a run; the last may play more games than the recipe says."""
    return -(-parameters.games // parameters.batch)


def rounds_a_row(parameters: NetworkParameters) -> int:
    """Rounds between two rows of the learning curve."""
    return parameters.row_games // parameters.batch


def described(row: list[float]) -> str:
    """A row of the learning curve for people."""
    games, _, turns, gammons, backgammons, points, error, bearoff = row
    return (
        f"{games:,.0f} games: {points:+.3f} +/- {error:.3f} points per game against PubEval; self-play "
        f"{turns:.1f} rolls, {100 * gammons:.1f} % gammons, {100 * backgammons:.1f} % backgammons; "
        f"bearoff off by {bearoff:.4f}"
    )


DATASET = Network()
