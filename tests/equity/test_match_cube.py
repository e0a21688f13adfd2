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


def shares(chances: list[float]) -> list[float]:
    """Shares of gammons and backgammons in wins and losses."""
    win, *gammons = chances
    whole = (win, win, 1 - win, 1 - win)
    return [part / total if total else 0.0 for part, total in zip(gammons, whole, strict=True)]


@each(("away", "opponent_away", "cube", "owner"), STAKES)
def test_equities_match_the_reference(away: int, opponent_away: int, cube: int, owner: int) -> None:
    """Mwc of each cube action equals the slow reference at scores and cubes of all kinds."""
    indexes = 0.6, 0.8
    for row in random_sample():
        slow = match_reference(away, opponent_away, shares(row.tolist()))
        win = float(row[0])
        found = match_equities(
            doubling.janowski(*indexes), published_met().cells, MatchGame(away, opponent_away), cube, owner, row
        )
        if owner == 0 and (away <= cube or opponent_away <= cube):
            index = indexes[1] if away <= cube else indexes[0]  # the other side gains nothing from the cube
        else:
            index = (sum(indexes) / 2, *indexes)[owner]
        now = index * slow.live(cube, OWNERS[owner], win) + (1 - index) * slow.dead(cube, win)
        assert found.no_double == pytest.approx(now, abs=1e-9)
        if owner == 2 or away <= cube:
            assert found[1:] == (doubling.NOT_ALLOWED,) * 3
            continue
        taken = 0.8 * slow.live(2 * cube, "opponent", win) + 0.2 * slow.dead(2 * cube, win)
        assert found.double_take == found.double_beaver == pytest.approx(taken, abs=1e-9)
        assert found.double_pass == slow.after(cube)


def test_live_cube_matches_the_reference_at_every_score() -> None:
    for away, opponent_away in product(range(1, 13), repeat=2):
        chances = random_sample()[(away + opponent_away) % len(random_sample())]
        game = MatchGame(away, opponent_away)
        reference = match_reference(away, opponent_away, shares(chances.tolist()))
        for cube, owner in ((1, 0), (2, 1), (2, 2), (4, 1)):
            found = match_equities(doubling.janowski(1), published_met().cells, game, cube, owner, chances)
            expected = reference.live(cube, OWNERS[owner], float(chances[0]))
            assert found.no_double == pytest.approx(expected, abs=1e-9)


def test_free_index_holds_where_the_present_cube_decides_the_match() -> None:
    """The free index is used for a player who loses the match with the present cube: against 1-away, and for an
    opponent who is 4-away against 2-away and takes a cube at 2."""
    cells = published_met().cells
    chances = np.array([0.45, 0.1, 0.0, 0.12, 0.0])
    constant = doubling.janowski(0.7)
    free = doubling.DEFAULT_STRATEGY
    live = doubling.janowski(0.97)
    post_crawford = MatchGame(4, 1)
    assert match_equities(free, cells, post_crawford, 1, CENTERED, chances) == match_equities(
        live, cells, post_crawford, 1, CENTERED, chances
    )
    mirrored = MatchGame(2, 4)
    found = match_equities(free, cells, mirrored, 1, CENTERED, chances)
    assert found.no_double == match_equities(constant, cells, mirrored, 1, CENTERED, chances).no_double
    assert found.double_take == match_equities(live, cells, mirrored, 1, CENTERED, chances).double_take
    for game in (MatchGame(4, 2), MatchGame(5, 4)):
        assert match_equities(free, cells, game, 1, CENTERED, chances) == match_equities(
            constant, cells, game, 1, CENTERED, chances
        )


