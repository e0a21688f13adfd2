"""SQL's formulas against Python's, as plain macros and as the vectorised functions of our own connections."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bgdata.bearoff.combine import win_chance
from bgdata.bearoff.index import layout_at, position_index
from bgdata.bearoff.tables import Equities
from bgdata.commands.probe import cube_action
from tests.reference.bearoff import cube_value, layouts, one_sided_win_chance, race

Connection = duckdb.DuckDBPyConnection
some = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def one(connection: Connection, sql: str, *values: Any) -> Any:
    ((value,),) = connection.execute(f"select {sql}", list(values)).fetchall()
    return value


def column(connection: Connection, expression: str, lists: list[list[int]]) -> list[Any]:
    """The expression of each list, called `points`, in order."""
    rows = connection.execute(
        f"select {expression} from (select unnest(?::tinyint[][]) as points, unnest(range(?)) as n) order by n",
        [lists, len(lists)],
    ).fetchall()
    return [row[0] for row in rows]


def test_epc(connection: Connection) -> None:
    assert one(connection, "epc(6)") == 49
    assert one(connection, "epc(mean) from (values (1.5)) t(mean)") == pytest.approx(12.25)


def test_binomial(connection: Connection) -> None:
    found = connection.sql("select n, r, binomial(n, r) from range(0, 34) a(n), range(0, 20) b(r)").fetchall()
    assert {(n, r): value for n, r, value in found} == {(n, r): comb(n, r) for n in range(34) for r in range(20)}
    assert one(connection, "binomial(3, -1)") == one(connection, "binomial(-3, 2)") == 0


def test_index_of_every_small_layout(connection: Connection) -> None:
    enumerated = [list(layout) for layout in layouts(3, 15)]
    assert column(connection, "bearoff_index(points)", enumerated) == list(range(816))


@some
@given(data=st.data())
def test_index_and_pip_count_of_any_layout(connection: Connection, data: st.DataObject) -> None:
    points = data.draw(st.lists(st.integers(1, 18), min_size=1, max_size=30))
    drawn = [layout_at(data.draw(st.integers(0, comb(count + 15, 15) - 1)), count) for count in points]
    assert column(connection, "bearoff_index(points)", drawn) == [position_index(layout) for layout in drawn]
    pips = [sum(point * count for point, count in enumerate(layout, start=1)) for layout in drawn]
    assert column(connection, "pip_count(points)", drawn) == pips


def test_lists_among_nulls_stay_apart(connection: Connection) -> None:
    """Also in one batch of rows of different lengths."""
    found = connection.sql(
        "select bearoff_index(points), pip_count(points) from "
        "(values (1, [0, 1]), (2, null), (3, [0, 0, 15]), (4, null), (5, [2])) t(n, points) order by n"
    ).fetchall()
    assert found == [(position_index([0, 1]), 2), (None, None), (815, 45), (None, None), (2, 2)]


@pytest.mark.parametrize("points", ["[16]", "[8, 8]", "[-1, 1]", "[null, 1]", "[]", f"{[0] * 19}"])
def test_no_index_for_impossible_layouts(connection: Connection, points: str) -> None:
    assert one(connection, f"bearoff_index({points})") is None


@pytest.mark.parametrize("type_", ["tinyint[]", "smallint[]", "integer[]", "bigint[]", "tinyint[6]"])
def test_any_type_of_integers(connection: Connection, type_: str) -> None:
    assert one(connection, f"bearoff_index([0, 0, 0, 0, 0, 15]::{type_})") == 54_263
    assert one(connection, f"pip_count([0, 0, 0, 0, 0, 15]::{type_})") == 90


def test_index_of_the_columns_of_a_table(connection: Connection, small_root: Any) -> None:
    found = connection.execute(
        f"select count(*), count(*) filter (bearoff_index(points) = position_index and pip_count(points) = pip_count) "
        f"from read_parquet('{small_root}/bearoff_one_sided/3x15/*/table.parquet')"
    ).fetchall()
    assert found == [(816, 816)]


def test_win_chance(connection: Connection) -> None:
    small = [race(layout, 0) for layout in layouts(6, 2)]
    for first, second in product(small[::3], small[::4]):
        lists = [[float(chances.get(n, 0)) for n in range(max(chances) + 1)] for chances in (first, second)]
        found = one(connection, "win_chance(?::double[], ?::double[])", *lists)
        assert found == pytest.approx(float(one_sided_win_chance(first, second)), abs=1e-14)
        assert found == pytest.approx(win_chance(*map(np.array, lists)), abs=1e-14)


@pytest.mark.parametrize("no_double", [-0.5, 0, 0.9, 1, 1.2])
@pytest.mark.parametrize("opponent_owned", [-0.9, 0.3, 0.5, 0.7])
def test_cube_value(connection: Connection, no_double: float, opponent_owned: float) -> None:
    expected = float(cube_value(Fraction(no_double), Fraction(opponent_owned)))
    assert one(connection, "cube_value(?, ?)", no_double, opponent_owned) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("equities", "owner", "expected"),
    [
        ((0.0, 0.3, 0.2, 0.05), "centered", "no double"),
        ((0.0, 0.3, 0.2, 0.15), "centered", "double, take"),
        ((0.0, 0.3, 0.2, 0.1), "centered", "double, take"),  # a tie doubles
        ((0.6, 0.9, 0.8, 0.6), "centered", "double, pass"),
        ((0.6, 0.9, 0.8, 0.5), "centered", "double, pass"),
        ((0.9, 1.3, 1.1, 0.9), "centered", "too good to double"),
        ((0.0, 0.3, 0.2, 0.14), "on_roll", "no double"),
        ((0.0, 0.3, 0.2, 0.16), "on_roll", "redouble, take"),
        ((0.6, 0.9, 0.8, 0.6), "on_roll", "redouble, pass"),
        ((0.9, 1.3, 0.8, 0.9), "on_roll", "too good to double"),
        ((0.6, 0.9, 0.8, 0.6), "opponent", "no double"),
    ],
)
def test_best_cube_action(connection: Connection, equities: tuple[float, ...], owner: str, expected: str) -> None:
    assert one(connection, f"best_cube_action(?, ?, ?, ?, cube_owner := '{owner}')", *equities) == expected
    if owner == "centered":
        assert one(connection, "best_cube_action(?, ?, ?, ?)", *equities) == expected
        assert cube_action(equities[2], Equities(*equities)).partition(":")[0] == expected


@pytest.mark.parametrize("call", ["best_cube_action(0, 0, 0, null)", "cube_value(null, 1)", "cube_value(1, null)"])
def test_nothing_follows_from_nothing(connection: Connection, call: str) -> None:
    assert one(connection, call) is None


def test_owners_that_there_are_not(connection: Connection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"expected a cube_owner among centered, .*, got white"):
        one(connection, "best_cube_action(0, 0, 0, 0, cube_owner := 'white')")


def test_cube_action_of_every_position_is_that_of_python(connection: Connection, small_root: Any) -> None:
    rows = connection.execute(
        "select cubeless, owned, centered, opponent_owned, best_cube_action(cubeless, owned, centered, opponent_owned) "
        f"from read_parquet('{small_root}/bearoff_two_sided/3x3/*/table.parquet')"
    ).fetchall()
    assert len({row[4] for row in rows}) >= 3
    for *equities, action in rows:
        assert cube_action(equities[2], Equities(*equities)).partition(":")[0] == action, equities
