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


def rolled(
    player: int, luck: float, loss: float, *, point: float = 1, drift: float = 0, forced: bool = False
) -> JudgedAct:
    roll = RollJudgement(0.1, 0.1 + luck, 0.1 + luck, 0.1 + luck - loss, (), is_forced=forced)
    return JudgedAct(Act(ActKind.ROLL, player, player, BOARD, MONEY, (3, 1)), point, 0.1, roll.after, drift, roll)


def doubled(player: int, loss: float) -> JudgedAct:
    act = Act(ActKind.DOUBLE, player, player, BOARD, MONEY)
    return JudgedAct(act, 2, 0.1, 0.1 - loss, 0, None, CUBE, loss, None, is_cube_decision=True)


ACTS = [
    rolled(0, 0.3, 0.1),
    rolled(1, -0.2, 0, drift=0.05),
    doubled(0, 0.5),
    rolled(0, 0.5, 0.02, point=2),
    rolled(1, 0.1, 0, forced=True),
]


def test_score_sums_the_acts_of_a_player() -> None:
    """The counts, luck, losses and ratings of each player are sums over that player's acts."""
    first, second = score_of(ACTS, 0), score_of(ACTS, 1)
    assert first.rolls == 2
    assert first.unforced_plays == 2
    assert first.cube_decisions == 1
    assert first.doubles == 1
    assert second.rolls == 2
    assert second.unforced_plays == 1
    assert second.cube_decisions == 0
    assert second.takes == 0
    assert (first.luck, first.play_loss, first.cube_loss) == pytest.approx((0.8, 0.12, 0.5))
    assert (first.normalised_luck, first.normalised_play_loss) == pytest.approx((0.55, 0.11))
    assert first.normalised_cube_loss == pytest.approx(0.25)
    assert first.performance_rating == pytest.approx(1000 * 0.36 / 3)
    assert (first.play_rating, first.cube_rating) == pytest.approx((55, 250))
    assert (second.performance_rating, second.cube_rating) == (0, 0)
    assert first.marked == {"doubtful": 0, "bad": 1, "very bad": 1}


def test_beavers_count_as_takes() -> None:
    """A player's beavers are counted among the takes."""
    kinds = (ActKind.TAKE, ActKind.BEAVER, ActKind.PASS)
    answers = [replace(doubled(0, 0.0), act=Act(kind, 0, 1, BOARD, MONEY)) for kind in kinds]
    assert (score_of(answers, 0).takes, score_of(answers, 0).passes, score_of(answers, 0).doubles) == (2, 1, 0)


def test_totals_sum_games() -> None:
    ended, open_game = JudgedGame(ACTS, 0, 2, 0.4), JudgedGame(ACTS, 0, None, None)
    found = totals_of([ended])
    assert (found.net_luck, found.net_skill) == pytest.approx((0.9, -0.62))
    assert (found.result, found.luck_adjusted, found.net_drift) == pytest.approx((2, 1.1, 0.35))
    both = totals_of([ended, ended])
    assert both.result == 4
    assert both.net_luck == pytest.approx(1.8)
    unknown = totals_of([ended, open_game])
    assert (unknown.result, unknown.net_drift, unknown.luck_adjusted) == (None, None, None)
    assert unknown.net_luck == pytest.approx(1.8)


@pytest.mark.parametrize(
    ("size", "error", "luck"),
    [
        *((0.0299, "", ""), (0.03, "doubtful", ""), (0.06, "bad", ""), (0.119, "bad", ""), (0.12, "very bad", "")),
        *((0.29, "very bad", ""), (0.3, "very bad", "lucky"), (0.7, "very bad", "very lucky")),
        *((-0.29, "", ""), (-0.3, "", "unlucky"), (-2, "", "very unlucky")),
    ],
)
def test_error_and_luck_marks(size: float, error: str, luck: str) -> None:
    assert (error_mark(size), luck_mark(size)) == (error, luck)


def test_rating_without_decisions_is_zero() -> None:
    assert (rating(0.5, 0), rating(0.5, 100)) == (0, 5)