def test_equities_are_equal_at_the_points() -> None:
    """At each point, the two actions between which the decision changes have the same mwc."""
    strategy = doubling.janowski(0.7)
    row = np.array([0.5, 0.12, 0.01, 0.13, 0.0])
    for away, opponent_away, cube, owner in ((9, 9, 1, 0), (5, 7, 2, 1), (4, 3, 1, 0), (7, 9, 1, 0)):
        game = MatchGame(away, opponent_away)
        points = match_points(strategy, published_met().cells, game, cube, owner, row)

        def at(win: float, game: MatchGame = game, cube: int = cube, owner: int = owner) -> doubling.CubeEquities:
            chances = np.array([win, 0.24 * win, 0.02 * win, 0.26 * (1 - win), 0.0])
            return match_equities(strategy, published_met().cells, game, cube, owner, chances)

        assert 0 < points.double_point < points.cash_point < points.too_good_point <= 1
        assert at(points.double_point).no_double == pytest.approx(at(points.double_point).double_take, abs=1e-9)
        assert at(points.cash_point).double_take == pytest.approx(at(points.cash_point).double_pass, abs=1e-9)
        assert at(points.too_good_point).no_double == pytest.approx(at(points.too_good_point).double_pass, abs=1e-9)
        turned = match_equities(
            strategy, published_met().cells, MatchGame(opponent_away, away), cube, owner,
            np.array([1 - points.take_point, 0.26 * (1 - points.take_point), 0, 0.24 * points.take_point,
                      0.02 * points.take_point]),
        )  # fmt: skip
        assert turned.double_take == pytest.approx(turned.double_pass, abs=1e-9)


def test_long_matches_agree_with_money() -> None:
    """If mwc is linear in the points, equities and actions are those of money play."""
    length = 512
    cells = np.full((2, length + 1, length + 1), np.nan)
    points = np.arange(length + 1)
    cells[:] = 0.5 + (points[None, :] - points[:, None]) / 1e5
    for cube, owner in ((1, 0), (2, 1), (2, 2)):
        for row in random_chances(60, seed=9):
            game = MatchGame(length, length)
            found = match_equities(doubling.janowski(0.7), cells, game, cube, owner, row)
            money = doubling.money_equities(doubling.janowski(0.7), row, owner, False, False)
            assert (found.no_double - 0.5) / cube * 1e5 == pytest.approx(money.no_double, abs=0.01)
            if owner < 2:
                assert (found.double_take - 0.5) / cube * 1e5 == pytest.approx(money.double_take, abs=0.03)


def test_crawford_and_last_games_follow_the_rules() -> None:
    """Nobody may double in the Crawford game, the trailer doubles at once after it, and at double match point mwc is
    the winning chance."""
    row = np.array([0.3, 0.05, 0.0, 0.1, 0.0])
    crawford = match_equities(doubling.janowski(), published_met().cells, MatchGame(4, 1, True), 1, 0, row)
    assert crawford[1:] == (doubling.NOT_ALLOWED,) * 3
    # mwc after winning a single game, a gammon, a single game, and after losing
    expected = 0.25 * (1 - published_met().mwc(1, 3, is_post_crawford=True)) + 0.05 * (
        1 - published_met().mwc(1, 2, is_post_crawford=True)
    )
    assert crawford.no_double == pytest.approx(expected)
    # after the Crawford game the trailer doubles immediately at any winning chance
    for win in (0.1, 0.3, 0.5):
        chances = np.array([win, 0.2 * win, 0, 0, 0])
        trailer = match_equities(doubling.janowski(), published_met().cells, MatchGame(4, 1), 1, 0, chances)
        assert doubling.best_action(trailer) == doubling.Action.DOUBLE_TAKE
    last = match_equities(doubling.janowski(), published_met().cells, MatchGame(1, 1), 1, 0, row)
    assert last.no_double == pytest.approx(0.3)
    assert last.double_take == doubling.NOT_ALLOWED


def test_mwc_after_games_matches_the_table() -> None:
    for away in range(1, 13):
        for opponent_away in range(1, 13):
            for points in (-24, -3, -2, -1, 1, 2, 6):
                for is_crawford in {False, (away == 1) != (opponent_away == 1)}:
                    score = MatchScore(away, opponent_away, is_crawford)
                    found = mwc_after(published_met().cells, MatchGame(away, opponent_away, is_crawford), points)
                    assert found == published_met().after(score, points)


def test_double_that_is_never_right_has_no_point() -> None:
    """A double has no point where a gammon wins the match even without one."""
    chances = np.array([0.5, 0.45, 0.0, 0.1, 0.0])
    points = match_points(doubling.janowski(0), published_met().cells, MatchGame(2, 5), 1, 0, chances)
    assert points.double_point == NEVER
    assert points.too_good_point < points.cash_point
