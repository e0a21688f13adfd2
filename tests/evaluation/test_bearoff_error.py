"""The error of combining two one-sided distributions if gammons are possible, against exact play of both sides.

The published studies of the error ignore gammons.
"""

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


def summary(difference: NDArray[np.floating]) -> tuple[float, float, float]:
    """(mean absolute, smallest, largest)."""
    return float(np.abs(difference).mean()), float(difference.min()), float(difference.max())


def test_errors_of_small_games_with_gammons_are_as_documented() -> None:
    """The error of combining is as documented for games that begin with three checkers a side, one side still complete:
    6,160 positions of 6 points."""
    every = layouts(6, 3)[1:]
    pairs = [(ours, theirs) for ours in every for theirs in every if 3 in (sum(ours), sum(theirs))]
    exact, approximate = ([game(*pair, 3) for pair in pairs] for game in (exact_game, approximate_game))
    win, win_gammon, lose_gammon = np.transpose(np.array(approximate) - np.array(exact))
    equities = np.array([equity(found) - equity(best) for found, best in zip(approximate, exact, strict=True)])
    assert len(pairs) == 6160
    assert summary(win) == pytest.approx((0.000031, -0.00136, 0.00136), abs=1e-5)
    assert summary(win_gammon) == pytest.approx((0.000010, -0.00180, 0.00068), abs=1e-5)
    assert summary(lose_gammon) == pytest.approx((0.000036, -0.00273, 0.00002), abs=1e-5)
    assert summary(equities) == pytest.approx((0.000069, -0.00184, 0.00273), abs=1e-5)


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
        sides = np.repeat(full[rows], len(other), axis=0), np.tile(other, (len(full[rows]), 1))
        for first in range(2):
            found = evaluator.evaluate_many(bearoff_boards(sides[first], sides[1 - first]))
            assert (found.sources == BearoffSource.COMBINED).all()
            win, win_gammon, _, lose_gammon, _ = found.chances.astype(np.float64).T
            equities = (2 * win - 1 + win_gammon - lose_gammon).reshape(-1, len(other))
            errors[first, rows] = equities - exact[first, rows]
    return errors


# slow: solves all positions of 15 checkers against up to 5
@pytest.mark.slow
def test_errors_of_fifteen_checkers_against_a_few_are_as_quoted(tmp_path: Path) -> None:
    """The errors that the evaluator quotes are those against exact play."""
    errors = combined_errors(exact_equities(6, 5), 6, 5, bgdata.open_warehouse(tmp_path))
    assert errors.size == 14_294_688
    mean_absolute, *extremes = summary(errors)
    assert mean_absolute == pytest.approx(GAMMON_STUDY[0], abs=6e-7)
    assert extremes == pytest.approx(GAMMON_STUDY[1:], abs=6e-5)


def test_race_error_study_equals_errors_of_solved_games(tmp_path: Path) -> None:
    """`race_error` with the two-sided table has the errors of solved games, for all pairs on three points with 15
    checkers on a side."""
    warehouse = bgdata.open_warehouse(tmp_path)
    warehouse.build("race_error", RaceErrorParameters(3, 15))
    errors = combined_errors(exact_equities(3, 15), 3, 15, warehouse)
    n_full = errors.shape[1]
    few = errors.shape[2] - n_full
    expected = [
        (row_of, column_of, part.size, *summary(part))
        for row_of, column_of, part in (
            ("15", "15", errors[0, :, few:]),
            ("15", "fewer", errors[0, :, :few]),
            ("fewer", "15", errors[1, :, :few]),
        )
    ]
    with warehouse.connect() as connection:
        found = connection.sql(
            "select if(on_roll_group = 15, '15', 'fewer'), if(opponent_group = 15, '15', 'fewer'), sum(pairs), "
            "sum(pairs * mean_absolute_difference) / sum(pairs), min(smallest_difference), max(largest_difference) "
            "from race_error where grouping = 'checkers' and greatest(on_roll_group, opponent_group) = 15 "
            "group by 1, 2 order by 1, 2"
        ).fetchall()
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    for row, wanted in zip(found, expected, strict=True):
        assert row[3:] == pytest.approx(wanted[3:], abs=3e-6)
        assert row[5] > 0.004  # the errors are not trivial
