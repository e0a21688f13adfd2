"""Janowski's model compared with a slow reference, closed formulas and values calculated by hand."""

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


@each(
    ("owner", "is_jacoby", "indexes"),
    [*product(CubeOwner, (False, True), [(0.0, 0.0), (0.7, 0.7), (1.0, 1.0), (0.2, 0.9)])],
)
def test_equities_match_the_reference(owner: CubeOwner, is_jacoby: bool, indexes: tuple[float, float]) -> None:
    """Janowski's equities equal the slow reference for each cube owner, with one index or one for each player."""
    for mean_win, mean_loss in MEANS:
        equities = janowski_equities(
            GRID,
            mean_win,
            mean_loss,
            owner=owner,
            cube_life_index=indexes[0],
            opponent_cube_life_index=indexes[1],
            is_jacoby=is_jacoby,
        )
        expected = [
            reference.janowski_equity(win, mean_win, mean_loss, owner, indexes, is_jacoby) for win in GRID.tolist()
        ]
        assert equities == pytest.approx(expected, abs=1e-8)


def test_arrays_broadcast() -> None:
    equities = janowski_equities(np.full((4, 1), 0.5), np.array([1.0, 1.25, 1.5]), 1.25)
    assert equities.shape == (4, 3)
    assert equities[2, 1] == 0
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


@pytest.mark.parametrize("owner", [CubeOwner.CENTERED, CubeOwner.ON_ROLL])
def test_dead_cube_has_the_known_points_without_gammons(owner: CubeOwner) -> None:
    assert money_points(janowski(0), owner=owner) == pytest.approx((0.25, 0.5, 0.75, 1.0))


def test_live_cube_has_the_known_points_without_gammons() -> None:
    """The double point equals the cash point."""
    assert money_points(janowski(1)) == pytest.approx((0.2, 0.8, 0.8, 0.8))


@pytest.mark.parametrize("owner", [CubeOwner.CENTERED, CubeOwner.ON_ROLL])
@pytest.mark.parametrize("is_jacoby", [False, True])
@pytest.mark.parametrize("has_beavers", [False, True])
def test_best_action_changes_at_the_points(owner: CubeOwner, is_jacoby: bool, has_beavers: bool) -> None:
    """The reference prefers another action just above each point than just below it."""
    step = 1e-6
    for mean_win, mean_loss in MEANS:
        columns = money_points(
            janowski(0.6, 0.8), mean_win, mean_loss, owner=owner, is_jacoby=is_jacoby, has_beavers=has_beavers
        )
        points = Points(*(float(point) for point in columns))

        def best_action(win: float, means: tuple[float, float] = (mean_win, mean_loss)) -> str:
            no_double = reference.janowski_equity(win, *means, owner, (0.6, 0.8), is_jacoby)
            double_take = 2 * reference.janowski_equity(win, *means, "opponent", (0.6, 0.8))
            return reference.decision(no_double, double_take, 1.0, 2 * double_take if has_beavers else None)

        if points.double_point <= 1:
            assert best_action(points.double_point - step) == "no double"
            assert best_action(points.double_point + step).startswith("double")
            assert best_action(points.cash_point - step) == "double, take"
            assert best_action(points.cash_point + step) == "double, pass"
        else:
            actions = [best_action(win) for win in np.linspace(0, 0.999, 200).tolist()]
            assert not any(action.startswith("double") for action in actions)
        if points.too_good_point < 1 - step:
            assert best_action(points.too_good_point - step) in ("double, pass", "no double")
            assert best_action(points.too_good_point + step) == "too good"


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

    def with_own_cube(win: float, mean_win: float, mean_loss: float) -> float:
        return win * (mean_win + mean_loss + index / 2) - mean_loss

    own_cube = with_own_cube(win, mean_win, mean_loss)
    opponents_cube = -with_own_cube(1 - win, mean_loss, mean_win)
    if owner == "on_roll":
        return own_cube
    return opponents_cube if owner == "opponent" else 4 / (4 - index) * (own_cube + opponents_cube) / 2


