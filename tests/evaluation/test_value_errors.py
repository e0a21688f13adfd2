"""Errors of values: against plain Python, by hand, and with the coverage of the standard error."""

from math import isnan, sqrt

import numpy as np
import pytest

from bgdata.evaluation.value_errors import clustered_standard_error, error_summary
from tests.reference.value_errors import summary as reference_summary


@pytest.mark.parametrize("seed", range(5))
def test_summary_equals_plain_python(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values, judged_values, judge_errors = generator.normal(size=(3, 50))
    games = generator.integers(0, 20, 50)
    expected = reference_summary(values.tolist(), judged_values.tolist(), judge_errors.tolist(), games.tolist())
    assert error_summary(values - judged_values, judge_errors, games)._asdict() == pytest.approx(expected)


def test_summary_matches_values_by_hand() -> None:
    summary = error_summary(np.array([1.0, -1.0, 2.0, 0.0]), np.array([0.3, 0.4, 0.0, 0.0]), np.arange(4))
    assert summary.positions == 4
    assert summary.mae == 1.0
    assert summary.bias == 0.5
    assert summary.rmse == pytest.approx(sqrt(1.5))
    assert summary.judge_rmse == pytest.approx(0.25)
    squares = np.array([1.0, 1.0, 4.0, 0.0])
    assert summary.rmse_standard_error == pytest.approx(squares.std(ddof=1) / 2 / (2 * sqrt(1.5)))


def test_positions_of_a_game_count_as_one() -> None:
    """Repeating every position five times in its game does not change the standard error."""
    values, games = np.array([0.0, 1.0, 4.0, 9.0]), np.array([3, 1, 7, 2])
    alone = clustered_standard_error(values, games)
    assert clustered_standard_error(np.repeat(values, 5), np.repeat(games, 5)) == pytest.approx(alone)
    assert clustered_standard_error(np.repeat(values, 5), np.arange(20)) < 0.6 * alone


def test_single_game_has_no_standard_error() -> None:
    summary = error_summary(np.array([0.5, 0.25]), np.zeros(2), np.array([7, 7]))
    assert isnan(summary.rmse_standard_error)
    assert summary.bias == 0.375
    assert isnan(error_summary(np.zeros(2), np.zeros(2), np.array([7, 7])).rmse_standard_error), "also without errors"


def test_summary_of_equal_values_is_zero() -> None:
    assert error_summary(np.zeros(3), np.zeros(3), np.arange(3)) == (3, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_standard_error_covers_the_spread_of_samples() -> None:
    """Of the RMSE over 400 samples of 100 games with three similar positions each."""
    generator = np.random.default_rng(1)
    summaries = []
    for _ in range(400):
        errors = np.repeat(generator.normal(0, 0.05, 100), 3) + generator.normal(0, 0.02, 300)
        summaries.append(error_summary(errors, np.zeros(300), np.repeat(np.arange(100), 3)))
    spread = np.std([each.rmse for each in summaries])
    mean_standard_error = np.mean([each.rmse_standard_error for each in summaries])
    assert mean_standard_error == pytest.approx(spread, rel=0.1)
