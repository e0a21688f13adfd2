"""The jump model: published values to four digits, its limits, and the published formulas."""

from functools import partial
from math import nan

import numpy as np
import pytest

from bgdata.equity.curves import (
    MAX_VOLATILITY,
    Curve,
    centered_jump_curve,
    curve_equity,
    implied_index,
    jump_curve,
    mirror,
    owned_jump_curve,
)
from bgdata.equity.doubling import janowski, jump, money_points
from bgdata.equity.match_cube import MatchGame, match_equities, match_points, model_curves, shares_of
from bgdata.equity.match_equity import decided_cells
from bgdata.equity.numeric import JUMPS, solve_jumps
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from tests.equity.samples import match_reference, published_met, random_chances
from tests.reference.jump_match import solved_match
from tests.subtests import all_raise

OWNERS = {0: CubeOwner.CENTERED, 1: CubeOwner.ON_ROLL, 2: CubeOwner.OPPONENT}
GRID = np.linspace(0, 1, 51)
# mean win, mean loss, volatility, then take, cash, redouble, initial double and too-good point (of an owned cube)
LINEAR = [
    (1.25, 1.25, 0.113, (0.2632, 0.7368, 0.6839, 0.6470, 0.8358), 0.699),
    (1.4, 1, 0.1, (0.1796, 0.6697, 0.6187, 0.5819, 0.7536), 0.766),
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


@pytest.mark.parametrize("mean_win", [1.0, 1.3, 2.0])
@pytest.mark.parametrize("mean_loss", [1.0, 1.25, 1.8])
def test_curves_match_the_published_formulas(mean_win: float, mean_loss: float) -> None:
    """Take and cash points, slopes, and the equities at which the cube is turned are those of the published closed
    formulas."""
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


def test_model_without_jumps_has_a_live_cube() -> None:
    for owner in (CubeOwner.CENTERED, CubeOwner.ON_ROLL):
        for is_jacoby in (False, True):
            still, live = (
                money_points(model, 1.4, 1.2, owner=owner, is_jacoby=is_jacoby) for model in (jump(0), janowski(1))
            )
            assert np.array(still) == pytest.approx(np.array(live))


@pytest.mark.parametrize("is_jacoby", [False, True])
def test_curves_rise_from_loss_to_win(is_jacoby: bool) -> None:
    """Curves begin at the mean loss, never fall, end at the mean win, and are mirrored for the opponent."""
    means = [1.0, 1.2, 1.6, 3.0]
    for volatility in (0.113, MAX_VOLATILITY):
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
def test_formulas_are_near_the_solution(jumps: str) -> None:
    solved = solve_jumps(1.25, 1.1, 0.1, jumps=jumps)
    for owner, equities in enumerate((solved.centered, solved.owned, solved.opponent_owned)):
        linear = [curve_equity(jump_curve(1.25, 1.1, owner, 0.1, 0.1), p) for p in solved.chances.tolist()]
        assert np.abs(equities - linear).max() < 0.08
        assert np.abs(equities - linear).mean() < 0.02


@pytest.mark.parametrize("jumps", JUMPS)
@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.0, 1.0), (1.25, 1.25), (1.5, 1.2), (1.2, 1.5)])
def test_jacoby_formulas_are_near_the_solution(mean_win: float, mean_loss: float, jumps: str) -> None:
    """With the Jacoby rule, the equity of a centered cube and its double point are near the solution on a grid, and
    with gammons far from that of the other rule."""
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


def test_jacoby_changes_nothing_without_gammons() -> None:
    for owner in OWNERS:
        plain, jacoby = (jump_curve(1.0, 1.0, owner, 0.1, 0.15, rule) for rule in (False, True))
        assert jacoby == pytest.approx(plain)
        if owner:
            assert jump_curve(1.4, 1.2, owner, 0.1, 0.15, True) == jump_curve(1.4, 1.2, owner, 0.1, 0.15, False)


def test_invalid_jumps_are_refused() -> None:
    above, least = "expected a jump volatility above 0 and up to 0.5, got", "expected a grid of at least"
    all_raise(
        InvalidParameterError,
        [
            (partial(solve_jumps, 0.9, 1, 0.1), "expected mean points of a win from 1 to 3, got 0.9"),
            (partial(solve_jumps, 1, 4, 0.1), "expected mean points of a loss from 1 to 3, got 4"),
            (partial(solve_jumps, 1, 1, 0), f"{above} 0"),
            (partial(solve_jumps, 1, 1, 0.6), f"{above} 0.6"),
            (partial(solve_jumps, 1, 1, 0.1, jumps="cauchy"), "that are double-exponential or normal, got cauchy"),
            (partial(solve_jumps, 1, 1, 0.01), f"{least} 200 points for such jumps, got 100"),
            (partial(solve_jumps, 1, 1, 0.4, points=4), f"{least} 10 points for such jumps, got 4"),
            *((partial(jump, each), "expected a jump volatility from 0 to 0.25, got") for each in (-0.1, 0.26, nan)),
        ],
    )


GAME_CHANCES = np.array([0.5, 0.13, 0.0, 0.13, 0.0])
SCORES = [(9, 9, 1, 0), (5, 7, 1, 0), (7, 4, 2, 1), (3, 5, 1, 0), (4, 4, 2, 2)]


def mean_after_jump(curve: Curve, chance: float, size: float) -> float:
    """Mean equity after a jump of `size` up or down, which is also the mean absolute jump."""
    return (curve_equity(curve, chance - size) + curve_equity(curve, chance + size)) / 2


