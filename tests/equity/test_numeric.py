"""The live cube computed on a grid, compared with formulas, a slow reference that steps back in time, and the jump
model."""

from dataclasses import replace
from math import pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity import numeric
from bgdata.equity.curves import NEVER, curve_equity, janowski_equities, owner_code
from bgdata.equity.doubling import janowski
from bgdata.equity.match_cube import MatchGame, dead_curve, match_curve, model_curves, mwc_after, shares_of
from bgdata.equity.numeric import CENTERED, OPPONENT_OWNED, OWNED
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from tests.equity.samples import published_met

OWNERS = {OWNED: CubeOwner.ON_ROLL, CENTERED: CubeOwner.CENTERED, OPPONENT_OWNED: CubeOwner.OPPONENT}
CHANCES = np.array([0.5, 0.138, 0.0, 0.138, 0.0])
Sides = NDArray[np.float64]


def step_back_in_time(
    sides: Sides, turned: Sides | None, passed: float, dropped: float, doubles: bool, is_doubled: bool
) -> Sides:
    """Step back in time as in the source. In each step the position drifts, then either side may double. In money play
    (`turned` is None) a double leads to twice the current equities."""
    now = sides.copy()
    for _ in range(20_000):
        later = now.copy()
        following = 2 * now if turned is None else turned
        now[:, 1:-1] = 0.3 * later[:, :-2] + 0.4 * later[:, 1:-1] + 0.3 * later[:, 2:]
        if doubles:
            now[:2, 1:-1] = np.maximum(now[:2], np.minimum(following[OPPONENT_OWNED], passed))[:, 1:-1]
        if is_doubled:
            now[1:, 1:-1] = np.minimum(now[1:], np.maximum(following[OWNED], dropped))[:, 1:-1]
    return now


def money_formulas(mean_win: float, mean_loss: float, points: int) -> Sides:
    chances = np.linspace(0, 1, points + 1)
    return np.stack(
        [janowski_equities(chances, mean_win, mean_loss, owner=owner, cube_life_index=1.0) for owner in OWNERS.values()]
    )


def match_formulas(game: MatchGame, cube_value: int, points: int) -> Sides:
    cells = published_met().cells
    shares = shares_of(CHANCES)
    curves = model_curves(janowski(1.0), cells, game, cube_value, shares)
    by_owner = [
        match_curve(cells, game, cube_value, owner_code(owner), shares, janowski(1.0), curves)
        for owner in OWNERS.values()
    ]
    chances = np.linspace(0, 1, points + 1).tolist()
    return np.array([[curve_equity(curve, win) for win in chances] for curve in by_owner])


def test_formulas_are_exact_without_gammons() -> None:
    """Without gammons the grid solution equals the formulas, because the take and cash points, 1/5 and 4/5, lie on the
    grid."""
    assert numeric.drifting_money(points=100) == pytest.approx(money_formulas(1, 1, 100), abs=1e-10)


@pytest.mark.parametrize("points", [50, 800])
@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.3, 1.25), (2.0, 1.0), (1.5, 2.5), (3.0, 3.0)])
def test_grid_converges_to_the_formulas(mean_win: float, mean_loss: float, points: int) -> None:
    equities = numeric.drifting_money(mean_win, mean_loss, points)
    error = np.abs(equities - money_formulas(mean_win, mean_loss, points)).max()
    assert error < (mean_win + mean_loss + 0.5) / points


@pytest.mark.parametrize(("mean_win", "mean_loss"), [(1.0, 1.0), (1.5, 1.2)])
def test_money_matches_steps_back_in_time(mean_win: float, mean_loss: float) -> None:
    start = np.linspace(-mean_loss, mean_win, 21)[None].repeat(3, 0)
    expected = step_back_in_time(start, None, 1.0, -1.0, True, True)
    assert numeric.drifting_money(mean_win, mean_loss, 20) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("game", [MatchGame(3, 4), MatchGame(2, 8), MatchGame(7, 5)])
def test_matches_match_steps_back_in_time(game: MatchGame) -> None:
    cells = published_met().cells
    shares = shares_of(CHANCES)
    expected: Sides | None = None
    for value in (8, 4, 2, 1):
        if value >= 2 * max(game.away, game.opponent_away):
            continue
        dead = dead_curve(cells, game, value, shares)
        start = np.linspace(dead.lose, dead.win, 21)[None].repeat(3, 0)
        if value >= max(game.away, game.opponent_away):
            expected = start
        else:
            assert expected is not None
            passed, dropped = mwc_after(cells, game, value), mwc_after(cells, game, -value)
            expected = step_back_in_time(
                start, expected, passed, dropped, game.away > value, game.opponent_away > value
            )
    assert numeric.drifting_match(cells, game, CHANCES, points=20) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("game", [MatchGame(2, 3), MatchGame(3, 4), MatchGame(4, 4), MatchGame(5, 3), MatchGame(9, 11)])
def test_drifting_match_agrees_with_keiths_algorithm(game: MatchGame) -> None:
    mwc = numeric.drifting_match(published_met().cells, game, CHANCES, points=400)
    assert mwc == pytest.approx(match_formulas(game, 1, 400), abs=2 / 400)


