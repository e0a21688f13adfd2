"""Errors of values: against plain Python, by hand, and with the coverage of the standard error."""

from math import isnan, sqrt

import numpy as np
import pytest

from bgdata.evaluation.value_errors import clustered_standard_error, error_summary
from tests.reference.value_errors import summary


@pytest.mark.parametrize("seed", range(5))
def test_summary_equals_plain_python(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values, judged, judge_errors = generator.normal(size=(3, 50))
    games = generator.integers(0, 20, 50)
    found = error_summary(values - judged, judge_errors, games)._asdict()
    assert found == pytest.approx(summary(values.tolist(), judged.tolist(), judge_errors.tolist(), games.tolist()))


def test_summary_matches_values_by_hand() -> None:
    found = error_summary(np.array([1.0, -1.0, 2.0, 0.0]), np.array([0.3, 0.4, 0.0, 0.0]), np.arange(4))
    assert (found.positions, found.mae, found.bias) == (4, 1.0, 0.5)
    assert found.rmse == pytest.approx(sqrt(1.5))
    assert found.judge_rmse == pytest.approx(0.25)
    squares = np.array([1.0, 1.0, 4.0, 0.0])
    assert found.rmse_standard_error == pytest.approx(squares.std(ddof=1) / 2 / (2 * sqrt(1.5)))


def test_positions_of_a_game_count_as_one() -> None:
    """Repeating every position five times in its game does not change the standard error."""
    values, games = np.array([0.0, 1.0, 4.0, 9.0]), np.array([3, 1, 7, 2])
    alone = clustered_standard_error(values, games)
    assert clustered_standard_error(np.repeat(values, 5), np.repeat(games, 5)) == pytest.approx(alone)
    assert clustered_standard_error(np.repeat(values, 5), np.arange(20)) < 0.6 * alone


def test_single_game_has_no_standard_error() -> None:
    found = error_summary(np.array([0.5, 0.25]), np.zeros(2), np.array([7, 7]))
    assert isnan(found.rmse_standard_error)
    assert found.bias == 0.375
    assert isnan(error_summary(np.zeros(2), np.zeros(2), np.array([7, 7])).rmse_standard_error), "also without errors"


def test_summary_of_equal_values_is_zero() -> None:
    assert error_summary(np.zeros(3), np.zeros(3), np.arange(3)) == (3, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_standard_error_covers_the_spread_of_samples() -> None:
    """The standard error is the spread of the RMSE over many samples of games with several similar positions each."""
    generator = np.random.default_rng(1)
    found = []
    for _ in range(400):
        errors = np.repeat(generator.normal(0, 0.05, 100), 3) + generator.normal(0, 0.02, 300)
        found.append(error_summary(errors, np.zeros(300), np.repeat(np.arange(100), 3)))
    spread = np.std([each.rmse for each in found])
    assert np.mean([each.rmse_standard_error for each in found]) == pytest.approx(spread, rel=0.1)
