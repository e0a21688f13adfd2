"""Janowski's model compared with a slow reference, closed formulas and values calculated by hand."""

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity.curves import Points, first_equity, janowski_equities, live_points
from bgdata.equity.doubling import Action, janowski, janowski_first, money_points
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from tests.equity.samples import decide_money, random_chances
from tests.reference import cube as reference
from tests.subtests import each

MEANS = [(1.0, 1.0), (1.25, 1.25), (1.4, 1.0), (1.0, 2.2), (3.0, 3.0), (1.9, 1.05)]
GRID = np.linspace(0, 1, 41)


@pytest.mark.parametrize(("mean_win", "mean_loss"), MEANS)
def test_live_points_match_the_formulas(mean_win: float, mean_loss: float) -> None:
    assert live_points(mean_win, mean_loss) == pytest.approx(reference.live_points(mean_win, mean_loss), abs=1e-8)


INDEXES = ((0.0, 0.0), (0.7, 0.7), (1.0, 1.0), (0.2, 0.9))


@each(("owner", "is_jacoby", "indexes"), [*product(CubeOwner, (False, True), INDEXES)])
def test_equities_match_the_reference(owner: CubeOwner, is_jacoby: bool, indexes: tuple[float, float]) -> None:
    """Janowski's equities equal the slow reference for each cube owner, with one index or one for each player."""
    for mean_win, mean_loss in MEANS:
        found = janowski_equities(
            GRID,
            mean_win,
            mean_loss,
            owner=owner,
            cube_life_index=indexes[0],
            opponent_cube_life_index=indexes[1],
            is_jacoby=is_jacoby,
        )
        expected = [reference.janowski_equity(p, mean_win, mean_loss, owner, indexes, is_jacoby) for p in GRID.tolist()]
        assert found == pytest.approx(expected, abs=1e-8)


def test_opponents_equity_is_the_opposite() -> None:
    for owner in CubeOwner:
        own = janowski_equities(GRID, 1.5, 1.2, owner=owner, cube_life_index=0.3, opponent_cube_life_index=0.8)
        other = janowski_equities(
            1 - GRID, 1.2, 1.5, owner=owner.flip(), cube_life_index=0.8, opponent_cube_life_index=0.3
        )
        assert own == pytest.approx(-other, abs=1e-12)


def test_arrays_broadcast() -> None:
    found = janowski_equities(np.full((4, 1), 0.5), np.array([1.0, 1.25, 1.5]), 1.25)
    assert found.shape == (4, 3)
    assert found[2, 1] == 0
    assert janowski_equities(0.5).shape == ()
    assert janowski_equities([]).shape == (0,)


@pytest.mark.parametrize("index", [0.0, 0.25, 0.7, 1.0])
def test_points_match_the_closed_formulas(index: float) -> None:
    """Take and cash points are those of Janowski's closed formulas (1993) for any index."""
    mean_win, mean_loss = np.array(MEANS).T
    points = money_points(janowski(index), mean_win, mean_loss)
    width = mean_win + mean_loss + index / 2
    assert points.take_point == pytest.approx((mean_loss - 0.5) / width)
    assert points.cash_point == pytest.approx((mean_loss + 0.5 + index / 2) / width)


def test_points_without_gammons() -> None:
    """Without gammons, the points are the known values of a dead cube, and of a live cube, whose double point equals
    the cash point."""
    dead, redouble = (money_points(janowski(0), owner=owner) for owner in (CubeOwner.CENTERED, CubeOwner.ON_ROLL))
    assert dead == redouble == pytest.approx((0.25, 0.5, 0.75, 1.0))
    assert money_points(janowski(1)) == pytest.approx((0.2, 0.8, 0.8, 0.8))


@pytest.mark.parametrize("owner", [CubeOwner.CENTERED, CubeOwner.ON_ROLL])
@pytest.mark.parametrize("is_jacoby", [False, True])
@pytest.mark.parametrize("has_beavers", [False, True])
def test_best_action_changes_at_the_points(owner: CubeOwner, is_jacoby: bool, has_beavers: bool) -> None:
    """The reference prefers another action just above each point than just below it."""
    for mean_win, mean_loss in MEANS:
        found = money_points(
            janowski(0.6, 0.8), mean_win, mean_loss, owner=owner, is_jacoby=is_jacoby, has_beavers=has_beavers
        )
        points = Points(*(float(point) for point in found))

        def best(win: float, means: tuple[float, float] = (mean_win, mean_loss)) -> str:
            now = reference.janowski_equity(win, *means, owner, (0.6, 0.8), is_jacoby)
            taken = 2 * reference.janowski_equity(win, *means, "opponent", (0.6, 0.8))
            return reference.decision(now, taken, 1.0, 2 * taken if has_beavers else None)

        small = 1e-6
        if points.double_point <= 1:
            assert best(points.double_point - small) == "no double"
            assert best(points.double_point + small).startswith("double")
            assert best(points.cash_point + small) == "double, pass"
            assert best(points.cash_point - small) == "double, take"
        else:
            assert not any(best(p).startswith("double") for p in np.linspace(0, 0.999, 200).tolist())
        if points.too_good_point < 1 - small:
            assert best(points.too_good_point + small) == "too good"
            assert best(points.too_good_point - small) in ("double, pass", "no double")


