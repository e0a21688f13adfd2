"""Games with the cube, or matches, of one player against another, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.equity.cube_models import DEFAULT_INDEX
from bgdata.errors import InvalidParameterError
from bgdata.measures.kinds.shared.players import PairingParameters, luck_inputs
from bgdata.selfplay.kinds.cubeful_selfplay import met_inputs
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

LONGEST = 25  # points of the longest match


@dataclass(frozen=True)
class CubefulScoreParameters(PairingParameters):
    """Parameters of `cubeful_scores`: two players, the match length (0 for money games), the number of games or
    matches, the seed of their dice, whether the network of the package measures luck, and whether networks play with
    bearoff tables."""

    player: str = "network/tiny"
    version: str = "b49ded87"
    opponent: str = "network/tiny"
    opponent_version: str = "b49ded87"
    length: int = 0
    games: int = 4
    seed: int = 2
    luck: bool = False
    tables: bool = True


class CubefulScores(Dataset[CubefulScoreParameters]):
    """Kind `cubeful_scores`: results of one player against another, with the cube. One row per money game or match."""

    name = "cubeful_scores"
    made_again = BY_PLAYERS
    computed_by = "pairing"
    revision = 2  # 2: 8 plays of each roll measure luck
    summary = "Money games with the cube, or matches, of a player against another, two with each sequence of dice."
    source = (
        "Computed: plays by cubeless money equity, the cube by Janowski's model from each player's own chances, at the "
        "score by a match equity table"
    )
    columns = (
        Column("number", "INTEGER", "", "Number of the game or match; 2k and 2k + 1 have the same dice for each seat"),
        Column("net_points", "SMALLINT", "points", "Points to the player; of a match 1 if it won, else -1"),
        Column("games_played", "SMALLINT", "games", "Games of the match, 1 for money"),
        Column("turns", "INTEGER", "turns", "Rolls of both sides"),
        Column("net_luck", "DOUBLE", "points", "Luck of the player less that of the opponent, null if not measured"),
        Column("hedged_points", "DOUBLE", "points", "net_points less net_luck, null if luck was not measured"),
    )
    key = ("number",)
    arrays = (
        FlatArray("outcomes", "int16", "match", "Points to the player; of a match 1 if it won, else -1"),
        FlatArray("games", "int16", "match", "Games of the match, 1 for money"),
        FlatArray("turns", "int32", "match", "Rolls of both sides"),
        FlatArray("lucks", "float64", "match", "Luck of the player less that of the opponent, NaN if not measured"),
    )
    parameters = CubefulScoreParameters
    defaults = ()
    smallest = CubefulScoreParameters(length=3, tables=False)

    def slug(self, parameters: CubefulScoreParameters) -> str:
        unit = f"matches-to-{parameters.length}" if parameters.length else "games"
        rest = ("-luck" if parameters.luck else "") + ("" if parameters.tables else "-without-tables")
        return f"{parameters.pairing}-{parameters.games}-{unit}-seed-{parameters.seed}{rest}"

    def check_parameters(self, parameters: CubefulScoreParameters) -> None:
        parameters.check_pairing(parameters.games, parameters.seed)
        if not 0 <= parameters.length <= LONGEST:
            raise InvalidParameterError(
                f"expected a match length of 1 to {LONGEST} points, or 0 for money, got {parameters.length}"
            )

    def inputs(self, parameters: CubefulScoreParameters) -> Mapping[str, tuple[str, Parameters]]:
        judge = luck_inputs() if parameters.luck else {}
        return judge | met_inputs(parameters.length, str(DEFAULT_INDEX))

    def estimate(self, parameters: CubefulScoreParameters) -> Estimate:
        games = parameters.games
        return Estimate(games, 60 * games, (1 << 28) + 100 * games, 16 * games)


DATASET = CubefulScores()
