"""Distances of values from those of a judge, one position at a time in plain Python, for tests of
`evaluation.value_errors`."""

from collections import defaultdict
from collections.abc import Sequence
from math import fsum, sqrt


def summary(
    values: Sequence[float], judged: Sequence[float], judge_errors: Sequence[float], games: Sequence[int]
) -> dict[str, float | None]:
    """RMSE, MAE, bias and the judge's share of the RMSE. The standard error of the RMSE is that of a mean of squares
    with games as observations; None for a single game."""
    count = len(values)
    errors = [value - expected for value, expected in zip(values, judged, strict=True)]
    mean_square = fsum(error * error for error in errors) / count
    error_of_mean = standard_error([error * error for error in errors], games)
    rmse = sqrt(mean_square)
    return {
        "positions": count,
        "rmse": rmse,
        "rmse_standard_error": None if error_of_mean is None else error_of_mean / (2 * rmse) if rmse else 0.0,
        "mae": fsum(map(abs, errors)) / count,
        "bias": fsum(errors) / count,
        "judge_rmse": sqrt(fsum(error * error for error in judge_errors) / count),
    }


def standard_error(values: Sequence[float], games: Sequence[int]) -> float | None:
    """Standard error of the mean of values, with games as observations; None for a single game."""
    mean = fsum(values) / len(values)
    by_game: dict[int, list[float]] = defaultdict(list)
    for value, game in zip(values, games, strict=True):
        by_game[game].append(value - mean)
    spread = fsum(fsum(beyond) ** 2 for beyond in by_game.values())
    several = len(by_game)
    return sqrt(several / (several - 1) * spread) / len(values) if several > 1 else None
