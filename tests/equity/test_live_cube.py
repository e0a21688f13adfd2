"""The lines of a live cube, and mixtures with a dead one, as a twin of kernels and of match equity tables has them: by
hand, and where they must agree with simpler rules."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.met_induction import induced_table
from bgdata.errors import InvalidParameterError, InvalidScoreError
from bgdata.game.match import Cube, CubeOwner, MatchScore
from tests.equity import published
from tests.reference.live_cube import Shares, cube_lines, interpolated

OWNED, OPPONENT = CubeOwner.ON_ROLL, CubeOwner.OPPONENT
ROW = (1 - np.array(published.POST_CRAWFORD)) / 2


@cache
def published_met() -> MatchEquity:
    return induced_table("published", ROW, 0.276)


@cache
def linear_met() -> MatchEquity:
    away = np.arange(1, 50)
    return MatchEquity.of("linear", 0.5 + (away[None, :] - away[:, None]) / 200, np.full(49, 0.5))


def test_two_away_two_away_by_hand() -> None:
    """The cube decides the match: passing leaves the Crawford chances, and so do take and cash points."""
    crawford = published_met().mwc(1, 2)
    lines = cube_lines(published_met(), MatchScore(2, 2))
    assert lines.chances == pytest.approx([0, 1 - crawford, crawford, 1])
    assert lines.mwcs == pytest.approx([1 - crawford, 1 - crawford, crawford, crawford])
    assert lines.live(0.5) == pytest.approx(0.5)


def test_a_cube_that_decides_the_match_is_dead() -> None:
    for owner in (OWNED, OPPONENT):
        lines = cube_lines(published_met(), MatchScore(3, 3), Cube(4, owner))
        assert lines.live(0.3) == pytest.approx(0.3)
        assert lines.dead(0.3) == pytest.approx(0.3)


def test_nobody_doubles_in_the_crawford_game() -> None:
    lines = cube_lines(published_met(), MatchScore(1, 3, is_crawford=True), shares=Shares(lose_gammon=0.3))
    lost = 0.7 * published_met().mwc(1, 2, is_post_crawford=True) + 0.3 * published_met().mwc(1, 1)
    assert lines.mwc([0, 0.5, 1], 0.7) == pytest.approx([lost, (lost + 1) / 2, 1])
    assert len(lines.chances) == 2


def test_leaders_of_post_crawford_games_never_double() -> None:
    """He has nothing to win by it: his cash point is 1, while the trailer doubles."""
    lines = cube_lines(published_met(), MatchScore(1, 2))
    assert lines.chances[-2:] == pytest.approx([1, 1])
    assert lines.mwcs[-2:] == pytest.approx([1, 1])
    assert lines.chances[1] == pytest.approx(0.5)  # after a pass the match hangs on one game


def test_long_matches_come_close_to_money() -> None:
    """Where mwc is linear in the points, live lines are Janowski's: take point 1/5, cash point 4/5 without gammons."""
    score = MatchScore(40, 40)
    middle, swing = linear_met().at(score), linear_met().after(score, 1) - linear_met().at(score)
    for owner, places, points in (
        (CubeOwner.CENTERED, [0, 0.2, 0.8, 1], [-1, -1, 1, 1]),
        (OWNED, [0, 0.8, 1], [-2, 2, 2]),
        (OPPONENT, [0, 0.2, 1], [-2, -2, 2]),
    ):
        cube = Cube() if owner == CubeOwner.CENTERED else Cube(2, owner)
        lines = cube_lines(linear_met(), score, cube)
        assert lines.chances == pytest.approx(places, abs=0.01)
        assert (lines.mwcs - middle) / swing == pytest.approx(points, abs=1e-9)


