"""Cube equities in a match compared with a slow reference, money play and the rules."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity import doubling
from bgdata.equity.curves import CENTERED, NEVER
from bgdata.equity.match_cube import MatchGame, match_equities, match_points, mwc_after
from bgdata.game.match import MatchScore
from tests.equity.samples import match_reference, published_met, random_chances
from tests.subtests import each

OWNERS = {0: "centered", 1: "on_roll", 2: "opponent"}
# away, opponent_away, cube value, owner code
STAKES = [
    (9, 9, 1, 0), (9, 4, 2, 1), (4, 9, 2, 2), (2, 2, 1, 0), (2, 3, 1, 0), (3, 2, 2, 1), (5, 7, 4, 2), (7, 5, 4, 1),
    (1, 4, 1, 0), (4, 1, 1, 0), (3, 1, 2, 1), (1, 1, 1, 0), (12, 11, 1, 0), (12, 12, 8, 2), (3, 4, 8, 1), (6, 2, 2, 1),
]  # fmt: skip


@cache
def random_sample() -> NDArray[np.float64]:
    return random_chances(12, seed=8)


def gammon_shares(chances: list[float]) -> list[float]:
    """Shares of gammons and backgammons in wins and losses."""
    win, *gammons = chances
    totals = (win, win, 1 - win, 1 - win)
    return [gammon / total if total else 0.0 for gammon, total in zip(gammons, totals, strict=True)]


@each(("away", "opponent_away", "cube", "owner"), STAKES)
def test_equities_match_the_reference(away: int, opponent_away: int, cube: int, owner: int) -> None:
    """Mwc of each cube action equals the slow reference at scores and cubes of all kinds."""
    index, opponent_index = 0.6, 0.8
    model = doubling.janowski(index, opponent_index)
    if owner == 0 and (away <= cube or opponent_away <= cube):
        index_now = opponent_index if away <= cube else index  # the other side gains nothing from the cube
    else:
        index_now = ((index + opponent_index) / 2, index, opponent_index)[owner]
    for chances in random_sample():
        reference = match_reference(away, opponent_away, gammon_shares(chances.tolist()))
        win = float(chances[0])
        equities = match_equities(model, published_met().cells, MatchGame(away, opponent_away), cube, owner, chances)
        no_double = index_now * reference.live(cube, OWNERS[owner], win) + (1 - index_now) * reference.dead(cube, win)
        assert equities.no_double == pytest.approx(no_double, abs=1e-9)
        if owner == 2 or away <= cube:
            assert equities[1:] == (doubling.NOT_ALLOWED,) * 3
            continue
        live, dead = reference.live(2 * cube, "opponent", win), reference.dead(2 * cube, win)
        double_take = opponent_index * live + (1 - opponent_index) * dead
        assert equities.double_take == equities.double_beaver == pytest.approx(double_take, abs=1e-9)
        assert equities.double_pass == reference.after(cube)


def test_live_cube_matches_the_reference_at_every_score() -> None:
    for away, opponent_away in product(range(1, 13), repeat=2):
        chances = random_sample()[(away + opponent_away) % len(random_sample())]
        game = MatchGame(away, opponent_away)
        reference = match_reference(away, opponent_away, gammon_shares(chances.tolist()))
        for cube, owner in ((1, 0), (2, 1), (2, 2), (4, 1)):
            equities = match_equities(doubling.janowski(1), published_met().cells, game, cube, owner, chances)
            expected = reference.live(cube, OWNERS[owner], float(chances[0]))
            assert equities.no_double == pytest.approx(expected, abs=1e-9)


def centered_equities(model: doubling.Strategy, game: MatchGame) -> doubling.CubeEquities:
    """The mwc of each action with a centered cube and some chances."""
    chances = np.array([0.45, 0.1, 0.0, 0.12, 0.0])
    return match_equities(model, published_met().cells, game, 1, CENTERED, chances)


FREE, CONSTANT, LIVE = doubling.DEFAULT_STRATEGY, doubling.janowski(0.7), doubling.janowski(0.97)


def test_free_index_holds_against_1_away() -> None:
    assert centered_equities(FREE, MatchGame(4, 1)) == centered_equities(LIVE, MatchGame(4, 1))


def test_free_index_holds_for_an_opponent_whose_cube_decides_the_match() -> None:
    """An opponent who is 4-away against 2-away loses the match with a cube at 2, so that it can redouble for free."""
    equities = centered_equities(FREE, MatchGame(2, 4))
    assert equities.no_double == centered_equities(CONSTANT, MatchGame(2, 4)).no_double
    assert equities.double_take == centered_equities(LIVE, MatchGame(2, 4)).double_take


@pytest.mark.parametrize("game", [MatchGame(4, 2), MatchGame(5, 4)])
def test_constant_index_holds_where_the_cube_decides_nothing(game: MatchGame) -> None:
    assert centered_equities(FREE, game) == centered_equities(CONSTANT, game)


@pytest.mark.parametrize(
    ("away", "opponent_away", "cube", "owner"), [(9, 9, 1, 0), (5, 7, 2, 1), (4, 3, 1, 0), (7, 9, 1, 0)]
)
def test_equities_are_equal_at_the_points(away: int, opponent_away: int, cube: int, owner: int) -> None:
    """At each point, the two actions between which the decision changes have the same mwc."""
    model = doubling.janowski(0.7)
    cells = published_met().cells
    game = MatchGame(away, opponent_away)

    def equities_at(win: float) -> doubling.CubeEquities:
        chances = np.array([win, 0.24 * win, 0.02 * win, 0.26 * (1 - win), 0.0])
        return match_equities(model, cells, game, cube, owner, chances)

    points = match_points(model, cells, game, cube, owner, np.array([0.5, 0.12, 0.01, 0.13, 0.0]))
    assert 0 < points.double_point < points.cash_point < points.too_good_point <= 1
    equities = equities_at(points.double_point)
    assert equities.no_double == pytest.approx(equities.double_take, abs=1e-9)
    equities = equities_at(points.cash_point)
    assert equities.double_take == pytest.approx(equities.double_pass, abs=1e-9)
    equities = equities_at(points.too_good_point)
    assert equities.no_double == pytest.approx(equities.double_pass, abs=1e-9)
    win = points.take_point
    of_opponent = np.array([1 - win, 0.26 * (1 - win), 0, 0.24 * win, 0.02 * win])
    equities = match_equities(model, cells, MatchGame(opponent_away, away), cube, owner, of_opponent)
    assert equities.double_take == pytest.approx(equities.double_pass, abs=1e-9)


def test_long_matches_agree_with_money() -> None:
    """If mwc is linear in the points, equities and actions are those of money play."""
    length = 512
    point = 1e-5  # mwc
    to_go = np.arange(length + 1)
    cells = np.repeat((0.5 + (to_go[None, :] - to_go[:, None]) * point)[None], 2, axis=0)
    for cube, owner in ((1, 0), (2, 1), (2, 2)):
        for chances in random_chances(60, seed=9):
            mwc = match_equities(doubling.janowski(0.7), cells, MatchGame(length, length), cube, owner, chances)
            money = doubling.money_equities(doubling.janowski(0.7), chances, owner, False, False)
            assert (mwc.no_double - 0.5) / cube / point == pytest.approx(money.no_double, abs=0.01)
            if owner < 2:
                assert (mwc.double_take - 0.5) / cube / point == pytest.approx(money.double_take, abs=0.03)


def test_nobody_doubles_in_the_crawford_game() -> None:
    met = published_met()
    win, win_gammon = 0.3, 0.05
    chances = np.array([win, win_gammon, 0.0, 0.1, 0.0])
    equities = match_equities(doubling.janowski(), met.cells, MatchGame(4, 1, True), 1, CENTERED, chances)
    assert equities[1:] == (doubling.NOT_ALLOWED,) * 3
    after_single_game = 1 - met.mwc(1, 3, is_post_crawford=True)
    after_gammon = 1 - met.mwc(1, 2, is_post_crawford=True)
    assert equities.no_double == pytest.approx((win - win_gammon) * after_single_game + win_gammon * after_gammon)


@pytest.mark.parametrize("win", [0.1, 0.3, 0.5])
def test_trailer_doubles_at_once_after_the_crawford_game(win: float) -> None:
    chances = np.array([win, 0.2 * win, 0, 0, 0])
    equities = match_equities(doubling.janowski(), published_met().cells, MatchGame(4, 1), 1, CENTERED, chances)
    assert doubling.best_action(equities) == doubling.Action.DOUBLE_TAKE


def test_mwc_at_double_match_point_is_the_winning_chance() -> None:
    chances = np.array([0.3, 0.05, 0.0, 0.1, 0.0])
    equities = match_equities(doubling.janowski(), published_met().cells, MatchGame(1, 1), 1, CENTERED, chances)
    assert equities.no_double == pytest.approx(0.3)
    assert equities.double_take == doubling.NOT_ALLOWED


@pytest.mark.parametrize("points", [-24, -3, -2, -1, 1, 2, 6])
def test_mwc_after_games_matches_the_table(points: int) -> None:
    for away, opponent_away in product(range(1, 13), repeat=2):
        for is_crawford in (False, True):
            if not is_crawford or (away == 1) != (opponent_away == 1):
                mwc = mwc_after(published_met().cells, MatchGame(away, opponent_away, is_crawford), points)
                assert mwc == published_met().after(MatchScore(away, opponent_away, is_crawford), points)


def test_double_that_is_never_right_has_no_point() -> None:
    """A double has no point where a gammon wins the match even without one."""
    chances = np.array([0.5, 0.45, 0.0, 0.1, 0.0])
    points = match_points(doubling.janowski(0), published_met().cells, MatchGame(2, 5), 1, 0, chances)
    assert points.double_point == NEVER
    assert points.too_good_point < points.cash_point
