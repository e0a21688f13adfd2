"""The jump model at match scores: what defines it, its limits, money play, and the model solved on a grid."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.equity.curves import Curve, curve_equity, mirror
from bgdata.equity.doubling import janowski, jump, money_points
from bgdata.equity.jump import centered_jump_curve, jump_curve, owned_jump_curve
from bgdata.equity.match_cube import MatchGame, match_equities, match_points, model_curves, shares_of
from bgdata.equity.match_equity import decided_cells
from bgdata.game.match import CubeOwner
from tests.equity.samples import published_met, random_chances
from tests.reference.cube import MatchTwin
from tests.reference.jump_match import solved_match

GAME_CHANCES = np.array([0.5, 0.13, 0.0, 0.13, 0.0])
SCORES = [(9, 9, 1, 0), (5, 7, 1, 0), (7, 4, 2, 1), (3, 5, 1, 0), (4, 4, 2, 2)]


def seen(curve: Curve, chance: float, size: float) -> float:
    """The mean over two jumps of the same size, up and down: their mean absolute size is that size."""
    return (curve_equity(curve, chance - size) + curve_equity(curve, chance + size)) / 2


@pytest.mark.parametrize(("away", "opponent_away"), [(9, 9), (5, 7), (3, 4), (7, 5)])
def test_a_jump_at_a_bend_costs_what_the_mean_says(away: int, opponent_away: int) -> None:
    live = model_curves(janowski(1), published_met().cells, MatchGame(away, opponent_away), 1, shares_of(GAME_CHANCES))
    size = 0.06
    found = centered_jump_curve(live.centered, size)
    assert found.at_high == pytest.approx(seen(live.centered, live.centered.high, size), abs=1e-12)
    assert found.at_low == pytest.approx(seen(live.centered, live.centered.low, size), abs=1e-12)
    owned = owned_jump_curve(live.owned, live.owned.high, size)
    assert owned.at_high == pytest.approx(seen(live.owned, live.owned.high, size), abs=1e-12)


@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.0, 1.0), (1.25, 1.25), (1.4, 1.1), (1.1, 1.8)])
def test_the_published_formulas_for_money_are_the_same(mean_win: float, mean_loss: float) -> None:
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


def test_without_jumps_the_cube_is_live() -> None:
    for row in random_chances(20, seed=5):
        for away, opponent_away, cube, owner in SCORES:
            game = MatchGame(away, opponent_away)
            still, live = (
                match_equities(model, published_met().cells, game, cube, owner, row) for model in (jump(0), janowski(1))
            )
            assert still == pytest.approx(live, abs=1e-12)


def test_a_long_match_is_money() -> None:
    """Where mwc is straight in the points, but for cubes that end the match."""
    cells = decided_cells(64)
    points = np.arange(65)
    cells[:, 1:, 1:] = (0.5 + 0.005 * (points[None, :] - points[:, None]))[1:, 1:]
    for local in (0.113, 0.05):
        found = match_points(jump(0.113, local), cells, MatchGame(64, 64), 1, 0, GAME_CHANCES)
        money = money_points(jump(0.113, local), 1.26, 1.26)
        assert np.array(found) == pytest.approx(np.array(money), abs=0.004)


@pytest.mark.parametrize(("away", "opponent_away", "cube", "owner"), SCORES)
def test_the_formulas_are_near_the_solution(away: int, opponent_away: int, cube: int, owner: int) -> None:
    """Within some thousandths of mwc on average, and twice as near as a cube without jumps."""

    def mwc(own: int, other: int, is_post_crawford: bool) -> float:
        return published_met().mwc(own, other, is_post_crawford=is_post_crawford)

    twin, game = MatchTwin(mwc, away, opponent_away, [0.26, 0, 0.26, 0]), MatchGame(away, opponent_away)
    exact = solved_match(twin, cube, 0.1, 100)[owner]
    shares, gaps = shares_of(GAME_CHANCES), []
    for strategy in (jump(0.1), janowski(1)):
        found = model_curves(strategy, published_met().cells, game, cube, shares)
        curve = (found.centered, found.owned, found.opponent_owned)[owner]
        straight = np.array([curve_equity(curve, p) for p in np.linspace(0, 1, 101).tolist()])
        gaps.append(float(np.abs(exact - straight).mean()))
    assert gaps[0] < 0.007
    assert gaps[0] < 0.5 * gaps[1]


def test_curves_rise() -> None:
    for away in range(2, 13):
        for opponent_away in range(2, 13):
            for cube in (1, 2, 4):
                shares = shares_of(GAME_CHANCES)
                game = MatchGame(away, opponent_away)
                found = model_curves(jump(0.25), published_met().cells, game, cube, shares)
                for curve in (found.centered, found.owned, found.opponent_owned):
                    assert np.diff([curve.lose, curve.at_low, curve.at_high, curve.win]).min() > -1e-9
                    assert 0 <= curve.low <= curve.high <= 1


def test_local_jumps_change_doubles_and_nothing_else() -> None:
    """The more chances jump here, the earlier a double; take and cash points go by the mean volatility."""
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
