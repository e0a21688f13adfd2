"""Decisions in money play compared with a slow reference: Jacoby, beavers, ties, and invalid chances."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity.doubling import (
    NOT_ALLOWED,
    Action,
    CubeEquities,
    Strategy,
    best_action,
    best_equity,
    janowski,
    janowski_first,
    jump,
    mean_points,
    money_points,
    turned_strategy,
)
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from tests.equity.samples import decide_money, random_chances
from tests.reference import cube as reference

ACTIONS = {
    "no double": Action.NO_DOUBLE,
    "double, take": Action.DOUBLE_TAKE,
    "double, pass": Action.DOUBLE_PASS,
    "too good": Action.TOO_GOOD,
    "double, beaver": Action.DOUBLE_BEAVER,
}


@cache
def random_sample() -> NDArray[np.float64]:
    return random_chances(2000, seed=3)


def test_mean_points_match_the_reference() -> None:
    for chances in random_sample():
        assert mean_points(chances) == pytest.approx(reference.mean_points(chances.tolist()))


@pytest.mark.parametrize("owner", CubeOwner)
@pytest.mark.parametrize(("is_jacoby", "has_beavers"), [(False, False), (True, False), (True, True)])
def test_decisions_match_the_reference(owner: CubeOwner, is_jacoby: bool, has_beavers: bool) -> None:
    """Equities and best actions in money play equal the slow reference, unless rounding decides between them."""
    indexes = (0.65, 0.75)
    sample = random_sample()[:150]
    equities, actions = decide_money(
        janowski(*indexes), sample, owner=owner, is_jacoby=is_jacoby, has_beavers=has_beavers
    )
    for row, chances in enumerate(sample.tolist()):
        win, mean_win, mean_loss = reference.mean_points(chances)
        no_double = reference.janowski_equity(win, mean_win, mean_loss, owner, indexes, is_jacoby)
        assert equities.no_double[row] == pytest.approx(no_double, abs=1e-8)
        if owner == CubeOwner.OPPONENT:
            assert equities.double_take[row] == NOT_ALLOWED
            assert actions[row] == Action.NO_DOUBLE
            continue
        double_take = 2 * reference.janowski_equity(win, mean_win, mean_loss, "opponent", indexes)
        double_beaver = 2 * double_take if has_beavers else double_take
        assert equities.double_take[row] == pytest.approx(double_take, abs=1e-8)
        assert equities.double_beaver[row] == pytest.approx(double_beaver, abs=1e-8)
        assert equities.double_pass[row] == 1
        if min(np.diff(sorted([double_take, 1.0, no_double]))) > 1e-7:  # else rounding decides
            decision = reference.decision(no_double, double_take, 1.0, double_beaver if has_beavers else None)
            assert actions[row] == ACTIONS[decision]


def test_sample_contains_every_action() -> None:
    chances = np.concatenate([random_sample(), random_chances(2000, seed=4) * [1, 1, 1, 0, 0]])
    _, actions = decide_money(janowski(0.7), chances, is_jacoby=False)
    assert set(actions) == {Action.NO_DOUBLE, Action.DOUBLE_TAKE, Action.DOUBLE_PASS, Action.TOO_GOOD}
    _, actions = decide_money(janowski(0.7), chances, is_jacoby=True, has_beavers=True)
    assert Action.TOO_GOOD not in actions


def dead_cube_decision(win: float, win_gammon: float, *, has_beavers: bool) -> tuple[CubeEquities, Action]:
    """The equities and best action under the Jacoby rule with a dead cube, of a side that loses no gammons."""
    chances = np.array([[win, win_gammon, 0.0, 0.0, 0.0]])
    equities, actions = decide_money(janowski(0.0), chances, is_jacoby=True, has_beavers=has_beavers)
    return CubeEquities(*(column.item() for column in equities)), Action(actions.item())


def test_gammons_count_only_after_a_double_under_the_jacoby_rule() -> None:
    equities, _ = dead_cube_decision(0.42, 0.42, has_beavers=False)
    assert equities.no_double == pytest.approx(0.42 - 0.58)
    assert equities.double_take == pytest.approx(2 * (2 * 0.42 - 0.58))


def test_underdog_may_double_under_the_jacoby_rule() -> None:
    """Kauder's paradox: the equity after a take is below 0, so that the opponent beavers where it may."""
    equities, action = dead_cube_decision(0.35, 0.2, has_beavers=False)
    assert equities.no_double == pytest.approx(-0.3)
    assert equities.double_take == pytest.approx(-0.2)
    assert action == Action.DOUBLE_TAKE
    equities, action = dead_cube_decision(0.35, 0.2, has_beavers=True)
    assert equities.double_beaver == pytest.approx(-0.4)
    assert action == Action.NO_DOUBLE


