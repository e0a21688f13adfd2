"""Options of `bgdata cube`: what the game is played for, the model of the cube, and the match equity table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgdata.commands.met import open_met
from bgdata.commands.options import parse_away
from bgdata.equity.cube import CubeRules
from bgdata.equity.cube_life_index import DEFAULT_INDEX
from bgdata.equity.doubling import Strategy, janowski, jump
from bgdata.equity.jump import DEFAULT_VOLATILITY
from bgdata.errors import UsageError
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.warehouse import Warehouse

MODELS = ("janowski", "jump")


def chosen_stakes(match: MatchState | None, options: Mapping[str, Any]) -> Stakes:
    """What is played for: the identifier says, or options in its place. Raises UsageError or InvalidScoreError."""
    given = match.stakes if match else Stakes(Money(is_jacoby=False))
    score: MatchScore | Money = given.score
    if options["away"] is not None:
        score = parse_away(options["away"], is_crawford=options["crawford"])
    elif options["crawford"]:
        if isinstance(score, Money):
            raise UsageError("expected --away with --crawford, got none")
        score = MatchScore(score.away, score.opponent_away, is_crawford=True)
    if options.get("jacoby") is not None:
        if isinstance(score, MatchScore) and options["jacoby"]:
            raise UsageError(f"expected the jacoby rule in money play only, got it at {score}")
        score = Money(options["jacoby"]) if isinstance(score, Money) else score
    return Stakes(score, cube_of(given.cube, options["cube_value"], options["owner"]))


def cube_of(given: Cube, value: int | None, owner: str | None) -> Cube:
    """The cube of an identifier with another value, owner or both. Raises InvalidScoreError."""
    if value is None and owner is None:
        return given
    if value is None:
        value = given.value if owner == given.owner else 1 if owner == CubeOwner.CENTERED else max(2, given.value)
    if owner is None:  # whoever has it, else the player on roll, as in `bgdata probe`
        owner = CubeOwner.CENTERED if value == 1 else given.owner if given.value > 1 else CubeOwner.ON_ROLL
    return Cube(value, CubeOwner(owner))


def chosen_rules(
    warehouse: Warehouse, stakes: Stakes, options: Mapping[str, Any], *, has_beavers: bool = False
) -> CubeRules:
    """The model and the match equity table; beavers as given where no option says. Raises UsageError,
    InvalidParameterError, and as `met.open_met` does."""
    strategy, is_match = chosen_strategy(options), isinstance(stakes.score, MatchScore)
    if options["beavers"] is not None:
        has_beavers = options["beavers"]
    elif is_match:
        has_beavers = False
    if not is_match:
        for name in ("met", "as_money"):
            if options[name]:
                raise UsageError(f"expected a match with --{name.replace('_', '-')}, got money play")
    met = open_met(warehouse, options["met"] or "") if is_match and not options["as_money"] else None
    return CubeRules(strategy, met, has_beavers, options["as_money"], by_model=options["model"] is not None)


def chosen_strategy(options: Mapping[str, Any]) -> Strategy:
    """The model with its settings. Raises UsageError for those of the other, InvalidParameterError out of range."""
    index, volatility = options["index"], options["volatility"]
    if options["model"] == "jump":
        if index is not None:
            raise UsageError(f"expected --index with the janowski model, got it with jump: {index:g}")
        return jump(DEFAULT_VOLATILITY if volatility is None else volatility)
    if volatility is not None:
        raise UsageError(f"expected --volatility with --model jump, got it with janowski: {volatility:g}")
    return janowski(DEFAULT_INDEX if index is None else index)
