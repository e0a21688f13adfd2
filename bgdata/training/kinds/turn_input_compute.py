"""Trains the arms of `turn_input`, and records their chances at the starting position as they learn."""

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
from bgdata.training.kinds.turn_input import ARMS, FIGURES, TurnInputParameters, games_of
from bgdata.training.turn_networks import (
    TurnNetworks,
    chances_at_start,
    new_turn_networks,
    train_arms,
)

LAST_FIGURES = ("win", "side_difference")  # they show whether an arm knows whose turn it is
TYPES = {"FLOAT": np.float32, "DOUBLE": np.float64}


class TurnInputComputation(Computation[TurnInputParameters]):
    """Computation of `turn_input`."""

    def compute(self, build: Build[TurnInputParameters]) -> None:
        parameters, job = build.parameters, build.job
        networks = new_turn_networks(parameters.units, parameters.seed)
        curve = np.zeros((len(ARMS), parameters.rows, len(FIGURES)))
        parts = ranges(parameters.games, parameters.row_games)
        state: dict[str, Array] = {"weights": networks.weights, "biases": networks.biases, "curve": curve}
        for part in job.steps("games", parts, list(map(len, parts)), state):
            curve[:, part.start // parameters.row_games] = train_row(parameters, networks, part)
        job.save("curve", curve)

    def batches(self, computed: Computed[TurnInputParameters]) -> Iterator[pa.RecordBatch]:
        curve, parameters = np.asarray(computed.arrays["curve"]), computed.parameters
        games = np.array(games_of(parameters), np.int64)
        columns: dict[str, Any] = {
            "arm": chosen_texts(pa.array(ARMS), np.repeat(np.arange(len(ARMS)), len(games))),
            "games": np.tile(games, len(ARMS)),
        }
        for place, column in enumerate(FIGURES):
            columns[column.name] = curve[:, :, place].ravel().astype(TYPES[column.type])
        yield pa.record_batch(columns)

    def statistics(self, computed: Computed[TurnInputParameters]) -> Mapping[str, float]:
        """The last chances of each arm at the starting position, for the player with the dice."""
        last = np.asarray(computed.arrays["curve"])[:, -1]
        return {
            f"{arm.replace(' ', '_')}_{column.name}": float(last[row, place])
            for row, arm in enumerate(ARMS)
            for place, column in enumerate(FIGURES)
            if column.name in LAST_FIGURES
        }

    def check_sample(self, recheck: Recheck[TurnInputParameters]) -> str:
        """Train again for the first `rows` rows of every arm; later rows depend on earlier ones."""
        parameters, curve = recheck.parameters, recheck.table.array("curve")
        networks = new_turn_networks(parameters.units, parameters.seed)
        parts = ranges(parameters.games, parameters.row_games)[: recheck.rows]
        for row, part in enumerate(parts):
            expected = train_row(parameters, networks, part)
            if not np.array_equal(curve[:, row], expected):
                arm = int(np.flatnonzero((curve[:, row] != expected).any(axis=1))[0])
                raise CheckFailedError(
                    f"expected {expected[arm].round(6).tolist()} after {part.stop} games with {ARMS[arm]} in "
                    f"{recheck.table.name}, found {np.asarray(curve[arm, row]).round(6).tolist()}"
                )
        return f"the first {len(parts):,} of {parameters.rows:,} rows of every arm, trained again"


def train_row(parameters: TurnInputParameters, networks: TurnNetworks, games: range) -> Array:
    """float64[arm, figure]: train all arms with these games, and find FIGURES after them."""
    totals = np.zeros((len(ARMS), 3), np.int64)
    train_arms(networks, parameters.learning_rate, parameters.seed, games.start, len(games), totals)
    with_dice, without = chances_at_start(networks).astype(np.float64).swapaxes(0, 1)
    other_side = turned_chances(without)  # of the side that the network does not see, with the dice
    difference = with_dice[:, :1] - other_side[:, :1]
    return np.concatenate([(with_dice + other_side) / 2, difference, totals / len(games)], axis=1)


COMPUTATION = TurnInputComputation
