"""Errors of values, compared with a judge's values of the same positions: RMSE, MAE, bias, and the judge's errors."""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ErrorSummary(NamedTuple):
    """A summary of a player's errors on a set of positions, in the unit of the values."""

    positions: int
    rmse: float  # difference from the judge, which includes the judge's errors
    rmse_standard_error: float  # error from sampling positions; NaN if all positions are from one game
    mae: float
    bias: float  # mean of the player's values minus the judge's
    judge_rmse: float  # root of the judge's mean squared standard error


def error_summary(
    errors: NDArray[np.float64], judge_errors: NDArray[np.float64], games: NDArray[np.integer]
) -> ErrorSummary:
    """Summarize float64[n] errors, n > 0. `judge_errors` are the standard errors of the judge's values for the same
    positions, and `games` the numbers of the games of these positions. The standard error of the mean squared error
    comes from `clustered_standard_error`; that of the root follows by the first derivative."""
    squares = errors**2
    rmse = sqrt(squares.mean())
    spread = clustered_standard_error(squares, games)
    return ErrorSummary(
        positions=len(errors),
        rmse=rmse,
        rmse_standard_error=spread / (2 * rmse) if rmse else spread,
        mae=float(np.abs(errors).mean()),
        bias=float(errors.mean()),
        judge_rmse=sqrt((judge_errors**2).mean()),
    )


def clustered_standard_error(values: NDArray[np.float64], groups: NDArray[np.integer]) -> float:
    """Compute the standard error of the mean of float64[n] values that may depend on each other within a group.
    `groups` contains the group of each value. The result is computed from the deviations from the mean, summed by
    group, and is NaN for a single group."""
    _, places = np.unique(groups, return_inverse=True)
    sums = np.bincount(places, weights=values - values.mean())
    count = len(sums)
    return sqrt(count / (count - 1) * float((sums**2).sum())) / len(values) if count > 1 else nan
