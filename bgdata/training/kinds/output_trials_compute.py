"""Trains the networks of `output_trials`, and tests them against PubEval as they learn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bgdata.store.arrays import Array
from bgdata.store.dataset import Computed
from bgdata.training.kinds.output_trials import FIGURES, TRIALS, OutputTrialParameters
from bgdata.training.kinds.turn_input_compute import CurveComputation, start_figures
from bgdata.training.output_trials import (
    new_trial_networks,
    results_against_pubeval,
    train_trials,
    trial_chances_at_start,
)
from bgdata.training.turn_networks import TurnNetworks


class OutputTrialsComputation(CurveComputation[OutputTrialParameters]):
    """Computes `output_trials`: trains the networks, and tests them against PubEval as they learn."""

    networks, what, figures, of = TRIALS, "trial", FIGURES, "of the trial"

    def new_networks(self, parameters: OutputTrialParameters) -> TurnNetworks:
        return new_trial_networks(parameters.units, parameters.seed)

    def train_row(self, parameters: OutputTrialParameters, networks: TurnNetworks, games: range, row: int) -> Array:
        """Train all networks with these games, and return the figures of row `row`, as float64[network, figure]. The
        test games of each row use dice of their own."""
        totals = np.zeros((len(TRIALS), 3), np.int64)
        train_trials(networks, parameters.learning_rate, parameters.seed, games.start, len(games), totals)
        found = start_figures(trial_chances_at_start(networks), totals / len(games))
        results = results_against_pubeval(networks, row * parameters.test_games, parameters.test_games)
        tests = np.array([(result.points_per_game, result.standard_error) for result in results])
        return np.concatenate([found, tests], axis=1)

    def statistics(self, computed: Computed[OutputTrialParameters]) -> Mapping[str, float]:
        """Return the mean points per game of each trial against PubEval, over the last half of its rows."""
        curve = np.asarray(computed.arrays["curve"])
        place = [column.name for column in FIGURES].index("points_per_game")
        means = curve[:, curve.shape[1] // 2 :, place].mean(axis=1)
        return {
            f"{name.replace(' ', '_')}_points_per_game": mean for name, mean in zip(TRIALS, means.tolist(), strict=True)
        }


COMPUTATION = OutputTrialsComputation
