"""The jump model: published values to four digits, its limits, and the published formulas."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import nan

import numpy as np
import pytest

from bgdata.equity.curves import (
    MAX_VOLATILITY,
    Curve,
    Points,
    centered_jump_curve,
    curve_equity,
    jump_curve,
    mirror,
    owned_jump_curve,
)
from bgdata.equity.doubling import Strategy, janowski, jump, money_points
from bgdata.equity.match_cube import MatchGame, match_equities, match_points, model_curves, shares_of
from bgdata.equity.match_equity import decided_cells
from bgdata.equity.numeric import JUMPS, solve_jumps
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from tests.equity.samples import match_reference, published_met, random_chances
from tests.reference.jump_match import implied_index, solved_match

CENTERED, OWN, OPPONENTS = 0, 1, 2  # codes of cube owners
GRID = np.linspace(0, 1, 51)


@pytest.mark.parametrize(
    ("mean_win", "mean_loss", "volatility", "published", "index"),
    [
        (1.25, 1.25, 0.113, (0.2632, 0.7368, 0.6839, 0.6470, 0.8358), 0.699),
        (1.4, 1, 0.1, (0.1796, 0.6697, 0.6187, 0.5819, 0.7536), 0.766),
    ],
)
def test_points_and_index_are_as_published(
    mean_win: float, mean_loss: float, volatility: float, published: tuple[float, ...], index: float
) -> None:
    """The take, cash, redouble, initial double and too-good points (the last of an owned cube), and the cube life index
    of the same take point."""
    centered = money_points(jump(volatility), mean_win, mean_loss)
    owned = money_points(jump(volatility), mean_win, mean_loss, owner=CubeOwner.ON_ROLL)
    points = owned.take_point, owned.cash_point, owned.double_point, centered.double_point, owned.too_good_point
    assert np.round(points, 4).tolist() == list(published)
    assert round(implied_index(mean_win, mean_loss, volatility), 3) == index


def test_index_without_gammons_is_as_published() -> None:
    assert round(implied_index(1, 1, 0.1), 3) == 0.688


@pytest.mark.parametrize("mean_win", [1.0, 1.3, 2.0])
@pytest.mark.parametrize("mean_loss", [1.0, 1.25, 1.8])
def test_curves_match_the_published_formulas(mean_win: float, mean_loss: float) -> None:
    """Take and cash points, slopes, and the equities at which the cube is turned are those of the published closed
    formulas, in whose letters w and l are the mean win and loss, and a is the volatility."""
    w, l, a = mean_win, mean_loss, 0.09  # noqa: E741
    width = w + l + 0.5
    live_take, live_cash = (l - 0.5) / width, (l + 1) / width
    points = money_points(jump(a), w, l)
    assert points.take_point == pytest.approx(live_take * (l + 1) / (l + 1 - a / 4 * width / (w - 0.5)))
    assert points.cash_point == pytest.approx(live_cash - a * (w - 0.5) / (2 * (2 * l * w + 2 * l - w - 1) - a * width))
    own_slope = width - a / 4 * width**2 / ((w - 0.5) * (l + 1))
    assert curve_equity(jump_curve(w, l, OWN, a, a), 0.3) == pytest.approx(own_slope * 0.3 - l)
    opponents_slope = width - a / 4 * width**2 / ((l - 0.5) * (w + 1))
    assert curve_equity(jump_curve(w, l, OPPONENTS, a, a), 0.7) == pytest.approx(w - opponents_slope * 0.3)
    centered = jump_curve(w, l, CENTERED, a, a)
    assert curve_equity(centered, live_cash) == pytest.approx(1 - a / 6 * width * (w + 1) / (w - 0.5))
    assert curve_equity(centered, live_take) == pytest.approx(a / 6 * width * (l + 1) / (l - 0.5) - 1)


@pytest.mark.parametrize("owner", [CubeOwner.CENTERED, CubeOwner.ON_ROLL])
@pytest.mark.parametrize("is_jacoby", [False, True])
def test_model_without_jumps_has_a_live_cube(owner: CubeOwner, is_jacoby: bool) -> None:
    without_jumps = money_points(jump(0), 1.4, 1.2, owner=owner, is_jacoby=is_jacoby)
    live = money_points(janowski(1), 1.4, 1.2, owner=owner, is_jacoby=is_jacoby)
    assert np.array(without_jumps) == pytest.approx(np.array(live))


@pytest.mark.parametrize(("owner", "mirrored_owner"), [(CENTERED, CENTERED), (OWN, OPPONENTS), (OPPONENTS, OWN)])
@pytest.mark.parametrize("is_jacoby", [False, True])
@pytest.mark.parametrize("volatility", [0.113, MAX_VOLATILITY])
def test_curves_rise_from_loss_to_win(owner: int, mirrored_owner: int, is_jacoby: bool, volatility: float) -> None:
    """Curves begin at the mean loss, never fall, end at the mean win, and are mirrored for the opponent."""
    for mean_win, mean_loss in product([1.0, 1.2, 1.6, 3.0], repeat=2):
        curve = jump_curve(mean_win, mean_loss, owner, volatility, volatility, is_jacoby)
        equities = [curve_equity(curve, win) for win in GRID.tolist()]
        assert np.diff(equities).min() > -1e-12
        gammons_count = not is_jacoby or owner != CENTERED
        assert equities[0] == pytest.approx(-mean_loss if gammons_count else -1)
        assert equities[-1] == pytest.approx(mean_win if gammons_count else 1)
        mirrored = jump_curve(mean_loss, mean_win, mirrored_owner, volatility, volatility, is_jacoby)
        assert equities == pytest.approx([-curve_equity(mirrored, 1 - win) for win in GRID.tolist()])


@pytest.mark.parametrize("jumps", JUMPS)
def test_formulas_are_near_the_solution(jumps: str) -> None:
    solved = solve_jumps(1.25, 1.1, 0.1, jumps=jumps)
    for owner, equities in ((CENTERED, solved.centered), (OWN, solved.owned), (OPPONENTS, solved.opponent_owned)):
        curve = jump_curve(1.25, 1.1, owner, 0.1, 0.1)
        linear = [curve_equity(curve, win) for win in solved.chances.tolist()]
        assert np.abs(equities - linear).max() < 0.08
        assert np.abs(equities - linear).mean() < 0.02


@pytest.mark.parametrize("jumps", JUMPS)
@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.0, 1.0), (1.25, 1.25), (1.5, 1.2), (1.2, 1.5)])
def test_jacoby_formulas_are_near_the_solution(mean_win: float, mean_loss: float, jumps: str) -> None:
    """With the Jacoby rule, the equity of a centered cube and its double point are near the solution on a grid, and
    with gammons far from that of the other rule."""
    solved = solve_jumps(mean_win, mean_loss, 0.113, jumps=jumps, is_jacoby=True)

    def errors_of_curve(is_jacoby: bool) -> np.ndarray:
        curve = jump_curve(mean_win, mean_loss, CENTERED, 0.113, 0.113, is_jacoby)
        return np.abs(np.array([curve_equity(curve, win) for win in GRID.tolist()]) - solved.centered[::2])

    assert errors_of_curve(is_jacoby=True).max() < 0.085
    assert errors_of_curve(is_jacoby=True).mean() < 0.035
    assert (errors_of_curve(is_jacoby=False).max() > 0.2) == (mean_win > 1)
    points = money_points(jump(0.113), mean_win, mean_loss, is_jacoby=True)
    assert points.double_point == pytest.approx(solved.points().double_point, abs=0.04)


@pytest.mark.parametrize("owner", [CENTERED, OWN, OPPONENTS])
def test_jacoby_changes_nothing_without_gammons(owner: int) -> None:
    plain = jump_curve(1.0, 1.0, owner, 0.1, 0.15, False)
    assert jump_curve(1.0, 1.0, owner, 0.1, 0.15, True) == pytest.approx(plain)


@pytest.mark.parametrize("owner", [OWN, OPPONENTS])
def test_jacoby_changes_nothing_for_an_owned_cube(owner: int) -> None:
    assert jump_curve(1.4, 1.2, owner, 0.1, 0.15, True) == jump_curve(1.4, 1.2, owner, 0.1, 0.15, False)


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (partial(solve_jumps, 0.9, 1, 0.1), "expected mean points of a win from 1 to 3, got 0.9"),
        (partial(solve_jumps, 1, 4, 0.1), "expected mean points of a loss from 1 to 3, got 4"),
        (partial(solve_jumps, 1, 1, 0), "expected a jump volatility above 0 and up to 0.5, got 0"),
        (partial(solve_jumps, 1, 1, 0.6), "expected a jump volatility above 0 and up to 0.5, got 0.6"),
        (partial(solve_jumps, 1, 1, 0.1, jumps="cauchy"), "that are double-exponential or normal, got cauchy"),
        (partial(solve_jumps, 1, 1, 0.01), "expected a grid of at least 200 points for such jumps, got 100"),
        (partial(solve_jumps, 1, 1, 0.4, points=4), "expected a grid of at least 10 points for such jumps, got 4"),
    ],
)
def test_invalid_jumps_are_refused(solve: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        solve()


@pytest.mark.parametrize("volatility", [-0.1, 0.26, nan])
def test_invalid_volatilities_are_refused(volatility: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"expected a jump volatility from 0 to 0\.25, got"):
        jump(volatility)


GAME_CHANCES = np.array([0.5, 0.13, 0.0, 0.13, 0.0])
# away, opponent_away, cube value, code of its owner
STAKES = [
    (9, 9, 1, CENTERED), (5, 7, 1, CENTERED), (7, 4, 2, OWN), (3, 5, 1, CENTERED), (4, 4, 2, OPPONENTS),
]  # fmt: skip


def mean_after_jump(curve: Curve, win: float, size: float) -> float:
    """Mean equity after a jump of `size` up or down, which is also the mean absolute jump."""
    return (curve_equity(curve, win - size) + curve_equity(curve, win + size)) / 2


@pytest.mark.parametrize(("away", "opponent_away"), [(9, 9), (5, 7), (3, 4), (7, 5)])
def test_equity_at_a_bend_is_the_mean_after_jumps(away: int, opponent_away: int) -> None:
    """The equity at a bend of the curve is the mean equity after a jump up or down."""
    game = MatchGame(away, opponent_away)
    live = model_curves(janowski(1), published_met().cells, game, 1, shares_of(GAME_CHANCES))
    size = 0.06
    centered = centered_jump_curve(live.centered, size)
    assert centered.at_high == pytest.approx(mean_after_jump(live.centered, live.centered.high, size), abs=1e-12)
    assert centered.at_low == pytest.approx(mean_after_jump(live.centered, live.centered.low, size), abs=1e-12)
    owned = owned_jump_curve(live.owned, live.owned.high, size)
    assert owned.at_high == pytest.approx(mean_after_jump(live.owned, live.owned.high, size), abs=1e-12)


@pytest.mark.parametrize("local_volatility", [0.0, 0.06, 0.113])
@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.0, 1.0), (1.25, 1.25), (1.4, 1.1), (1.1, 1.8)])
def test_match_curves_agree_with_published_money_formulas(
    mean_win: float, mean_loss: float, local_volatility: float
) -> None:
    """The curves that matches use have the published formulas of money play in money play."""

    def money_curve(owner: int, volatility: float, local: float) -> Curve:
        return jump_curve(mean_win, mean_loss, owner, volatility, local)

    expected = money_curve(CENTERED, 0.1, local_volatility)
    assert centered_jump_curve(money_curve(CENTERED, 0.1, 0.0), local_volatility) == pytest.approx(expected)
    expected = money_curve(OWN, 0.1, local_volatility)
    without_jumps = money_curve(OWN, 0.0, 0.0)
    assert owned_jump_curve(without_jumps, expected.high, local_volatility) == pytest.approx(expected)
    expected = money_curve(OPPONENTS, 0.1, local_volatility)
    without_jumps = mirror(money_curve(OPPONENTS, 0.0, 0.0))
    assert mirror(owned_jump_curve(without_jumps, 1 - expected.low, local_volatility)) == pytest.approx(expected)


@pytest.mark.parametrize(("away", "opponent_away", "cube", "owner"), STAKES)
def test_match_without_jumps_has_a_live_cube(away: int, opponent_away: int, cube: int, owner: int) -> None:
    arguments = published_met().cells, MatchGame(away, opponent_away), cube, owner
    for chances in random_chances(20, seed=5):
        live = match_equities(janowski(1), *arguments, chances)
        assert match_equities(jump(0), *arguments, chances) == pytest.approx(live, abs=1e-12)


def test_long_match_agrees_with_money() -> None:
    """If mwc is linear in the points, decisions agree with money play, except for cubes that end the match."""
    cells = decided_cells(64)
    to_go = np.arange(65)
    cells[:, 1:, 1:] = (0.5 + 0.005 * (to_go[None, :] - to_go[:, None]))[1:, 1:]
    for local_volatility in (0.113, 0.05):
        model = jump(0.113, local_volatility)
        points = match_points(model, cells, MatchGame(64, 64), 1, CENTERED, GAME_CHANCES)
        assert np.array(points) == pytest.approx(np.array(money_points(model, 1.26, 1.26)), abs=0.004)


@pytest.mark.parametrize(("away", "opponent_away", "cube", "owner"), STAKES)
def test_match_formulas_are_near_the_solution(away: int, opponent_away: int, cube: int, owner: int) -> None:
    """Formulas for a match differ from the solution by a few thousandths of mwc on average, half as much as without
    jumps."""
    solved = solved_match(match_reference(away, opponent_away, [0.26, 0, 0.26, 0]), cube, 0.1, 100)[owner]

    def mean_error(strategy: Strategy) -> float:
        game = MatchGame(away, opponent_away)
        curves = model_curves(strategy, published_met().cells, game, cube, shares_of(GAME_CHANCES))
        curve = (curves.centered, curves.owned, curves.opponent_owned)[owner]
        mwc = np.array([curve_equity(curve, win) for win in np.linspace(0, 1, 101).tolist()])
        return float(np.abs(solved - mwc).mean())

    assert mean_error(jump(0.1)) < 0.007
    assert mean_error(jump(0.1)) < 0.5 * mean_error(janowski(1))


@pytest.mark.parametrize("cube", [1, 2, 4])
def test_mwc_rises_with_the_winning_chance(cube: int) -> None:
    for away, opponent_away in product(range(2, 13), repeat=2):
        game = MatchGame(away, opponent_away)
        curves = model_curves(jump(0.25), published_met().cells, game, cube, shares_of(GAME_CHANCES))
        for curve in (curves.centered, curves.owned, curves.opponent_owned):
            assert np.diff([curve.lose, curve.at_low, curve.at_high, curve.win]).min() > -1e-9
            assert 0 <= curve.low <= curve.high <= 1


@pytest.mark.parametrize(
    "points_of",
    [
        lambda model: match_points(model, published_met().cells, MatchGame(7, 9), 1, CENTERED, GAME_CHANCES),
        lambda model: money_points(model, 1.26, 1.26),
        lambda model: money_points(model, 1.26, 1.26, owner=CubeOwner.ON_ROLL),
    ],
    ids=["match", "money", "owned cube"],
)
def test_local_jumps_change_only_double_points(points_of: Callable[[Strategy], Points]) -> None:
    """A larger local volatility gives earlier doubles, and leaves the take and cash points, which depend on the mean
    volatility."""
    calm, usual, wild = (points_of(jump(0.1, local_volatility)) for local_volatility in (0.03, 0.1, 0.2))
    assert calm.double_point > usual.double_point > wild.double_point
    assert calm.take_point == usual.take_point == wild.take_point
    assert calm.cash_point == usual.cash_point == wild.cash_point
    assert usual == points_of(jump(0.1))