def first_decision(chances: list[float], owner: str, index: float) -> str:
    """The decision of the first published model: take above the take point, double where the equity rises, cash where a
    double is passed, too good only if the equity without a cube exceeds 1."""
    win, mean_win, mean_loss = reference.mean_points(chances)
    double_take = 2 * slow_equity(win, mean_win, mean_loss, "opponent", index)
    # the opponent passes where its own doubled cube is worth at most -1
    if 2 * slow_equity(1 - win, mean_loss, mean_win, "on_roll", index) <= -1:
        return "too good" if win * (mean_win + mean_loss) - mean_loss > 1 else "double, pass"
    if 2 * slow_equity(win, mean_win, mean_loss, "on_roll", index) < -1:  # the player on roll would not take either
        return "no double"
    return "double, take" if double_take >= slow_equity(win, mean_win, mean_loss, owner, index) else "no double"


@pytest.mark.parametrize("index", FIRST_INDEXES)
@pytest.mark.parametrize("owner", OWNERS)
def test_decisions_match_the_first_model(index: float, owner: CubeOwner) -> None:
    actions_by_word = {
        "no double": Action.NO_DOUBLE,
        "double, take": Action.DOUBLE_TAKE,
        "double, pass": Action.DOUBLE_PASS,
        "too good": Action.TOO_GOOD,
    }
    equities, actions = decide_money(janowski_first(index), random_sample(), owner=owner)
    is_close = np.abs(equities.double_take - equities.no_double) < 1e-9  # rounding decides
    seen = set()
    for row, chances in enumerate(random_sample().tolist()):
        expected = first_decision(chances, owner, index)
        seen.add(expected)
        assert actions[row] == actions_by_word[expected] or is_close[row]
    assert len(seen) >= (3 if index == 1 else 4)


@pytest.mark.parametrize("index", FIRST_INDEXES)
@pytest.mark.parametrize(
    ("win", "mean_win", "mean_loss"), [(0.1, 1.3, 1.2), (0.45, 1.1, 1.4), (0.77, 1.25, 1.25), (0.95, 1.2, 1.0)]
)
def test_opponents_cube_is_the_mirrored_own_cube(win: float, mean_win: float, mean_loss: float, index: float) -> None:
    centered, own, opponents = 0, 1, 2
    for owner, mirrored_owner in ((centered, centered), (own, opponents), (opponents, own)):
        mirrored = -first_equity(1 - win, mean_loss, mean_win, mirrored_owner, index)
        assert first_equity(win, mean_win, mean_loss, owner, index) == pytest.approx(mirrored)


@pytest.mark.parametrize("index", FIRST_INDEXES)
@pytest.mark.parametrize("owner", OWNERS)
def test_decisions_change_at_the_points_of_the_first_model(index: float, owner: CubeOwner) -> None:
    """Bisection of the decisions, for W = 1.4 and L = 1.2, finds the points of the first published model."""

    def lowest_chance_of(*decisions: str) -> float:
        low, high = 0.3, 0.999
        for _ in range(50):
            middle = (low + high) / 2
            chances = [middle, 0.4 * middle, 0.0, 0.2 * (1 - middle), 0.0]
            if first_decision(chances, owner, index) in decisions:
                high = middle
            else:
                low = middle
        return high

    points = money_points(janowski_first(index), 1.4, 1.2, owner=owner)
    assert float(points.too_good_point) == pytest.approx(lowest_chance_of("too good"))
    assert float(points.cash_point) == pytest.approx(lowest_chance_of("double, pass", "too good"))
    assert float(points.double_point) == pytest.approx(lowest_chance_of("double, take", "double, pass", "too good"))
    opponents_points = money_points(janowski_first(index), 1.2, 1.4, owner=owner)
    assert float(points.take_point) == pytest.approx(1 - float(opponents_points.cash_point))


@pytest.mark.parametrize(
    ("index", "double", "redouble"), [(0, 0.5, 0.5), (2 / 3, (1 + 7 / 12) / (7 / 3), 5 / 7), (1, 0.8, 0.8)]
)
def test_points_match_janowskis_formulas_without_gammons(index: float, double: float, redouble: float) -> None:
    """Initial double and redouble points are those of the paper's formulas, calculated by hand."""
    assert float(money_points(janowski_first(index)).double_point) == pytest.approx(double)
    owned = money_points(janowski_first(index), owner=CubeOwner.ON_ROLL)
    assert float(owned.double_point) == pytest.approx(redouble)
