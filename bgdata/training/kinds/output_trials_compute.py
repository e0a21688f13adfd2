"""Trains the networks of `output_trials`, and tests them against PubEval as they learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError
from bgdata.evaluation.chances import turned_chances
from bgdata.kinds.column_values import chosen_texts
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck
from bgdata.store.shards import ranges
from bgdata.training.kinds.output_trials import FIGURES, TRIALS, OutputTrialParameters
from bgdata.training.kinds.turn_input import games_of
from bgdata.training.output_trials import (
    new_trial_networks,
    results_against_pubeval,
    train_trials,
    trial_chances_at_start,
)
from bgdata.training.turn_networks import TurnNetworks

TYPES = {"FLOAT": np.float32, "DOUBLE": np.float64}


class OutputTrialsComputation(Computation[OutputTrialParameters]):
    """Computation of `output_trials`."""

    def compute(self, build: Build[OutputTrialParameters]) -> None:
        parameters, job = build.parameters, build.job
        networks = new_trial_networks(parameters.units, parameters.seed)
        curve = np.zeros((len(TRIALS), parameters.rows, len(FIGURES)))
        parts = ranges(parameters.games, parameters.row_games)
        state: dict[str, Array] = {"weights": networks.weights, "biases": networks.biases, "curve": curve}
        for part in job.steps("games", parts, list(map(len, parts)), state):
            row = part.start // parameters.row_games
            curve[:, row] = train_row(parameters, networks, part, row)
        job.save("curve", curve)

    def batches(self, computed: Computed[OutputTrialParameters]) -> Iterator[pa.RecordBatch]:
        curve, games = np.asarray(computed.arrays["curve"]), np.array(games_of(computed.parameters), np.int64)
        order = np.argsort(TRIALS)  # rows are sorted by name
        columns: dict[str, Any] = {
            "trial": chosen_texts(pa.array(TRIALS), np.repeat(order, len(games))),
            "games": np.tile(games, len(TRIALS)),
        }
        for place, column in enumerate(FIGURES):
            columns[column.name] = curve[order, :, place].ravel().astype(TYPES[column.type])
        yield pa.record_batch(columns)

    def statistics(self, computed: Computed[OutputTrialParameters]) -> Mapping[str, float]:
        """Points per game of each trial against PubEval, mean of the last half of its rows."""
        curve = np.asarray(computed.arrays["curve"])
        place = [column.name for column in FIGURES].index("points_per_game")
        means = curve[:, curve.shape[1] // 2 :, place].mean(axis=1)
        return {
            f"{name.replace(' ', '_')}_points_per_game": mean for name, mean in zip(TRIALS, means.tolist(), strict=True)
        }

    def check_sample(self, recheck: Recheck[OutputTrialParameters]) -> str:
        """Train again for the first `rows` rows of every trial: each row follows from all before it."""
        parameters, curve = recheck.parameters, recheck.table.array("curve")
        networks = new_trial_networks(parameters.units, parameters.seed)
        parts = ranges(parameters.games, parameters.row_games)[: recheck.rows]
        for row, part in enumerate(parts):
            expected = train_row(parameters, networks, part, row)
            if not np.array_equal(curve[:, row], expected):
                trial = int(np.flatnonzero((curve[:, row] != expected).any(axis=1))[0])
                raise CheckFailedError(
                    f"expected {expected[trial].round(6).tolist()} after {part.stop} games of the trial "
                    f"{TRIALS[trial]} in {recheck.table.name}, found {np.asarray(curve[trial, row]).round(6).tolist()}"
                )
        return f"the first {len(parts):,} of {parameters.rows:,} rows of every trial, trained again"


def train_row(parameters: OutputTrialParameters, networks: TurnNetworks, games: range, row: int) -> Array:
    """float64[trial, figure]: train all trials with these games, and find what FIGURES are then. The test games of each
    row have dice of their own."""
    totals = np.zeros((len(TRIALS), 3), np.int64)
    train_trials(networks, parameters.learning_rate, parameters.seed, games.start, len(games), totals)
    with_dice, without = trial_chances_at_start(networks).astype(np.float64).swapaxes(0, 1)
    other_side = turned_chances(without)  # of the side that the network does not see, with the dice
    difference = with_dice[:, :1] - other_side[:, :1]
    results = results_against_pubeval(networks, row * parameters.test_games, parameters.test_games)
    tests = np.array([(result.points_per_game, result.standard_error) for result in results])
    return np.concatenate([(with_dice + other_side) / 2, difference, totals / len(games), tests], axis=1)


COMPUTATION = OutputTrialsComputation
