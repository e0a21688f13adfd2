"""Whole games of one player against another, game by game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.measures.kinds.shared.players import PairingParameters, luck_inputs
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters


@dataclass(frozen=True)
class GameParameters(PairingParameters):
    """Parameters of `game_scores`: two players, the number and the seed of the games, and whether the network of the
    package measures luck. Measuring luck takes 20 times as long if the players are kernels."""

    games: int = 40
    seed: int = 2
    luck: bool = False


class GameScores(Dataset[GameParameters]):
    """Kind `game_scores`: results of one player against another, without the cube. One row per game."""

    name = "game_scores"
    made_again = BY_PLAYERS
    computed_by = "pairing"
    revision = 1
    summary = "Cubeless money games of a player against another, two with each sequence of dice, the sides swapped."
    source = "Computed: whole games, every choice by cubeless money equity"
    columns = (
        Column("number", "INTEGER", "", "Number of the game; 2k and 2k + 1 have the same dice"),
        Column("outcome", "TINYINT", "points", "Points to the player, -3 to 3"),
        Column("turns", "INTEGER", "turns", "Rolls of both sides"),
        Column("begins", "BOOLEAN", "", "Whether the player rolled first"),
        Column("net_luck", "DOUBLE", "points", "Luck of the player less that of the opponent, null if not measured"),
        Column("hedged_points", "DOUBLE", "points", "outcome less net_luck, null if luck was not measured"),
    )
    key = ("number",)
    arrays = (
        FlatArray("outcomes", "int8", "game", "Points to the player, -3 to 3"),
        FlatArray("turns", "int32", "game", "Rolls of both sides"),
        FlatArray("lucks", "float64", "game", "Luck of the player less that of the opponent, NaN if not measured"),
    )
    parameters = GameParameters
    defaults = ()
    smallest = GameParameters()

    def slug(self, parameters: GameParameters) -> str:
        luck = "-luck" if parameters.luck else ""
        return f"{parameters.pairing}-{parameters.games}-seed-{parameters.seed}{luck}"

    def check_parameters(self, parameters: GameParameters) -> None:
        parameters.check_pairing(parameters.games, parameters.seed)

    def inputs(self, parameters: GameParameters) -> Mapping[str, tuple[str, Parameters]]:
        return luck_inputs() if parameters.luck else {}

    def estimate(self, parameters: GameParameters) -> Estimate:
        games = parameters.games
        return Estimate(games, 40 * games, (1 << 28) + 16 * games, 13 * games)


DATASET = GameScores()