def test_mixtures_with_gammons_and_a_long_match() -> None:
    """Janowski's formulas: take point (L - 1/2) / (W + L + 1/2), cash point (L + 1) / (W + L + 1/2)."""
    win, lose = 1.3, 1.2
    lines = cube_lines(linear_met(), MatchScore(40, 40), shares=Shares(win_gammon=win - 1, lose_gammon=lose - 1))
    assert lines.chances[1] == pytest.approx((lose - 0.5) / (win + lose + 0.5), abs=0.01)
    assert lines.chances[2] == pytest.approx((lose + 1) / (win + lose + 0.5), abs=0.01)
    for index in (0.0, 0.4, 1.0):
        expected = index * lines.live(0.4) + (1 - index) * lines.dead(0.4)
        assert lines.mwc(0.4, index) == pytest.approx(float(expected))


@pytest.mark.parametrize("score", [MatchScore(2, 5), MatchScore(7, 3), MatchScore(11, 12), MatchScore(4, 1)])
@pytest.mark.parametrize("owner", CubeOwner)
def test_lines_rise_and_a_cube_of_ones_own_never_hurts(score: MatchScore, owner: CubeOwner) -> None:
    shares = Shares(0.25, 0.01, 0.2, 0.02)
    cube = Cube() if owner == CubeOwner.CENTERED else Cube(2, owner)
    lines = cube_lines(published_met(), score, cube, shares)
    assert (np.diff(lines.chances) >= 0).all()
    assert (np.diff(lines.mwcs) >= 0).all()
    places = np.linspace(0, 1, 101)
    owned, opponents = (
        cube_lines(published_met(), score, Cube(2, side), shares).live(places) for side in (OWNED, OPPONENT)
    )
    assert (owned >= opponents - 1e-12).all()


@pytest.mark.parametrize("score", [MatchScore(3, 5), MatchScore(6, 6), MatchScore(4, 1)])
def test_the_other_side_sees_the_same(score: MatchScore) -> None:
    shares = Shares(0.25, 0.01, 0.2, 0.02)
    turned = Shares(0.2, 0.02, 0.25, 0.01)
    for cube in (Cube(), Cube(2, OWNED), Cube(4, OPPONENT)):
        here = cube_lines(published_met(), score, cube, shares)
        there = cube_lines(published_met().flip(), score.flip(), cube.flip(), turned)
        assert 1 - there.live(0.7) == pytest.approx(here.live(0.3), abs=1e-14)


def test_indifference_at_take_and_cash_points() -> None:
    score, shares = MatchScore(5, 7), Shares(0.25, 0, 0.3, 0)
    lines = cube_lines(published_met(), score, shares=shares)
    take_point, cash_point = lines.chances[1:3]
    assert cube_lines(published_met(), score, Cube(2, OWNED), shares).live(take_point) == pytest.approx(
        published_met().after(score, -1)
    )
    assert cube_lines(published_met(), score, Cube(2, OPPONENT), shares).live(cash_point) == pytest.approx(
        published_met().after(score, 1)
    )


def test_shares_of_chances() -> None:
    assert Shares.of_chances([0.6, 0.3, 0.06, 0.1, 0.04]) == pytest.approx((0.5, 0.1, 0.25, 0.1))
    assert Shares.of_chances([1, 0.5, 0, 0, 0]) == (0.5, 0, 0, 0)
    assert Shares.of_chances([0, 0, 0, 0.5, 0]) == (0, 0, 0.5, 0)


def test_values_between_places() -> None:
    generator = np.random.default_rng(3)
    places, values = np.sort(generator.random(6)), generator.random(6)
    for place in (*generator.random(50), -1.0, 2.0, *places):
        assert interpolated(place, places, values) == pytest.approx(float(np.interp(place, places, values)), abs=1e-12)
    twice = np.array([0.0, 0.5, 0.5, 1.0])
    assert interpolated(0.5, twice, np.arange(4.0)) == 2.0


def test_wrong_questions() -> None:
    lines = cube_lines(published_met(), MatchScore(3, 3))
    for index in (-0.01, 1.01, float("nan")):
        with pytest.raises(InvalidParameterError, match=f"expected a cube life index from 0 to 1, got {index}"):
            lines.mwc(0.5, index)
    with pytest.raises(InvalidScoreError, match="expected at most 12 points to go, as published has, got 14-away"):
        cube_lines(published_met(), MatchScore(14, 3))
