"""Trains a network by temporal differences, and tests it after every part of the games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import CheckFailedError, InvalidParameterError, MissingTableError
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import open_networks, stored_arrays
from bgdata.evaluation.players import SHIPPED
from bgdata.selfplay.games import SeriesResult
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.store.versions import Versions
from bgdata.training.kinds.network import NetworkParameters, curve_line
from bgdata.training.networks import FloatNetworks, input_sets_of, rounded_networks, starting_networks
from bgdata.training.temporal_difference import Trainer, bearoff_sample, result_against_pubeval

SAMPLE_SEED = 0  # seed of the bearoff positions of tests
MIN_GAMES = 100  # minimum number of games to play again: fewer games have no reliable standard error
DEVIATIONS = 5  # allowed difference between the mean of replayed test games and of all, in standard errors


class NetworkComputation(Computation[NetworkParameters]):
    """Computes `network`: trains networks by temporal differences, and tests them after every `row_games` games."""

    def compute(self, build: Build[NetworkParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        networks = _networks_to_start(build) if parameters.start else None
        trainer = Trainer(parameters, training_tables(inputs), networks)
        sample = bearoff_sample(TwoSidedTable(inputs["two_sided"]), SAMPLE_SEED)
        curve, (_, weights, biases) = np.zeros((parameters.rows, len(self.kind.columns))), trainer.networks
        state: dict[str, Array] = {"weights": weights, "biases": biases, "curve": curve, "tally": trainer.tally}
        sizes = [parameters.round_games] * parameters.rounds
        for number in job.steps("games", range(len(sizes)), sizes, state):
            trainer.play_round(number)
            done = number + 1
            if done % parameters.rounds_per_row == 0 or done == parameters.rounds:
                row = trainer.curve_row(done * parameters.round_games, sample, parameters.test_games)
                curve[number // parameters.rounds_per_row] = row
                job.progress.note(curve_line(row))
        for name, values in stored_arrays(rounded_networks(trainer.networks)).items():
            job.save(name, values)
        job.save("curve", curve)

    def batches(self, computed: Computed[NetworkParameters]) -> Iterator[pa.RecordBatch]:
        curve = np.asarray(computed.arrays["curve"])
        columns = {column.name: curve[:, place] for place, column in enumerate(self.kind.columns)}
        yield pa.record_batch(columns | {"games": columns["games"].astype(np.int64)})

    def statistics(self, computed: Computed[NetworkParameters]) -> Mapping[str, float]:
        last = np.asarray(computed.arrays["curve"])[-1]
        names = [column.name for column in self.kind.columns]
        return {name: float(value) for name, value in zip(names, last, strict=True)}

    def check_sample(self, recheck: Recheck[NetworkParameters]) -> str:
        """Recompute the last row of the learning curve from the stored networks: their error on the bearoff positions,
        and up to `rows` of their games against PubEval."""
        table, parameters = recheck.table, recheck.parameters
        networks, curve = open_networks(table), np.asarray(table.array("curve"))
        rounds = [min((row + 1) * parameters.rounds_per_row, parameters.rounds) for row in range(parameters.rows)]
        games = [done * parameters.round_games for done in rounds]
        if curve[:, :2].tolist() != [[count, parameters.learning_rate_at(count)] for count in games]:
            raise CheckFailedError(
                f"expected games {games} and their rates in the curve of {table.name}, found {curve[:, :2].tolist()}"
            )
        *_, points, _, bearoff_error = curve[-1].tolist()
        found = bearoff_sample(TwoSidedTable(recheck.inputs["two_sided"]), SAMPLE_SEED).error_of(networks)
        if found != bearoff_error:
            raise CheckFailedError(
                f"expected a bearoff_error of {found} in the last row of {table.name}, found {bearoff_error}"
            )
        count = play_again(networks, recheck, points, f", in the last row of {table.name}").games
        return f"{count:,} of {parameters.test_games:,} test games, and the error on bearoffs; it was not trained again"


def play_again(networks: Networks, recheck: Recheck[Any], points: float, place: str) -> SeriesResult:
    """Play up to `rows` of the first test games against PubEval again. Raises CheckFailedError unless their points per
    game are near `points`, the stored mean of all test games. `place` names the stored mean in the error."""
    games = recheck.parameters.test_games
    count = min(max(recheck.rows, MIN_GAMES), games)
    result = result_against_pubeval(networks, training_tables(recheck.inputs), count)
    margin = 0.0 if count == games else DEVIATIONS * result.standard_error
    if not abs(result.points_per_game - points) <= margin:
        raise CheckFailedError(
            f"expected {result.points_per_game:+.4f} points per game within {margin:.4f}, as in the first {count} "
            f"test games{place}, found {points:+.4f}"
        )
    return result


def training_tables(inputs: Mapping[str, Table]) -> BearoffArrays:
    """Return the bearoff tables by which networks in training play and learn. The two-sided table is not among them,
    because it serves to test the race network against exact equities."""
    return map_tables(None, inputs.get("one_sided"), inputs.get("gammon"))


def _networks_to_start(build: Build[NetworkParameters]) -> FloatNetworks:
    """Return the networks that training starts from, new networks or those of a version. Raises MissingTableError if
    they are missing, CorruptFileError if they are damaged, and InvalidParameterError if they have other inputs or more
    hidden units."""
    parameters = build.parameters
    assert parameters.start
    networks = open_networks(open_network_version(parameters.start, build.inputs.get("start"), build.warehouse))
    if input_sets_of(networks) != parameters.input_sets():
        labels = ", ".join(input_set.label for input_set in input_sets_of(networks))
        raise InvalidParameterError(
            f"expected a recipe with the inputs {labels} (race, crashed, contact) of {parameters.start}, got "
            f"{', '.join(input_set.label for input_set in parameters.input_sets())}"
        )
    return starting_networks(networks, parameters.layers(), parameters.seed)


def open_network_version(place: VersionRef, table: Table | None, warehouse: Versions) -> Table:
    """Open the version of a network: `table` if it is given, because the network is a built input, else the version
    that `place` names, which may be part of the package. Raises MissingTableError if it is missing, and
    CorruptFileError if a file has a wrong size."""
    if table:
        return table
    try:
        found = warehouse.open_reference(place)
    except MissingTableError:
        found = Table(SHIPPED / place.variant / place.version)
        if not (place.version and found.folder.is_dir() and found.manifest.dataset == place.kind):
            raise
    found.check_sizes()
    return found


COMPUTATION = NetworkComputation
