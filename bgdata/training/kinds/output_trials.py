"""Learning curves of the trials of October 2011, which differ in what the outputs of a network are and how they
learn."""

from __future__ import annotations

from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.training.kinds.turn_input import FIGURES as LEARNED_FIGURES
from bgdata.training.kinds.turn_input import TurnInputParameters, check_turn_parameters

# in the order of `training.output_trials.Trial`
TRIALS = ("gammon", "backgammon", "weighted", "weighted after", "zeroed", "chances")
FIGURES = (
    *LEARNED_FIGURES,
    Column("points_per_game", "DOUBLE", "points", "Mean result against PubEval, cubeless, both with the same dice"),
    Column("standard_error", "DOUBLE", "points", "Standard error of points_per_game"),
)


@dataclass(frozen=True)
class OutputTrialParameters(TurnInputParameters):
    """Parameters of `output_trials`: the parameters of `turn_input`, and the number of test games against PubEval for
    each row, an even number."""

    games: int = 100_000
    row_games: int = 5000
    test_games: int = 2000


class OutputTrials(Dataset[OutputTrialParameters]):
    """Kind `output_trials`: learning curves of networks with conditional outputs. One row per trial and point of its
    learning curve."""

    name = "output_trials"
    revision = 1
    summary = (
        "How networks learn by self-play whose outputs are conditional chances: with an output for backgammons, with "
        "weights, and with what the rules exclude set to 0."
    )
    source = (
        "Computed: TD(0) by self-play with the inputs of Tesauro (1992); the trials are of "
        "computationalbackgammon.blogspot.com, October 2011"
    )
    columns = (
        Column("trial", "VARCHAR", "", f"What the outputs are, and how they learn: {', '.join(TRIALS)}"),
        Column("games", "BIGINT", "games", "Games of self-play so far"),
        *FIGURES,
    )
    key = ("trial", "games")
    sample_rows = 2
    arrays = (
        FlatArray(
            "curve",
            "float64",
            "trial, row, column",
            "Chances at the starting position of whoever has the dice, mean of both sides; the other figures of a row",
        ),
    )
    parameters = OutputTrialParameters
    defaults = ()
    smallest = OutputTrialParameters(games=5, units=4, row_games=2, test_games=4)

    def slug(self, parameters: OutputTrialParameters) -> str:
        rate = f"{parameters.learning_rate:g}".replace(".", "-")
        return f"{parameters.games}-units-{parameters.units}-rate-{rate}-seed-{parameters.seed}"

    def check_parameters(self, parameters: OutputTrialParameters) -> None:
        check_turn_parameters(parameters)
        if not 4 <= parameters.test_games < 1 << 31 or parameters.test_games % 2:
            raise InvalidParameterError(
                f"expected an even number of test_games from 4 to 2^31 - 2, got {parameters.test_games}"
            )

    def estimate(self, parameters: OutputTrialParameters) -> Estimate:
        rows = len(TRIALS) * parameters.rows
        weights = len(TRIALS) * parameters.units * 4 * 210
        tests = 5 * len(TRIALS) * parameters.test_games
        return Estimate(rows, 200 * rows, (1 << 28) + 2 * weights + tests, weights + 88 * rows)


DATASET = OutputTrials()
