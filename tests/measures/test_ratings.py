"""Ratings: what is put in comes out, with the errors that repeated experiments have, and against exact cases."""

from __future__ import annotations

import math
from itertools import combinations
from math import inf, nan

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.measures.ratings import LEAST_ERROR, MOST_RATING, Pairing, expected_points, fit_ratings

TRUE = (0.0, 0.04, -0.6, -3.5, 0.01)


def simulated(generator: np.random.Generator, scale: float, error: float) -> list[Pairing]:
    """All pairings of TRUE with normal errors."""
    return [
        Pairing(a, b, expected_points(TRUE[a] - TRUE[b], scale) + error * float(generator.normal()), error)
        for a, b in combinations(range(len(TRUE)), 2)
    ]


def test_exact_results_give_the_ratings_back() -> None:
    pairings = [each._replace(error=0.01) for each in simulated(np.random.default_rng(0), 3.0, 0.0)]
    found = fit_ratings(len(TRUE), 0, pairings, 3.0)
    assert found.values == pytest.approx(TRUE, abs=1e-7)
    assert found.chi_square == pytest.approx(0, abs=1e-9)
    assert found.degrees_of_freedom == 10 - 4


def test_two_players_by_hand() -> None:
    found = fit_ratings(2, 0, [Pairing(0, 1, 0.5, 0.1)], 1.0)
    assert found.values == pytest.approx([0, -math.atanh(0.5)], abs=1e-8)
    assert found.covariances[1][1] ** 0.5 == pytest.approx(0.1 / (1 - 0.25), rel=1e-6)
    assert found.covariances[0] == [0.0, 0.0]


def test_matches_are_rated_as_bradley_and_terry_do() -> None:
    """75 of 100 matches are a difference of half the logarithm of the odds."""
    found = fit_ratings(2, 1, [Pairing(0, 1, 0.5, 0.1)], 1.0)
    assert found.values[0] == pytest.approx(math.log(0.75 / 0.25) / 2, abs=1e-8)


def test_errors_are_those_of_repeated_experiments() -> None:
    generator, error = np.random.default_rng(3), 0.02
    fits = [fit_ratings(len(TRUE), 0, simulated(generator, 3.0, error), 3.0) for _ in range(300)]
    values = np.array([fit.values for fit in fits])
    told = np.array([np.sqrt(np.diagonal(fit.covariances)) for fit in fits]).mean(axis=0)
    spread = values.std(axis=0)
    assert values.mean(axis=0) == pytest.approx(TRUE, abs=0.01)
    assert spread[1:] == pytest.approx(told[1:], rel=0.2)  # told errors are a little larger: never deflated
    assert np.mean([fit.chi_square for fit in fits]) == pytest.approx(6, rel=0.15)


def test_results_that_no_rating_fits_widen_the_intervals() -> None:
    """Stone, paper, scissors."""
    circle = [Pairing(0, 1, 0.5, 0.01), Pairing(1, 2, 0.5, 0.01), Pairing(2, 0, 0.5, 0.01)]
    found = fit_ratings(3, 0, circle, 3.0)
    assert found.values == pytest.approx([0, 0, 0], abs=1e-9)
    assert found.chi_square == pytest.approx(3 * 50**2)
    assert found.covariances[1][1] ** 0.5 > 0.3


def test_players_that_play_alike_do_not_outweigh_all_others() -> None:
    found = fit_ratings(2, 0, [Pairing(0, 1, 0.0, 0.0)], 3.0)
    assert found.covariances[1][1] ** 0.5 == pytest.approx(LEAST_ERROR)


def test_more_lost_than_can_be_lost_stays_within_bounds() -> None:
    found = fit_ratings(2, 0, [Pairing(0, 1, 3.1, 0.1)], 3.0)
    assert -MOST_RATING <= found.values[1] < -6
    assert found.covariances[1][1] > 1


def test_matches_that_one_side_always_won() -> None:
    pairs = ((1, 0), (2, 0), (3, 0), (3, 1), (2, 3), (4, 0), (1, 4), (4, 2))
    found = fit_ratings(5, 0, [Pairing(winner, loser, 1.0, 0.0) for winner, loser in pairs], 1.0)
    assert found.values[0] == 0
    assert all(2 < value <= MOST_RATING for value in found.values[1:])


def test_pairings_must_lead_everywhere() -> None:
    with pytest.raises(UsageError, match="lead from every player to player 0, none leads from 2"):
        fit_ratings(4, 0, [Pairing(0, 1, 0.1, 0.1), Pairing(2, 3, 0.1, 0.1)], 3.0)


@pytest.mark.parametrize(("points", "error"), [(0.5, nan), (nan, 0.1), (inf, 0.1), (0.5, inf)])
def test_results_that_are_not_finite(points: float, error: float) -> None:
    with pytest.raises(UsageError, match="expected finite results of pairings, got "):
        fit_ratings(2, 0, [Pairing(1, 0, points, error)], 3.0)
