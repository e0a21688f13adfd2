"""Games of a network against itself with the cube: money games and matches, cube actions as rows among the turns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import text_declarations
from bgdata.selfplay.kinds.shared.cube_players import CubePlayerParameters, check_rules, met_inputs, sides_of
from bgdata.selfplay.kinds.shared.games import GAME_ARRAYS, GAMES, TURN_ARRAYS, TURNS
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.declaration import FlatArray, TableShape
from bgdata.store.parameters import Parameters

MOST_PLY = 2


@dataclass(frozen=True)
class CubefulParameters(CubePlayerParameters):
    """The cube models as text (see `shared.cube_players.side_of`): one for both sides, or those of player 0 and player
    1. The games of a seed are money games if `length` is 0, with or without the Jacoby rule, else matches. Both sides
    look `ply` rolls ahead, to choose plays and to handle the cube."""

    later: ClassVar[tuple[str, ...]] = ("ply",)

    cube: str = "0.7"
    games: int = 10_000
    seed: int = 1
    length: int = 0
    jacoby: bool = False
    ply: int = 0


class CubefulSelfPlay(Dataset[CubefulParameters]):
    """One row for each game, and one for each turn or cube action."""

    name = "cubeful_selfplay"
    revision = 4  # 4: matches say that the Jacoby rule holds; 3: luck is seen by 8 plays of each roll
    summary = "Games of a network against itself with the cube, for money or in matches, every cube action a turn."
    source = (
        "Computed: plays by cubeless money equity, or by their value with the cube; the cube by Janowski (1993), in "
        "matches with a match equity table, or by the jump model (arXiv 1203.5692)"
    )
    columns = GAMES.columns
    key = GAMES.key
    arrays = (
        *GAME_ARRAYS,
        *text_declarations("players", "game x 2", "Names of the players of each game"),
        *text_declarations("infos", "match", "What else there is to say of the match, as JSON"),
        *TURN_ARRAYS,
        FlatArray("equities", "float32", "turn", "Cubeless equity before the roll"),
    )
    parameters = CubefulParameters
    defaults = ()
    smallest = CubefulParameters("tiny", "", 3, 3, "0.7 money:0.5", 4, 3, 3)

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return GAMES, TURNS

    def slug(self, parameters: CubefulParameters) -> str:
        rules = f"match-{parameters.length}" if parameters.length else "jacoby" if parameters.jacoby else "money"
        cube = re.sub(r"[^a-z0-9]+", "-", parameters.cube)
        ply = f"-{parameters.ply}ply" if parameters.ply else ""
        return f"{parameters.network}{ply}-{rules}-cube-{cube}-{parameters.games}-seed-{parameters.seed}"

    def check_parameters(self, parameters: CubefulParameters) -> None:
        parameters.check_player(parameters.games, parameters.seed)
        if not 0 <= parameters.ply <= MOST_PLY:
            raise InvalidParameterError(f"expected a ply from 0 to {MOST_PLY}, got {parameters.ply}")
        check_rules(parameters.length, parameters.jacoby, sides_of(parameters.cube))

    def inputs(self, parameters: CubefulParameters) -> Mapping[str, tuple[str, Parameters]]:
        return parameters.network_inputs() | met_inputs(parameters.length, parameters.cube)

    def estimate(self, parameters: CubefulParameters) -> Estimate:
        games = parameters.games * max(1, round(0.8 * parameters.length))
        return Estimate(games, 110 * 45 * games, (1 << 28) + 250 * 45 * games, 75 * 45 * games)


DATASET = CubefulSelfPlay()
