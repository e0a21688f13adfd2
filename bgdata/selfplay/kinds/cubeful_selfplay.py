"""Games of a network against itself with the cube, money games and matches. Cube actions are rows among the turns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bgdata.equity.cube_models import CUBE_MODELS, JANOWSKI_FIRST, JUMP
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import MAX_AWAY, MatchEquity
from bgdata.errors import InvalidParameterError, UsageError
from bgdata.kinds.columns import text_declarations
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.selfplay.kinds.shared.games import (
    GAME_ARRAYS,
    GAMES,
    PART_GAMES,
    TURN_ARRAYS,
    TURNS,
    check_count,
    check_seed,
)
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice
from bgdata.store.dataset import Estimate, FlatArray, TableShape
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    from bgdata.equity.doubling import Strategy
    from bgdata.selfplay.series import CubeSide
    from bgdata.store.table import Table

CUBEFUL, AS_MONEY = "cubeful:", "money:"  # prefixes, in this order, before the prefix of a model
LOCAL = "local:"  # prefix of the jump model with the volatility of each position
MET = "met"  # role of the match equity table in the inputs


def side_of(text: str) -> CubeSide:
    """Parse a word that says how one side handles the cube. `0.7` is Janowski's model with this cube life index,
    `first:0.7` Janowski's withdrawn version, `jump:0.08` the jump model with this volatility. `local:0.08` is the jump
    model with the volatility of each position, and 0.08 for cubes turned later. The prefix `money:` handles the cube as
    in money play at any score; the prefix `cubeful:` also chooses plays by their value with the cube. Raises
    InvalidParameterError for any other string."""
    from bgdata.equity.doubling import janowski, janowski_first, jump
    from bgdata.selfplay.series import CubeSide

    models: dict[str, Callable[[float], Strategy]] = {
        CUBE_MODELS[JUMP].prefix: jump,
        CUBE_MODELS[JANOWSKI_FIRST].prefix: janowski_first,
        LOCAL: jump,
    }
    handling = text.removeprefix(CUBEFUL)
    model = handling.removeprefix(AS_MONEY)
    prefix = next((prefix for prefix in models if model.startswith(prefix)), "")
    try:
        number = float(model.removeprefix(prefix))
    except ValueError:
        expected = "cube models such as 0.7, jump:0.08, money:0.7 or cubeful:0.7"
        raise InvalidParameterError(f"expected {expected}, got {model.removeprefix(prefix)!r}") from None
    strategy = models[prefix](number) if prefix else janowski(number)
    return CubeSide(strategy, as_money=model != handling, is_local=prefix == LOCAL, cubeful_plays=handling != text)


def sides_of(text: str) -> tuple[CubeSide, CubeSide]:
    """Parse how both sides handle the cube, from one word for both or two words separated by a space (see `side_of`).
    Raises InvalidParameterError if a word is invalid."""
    words = text.split()
    if not 1 <= len(words) <= 2 or text != " ".join(words):
        raise InvalidParameterError(f"expected one cube model, or two with a space between, got {text!r}")
    return side_of(words[0]), side_of(words[-1])


def check_rules(length: int, is_jacoby: bool, sides: tuple[CubeSide, CubeSide]) -> None:
    """Raise InvalidParameterError if the match length, the Jacoby rule and the cube models of both sides cannot be
    combined. Match equity tables are not checked."""
    from bgdata.selfplay.series import CubefulRules

    even = np.full((max(length, 1), max(length, 1)), 0.5) if length <= MAX_AWAY else np.full((1, 1), 0.5)
    try:
        CubefulRules(length, is_jacoby, MatchEquity.of("any", even, even[0])).check(sides)
    except UsageError as error:
        raise InvalidParameterError(str(error)) from None


def met_inputs(length: int, models: str, *, is_own: bool = False) -> dict[str, tuple[str, Parameters]]:
    """Return the match equity table of a match to `length` points, as an input by role; empty if neither of the cube
    `models` needs one. Matches to up to 12 points use the published table. Longer matches, or all if `is_own` is true,
    use the table that bgdata computes, lengthened if necessary."""
    if not length or all(word.removeprefix(CUBEFUL).startswith(AS_MONEY) for word in models.split()):
        return {}
    default = MATCH_EQUITY.defaults[0]
    longer = replace(default, length=max(length, default.length))
    return {MET: (MATCH_EQUITY.name, longer if is_own or length > PUBLISHED.length else PUBLISHED)}


MAX_PLY = 2


@dataclass(frozen=True)
class CubefulParameters(NetworkChoice):
    """Parameters of `cubeful_selfplay`. `cube` names the cube models, one for both sides, or one each for player 0 and
    player 1 (see `side_of`). If `length` is 0, the games are money games, with or without the Jacoby rule; else they
    are matches to `length` points. Both sides look `ply` rolls ahead to choose plays and to handle the cube."""

    later: ClassVar[tuple[str, ...]] = ("ply",)

    cube: str = "0.7"
    games: int = 10_000
    seed: int = 1
    length: int = 0
    jacoby: bool = False
    ply: int = 0


class CubefulSelfPlay(RowsOfGames[CubefulParameters]):
    """Kind `cubeful_selfplay`: games of a network against itself with the cube. `games` has one row per game; `turns`
    has one row per turn or cube action."""

    name = "cubeful_selfplay"
    revision = 4  # 4: matches record the Jacoby rule; 3: luck considers 8 plays of each roll
    summary = "Games of a network against itself with the cube, for money or in matches, every cube action a turn."
    source = (
        "Computed: plays by cubeless money equity, or by their value with the cube; the cube by Janowski (1993), in "
        "matches with a match equity table, or by the jump model (arXiv 1203.5692)"
    )
    computed_by = "selfplay"
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
    part_items = PART_GAMES  # games or matches; a multiple of the games of a session

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return GAMES, TURNS

    def slug(self, parameters: CubefulParameters) -> str:
        rules = f"match-{parameters.length}" if parameters.length else "jacoby" if parameters.jacoby else "money"
        cube = re.sub(r"[^a-z0-9]+", "-", parameters.cube)
        ply = f"-{parameters.ply}ply" if parameters.ply else ""
        return f"{parameters.network}{ply}-{rules}-cube-{cube}-{parameters.games}-seed-{parameters.seed}"

    def check_parameters(self, parameters: CubefulParameters) -> None:
        parameters.check_network()
        check_count(parameters.games)
        check_seed(parameters.seed)
        if not 0 <= parameters.ply <= MAX_PLY:
            raise InvalidParameterError(f"expected a ply from 0 to {MAX_PLY}, got {parameters.ply}")
        check_rules(parameters.length, parameters.jacoby, sides_of(parameters.cube))

    def inputs(self, parameters: CubefulParameters) -> Mapping[str, tuple[str, Parameters]]:
        return parameters.network_inputs() | met_inputs(parameters.length, parameters.cube)

    def item_count(self, parameters: CubefulParameters, _inputs: Mapping[str, Table]) -> int:
        return parameters.games

    def estimate(self, parameters: CubefulParameters) -> Estimate:
        each = max(1, round(0.8 * parameters.length))
        games, part = parameters.games * each, min(parameters.games, self.part_items) * each
        return Estimate(games, 110 * 45 * games, (1 << 28) + 250 * 45 * part, 75 * 45 * part)


DATASET = CubefulSelfPlay()
