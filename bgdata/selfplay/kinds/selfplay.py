"""Games of one player against itself, with every position, roll and play, the evaluation of the position and the luck
of the roll."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bgdata.bearoff.kinds.bearoff_one_sided import race_inputs
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.players import PLAIN_PLAYERS
from bgdata.kinds.columns import text_declarations
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.selfplay.kinds.shared.games import GAMES, PART_GAMES, TURNS, check_count, check_seed
from bgdata.store.dataset import Estimate, FlatArray, TableShape
from bgdata.store.parameters import Parameters
from bgdata.store.versions import VERSION
from bgdata.training.kinds.network import default_network

if TYPE_CHECKING:
    from bgdata.store.table import Table

PLAYERS = re.compile(rf"network(/[a-z0-9-]+(/{VERSION.pattern})?)?|{'|'.join(PLAIN_PLAYERS)}")
SESSION_GAMES = 10_000  # games of one money session in files of other programs
TABLES = {  # bearoff tables of the network of the package
    "two_sided": ("bearoff_two_sided", TwoSidedParameters(6, 6)),
    **race_inputs(6),
}


@dataclass(frozen=True)
class SelfPlayParameters(Parameters):
    """Parameters of `selfplay`: the player and its version, the number and the seed of the games, and whether the luck
    of every roll is measured, which takes ten times as long. The version is empty for `network`, because that network
    is an input. The player itself measures luck or, if it has no networks, the network that comes with bgdata."""

    player: str = "network"
    version: str = ""
    games: int = 10_000
    seed: int = 1
    luck: bool = False

    @property
    def corpus(self) -> SelfPlayParameters:
        """The parameters of the corpus alone. Kinds that are made from a corpus have these parameters and more."""
        return SelfPlayParameters(**{name: getattr(self, name) for name in SelfPlayParameters.names()})


class SelfPlay(RowsOfGames[SelfPlayParameters]):
    """Kind `selfplay`: games of one player against itself. `games` has one row per game, `turns` one row per turn."""

    name = "selfplay"
    revision = 2  # 2: luck considers 8 plays of each roll
    summary = "Cubeless money games of a player against itself, every turn recorded, with the luck of the dice."
    source = "Computed: every choice by cubeless money equity; luck as Zare measures it (GammonVillage 2000)"
    columns = GAMES.columns
    key = GAMES.key
    arrays = (
        FlatArray("outcomes", "int8", "game", "Points to player 0, -3 to 3"),
        FlatArray("begins", "int8", "game", "Who rolls first: 0 or 1"),
        FlatArray("first_turns", "int64", "game, and one past the last", "Where the game's turns begin"),
        *text_declarations("players", "player 0 and player 1", "Their names and versions", is_shared=True),
        FlatArray("turn_boards", "int8", "turn, 26 integers", "Board of the player on roll before the turn"),
        FlatArray("turn_classes", "uint8", "turn", "Class of the position, numbered as by gnubg"),
        FlatArray(
            "turn_moves", "int8", "turn, 4 checker moves, (from, to, hits)", "Points, 25 the bar, 0 off; -1: no move"
        ),
        FlatArray("dice", "int8", "turn, 2", "Dice; in the first turn the first is that of player 0"),
        FlatArray("equities", "float32", "turn", "Cubeless equity before the roll, NaN where it was not evaluated"),
        FlatArray("lucks", "float32", "turn", "Luck of the roll for the player on roll, NaN where not measured"),
    )
    parameters = SelfPlayParameters
    # each of these takes seconds; luck for 10,000 games would take minutes
    defaults = (SelfPlayParameters(), SelfPlayParameters(games=500, seed=2, luck=True))
    smallest = SelfPlayParameters("pubeval", "2", 20, 3)
    part_items = PART_GAMES

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return GAMES, TURNS

    def slug(self, parameters: SelfPlayParameters) -> str:
        luck = "-luck" if parameters.luck else ""
        return f"{parameters.player.replace('/', '-')}-{parameters.games}-seed-{parameters.seed}{luck}"

    def check_parameters(self, parameters: SelfPlayParameters) -> None:
        if not PLAYERS.fullmatch(parameters.player):
            raise InvalidParameterError(
                f"expected the player network, network/NAME, pubeval or random, got {parameters.player!r}"
            )
        check_count(parameters.games)
        check_seed(parameters.seed)
        if parameters.player == "network" and parameters.version:
            raise InvalidParameterError(f"expected no version of network, got {parameters.version!r}")

    def inputs(self, parameters: SelfPlayParameters) -> Mapping[str, tuple[str, Parameters]]:
        if parameters.player == "network" or (parameters.luck and parameters.player in PLAIN_PLAYERS):
            return {"network": default_network(), **TABLES}
        return {}

    def item_count(self, parameters: SelfPlayParameters, _inputs: Mapping[str, Table]) -> int:
        return parameters.games

    def estimate(self, parameters: SelfPlayParameters) -> Estimate:
        turns = 120 if parameters.player == "random" else 55
        part = turns * min(parameters.games, PART_GAMES)
        return Estimate(parameters.games, 90 * turns * parameters.games, (1 << 28) + 200 * part, 60 * part)


DATASET = SelfPlay()
