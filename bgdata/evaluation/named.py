"""Evaluators by name: players that say what positions are worth."""

from __future__ import annotations

from typing import cast

from bgdata.errors import UsageError
from bgdata.evaluation.evaluator import Evaluator
from bgdata.evaluation.player import Player, open_named_player
from bgdata.store.versions import Versions


def open_named_evaluator(name: str, ply: int, warehouse: Versions, *, tables: bool = True) -> Evaluator:
    """The player of this name, which evaluates positions. Raises UsageError for a player that only chooses plays, and
    what `player.open_named_player` raises."""
    return as_evaluator(name, open_named_player(name, ply, warehouse, tables=tables))


def as_evaluator(name: str, player: Player | Evaluator) -> Evaluator:
    """A player of this name, which evaluates positions. Raises UsageError for one that only chooses plays."""
    if not hasattr(player, "evaluate_many"):  # isinstance would work out its version, from all its weights
        raise UsageError(f"expected a player that evaluates positions, got {name}, which only chooses plays")
    return cast("Evaluator", player)
