"""Tests of solving with and without plays that waste pips, and of averages over self-play."""

from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_error import ErrorParameters
from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT, Plays, all_layouts
from bgdata.studies.claims import dropped, play
from tests.studies.claims import oracle_answers


def exact_by_fractions(plays: Plays) -> list[list[Fraction]]:
    """Cubeless equities of all pairs of layouts, none of them empty, as exact fractions."""
    weights = [Fraction(2 if roll < NON_DOUBLES else 1, 36) for roll in range(ROLL_COUNT)]

    @cache
    def equity(on_roll: int, opponent: int) -> Fraction:
        if opponent == 0:
            return Fraction(-1)
        total = Fraction(0)
        for roll, weight in enumerate(weights):
            begin, end = plays.start[on_roll * ROLL_COUNT + roll : on_roll * ROLL_COUNT + roll + 2]
            results = [int(result) for result in plays.results[begin:end]]
            total += weight * max(Fraction(1) if left == 0 else -equity(opponent, left) for left in results)
        return total

    count = (len(plays.start) - 1) // ROLL_COUNT
    return [[equity(one, other) for other in range(1, count)] for one in range(1, count)]


@pytest.mark.parametrize("is_filtered", [False, True])
def test_equities_equal_exact_fractions(is_filtered: bool) -> None:
    plays = dropped.filtered_plays(4, 3) if is_filtered else dropped.plays_of(4, 3)[0]
    expected = np.array([[float(each) for each in row] for row in exact_by_fractions(plays)])
    assert np.abs(dropped.exact_equities(plays) - expected).max() < 1e-15


def test_changed_pairs_equal_exact_fractions() -> None:
    legal, filtered = (exact_by_fractions(plays) for plays in (dropped.plays_of(6, 3)[0], dropped.filtered_plays(6, 3)))
    changed = sum(a != b for row, other in zip(legal, filtered, strict=True) for a, b in zip(row, other, strict=True))
    assert 0 < changed < (len(all_layouts(6, 3)) - 1) ** 2
    assert oracle_answers.changed_pairs({}, 6, 3) == changed


def test_truncated_chances_are_rescaled() -> None:
    chances = np.array([[0, 0.1, 0.4, 0.3, 0.2], [0, 1, 0, 0, 0]])
    assert oracle_answers.truncated(chances, 2) == pytest.approx(np.array([[0, 0, 4 / 7, 3 / 7, 0], [0, 1, 0, 0, 0]]))
    assert oracle_answers.truncated(chances, 5) == pytest.approx(chances)


def test_figures_less_the_mean_excess_equal_the_table(tmp_path: Path) -> None:
    """The figures after the mean excess is subtracted equal those of the table `bearoff_error`."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build("bearoff_error", ErrorParameters(6, 4, "corrected"))
    names = ("bearoff_one_sided/6x15", "bearoff_two_sided/6x4")
    tables = {name: warehouse.open(*name.split("/")) for name in names}
    expected = table.array("difference").astype(np.float64)
    for what, figure in {
        "mean": expected.mean(),
        "sd": expected.std(),
        "mean-absolute": np.abs(expected).mean(),
        "largest": expected.max(),
        "smallest": expected.min(),
    }.items():
        answer = oracle_answers.corrected_difference(tables, 6, 4, what)
        assert answer.answer == pytest.approx(figure, abs=1e-6)
        assert 0 < answer.bound < 1e-4
    with pytest.raises(KeyError):
        oracle_answers.corrected_difference(tables, 6, 4, "colour")


def test_standard_error_treats_games_as_observations() -> None:
    """For three games with one, two and one values, the standard error is that of a ratio of sums over games."""
    mean = play.mean_by_game(np.array([1.0, 2.0, 4.0, 5.0]), np.array([0, 1, 1, 2]), 3)
    assert mean[:3] == (3, pytest.approx(np.sqrt((1 - 3) ** 2 + (6 - 6) ** 2 + (5 - 3) ** 2) / 4), 3)


def test_windows_are_near_cube_points() -> None:
    chances = np.array([0.1, 0.21, 0.34, 0.36, 0.5, 0.66, 0.79, 0.81])
    assert play.is_near_a_cube_point(chances).tolist() == [False, True, True, False, False, True, True, False]