def test_player_too_good_to_double_does_not_cash() -> None:
    """At 2-away 8-away, where a gammon wins the match, playing on is always worth more than cashing."""
    cells = published_met().cells
    game = MatchGame(2, 8)
    mwc = numeric.drifting_match(cells, game, CHANCES, points=400)[OWNED]
    dead = dead_curve(cells, game, 1, shares_of(CHANCES))
    assert mwc == pytest.approx(np.linspace(dead.lose, dead.win, 401), abs=1e-9)
    assert 0.0016 < (mwc - match_formulas(game, 1, 400)[OWNED]).max() < 0.0018


def test_crawford_game_has_no_doubles() -> None:
    cells = published_met().cells
    game = MatchGame(1, 4, True)
    dead = dead_curve(cells, game, 1, shares_of(CHANCES))
    assert numeric.drifting_match(cells, game, CHANCES, points=10) == pytest.approx(
        np.linspace(dead.lose, dead.win, 11)[None].repeat(3, 0)
    )


def test_small_jumps_converge_to_the_drifting_cube() -> None:
    drifting = numeric.drifting_money(1.3, 1.2, 200)

    def error_of(volatility: float) -> float:
        solved = numeric.solve_jumps(1.3, 1.2, volatility, points=200)
        return float(np.abs(np.stack([solved.owned, solved.centered, solved.opponent_owned]) - drifting).max())

    assert error_of(0.08) > 1.8 * error_of(0.04)
    assert error_of(0.04) > 1.6 * error_of(0.02)
    assert error_of(0.02) < error_of(0.08) / 3


@pytest.mark.parametrize("points", [1, 0, -5, numeric.MAX_POINTS + 1])
def test_invalid_grids_are_refused(points: int) -> None:
    message = "expected a grid of 2 to 10,000 intervals, got "
    with pytest.raises(InvalidParameterError, match=message):
        numeric.drifting_money(points=points)
    with pytest.raises(InvalidParameterError, match=message):
        numeric.drifting_match(published_met().cells, MatchGame(2, 2), CHANCES, points=points)


def test_invalid_mean_points_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="expected mean points of a win from 1 to 3, got 4"):
        numeric.drifting_money(4.0)


@pytest.mark.parametrize(
    ("mean_win", "mean_loss", "volatility", "jumps", "published"),
    [
        (1.25, 1.25, 0.113, "double-exponential", (0.2664, 0.7336, 0.6682, 0.6415, 0.8408)),
        (1.25, 1.25, 0.113, "normal", (0.2622, 0.7378, 0.6807, 0.6557, 0.8363)),
        (1.4, 1, 0.1, "double-exponential", (0.1807, 0.6673, 0.6090, 0.5834, 0.7552)),
        (1, 1, 0.1, "normal", (0.2094, 0.7906, 0.7342, 0.7109, 1)),
        (1, 1, 0.1, "double-exponential", (0.2137, 0.7863, 0.7180, 0.6909, 1)),
        (1, 1, 0.4, "double-exponential", (0.2367, 0.7633, 0.5801, 0.5573, 1)),
        # published for volatility 0.4: that of a normal distribution with standard deviation 0.5, rounded
        (1, 1, 0.5 * sqrt(2 / pi), "normal", (0.2314, 0.7686, 0.5878, 0.5607, 1)),
    ],
)
def test_numeric_points_are_as_published(
    mean_win: float, mean_loss: float, volatility: float, jumps: str, published: tuple[float, ...]
) -> None:
    """The take, cash, redouble, initial double and too-good points, the last of an owned cube."""
    solved = numeric.solve_jumps(mean_win, mean_loss, volatility, jumps=jumps)
    owned = solved.points(CubeOwner.ON_ROLL)
    points = (
        owned.take_point, owned.cash_point, owned.double_point, solved.points().double_point, owned.too_good_point,
    )  # fmt: skip
    assert np.round(points, 4).tolist() == list(published)


def test_formulas_differ_from_the_limit_of_small_jumps() -> None:
    """For small double-exponential jumps, the slope of an owned cube falls by half as much again as the formula
    states."""
    formula = 3**2 / (4 * 0.75 * 2.25)
    solved = numeric.solve_jumps(1.25, 1.25, 0.04)
    slope = (solved.owned[25] + 1.25) / 0.25
    assert 1.35 < (3 - slope) / 0.04 / formula < 1.45


@pytest.mark.parametrize("win", [0.45, 0.5, 0.55])
def test_solution_is_the_mean_over_jumps(win: float) -> None:
    """The solution equals a simple sum over a fine grid of jumps, except near the ends."""
    volatility = 0.06
    points = 400
    solved = numeric.solve_jumps(1.2, 1.3, volatility, points=points)
    jumps = np.linspace(-0.6, 0.6, 24_001)
    weights = np.exp(-np.abs(jumps) / volatility)
    weights /= weights.sum()
    equities = np.maximum(solved.owned, np.minimum(2 * solved.opponent_owned, 1))  # after the best cube action
    chances = win + jumps
    after_jumps = np.interp(chances, solved.chances, equities)
    # jumps beyond the ends go on along the last slopes
    after_jumps += np.where(chances < 0, (equities[1] - equities[0]) * points * chances, 0)
    after_jumps += np.where(chances > 1, (equities[-1] - equities[-2]) * points * (chances - 1), 0)
    expected = (weights * after_jumps).sum()
    assert np.interp(win, solved.chances, solved.owned) == pytest.approx(expected, abs=2e-4)


def test_unreachable_points_are_never() -> None:
    solved = numeric.solve_jumps(1, 1, 0.1)
    assert replace(solved, opponent_owned=solved.opponent_owned / 3).points().cash_point == NEVER
    assert replace(solved, owned=solved.owned / 3).points().take_point == 0
