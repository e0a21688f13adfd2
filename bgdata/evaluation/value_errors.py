"""Errors of values against a judge's values of the same positions: RMSE, MAE, bias, and the judge's own part."""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ErrorSummary(NamedTuple):
    """Errors of a player in a set of positions, in the unit of the values."""

    positions: int
    rmse: float  # against the judge, including the judge's own errors
    rmse_standard_error: float  # error from sampling positions; NaN if all are from one game
    mae: float
    bias: float  # mean of the player's values minus the judge's
    judge_rmse: float  # root of the judge's mean squared standard error


def error_summary(
    errors: NDArray[np.float64], judge_errors: NDArray[np.float64], games: NDArray[np.integer]
) -> ErrorSummary:
    """The summary of float64[n] errors, n > 0, from the judge's standard errors for the same positions, and the numbers
    of their games. `clustered_standard_error` gives the standard error of the mean squared error; the standard error of
    the root follows from the first derivative."""
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
    """Standard error of the mean of float64[n] values that are dependent within groups, computed from the sums, by
    group, of deviations from the mean. NaN for a single group."""
    _, places = np.unique(groups, return_inverse=True)
    sums = np.bincount(places, weights=values - values.mean())
    count = len(sums)
    return sqrt(count / (count - 1) * float((sums**2).sum())) / len(values) if count > 1 else nan