def test_owners_index_is_used() -> None:
    """An owned cube uses the index of its owner, and a centered cube the mean of both."""
    found = [
        janowski_equities(0.6, owner=owner, cube_life_index=0.2, opponent_cube_life_index=0.8).item()
        for owner in CubeOwner
    ]
    expected = [
        janowski_equities(0.6, owner=owner, cube_life_index=index).item()
        for owner, index in zip(CubeOwner, (0.5, 0.2, 0.8), strict=True)
    ]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((1.2,), {}, "expected winning chances from 0 to 1, got 1.2"),
        (([0.5, float("nan")],), {}, "expected winning chances from 0 to 1, got nan"),
        ((0.5, 0.9), {}, "expected mean points of a win from 1 to 3, got 0.9"),
        ((0.5, 1, [1.0, 3.5]), {}, "expected mean points of a loss from 1 to 3, got 3.5"),
        (([0.5, 0.6], [1, 1, 1]), {}, "expected winning chances and mean points that broadcast, "),
        ((0.5,), {"cube_life_index": 1.1}, "expected a cube life index from 0 to 1, got 1.1"),
        ((0.5,), {"opponent_cube_life_index": -0.1}, "expected a cube life index from 0 to 1, got -0.1"),
        ((0.5,), {"cube_life_index": float("nan")}, "expected a cube life index from 0 to 1, got nan"),
        ((0.5,), {"owner": "nobody"}, "expected a cube owner in {centered, on_roll, opponent}, got nobody"),
    ],
)
def test_invalid_arguments_are_refused(arguments: tuple[object, ...], options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError) as error:
        janowski_equities(*arguments, **options)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)


OWNERS = (CubeOwner.CENTERED, CubeOwner.ON_ROLL)
FIRST_INDEXES = [0.0, 0.25, 0.7, 1.0]


@cache
def random_sample() -> NDArray[np.float64]:
    return random_chances(2000, seed=21)


def slow_equity(win: float, mean_win: float, mean_loss: float, owner: str, index: float) -> float:
    """Janowski (1993). Between the take and cash points either player is equally likely to turn a centered cube next,
    so that its equity is 4 / (4 - x) of the mean of both owned cubes."""

    def owned(p: float, won: float, lost: float) -> float:
        return p * (won + lost + index / 2) - lost

    mine, theirs = owned(win, mean_win, mean_loss), -owned(1 - win, mean_loss, mean_win)
    return {"on_roll": mine, "opponent": theirs, "centered": 4 / (4 - index) * (mine + theirs) / 2}[owner]


def first_decision(chances: list[float], owner: str, index: float) -> str:
    """The decision of the first published model: take above the take point, double where the equity rises, cash where a
    double is passed, too good only if the equity without a cube exceeds 1."""
    win, won, lost = reference.mean_points(chances)
    taken = 2 * slow_equity(win, won, lost, "opponent", index)
    # the opponent passes where its own doubled cube is worth at most -1
    if 2 * slow_equity(1 - win, lost, won, "on_roll", index) <= -1:
        return "too good" if win * (won + lost) - lost > 1 else "double, pass"
    if 2 * slow_equity(win, won, lost, "on_roll", index) < -1:  # the player on roll would not take either
        return "no double"
    return "double, take" if taken >= slow_equity(win, won, lost, owner, index) else "no double"


@pytest.mark.parametrize("index", FIRST_INDEXES)
@pytest.mark.parametrize("owner", OWNERS)
def test_decisions_match_the_first_model(index: float, owner: CubeOwner) -> None:
    found, actions = decide_money(janowski_first(index), random_sample(), owner=owner)
    words = {"no double": "NO_DOUBLE", "double, take": "DOUBLE_TAKE", "double, pass": "DOUBLE_PASS"}
    words["too good"] = "TOO_GOOD"
    expected = [first_decision(row, owner, index) for row in random_sample().tolist()]
    close = np.abs(found.double_take - found.no_double) < 1e-9  # rounding decides
    differ = [row for row, word in enumerate(expected) if Action(actions[row]).name != words[word] and not close[row]]
    assert differ == []
    assert len(set(expected)) >= (3 if index == 1 else 4)


def test_opponents_cube_is_the_mirrored_own_cube() -> None:
    for win, won, lost in ((0.1, 1.3, 1.2), (0.45, 1.1, 1.4), (0.77, 1.25, 1.25), (0.95, 1.2, 1.0)):
        for index in FIRST_INDEXES:
            for owner, other in ((0, 0), (1, 2), (2, 1)):
                turned = -first_equity(1 - win, lost, won, other, index)
                assert first_equity(win, won, lost, owner, index) == pytest.approx(turned)


@pytest.mark.parametrize("index", FIRST_INDEXES)
@pytest.mark.parametrize("owner", OWNERS)
def test_decisions_change_at_the_points_of_the_first_model(index: float, owner: CubeOwner) -> None:
    """Bisection of the decisions, for W = 1.4 and L = 1.2, finds the points of the first published model."""

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
def test_points_match_janowskis_formulas_without_gammons(index: float, double: float, redouble: float) -> None:
    """Initial double and redouble points are those of the paper's formulas, calculated by hand."""
    assert float(money_points(janowski_first(index)).double_point) == pytest.approx(double)
    owned = money_points(janowski_first(index), owner=CubeOwner.ON_ROLL)
    assert float(owned.double_point) == pytest.approx(redouble)


def test_first_model_agrees_with_the_later_one_in_parts() -> None:
    """Both models agree for owned cubes below the cash point, for dead cubes, and on the doubling window of a live
    cube."""
    for owner in OWNERS:
        for index in (0.0, 1.0):
            first, later = (money_points(model(index), 1.3, 1.2, owner=owner) for model in (janowski_first, janowski))
            assert np.allclose(first[:3], later[:3])
    one, other = (
        decide_money(model(0.6), random_sample(), owner=CubeOwner.ON_ROLL)[0] for model in (janowski_first, janowski)
    )
    is_below = one.double_take < 1
    assert np.allclose(one.no_double[is_below], other.no_double[is_below])
