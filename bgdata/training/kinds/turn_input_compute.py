"""Trains the arms of `turn_input`, and records their chances at the starting position as they learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError
from bgdata.evaluation.chances import turned_chances
from bgdata.kinds.column_values import select_texts
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Column, Computation, Computed, Recheck
from bgdata.store.shards import ranges
from bgdata.training.kinds.turn_input import ARMS, FIGURES, TurnInputParameters, games_of
from bgdata.training.turn_networks import TurnNetworks, chances_at_start, new_turn_networks, train_arms

LAST_FIGURES = ("win", "side_difference")  # figures that show whether an arm knows whose turn it is
P = TypeVar("P", bound=TurnInputParameters)
TYPES = {"FLOAT": np.float32, "DOUBLE": np.float64}


class CurveComputation(Computation[P]):
    """Base of computations that train several networks side by side and record figures as they learn. The figures are
    in the array `curve`, float64[network, row, figure]; each row follows from all rows before it."""

    networks: ClassVar[tuple[str, ...]]  # names of the networks, in the order of the curve
    what: ClassVar[str]  # the noun for a network, and the column of its name
    figures: ClassVar[tuple[Column, ...]]
    of: ClassVar[str] = "with"  # the word between games and the name of a network, in errors

    @abstractmethod
    def new_networks(self, parameters: P) -> TurnNetworks:
        """Return the networks as they are before training, one for each arm or trial."""

    @abstractmethod
    def train_row(self, parameters: P, networks: TurnNetworks, games: range, row: int) -> Array:
        """Train all networks with these games, and return the figures of row `row`, as float64[network, figure]."""

    def compute(self, build: Build[P]) -> None:
        parameters, job = build.parameters, build.job
        networks = self.new_networks(parameters)
        curve = np.zeros((len(self.networks), parameters.rows, len(self.figures)))
        parts = ranges(parameters.games, parameters.row_games)
        state: dict[str, Array] = {"weights": networks.weights, "biases": networks.biases, "curve": curve}
        for part in job.steps("games", parts, list(map(len, parts)), state):
            row = part.start // parameters.row_games
            curve[:, row] = self.train_row(parameters, networks, part, row)
        job.save("curve", curve)

    def batches(self, computed: Computed[P]) -> Iterator[pa.RecordBatch]:
        curve, games = np.asarray(computed.arrays["curve"]), np.array(games_of(computed.parameters), np.int64)
        order = np.argsort(self.networks)  # rows are sorted by name
        columns: dict[str, Any] = {
            self.what: select_texts(pa.array(self.networks), np.repeat(order, len(games))),
            "games": np.tile(games, len(order)),
        }
        for place, column in enumerate(self.figures):
            columns[column.name] = curve[order, :, place].ravel().astype(TYPES[column.type])
        yield pa.record_batch(columns)

    def check_sample(self, recheck: Recheck[P]) -> str:
        """Train again for the first `rows` rows of every network, and compare them with the stored ones."""
        parameters, curve = recheck.parameters, recheck.table.array("curve")
        networks = self.new_networks(parameters)
        parts = ranges(parameters.games, parameters.row_games)[: recheck.rows]
        for row, part in enumerate(parts):
            expected = self.train_row(parameters, networks, part, row)
            if not np.array_equal(curve[:, row], expected):
                number = int(np.flatnonzero((curve[:, row] != expected).any(axis=1))[0])
                wanted, found = (
                    np.asarray(row_of).round(6).tolist() for row_of in (expected[number], curve[number, row])
                )
                raise CheckFailedError(
                    f"expected {wanted} after {part.stop} games {self.of} {self.networks[number]} in "
                    f"{recheck.table.name}, found {found}"
                )
        return f"the first {len(parts):,} of {parameters.rows:,} rows of every {self.what}, trained again"


class TurnInputComputation(CurveComputation[TurnInputParameters]):
    """Computes `turn_input`: trains the arms, and records their chances at the starting position."""

    networks, what, figures = ARMS, "arm", FIGURES

    def new_networks(self, parameters: TurnInputParameters) -> TurnNetworks:
        return new_turn_networks(parameters.units, parameters.seed)

    def train_row(self, parameters: TurnInputParameters, networks: TurnNetworks, games: range, _row: int) -> Array:
        totals = np.zeros((len(ARMS), 3), np.int64)
        train_arms(networks, parameters.learning_rate, parameters.seed, games.start, len(games), totals)
        return start_figures(chances_at_start(networks), totals / len(games))

    def statistics(self, computed: Computed[TurnInputParameters]) -> Mapping[str, float]:
        """Return the chances of each arm at the starting position in its last row, for the player on roll."""
        last = np.asarray(computed.arrays["curve"])[:, -1]
        return {
            f"{arm.replace(' ', '_')}_{column.name}": float(last[row, place])
            for row, arm in enumerate(ARMS)
            for place, column in enumerate(FIGURES)
            if column.name in LAST_FIGURES
        }


def start_figures(at_start: Array, per_game: Array) -> Array:
    """Return figures of each network, as float64[network, figure]: the mean chances of the player on roll at the
    starting position, how far the two sides differ, and figures per game. `at_start` contains the chances of player 0
    on roll and off roll, as float32[network, side, 5]."""
    on_roll, off_roll = at_start.astype(np.float64).swapaxes(0, 1)
    other_side = turned_chances(off_roll)  # the chances on roll, from the network's answer for the opponent's turn
    difference = on_roll[:, :1] - other_side[:, :1]
    return np.concatenate([(on_roll + other_side) / 2, difference, per_game], axis=1)


COMPUTATION = TurnInputComputation
