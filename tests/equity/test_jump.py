"""The jump model: published check values to four digits, its limits, and the formulas as they were published."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import nan, pi, sqrt

import numpy as np
import pytest

from bgdata.equity.curves import NEVER, curve_equity
from bgdata.equity.doubling import janowski, jump, money_points
from bgdata.equity.jump import MOST_VOLATILITY, implied_index, jump_curve
from bgdata.equity.jump_numeric import JUMPS, solve_jumps
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from tests.together import all_raise

OWNERS = {0: CubeOwner.CENTERED, 1: CubeOwner.ON_ROLL, 2: CubeOwner.OPPONENT}
GRID = np.linspace(0, 1, 51)
# mean win, mean loss, volatility, then take, cash, redouble, initial double and too-good point (of an owned cube)
LINEAR = [
    (1.25, 1.25, 0.113, (0.2632, 0.7368, 0.6839, 0.6470, 0.8358), 0.699),
    (1.4, 1, 0.1, (0.1796, 0.6697, 0.6187, 0.5819, 0.7536), 0.766),
]
NUMERIC = [
    (1.25, 1.25, 0.113, "double-exponential", (0.2664, 0.7336, 0.6682, 0.6415, 0.8408)),
    (1.25, 1.25, 0.113, "normal", (0.2622, 0.7378, 0.6807, 0.6557, 0.8363)),
    (1.4, 1, 0.1, "double-exponential", (0.1807, 0.6673, 0.6090, 0.5834, 0.7552)),
    (1, 1, 0.1, "normal", (0.2094, 0.7906, 0.7342, 0.7109, 1)),
    (1, 1, 0.1, "double-exponential", (0.2137, 0.7863, 0.7180, 0.6909, 1)),
    (1, 1, 0.4, "double-exponential", (0.2367, 0.7633, 0.5801, 0.5573, 1)),
    # published as of volatility 0.4: that of a normal distribution with standard deviation 0.5, rounded
    (1, 1, 0.5 * sqrt(2 / pi), "normal", (0.2314, 0.7686, 0.5878, 0.5607, 1)),
]


@pytest.mark.parametrize(("mean_win", "mean_loss", "volatility", "published", "index"), LINEAR)
def test_published_linear_points(
    mean_win: float, mean_loss: float, volatility: float, published: tuple[float, ...], index: float
) -> None:
    first = money_points(jump(volatility), mean_win, mean_loss)
    again = money_points(jump(volatility), mean_win, mean_loss, owner=CubeOwner.ON_ROLL)
    found = again.take_point, again.cash_point, again.double_point, first.double_point, again.too_good_point
    assert np.round(found, 4).tolist() == list(published)
    assert round(implied_index(mean_win, mean_loss, volatility), 3) == index
    assert round(implied_index(1, 1, 0.1), 3) == 0.688


@pytest.mark.parametrize(("mean_win", "mean_loss", "volatility", "jumps", "published"), NUMERIC)
def test_published_numeric_points(
    mean_win: float, mean_loss: float, volatility: float, jumps: str, published: tuple[float, ...]
) -> None:
    solved = solve_jumps(mean_win, mean_loss, volatility, jumps=jumps)
    first, again = solved.points(), solved.points(CubeOwner.ON_ROLL)
    found = again.take_point, again.cash_point, again.double_point, first.double_point, again.too_good_point
    assert np.round(found, 4).tolist() == list(published)


@pytest.mark.parametrize("mean_win", [1.0, 1.3, 2.0])
@pytest.mark.parametrize("mean_loss", [1.0, 1.25, 1.8])
def test_published_formulas(mean_win: float, mean_loss: float) -> None:
    """The closed forms of the take and cash points, and the slopes and turning equities of the curves."""
    won, lost, a = mean_win, mean_loss, 0.09
    width = won + lost + 0.5
    take, cash = (lost - 0.5) / width, (lost + 1) / width
    points = money_points(jump(a), won, lost)
    assert points.take_point == pytest.approx(take * (lost + 1) / (lost + 1 - a / 4 * width / (won - 0.5)))
    assert points.cash_point == pytest.approx(
        cash - a * (won - 0.5) / (2 * (2 * lost * won + 2 * lost - won - 1) - a * width)
    )
    own, other, centered = (jump_curve(won, lost, owner, a, a) for owner in (1, 2, 0))
    slope = width - a / 4 * width**2 / ((won - 0.5) * (lost + 1))
    assert curve_equity(own, 0.3) == pytest.approx(slope * 0.3 - lost)
    slope = width - a / 4 * width**2 / ((lost - 0.5) * (won + 1))
    assert curve_equity(other, 0.7) == pytest.approx(won - slope * 0.3)
    assert curve_equity(centered, cash) == pytest.approx(1 - a / 6 * width * (won + 1) / (won - 0.5))
    assert curve_equity(centered, take) == pytest.approx(a / 6 * width * (lost + 1) / (lost - 0.5) - 1)


def test_without_jumps_the_cube_is_live() -> None:
    for owner in (CubeOwner.CENTERED, CubeOwner.ON_ROLL):
        for is_jacoby in (False, True):
            still, live = (
                money_points(model, 1.4, 1.2, owner=owner, is_jacoby=is_jacoby) for model in (jump(0), janowski(1))
            )
            assert np.array(still) == pytest.approx(np.array(live))


@pytest.mark.parametrize("is_jacoby", [False, True])
def test_curves_rise_from_sure_loss_to_sure_win(is_jacoby: bool) -> None:
    means = [1.0, 1.2, 1.6, 3.0]
    for volatility in (0.113, MOST_VOLATILITY):
        for mean_win in means:
            for mean_loss in means:
                for owner in OWNERS:
                    curve = jump_curve(mean_win, mean_loss, owner, volatility, volatility, is_jacoby)
                    equities = [curve_equity(curve, p) for p in GRID.tolist()]
                    assert np.diff(equities).min() > -1e-12
                    ends = (-1, 1) if is_jacoby and owner == 0 else (-mean_loss, mean_win)
                    assert (equities[0], equities[-1]) == pytest.approx(ends)
                    turned = jump_curve(mean_loss, mean_win, (0, 2, 1)[owner], volatility, volatility, is_jacoby)
                    assert equities == pytest.approx([-curve_equity(turned, 1 - p) for p in GRID.tolist()])


@pytest.mark.parametrize("jumps", JUMPS)
def test_the_formulas_are_near_the_solution(jumps: str) -> None:
    solved = solve_jumps(1.25, 1.1, 0.1, jumps=jumps)
    for owner, equities in enumerate((solved.centered, solved.owned, solved.opponent_owned)):
        linear = [curve_equity(jump_curve(1.25, 1.1, owner, 0.1, 0.1), p) for p in solved.chances.tolist()]
        assert np.abs(equities - linear).max() < 0.08
        assert np.abs(equities - linear).mean() < 0.02


@pytest.mark.parametrize("jumps", JUMPS)
@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.0, 1.0), (1.25, 1.25), (1.5, 1.2), (1.2, 1.5)])
def test_the_jacoby_rule_against_the_solution(mean_win: float, mean_loss: float, jumps: str) -> None:
    """Of the centered cube, and of the winning chance from which it is turned. Without the rule equities are up to
    0.04 off; the formulas of the one rule are far off by the other where gammons occur."""
    solved = solve_jumps(mean_win, mean_loss, 0.113, jumps=jumps, is_jacoby=True)
    far, near = (
        np.array([curve_equity(jump_curve(mean_win, mean_loss, 0, 0.113, 0.113, rule), p) for p in GRID.tolist()])
        - solved.centered[::2]
        for rule in (False, True)
    )
    assert np.abs(near).max() < 0.085
    assert np.abs(near).mean() < 0.035
    assert (np.abs(far).max() > 0.2) == (mean_win > 1)
    points = money_points(jump(0.113), mean_win, mean_loss, is_jacoby=True)
    assert points.double_point == pytest.approx(solved.points().double_point, abs=0.04)


def test_the_jacoby_rule_without_gammons_changes_nothing() -> None:
    for owner in OWNERS:
        plain, jacoby = (jump_curve(1.0, 1.0, owner, 0.1, 0.15, rule) for rule in (False, True))
        assert jacoby == pytest.approx(plain)
        if owner:
            assert jump_curve(1.4, 1.2, owner, 0.1, 0.15, True) == jump_curve(1.4, 1.2, owner, 0.1, 0.15, False)


def test_the_formulas_are_not_the_limit_of_small_jumps() -> None:
    """Small double-exponential jumps lower the slope of an owned cube half as much again as the formula says."""
    formula = 3**2 / (4 * 0.75 * 2.25)
    solved = solve_jumps(1.25, 1.25, 0.04)
    slope = (solved.owned[25] + 1.25) / 0.25
    assert 1.35 < (3 - slope) / 0.04 / formula < 1.45


def test_solved_equities_are_means_over_jumps() -> None:
    """By plain summation over a fine grid of jumps, away from the ends."""
    volatility = 0.06
    solved = solve_jumps(1.2, 1.3, volatility, points=400)
    sizes = np.linspace(-0.6, 0.6, 24_001)
    weights = np.exp(-np.abs(sizes) / volatility)
    weights /= weights.sum()
    doubled = np.minimum(2 * solved.opponent_owned, 1)
    after = np.maximum(solved.owned, doubled)
    for chance in (0.45, 0.5, 0.55):
        places = chance + sizes
        inside = np.interp(places, solved.chances, after)
        slopes = np.where(places < 0, (after[1] - after[0]) * 400 * places, 0)
        slopes += np.where(places > 1, (after[-1] - after[-2]) * 400 * (places - 1), 0)
        assert np.interp(chance, solved.chances, solved.owned) == pytest.approx(
            (weights * (inside + slopes)).sum(), abs=2e-4
        )


def test_points_that_are_never_reached() -> None:
    solved = solve_jumps(1, 1, 0.1)
    assert replace(solved, opponent_owned=solved.opponent_owned / 3).points().cash_point == NEVER
    assert replace(solved, owned=solved.owned / 3).points().take_point == 0


def test_invalid_jumps_are_refused() -> None:
    above, least = "expected a jump volatility above 0 and up to 0.5, got", "expected a grid of at least"
    all_raise(
        InvalidParameterError,
        [
            (partial(solve_jumps, 0.9, 1, 0.1), "expected mean points of a win from 1 to 3, got 0.9"),
            (partial(solve_jumps, 1, 4, 0.1), "expected mean points of a loss from 1 to 3, got 4"),
            (partial(solve_jumps, 1, 1, 0), f"{above} 0"),
            (partial(solve_jumps, 1, 1, 0.6), f"{above} 0.6"),
            (
                partial(solve_jumps, 1, 1, 0.1, jumps="cauchy"),
                "that are double-exponential or normal, got cauchy",
            ),
            (partial(solve_jumps, 1, 1, 0.01), f"{least} 200 points for such jumps, got 100"),
            (partial(solve_jumps, 1, 1, 0.4, points=4), f"{least} 10 points for such jumps, got 4"),
            *((partial(jump, each), "expected a jump volatility from 0 to 0.25, got") for each in (-0.1, 0.26, nan)),
        ],
    )
