"""The error of combining two one-sided distributions if gammons are possible, against exact play of both sides.

The published studies of the error ignore gammons.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.race_error import RaceErrorParameters
from bgdata.bearoff.layouts import Plays, all_layouts, all_plays
from bgdata.evaluation.bearoff import GAMMON_STUDY, open_bearoff
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.warehouse import Warehouse
from tests.evaluation.test_bearoff import bearoff_boards
from tests.reference.bearoff import layouts
from tests.reference.bearoff_chances import approximate_game, equity, exact_game

ROLL_WEIGHTS = np.array([2] * 15 + [1] * 6, np.float32) / 36


def mean_least_most(errors: NDArray[np.floating]) -> tuple[float, float, float]:
    """The mean absolute, the smallest and the largest error."""
    return float(np.abs(errors).mean()), float(errors.min()), float(errors.max())


def test_errors_of_small_games_with_gammons_are_as_documented() -> None:
    """Games begin with three checkers a side on 6 points, of which one side still has all three."""
    sides = layouts(6, 3)[1:]
    pairs = [pair for pair in itertools.product(sides, sides) if 3 in map(sum, pair)]
    assert len(pairs) == 6160
    exact = [exact_game(*pair, 3) for pair in pairs]
    combined = [approximate_game(*pair, 3) for pair in pairs]
    win, win_gammon, lose_gammon = np.transpose(np.array(combined) - np.array(exact))
    assert mean_least_most(win) == pytest.approx((0.000031, -0.00136, 0.00136), abs=1e-5)
    assert mean_least_most(win_gammon) == pytest.approx((0.000010, -0.00180, 0.00068), abs=1e-5)
    assert mean_least_most(lose_gammon) == pytest.approx((0.000036, -0.00273, 0.00002), abs=1e-5)
    equities = np.array([*map(equity, combined)]) - np.array([*map(equity, exact)])
    assert mean_least_most(equities) == pytest.approx((0.000069, -0.00184, 0.00273), abs=1e-5)


def best_of_rolls(values: NDArray[Any], plays: Plays, index: int) -> NDArray[np.float64]:
    """Average over rolls of the highest values[result, ...] that a layout's plays can reach."""
    start = plays.start[21 * index : 21 * index + 22]
    best = np.maximum.reduceat(values[plays.results[start[0] : start[-1]]], start[:-1] - start[0], axis=0)
    return ROLL_WEIGHTS @ best


def exact_equities(points: int, checkers: int) -> NDArray[np.float32]:
    """float32[2, full layouts, other layouts]: equity of the player on roll if one side has all 15 checkers and the
    other at most `checkers`, which may be 15; first with the full side on roll, then the other. Both sides play
    exactly, and a gammon counts two points."""
    full_plays, other_plays = all_plays(points, 15), all_plays(points, checkers)
    every, other = all_layouts(points, 15), all_layouts(points, checkers)
    n_other = len(other)
    gathered = other_plays.results[: other_plays.start[21 * n_other]]
    starts = other_plays.start[:-1]
    # [layout of the side that had 15 checkers, layout of the other]: equity of the former with it, or the other, on
    # roll
    rolls_next, other_next = (np.ones((len(every), n_other), np.float32) for _ in range(2))
    rolls_next[0], other_next[0] = (1 + (other.sum(axis=1) == 15),) * 2
    for index in range(1, len(every)):
        rolls_next[index] = best_of_rolls(other_next, full_plays, index)
        rolls_next[index, 0] = other_next[index, 0] = -2 if every[index].sum() == 15 else -1
        best = np.minimum.reduceat(rolls_next[index][gathered], starts).reshape(n_other, 21)
        other_next[index, 1:] = (best @ ROLL_WEIGHTS)[1:]
    is_full = every.sum(axis=1) == 15
    return np.stack([rolls_next[is_full, 1:], -other_next[is_full, 1:]])


def combined_errors(exact: NDArray[np.float32], points: int, checkers: int, warehouse: Warehouse) -> NDArray[Any]:
    """float64[2, full layouts, other layouts]: combined equities of the evaluator minus exact ones."""
    for kind in ("bearoff_one_sided", "bearoff_gammon"):
        warehouse.build(kind, RaceParameters(points))
    evaluator = open_bearoff(warehouse)
    full, other = all_layouts(points, 15)[-exact.shape[1] :], all_layouts(points, checkers)[1:]
    errors = np.empty(exact.shape)
    for start in range(0, len(full), 500):
        rows = slice(start, start + 500)
        full_sides = np.repeat(full[rows], len(other), axis=0)
        other_sides = np.tile(other, (len(full[rows]), 1))
        for index, sides in enumerate(((full_sides, other_sides), (other_sides, full_sides))):
            evaluations = evaluator.evaluate_many(bearoff_boards(*sides))
            assert (evaluations.sources == BearoffSource.COMBINED).all()
            win, win_gammon, _, lose_gammon, _ = evaluations.chances.astype(np.float64).T
            equities = (2 * win - 1 + win_gammon - lose_gammon).reshape(-1, len(other))
            errors[index, rows] = equities - exact[index, rows]
    return errors


# slow: solves all positions of 15 checkers against up to 5
@pytest.mark.slow
def test_errors_of_fifteen_checkers_against_a_few_are_as_quoted(tmp_path: Path) -> None:
    """The errors that the evaluator quotes are those against exact play."""
    errors = combined_errors(exact_equities(6, 5), 6, 5, bgdata.open_warehouse(tmp_path))
    assert errors.size == 14_294_688
    mean_absolute, *extremes = mean_least_most(errors)
    assert mean_absolute == pytest.approx(GAMMON_STUDY[0], abs=6e-7)
    assert extremes == pytest.approx(GAMMON_STUDY[1:], abs=6e-5)


def test_race_error_study_equals_errors_of_solved_games(tmp_path: Path) -> None:
    """For all pairs on three points with 15 checkers on a side."""
    warehouse = bgdata.open_warehouse(tmp_path)
    warehouse.build("race_error", RaceErrorParameters(3, 15))
    full_on_roll, other_on_roll = combined_errors(exact_equities(3, 15), 3, 15, warehouse)
    n_full, n_layouts = full_on_roll.shape
    n_fewer = n_layouts - n_full  # layouts are in order of checkers, so the full ones are last
    expected = {
        ("15", "15"): full_on_roll[:, n_fewer:],
        ("15", "fewer"): full_on_roll[:, :n_fewer],
        ("fewer", "15"): other_on_roll[:, :n_fewer],
    }
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select if(on_roll_group = 15, '15', 'fewer'), if(opponent_group = 15, '15', 'fewer'), sum(pairs), "
            "sum(pairs * mean_absolute_difference) / sum(pairs), min(smallest_difference), max(largest_difference) "
            "from race_error where grouping = 'checkers' and greatest(on_roll_group, opponent_group) = 15 "
            "group by 1, 2 order by 1, 2"
        ).fetchall()
    assert [(on_roll, opponent) for on_roll, opponent, *_ in rows] == list(expected)
    for on_roll, opponent, pairs, *statistics in rows:
        errors = expected[on_roll, opponent]
        assert pairs == errors.size
        assert statistics == pytest.approx(mean_least_most(errors), abs=3e-6)
        assert errors.max() > 0.004, "the errors are not trivial"