def test_underdog_may_double_into_a_beaver() -> None:
    equities, action = dead_cube_decision(0.39, 0.2, has_beavers=True)
    assert equities.no_double == pytest.approx(-0.22)
    assert equities.double_beaver == pytest.approx(-0.08)
    assert action == Action.DOUBLE_BEAVER


@pytest.mark.parametrize(
    ("equities", "action", "worth"),
    [
        ((0.2, 0.2, 0.2, 1.0), Action.DOUBLE_TAKE, 0.2),  # equal equities: double
        ((0.9, 1.0, 1.0, 1.0), Action.DOUBLE_PASS, 1.0),  # and pass
        ((1.0, 1.4, 1.4, 1.0), Action.DOUBLE_PASS, 1.0),
        ((1.1, 1.4, 1.4, 1.0), Action.TOO_GOOD, 1.1),
        ((1.1, 0.9, 0.9, 1.0), Action.NO_DOUBLE, 1.1),
        ((-0.3, -0.1, -0.2, 1.0), Action.DOUBLE_BEAVER, -0.2),
        ((0.5, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED), Action.NO_DOUBLE, 0.5),
    ],
)
def test_ties_have_a_fixed_best_action(equities: tuple[float, ...], action: Action, worth: float) -> None:
    assert best_action(CubeEquities(*equities)) == action
    assert best_equity(CubeEquities(*equities)) == worth


def test_turned_strategy_exchanges_the_indexes() -> None:
    assert turned_strategy(janowski(0.2, 0.9)) == janowski(0.9, 0.2)
    assert turned_strategy(jump(0.1)) == jump(0.1)
    assert janowski(0.4) == Strategy(0, 0.4, 0.4)


@pytest.mark.parametrize(
    ("chances", "message"),
    [
        ([[0.5, 0.6, 0, 0, 0]], "expected win >= win_gammon >= win_backgammon and .*, got 0.5, 0.6, 0, 0, 0"),
        ([[0.5, 0.1, 0.2, 0, 0]], "got 0.5, 0.1, 0.2, 0, 0"),
        ([[0.5, 0, 0, 0.6, 0]], "got 0.5, 0, 0, 0.6, 0"),
        ([[0.5, 0, 0, 0.1, 0.2]], "got 0.5, 0, 0, 0.1, 0.2"),
        ([[1.5, 0, 0, 0, 0]], "got 1.5, 0, 0, 0, 0"),
        ([[0.5, -0.1, 0, 0, 0]], "got 0.5, -0.1, 0, 0, 0"),
        ([[float("nan"), 0, 0, 0, 0]], "got nan, 0, 0, 0, 0"),
        ([0.5, 0, 0, 0, 0], r"expected chances\[n, 5\], got \[5\]"),
        ([[0.5, 0, 0, 0]], r"expected chances\[n, 5\], got \[1, 4\]"),
    ],
)
def test_invalid_chances_are_refused(chances: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        decide_money(janowski(), np.array(chances))


def test_first_model_knows_no_jacoby_rule_for_a_centered_cube() -> None:
    chances = random_sample()[:1]
    with pytest.raises(InvalidParameterError, match="that knows the jacoby rule, got janowski-first"):
        decide_money(janowski_first(), chances, is_jacoby=True)
    decide_money(janowski_first(), chances, owner=CubeOwner.ON_ROLL, is_jacoby=True)  # gammons count after a double


def test_invalid_owners_and_indexes_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"expected a cube that is centered or owned .*, got opponent"):
        money_points(janowski(), owner=CubeOwner.OPPONENT)
    with pytest.raises(InvalidParameterError, match="expected a cube life index from 0 to 1, got 2"):
        janowski(0.5, 2)
