"""Decisions in money play compared with a slow reference: Jacoby, beavers, ties, and invalid chances."""

from functools import cache, partial
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
from tests.subtests import all_raise

WORDS = {
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
    strategy = janowski(0.65, 0.75)
    indexes = (0.65, 0.75)
    found, actions = decide_money(
        strategy, random_sample()[:150], owner=owner, is_jacoby=is_jacoby, has_beavers=has_beavers
    )
    for row, chances in enumerate(random_sample()[:150].tolist()):
        win, mean_win, mean_loss = reference.mean_points(chances)
        now = reference.janowski_equity(win, mean_win, mean_loss, owner, indexes, is_jacoby)
        assert found.no_double[row] == pytest.approx(now, abs=1e-8)
        if owner == CubeOwner.OPPONENT:
            assert found.double_take[row] == NOT_ALLOWED
            assert actions[row] == Action.NO_DOUBLE
            continue
        taken = 2 * reference.janowski_equity(win, mean_win, mean_loss, "opponent", indexes)
        assert found.double_take[row] == pytest.approx(taken, abs=1e-8)
        assert found.double_beaver[row] == pytest.approx(taken * (1 + has_beavers), abs=1e-8)
        assert found.double_pass[row] == 1
        answers = sorted([taken, 1.0, now])
        if min(np.diff(answers)) > 1e-7:  # else rounding decides
            assert actions[row] == WORDS[reference.decision(now, taken, 1.0, 2 * taken if has_beavers else None)]


def test_sample_contains_every_action() -> None:
    chances = np.concatenate([random_sample(), random_chances(2000, seed=4) * [1, 1, 1, 0, 0]])
    _, actions = decide_money(janowski(0.7), chances, is_jacoby=False)
    assert set(actions) == {Action.NO_DOUBLE, Action.DOUBLE_TAKE, Action.DOUBLE_PASS, Action.TOO_GOOD}
    _, actions = decide_money(janowski(0.7), chances, is_jacoby=True, has_beavers=True)
    assert Action.TOO_GOOD not in actions


def test_jacoby_and_beavers_change_the_decision() -> None:
    """Under the Jacoby rule, under which gammons count only after a double, an underdog may double although the equity
    after a take is below 0 (Kauder's paradox)."""
    chances = np.array([[0.42, 0.42, 0.0, 0.0, 0.0]])
    plain = decide_money(janowski(0.0), chances, is_jacoby=True)
    assert plain[0].no_double.item() == pytest.approx(-0.16)
    assert plain[0].double_take.item() == pytest.approx(2 * 0.26)
    chances = np.array([[0.35, 0.2, 0.0, 0.0, 0.0]])
    (found, action), (beavered, other) = (
        decide_money(janowski(0.0), chances, is_jacoby=True, has_beavers=beavers) for beavers in (False, True)
    )
    assert (found.no_double.item(), found.double_take.item()) == pytest.approx((-0.3, -0.2))
    assert action.item() == Action.DOUBLE_TAKE
    assert other.item() == Action.NO_DOUBLE
    assert beavered.double_beaver.item() == pytest.approx(-0.4)
    chances = np.array([[0.39, 0.2, 0.0, 0.0, 0.0]])
    found, action = decide_money(janowski(0.0), chances, is_jacoby=True, has_beavers=True)
    assert (found.no_double.item(), found.double_beaver.item()) == pytest.approx((-0.22, -0.08))
    assert action.item() == Action.DOUBLE_BEAVER


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


def test_invalid_arguments_are_refused() -> None:
    """Chances out of order, cubes that the player may not turn, and models without the Jacoby rule raise an error with
    the values."""
    rows: list[tuple[Any, str]] = [
        ([[0.5, 0.6, 0, 0, 0]], "expected win >= win_gammon >= win_backgammon and .*, got 0.5, 0.6, 0, 0, 0"),
        ([[0.5, 0.1, 0.2, 0, 0]], "got 0.5, 0.1, 0.2, 0, 0"),
        ([[0.5, 0, 0, 0.6, 0]], "got 0.5, 0, 0, 0.6, 0"),
        ([[0.5, 0, 0, 0.1, 0.2]], "got 0.5, 0, 0, 0.1, 0.2"),
        ([[1.5, 0, 0, 0, 0]], "got 1.5, 0, 0, 0, 0"),
        ([[0.5, -0.1, 0, 0, 0]], "got 0.5, -0.1, 0, 0, 0"),
        ([[float("nan"), 0, 0, 0, 0]], "got nan, 0, 0, 0, 0"),
        ([0.5, 0, 0, 0, 0], r"expected chances\[n, 5\], got \[5\]"),
        ([[0.5, 0, 0, 0]], r"expected chances\[n, 5\], got \[1, 4\]"),
    ]
    one = random_sample()[:1]
    first = janowski_first()
    theirs = partial(money_points, janowski(), owner=CubeOwner.OPPONENT)
    all_raise(
        InvalidParameterError,
        [
            *((partial(decide_money, janowski(), np.array(chances)), message) for chances, message in rows),
            (partial(decide_money, first, one, is_jacoby=True), "that knows the jacoby rule, got janowski-first"),
            (theirs, r"expected a cube that is centered or owned .*, got opponent"),
            (partial(janowski, 0.5, 2), "expected a cube life index from 0 to 1, got 2"),
        ],
    )
    decide_money(first, one, owner=CubeOwner.ON_ROLL, is_jacoby=True)  # gammons count once the cube was turned
