"""What kinds of games with the cube share: the network that plays, and cube models as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bgdata.equity.cube_models import CUBE_MODELS, JANOWSKI_FIRST, JUMP
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import MOST_AWAY, MatchEquity
from bgdata.errors import InvalidParameterError, UsageError
from bgdata.selfplay.kinds.shared.games import check_count, check_seed
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice, number_of
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    from bgdata.equity.doubling import Strategy
    from bgdata.selfplay.cubeful_series import CubeSide

CUBEFUL, AS_MONEY = "cubeful:", "money:"  # prefixes, in this order, before one of a model
LOCAL = "local:"  # before the number of the jump model with the volatility of each position
MET = "met"  # role of the match equity table among inputs


@dataclass(frozen=True)
class CubePlayerParameters(NetworkChoice):
    """The network that plays both sides."""

    def check_player(self, games: int, seed: int) -> None:
        """Raise InvalidParameterError for numbers out of range, and a name that no network has."""
        self.check_network()
        check_count(games)
        check_seed(seed)


def side_of(text: str) -> CubeSide:
    """How a side handles the cube: `0.7` by Janowski with this cube life index, `first:0.7` by the withdrawn version of
    it, `jump:0.08` by the jump model with this volatility, `local:0.08` by the same with that of each position for the
    cube as it is; behind `money:` as in money play whatever the score; behind `cubeful:` plays are chosen by their
    value with the cube, too. Raises InvalidParameterError."""
    from bgdata.equity.doubling import janowski, janowski_first, jump
    from bgdata.selfplay.cubeful_series import CubeSide

    models: dict[str, Callable[[float], Strategy]] = {
        CUBE_MODELS[JUMP].prefix: jump,
        CUBE_MODELS[JANOWSKI_FIRST].prefix: janowski_first,
        LOCAL: jump,
    }
    handling = text.removeprefix(CUBEFUL)
    model = handling.removeprefix(AS_MONEY)
    prefix = next((prefix for prefix in models if model.startswith(prefix)), "")
    number = number_of("cube models such as 0.7, jump:0.08, money:0.7 or cubeful:0.7", model.removeprefix(prefix))
    strategy = models[prefix](number) if prefix else janowski(number)
    return CubeSide(strategy, as_money=model != handling, is_local=prefix == LOCAL, cubeful_plays=handling != text)


def sides_of(text: str) -> tuple[CubeSide, CubeSide]:
    """Both sides, from one word for both or one for each. Raises InvalidParameterError."""
    words = text.split()
    if not 1 <= len(words) <= 2 or text != " ".join(words):
        raise InvalidParameterError(f"expected one cube model, or two with a space between, got {text!r}")
    return side_of(words[0]), side_of(words[-1])


def check_rules(length: int, is_jacoby: bool, sides: tuple[CubeSide, CubeSide]) -> None:
    """Raise InvalidParameterError for impossible rules; the table of a match comes with the inputs."""
    from bgdata.selfplay.cubeful_series import CubefulRules

    even = np.full((max(length, 1), max(length, 1)), 0.5) if length <= MOST_AWAY else np.full((1, 1), 0.5)
    try:
        CubefulRules(length, is_jacoby, MatchEquity.of("any", even, even[0])).check(sides)
    except UsageError as error:
        raise InvalidParameterError(str(error)) from None


def met_inputs(length: int, models: str, *, is_own: bool = False) -> dict[str, tuple[str, Parameters]]:
    """The match equity table of a match, nothing if it needs none: the published table to 12-away, and for longer
    matches, or if it `is_own`, the default one, as long as it must be."""
    if not length or all(word.removeprefix(CUBEFUL).startswith(AS_MONEY) for word in models.split()):
        return {}
    default = MATCH_EQUITY.defaults[0]
    longer = replace(default, length=max(length, default.length))
    return {MET: (MATCH_EQUITY.name, longer if is_own or length > PUBLISHED.length else PUBLISHED)}
