"""Rollouts as rows of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgdata.play.rollout import Limits, RolloutResult


def is_reached(error: float, limits: Limits) -> bool:
    """Whether a standard error is as small as wanted."""
    return error <= limits.until


def rollout_row(result: RolloutResult, row: int, limits: Limits) -> dict[str, Any]:
    """The result of a position as one row of data."""
    from bgdata.evaluation.chances import CHANCES

    error = float(result.equity_standard_errors[row])
    return {
        **dict(zip(CHANCES, result.chances[row].tolist(), strict=True)),
        **{f"{name}_standard_error": value for name, value in zip(CHANCES, result.standard_errors[row], strict=True)},
        "cubeless_equity": float(result.equities[row]),
        "standard_error": error,
        "plain_standard_error": float(result.plain_standard_errors[row]),
        "trials": int(result.trials[row]),
        "is_reached": is_reached(error, limits),
    }
