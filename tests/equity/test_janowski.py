"""Janowski's model against its twin, closed forms and hand-made values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bgdata.equity.curves import Points
from bgdata.equity.doubling import janowski, money_points
from bgdata.equity.janowski import janowski_equities, live_points
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from tests.reference import cube as twin
from tests.together import each

MEANS = [(1.0, 1.0), (1.25, 1.25), (1.4, 1.0), (1.0, 2.2), (3.0, 3.0), (1.9, 1.05)]
GRID = np.linspace(0, 1, 41)


@pytest.mark.parametrize(("mean_win", "mean_loss"), MEANS)
def test_live_points_are_where_they_should_be(mean_win: float, mean_loss: float) -> None:
    assert live_points(mean_win, mean_loss) == pytest.approx(twin.live_points(mean_win, mean_loss), abs=1e-8)


INDEXES = ((0.0, 0.0), (0.7, 0.7), (1.0, 1.0), (0.2, 0.9))


@each(("owner", "is_jacoby", "indexes"), [*product(CubeOwner, (False, True), INDEXES)])
def test_equities(owner: CubeOwner, is_jacoby: bool, indexes: tuple[float, float]) -> None:
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
        expected = [twin.janowski_equity(p, mean_win, mean_loss, owner, indexes, is_jacoby) for p in GRID.tolist()]
        assert found == pytest.approx(expected, abs=1e-8)


def test_the_opponent_sees_the_opposite() -> None:
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
def test_points_are_the_closed_forms(index: float) -> None:
    """Take and cash points of any index (Janowski 1993)."""
    mean_win, mean_loss = np.array(MEANS).T
    points = money_points(janowski(index), mean_win, mean_loss)
    width = mean_win + mean_loss + index / 2
    assert points.take_point == pytest.approx((mean_loss - 0.5) / width)
    assert points.cash_point == pytest.approx((mean_loss + 0.5 + index / 2) / width)


def test_points_without_gammons() -> None:
    """The well-known ones: a dead cube, and a live one, which is doubled where it is passed."""
    dead, redouble = (money_points(janowski(0), owner=owner) for owner in (CubeOwner.CENTERED, CubeOwner.ON_ROLL))
    assert dead == redouble == pytest.approx((0.25, 0.5, 0.75, 1.0))
    assert money_points(janowski(1)) == pytest.approx((0.2, 0.8, 0.8, 0.8))


@pytest.mark.parametrize("owner", [CubeOwner.CENTERED, CubeOwner.ON_ROLL])
@pytest.mark.parametrize("is_jacoby", [False, True])
@pytest.mark.parametrize("has_beavers", [False, True])
def test_points_are_where_the_best_action_changes(owner: CubeOwner, is_jacoby: bool, has_beavers: bool) -> None:
    for mean_win, mean_loss in MEANS:
        found = money_points(
            janowski(0.6, 0.8), mean_win, mean_loss, owner=owner, is_jacoby=is_jacoby, has_beavers=has_beavers
        )
        points = Points(*(float(point) for point in found))

        def best(win: float, means: tuple[float, float] = (mean_win, mean_loss)) -> str:
            now = twin.janowski_equity(win, *means, owner, (0.6, 0.8), is_jacoby)
            taken = 2 * twin.janowski_equity(win, *means, "opponent", (0.6, 0.8))
            return twin.decision(now, taken, 1.0, 2 * taken if has_beavers else None)

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


def test_indexes_of_the_owner() -> None:
    """An owned cube goes by the index of its owner, a centered one by the mean."""
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