@pytest.mark.parametrize(("away", "opponent_away"), [(9, 9), (5, 7), (3, 4), (7, 5)])
def test_equity_at_a_bend_is_the_mean_after_jumps(away: int, opponent_away: int) -> None:
    """The equity at a bend of the curve is the mean equity after a jump up or down."""
    live = model_curves(janowski(1), published_met().cells, MatchGame(away, opponent_away), 1, shares_of(GAME_CHANCES))
    size = 0.06
    found = centered_jump_curve(live.centered, size)
    assert found.at_high == pytest.approx(mean_after_jump(live.centered, live.centered.high, size), abs=1e-12)
    assert found.at_low == pytest.approx(mean_after_jump(live.centered, live.centered.low, size), abs=1e-12)
    owned = owned_jump_curve(live.owned, live.owned.high, size)
    assert owned.at_high == pytest.approx(mean_after_jump(live.owned, live.owned.high, size), abs=1e-12)


@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.0, 1.0), (1.25, 1.25), (1.4, 1.1), (1.1, 1.8)])
def test_match_curves_agree_with_published_money_formulas(mean_win: float, mean_loss: float) -> None:
    """The curves that matches use have the published formulas of money play in money play."""
    for local in (0.0, 0.06, 0.113):
        for owner in (0, 1, 2):
            money, live = (jump_curve(mean_win, mean_loss, owner, 0.1, size) for size in (local, 0.0))
            if owner == 0:
                found = centered_jump_curve(live, local)
            elif owner == 1:
                still = jump_curve(mean_win, mean_loss, owner, 0.0, 0.0)
                found = owned_jump_curve(still, money.high, local)
            else:
                still = jump_curve(mean_win, mean_loss, owner, 0.0, 0.0)
                found = mirror(owned_jump_curve(mirror(still), 1 - money.low, local))
            assert found == pytest.approx(money)


def test_match_without_jumps_has_a_live_cube() -> None:
    for row in random_chances(20, seed=5):
        for away, opponent_away, cube, owner in SCORES:
            game = MatchGame(away, opponent_away)
            still, live = (
                match_equities(model, published_met().cells, game, cube, owner, row) for model in (jump(0), janowski(1))
            )
            assert still == pytest.approx(live, abs=1e-12)


def test_long_match_agrees_with_money() -> None:
    """If mwc is linear in the points, decisions agree with money play, except for cubes that end the match."""
    cells = decided_cells(64)
    points = np.arange(65)
    cells[:, 1:, 1:] = (0.5 + 0.005 * (points[None, :] - points[:, None]))[1:, 1:]
    for local in (0.113, 0.05):
        found = match_points(jump(0.113, local), cells, MatchGame(64, 64), 1, 0, GAME_CHANCES)
        money = money_points(jump(0.113, local), 1.26, 1.26)
        assert np.array(found) == pytest.approx(np.array(money), abs=0.004)


@pytest.mark.parametrize(("away", "opponent_away", "cube", "owner"), SCORES)
def test_match_formulas_are_near_the_solution(away: int, opponent_away: int, cube: int, owner: int) -> None:
    """Formulas for a match differ from the solution by a few thousandths of mwc on average, half as much as without
    jumps."""
    reference = match_reference(away, opponent_away, [0.26, 0, 0.26, 0])
    game = MatchGame(away, opponent_away)
    exact = solved_match(reference, cube, 0.1, 100)[owner]
    shares = shares_of(GAME_CHANCES)
    gaps = []
    for strategy in (jump(0.1), janowski(1)):
        found = model_curves(strategy, published_met().cells, game, cube, shares)
        curve = (found.centered, found.owned, found.opponent_owned)[owner]
        straight = np.array([curve_equity(curve, p) for p in np.linspace(0, 1, 101).tolist()])
        gaps.append(float(np.abs(exact - straight).mean()))
    assert gaps[0] < 0.007
    assert gaps[0] < 0.5 * gaps[1]


def test_mwc_rises_with_the_winning_chance() -> None:
    for away in range(2, 13):
        for opponent_away in range(2, 13):
            for cube in (1, 2, 4):
                shares = shares_of(GAME_CHANCES)
                game = MatchGame(away, opponent_away)
                found = model_curves(jump(0.25), published_met().cells, game, cube, shares)
                for curve in (found.centered, found.owned, found.opponent_owned):
                    assert np.diff([curve.lose, curve.at_low, curve.at_high, curve.win]).min() > -1e-9
                    assert 0 <= curve.low <= curve.high <= 1


def test_local_jumps_change_only_double_points() -> None:
    """A larger local volatility gives earlier doubles, and leaves the take and cash points, which depend on the mean
    volatility."""
    for points_of in (
        lambda model: match_points(model, published_met().cells, MatchGame(7, 9), 1, 0, GAME_CHANCES),
        lambda model: money_points(model, 1.26, 1.26),
        lambda model: money_points(model, 1.26, 1.26, owner=CubeOwner.ON_ROLL),
    ):
        calm, usual, wild = (points_of(jump(0.1, local)) for local in (0.03, 0.1, 0.2))
        assert calm.double_point > usual.double_point > wild.double_point
        for name in ("take_point", "cash_point"):
            assert float(getattr(calm, name)) == float(getattr(usual, name)) == float(getattr(wild, name))
        assert [float(each) for each in usual] == [float(each) for each in points_of(jump(0.1))]
