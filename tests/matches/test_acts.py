"""Tests of sums, ratings and marks of judged acts with known numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bgdata.matches.acts import (
    Act,
    ActKind,
    CubeValues,
    JudgedAct,
    JudgedGame,
    RollJudgement,
    error_mark,
    luck_mark,
    rating,
    score_of,
    totals_of,
)
from tests.matches.recorded import MONEY

BOARD = np.zeros(26, np.int8)
CUBE = CubeValues(0.5, 0.6, 1.0)


def judged_roll(
    player: int, luck: float, loss: float, *, point: float = 1, drift: float = 0, forced: bool = False
) -> JudgedAct:
    roll = RollJudgement(0.1, 0.1 + luck, 0.1 + luck, 0.1 + luck - loss, (), is_forced=forced)
    return JudgedAct(Act(ActKind.ROLL, player, player, BOARD, MONEY, (3, 1)), point, 0.1, roll.after, drift, roll)


def judged_double(player: int, loss: float) -> JudgedAct:
    act = Act(ActKind.DOUBLE, player, player, BOARD, MONEY)
    return JudgedAct(act, 2, 0.1, 0.1 - loss, 0, None, CUBE, loss, None, is_cube_decision=True)


ACTS = [
    judged_roll(0, 0.3, 0.1),
    judged_roll(1, -0.2, 0, drift=0.05),
    judged_double(0, 0.5),
    judged_roll(0, 0.5, 0.02, point=2),
    judged_roll(1, 0.1, 0, forced=True),
]


def test_score_sums_the_acts_of_a_player() -> None:
    first, second = score_of(ACTS, 0), score_of(ACTS, 1)
    assert (first.rolls, first.unforced_plays, first.cube_decisions, first.doubles) == (2, 2, 1, 1)
    assert (second.rolls, second.unforced_plays, second.cube_decisions, second.takes) == (2, 1, 0, 0)
    assert (first.luck, first.play_loss, first.cube_loss) == pytest.approx((0.8, 0.12, 0.5))
    assert (first.normalised_luck, first.normalised_play_loss) == pytest.approx((0.55, 0.11))
    assert first.normalised_cube_loss == pytest.approx(0.25)
    assert first.performance_rating == pytest.approx(1000 * 0.36 / 3)
    assert (first.play_rating, first.cube_rating) == pytest.approx((55, 250))
    assert (second.performance_rating, second.cube_rating) == (0, 0)
    assert first.marked == {"doubtful": 0, "bad": 1, "very bad": 1}


def test_beavers_count_as_takes() -> None:
    answers = [
        replace(judged_double(0, 0.0), act=Act(kind, 0, 1, BOARD, MONEY))
        for kind in (ActKind.TAKE, ActKind.BEAVER, ActKind.PASS)
    ]
    score = score_of(answers, 0)
    assert (score.takes, score.passes, score.doubles) == (2, 1, 0)


def test_totals_sum_games() -> None:
    finished, unfinished = JudgedGame(ACTS, 0, 2, 0.4), JudgedGame(ACTS, 0, None, None)
    one = totals_of([finished])
    assert (one.net_luck, one.net_skill) == pytest.approx((0.9, -0.62))
    assert (one.result, one.luck_adjusted, one.net_drift) == pytest.approx((2, 1.1, 0.35))
    two = totals_of([finished, finished])
    assert two.result == 4
    assert two.net_luck == pytest.approx(1.8)
    without_result = totals_of([finished, unfinished])
    assert without_result.net_luck == pytest.approx(1.8)
    assert (without_result.result, without_result.net_drift, without_result.luck_adjusted) == (None, None, None)


@pytest.mark.parametrize(
    ("loss", "mark"), [(0.0299, ""), (0.03, "doubtful"), (0.06, "bad"), (0.119, "bad"), (0.12, "very bad")]
)
def test_error_marks(loss: float, mark: str) -> None:
    assert error_mark(loss) == mark


@pytest.mark.parametrize(
    ("luck", "mark"),
    [(-2, "very unlucky"), (-0.3, "unlucky"), (-0.29, ""), (0.29, ""), (0.3, "lucky"), (0.7, "very lucky")],
)
def test_luck_marks(luck: float, mark: str) -> None:
    assert luck_mark(luck) == mark


def test_rating_without_decisions_is_zero() -> None:
    assert (rating(0.5, 0), rating(0.5, 100)) == (0, 5)
