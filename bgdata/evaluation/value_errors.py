"""Errors of values against a judge's values of the same positions: RMSE, MAE, bias, and the judge's own part."""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ErrorSummary(NamedTuple):
    """A summary of a player's errors on a set of positions, in the unit of the values."""

    positions: int
    rmse: float  # against the judge, including the judge's own errors
    rmse_standard_error: float  # error from sampling positions; NaN if all are from one game
    mae: float
    bias: float  # mean of the player's values minus the judge's
    judge_rmse: float  # root of the judge's mean squared standard error


def error_summary(
    errors: NDArray[np.float64], judge_errors: NDArray[np.float64], games: NDArray[np.integer]
) -> ErrorSummary:
    """Summarize float64[n] errors, n > 0. `judge_errors` are the standard errors of the judge's values for the same
    positions, and `games` the numbers of the games that they are from. `clustered_standard_error` gives the standard
    error of the mean squared error; the standard error of the root follows from the first derivative."""
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
    """The standard error of the mean of float64[n] values that may depend on each other within a group. `groups` has
    the group of each value. It is computed from the deviations from the mean, summed by group; NaN for a single
    group."""
    _, places = np.unique(groups, return_inverse=True)
    sums = np.bincount(places, weights=values - values.mean())
    count = len(sums)
    return sqrt(count / (count - 1) * float((sums**2).sum())) / len(values) if count > 1 else nan
