"""Janowski's model as first published: from the rules that a post of 28 March 2012 says it had."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity.doubling import Action, janowski, janowski_first, money_points
from bgdata.equity.janowski import first_equity
from bgdata.game.match import CubeOwner
from tests.equity.samples import decide_money, random_chances
from tests.reference import cube as twin

OWNERS = (CubeOwner.CENTERED, CubeOwner.ON_ROLL)
INDEXES = [0.0, 0.25, 0.7, 1.0]


@cache
def random_sample() -> NDArray[np.float64]:
    return random_chances(2000, seed=21)


def slow_equity(win: float, mean_win: float, mean_loss: float, owner: str, index: float) -> float:
    """Between take and cash point: a centered cube is worth what it is if either player, who is as likely to turn it as
    the other, may do so next, 4 / (4 - x) of the mean of both owned cubes (Janowski, 1993)."""

    def owned(p: float, won: float, lost: float) -> float:
        return p * (won + lost + index / 2) - lost

    mine, his = owned(win, mean_win, mean_loss), -owned(1 - win, mean_loss, mean_win)
    return {"on_roll": mine, "opponent": his, "centered": 4 / (4 - index) * (mine + his) / 2}[owner]


def first_decision(chances: list[float], owner: str, index: float) -> str:
    """In words: take above the take point, double where that is worth more, cash what is passed; too good only where
    the equity without a cube exceeds 1."""
    win, won, lost = twin.mean_points(chances)
    taken = 2 * slow_equity(win, won, lost, "opponent", index)
    # the opponent passes where its own doubled cube is worth no more than -1
    if 2 * slow_equity(1 - win, lost, won, "on_roll", index) <= -1:
        return "too good" if win * (won + lost) - lost > 1 else "double, pass"
    if 2 * slow_equity(win, won, lost, "on_roll", index) < -1:  # it would not even take itself
        return "no double"
    return "double, take" if taken >= slow_equity(win, won, lost, owner, index) else "no double"


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("owner", OWNERS)
def test_decisions(index: float, owner: CubeOwner) -> None:
    found, actions = decide_money(janowski_first(index), random_sample(), owner=owner)
    words = {"no double": "NO_DOUBLE", "double, take": "DOUBLE_TAKE", "double, pass": "DOUBLE_PASS"}
    words["too good"] = "TOO_GOOD"
    expected = [first_decision(row, owner, index) for row in random_sample().tolist()]
    close = np.abs(found.double_take - found.no_double) < 1e-9  # rounding decides
    differ = [row for row, word in enumerate(expected) if Action(actions[row]).name != words[word] and not close[row]]
    assert differ == []
    assert len(set(expected)) >= (3 if index == 1 else 4)


def test_the_opponents_cube_is_ours_seen_from_the_other_side() -> None:
    for win, won, lost in ((0.1, 1.3, 1.2), (0.45, 1.1, 1.4), (0.77, 1.25, 1.25), (0.95, 1.2, 1.0)):
        for index in INDEXES:
            for owner, other in ((0, 0), (1, 2), (2, 1)):
                turned = -first_equity(1 - win, lost, won, other, index)
                assert first_equity(win, won, lost, owner, index) == pytest.approx(turned)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("owner", OWNERS)
def test_points_are_where_decisions_change(index: float, owner: CubeOwner) -> None:
    """By halving, for W = 1.4 and L = 1.2."""

    def first(holds: Callable[[str], bool]) -> float:
        low, high = 0.3, 0.999
        for _ in range(50):
            middle = (low + high) / 2
            chances = [middle, 0.4 * middle, 0.0, 0.2 * (1 - middle), 0.0]
            low, high = (low, middle) if holds(first_decision(chances, owner, index)) else (middle, high)
        return high

    points = money_points(janowski_first(index), 1.4, 1.2, owner=owner)
    assert float(points.too_good_point) == pytest.approx(first(lambda word: word == "too good"))
    assert float(points.cash_point) == pytest.approx(first(lambda word: word in ("double, pass", "too good")))
    assert float(points.double_point) == pytest.approx(first(lambda word: word != "no double"))
    turned = money_points(janowski_first(index), 1.2, 1.4, owner=owner)
    assert float(points.take_point) == pytest.approx(1 - float(turned.cash_point))


@pytest.mark.parametrize(
    ("index", "double", "redouble"), [(0, 0.5, 0.5), (2 / 3, (1 + 7 / 12) / (7 / 3), 5 / 7), (1, 0.8, 0.8)]
)
def test_janowskis_formulas_without_gammons(index: float, double: float, redouble: float) -> None:
    """Initial double and redouble points of his paper, worked out by hand."""
    assert float(money_points(janowski_first(index)).double_point) == pytest.approx(double)
    owned = money_points(janowski_first(index), owner=CubeOwner.ON_ROLL)
    assert float(owned.double_point) == pytest.approx(redouble)


def test_it_is_the_later_model_where_the_source_says_so() -> None:
    """Owned cubes below the cash point; with a dead cube whatever it is; and a live cube's window."""
    for owner in OWNERS:
        for index in (0.0, 1.0):
            first, later = (money_points(model(index), 1.3, 1.2, owner=owner) for model in (janowski_first, janowski))
            assert np.allclose(first[:3], later[:3])
    one, other = (
        decide_money(model(0.6), random_sample(), owner=CubeOwner.ON_ROLL)[0] for model in (janowski_first, janowski)
    )
    is_below = one.double_take < 1
    assert np.allclose(one.no_double[is_below], other.no_double[is_below])
