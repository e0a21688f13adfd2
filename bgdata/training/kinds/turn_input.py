"""Whose turn it is, as an input of a network. The figures are the chances at the starting position by the three arms of
one training run."""

from __future__ import annotations

from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.selfplay.kinds.shared.games import check_seed
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.training.recipes import MAX_UNITS

ARMS = ("dice kept", "dice passed", "no input")  # in the order of `training.turn_networks.Arm`
FIGURES = (
    *CHANCE_COLUMNS,
    Column("side_difference", "FLOAT", "chance", "How much more the side that the network sees wins than the other"),
    Column("turns_per_game", "DOUBLE", "rolls a game", "Mean number of rolls in self-play since the row before"),
    Column("gammon_share", "DOUBLE", "share of games", "Of these games, won as a gammon but no backgammon"),
    Column("backgammon_share", "DOUBLE", "share of games", "Of these games, won as a backgammon"),
)


@dataclass(frozen=True)
class TurnInputParameters(Parameters):
    """Parameters of `turn_input`: the number of games of each arm, the units of its hidden layer, the learning rate,
    the seed of dice and first weights, and the number of games between two rows. An arm is one of the networks that are
    compared."""

    games: int = 20_000
    units: int = 40
    learning_rate: float = 0.1
    seed: int = 1
    row_games: int = 1000

    @property
    def rows(self) -> int:
        """The number of rows of an arm. The last row may follow fewer games than the others."""
        return -(-self.games // self.row_games)


def games_of(parameters: TurnInputParameters) -> list[int]:
    """Return the number of games played before each row of an arm."""
    return [min(row * parameters.row_games, parameters.games) for row in range(1, parameters.rows + 1)]


def check_turn_parameters(parameters: TurnInputParameters) -> None:
    """Raise InvalidParameterError if a parameter is out of range."""
    for name in ("games", "row_games"):
        if not 1 <= getattr(parameters, name) < 1 << 31:
            raise InvalidParameterError(f"expected 1 to 2^31 - 1 {name}, got {getattr(parameters, name)}")
    if not 1 <= parameters.units <= MAX_UNITS:
        raise InvalidParameterError(f"expected 1 to {MAX_UNITS} hidden units, got {parameters.units}")
    if not 0 < parameters.learning_rate <= 1:
        raise InvalidParameterError(f"expected a learning rate above 0 and at most 1, got {parameters.learning_rate}")
    check_seed(parameters.seed)


class TurnInput(Dataset[TurnInputParameters]):
    """Kind `turn_input`: learning curves of networks with and without the turn as input. One row per arm and point of
    its learning curve."""

    name = "turn_input"
    revision = 1
    summary = (
        "What networks that see the board from one side say of the starting position as they learn by self-play: told "
        "whose turn it is, told wrongly after each play, and not told at all."
    )
    source = (
        "Computed: TD(0) by self-play with the inputs of Tesauro (1992); the experiment is of "
        "computationalbackgammon.blogspot.com, September 2011"
    )
    columns = (
        Column("arm", "VARCHAR", "", f"What the network is told after a play: {', '.join(ARMS)}"),
        Column("games", "BIGINT", "games", "Games of self-play so far"),
        *FIGURES,
    )
    key = ("arm", "games")
    sample_rows = 2
    arrays = (
        FlatArray(
            "curve",
            "float64",
            "arm, row, column",
            "Chances at the starting position of whoever has the dice, mean of both sides; the other figures of a row",
        ),
    )
    parameters = TurnInputParameters
    defaults = ()
    smallest = TurnInputParameters(games=5, units=4, row_games=2)

    def slug(self, parameters: TurnInputParameters) -> str:
        rate = f"{parameters.learning_rate:g}".replace(".", "-")
        return f"{parameters.games}-units-{parameters.units}-rate-{rate}-seed-{parameters.seed}"

    def check_parameters(self, parameters: TurnInputParameters) -> None:
        check_turn_parameters(parameters)

    def estimate(self, parameters: TurnInputParameters) -> Estimate:
        rows = len(ARMS) * parameters.rows
        weights = len(ARMS) * parameters.units * 4 * 210
        return Estimate(rows, 200 * rows, (1 << 28) + 2 * weights, weights + 72 * rows)


DATASET = TurnInput()
