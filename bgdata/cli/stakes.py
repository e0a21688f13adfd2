"""What options and identifiers say of a game: its stakes, and the rules and the model that its cube is handled by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bgdata.cli.met import find_met_or_file
from bgdata.errors import UsageError
from bgdata.game.match import MatchScore, Stakes
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.equity.doubling import Strategy


def chosen_rules(
    warehouse: Warehouse, stakes: Stakes, options: Mapping[str, Any], *, has_beavers: bool = False
) -> CubeRules:
    """The cube model, the match equity table and the rules; `has_beavers` holds unless an option says otherwise. Raises
    UsageError, InvalidParameterError, and what `met.find_met_or_file` raises."""
    from bgdata.equity.cube import CubeRules

    strategy, is_match = chosen_strategy(options), isinstance(stakes.score, MatchScore)
    if options.get("beavers") is not None:
        has_beavers = options["beavers"]
    elif is_match:
        has_beavers = False
    if not is_match:
        for name in ("met", "as_money"):
            if options[name]:
                raise UsageError(f"expected a match with --{name.replace('_', '-')}, got money play")
    if options["as_money"] and options["met"]:
        raise UsageError("expected either --as-money or --met, got both")
    met = find_met_or_file(warehouse, options["met"] or "") if is_match and not options["as_money"] else None
    return CubeRules(strategy, met, has_beavers, options["as_money"], by_model=options["model"] is not None)


def chosen_strategy(options: Mapping[str, Any]) -> Strategy:
    """The model with its settings. Raises UsageError for a setting of the other model, and InvalidParameterError for
    one out of range."""
    from bgdata.equity.cube_life_index import DEFAULT_INDEX
    from bgdata.equity.doubling import janowski, janowski_first, jump
    from bgdata.equity.jump import DEFAULT_VOLATILITY

    index, volatility = options["index"], options["volatility"]
    if options["model"] == "jump":
        if index is not None:
            raise UsageError(f"expected --index with the janowski model, got it with jump: {index:g}")
        return jump(DEFAULT_VOLATILITY if volatility is None else volatility)
    if volatility is not None:
        raise UsageError(f"expected --volatility with --model jump, got it with janowski: {volatility:g}")
    model = janowski_first if options["model"] == "janowski-first" else janowski
    return model(DEFAULT_INDEX if index is None else index)
