"""Rollouts as rows of data and as lines of text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgdata.evaluation.networks.player import NetworkPlayer
    from bgdata.selfplay.rollout import Limits, RolloutResult


def describe_limits(worst: float, limits: Limits) -> list[str]:
    """Return a line of text that says so if the `worst` standard error, in points, exceeds the one that `limits` ask
    for; else no lines."""
    if worst <= limits.until:
        return []
    return [
        f"expected a standard error of at most {limits.until:g}, got {worst:.4f} after {limits.most:,} trials; "
        f"try: --most-trials {math.ceil((worst / limits.until) ** 2) * limits.most}"
    ]


def rollout_row(result: RolloutResult, row: int, limits: Limits) -> dict[str, Any]:
    """Return the rollout result of one position as a row of data. `row` is its index in `result`."""
    from bgdata.evaluation.chances import CHANCES

    error = float(result.equity_standard_errors[row])
    return {
        **dict(zip(CHANCES, result.chances[row].tolist(), strict=True)),
        **{f"{name}_standard_error": value for name, value in zip(CHANCES, result.standard_errors[row], strict=True)},
        "cubeless_equity": float(result.equities[row]),
        "standard_error": error,
        "plain_standard_error": float(result.plain_standard_errors[row]),
        "trials": int(result.trials[row]),
        "is_reached": error <= limits.until,
    }


def player_columns(player: NetworkPlayer) -> dict[str, Any]:
    """Return the columns that name the player of a rollout: its network and its bearoff tables, on which results
    depend."""
    return {"player": player.label, "version": player.version, "tables": ", ".join(player.table_names)}


def describe_player(player: NetworkPlayer) -> str:
    """Return a line of text that names the network and the bearoff tables by which a rollout is played."""
    return f"by {player.label}, with {', '.join(player.table_names) or 'no tables'}"
