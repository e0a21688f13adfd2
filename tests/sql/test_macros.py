"""Tests of SQL formulas against Python, as plain macros and as vectorised functions."""

import re
from collections.abc import Sequence
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
from bgdata.errors import InvalidPositionError
from bgdata.evaluation.probe import cube_action
from bgdata.kinds import SQL
from tests.reference.bearoff import ROLLS, cube_value, layouts, one_sided_win_chance, race
from tests.reference.bearoff import equities as exact_equities
from tests.subtests import each

Connection = duckdb.DuckDBPyConnection
few_examples = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def single_value(connection: Connection, sql: str, *values: Any) -> Any:
    ((value,),) = connection.execute(f"select {sql}", list(values)).fetchall()
    return value


def column(connection: Connection, expression: str, lists: list[list[int]]) -> list[Any]:
    """Values of an expression of `points`, for each list in order."""
    rows = connection.execute(
        f"select {expression} from (select unnest(?::tinyint[][]) as points, unnest(range(?)) as n) order by n",
        [lists, len(lists)],
    ).fetchall()
    return [row[0] for row in rows]


def test_epc_equals_its_formula(connection: Connection) -> None:
    assert single_value(connection, "epc(6)") == 49
    assert single_value(connection, "epc(mean) from (values (1.5)) t(mean)") == pytest.approx(12.25)
    average_roll = sum(Fraction(sum(dice) * (1 if weight == 2 else 2) * weight, 36) for dice, weight in ROLLS)
    assert single_value(connection, "epc(1)") == pytest.approx(float(average_roll), abs=1e-15)


@each(
    ["text", "expected"],
    [
        ("2026-11-03", "2026-11-03"), ("2026.11.03", "2026-11-03"), ("2026/1/4", "2026-01-04"),
        ("11/03/26", "2026-11-03"), ("11/3/2026", "2026-11-03"), ("30/11/2026", "2026-11-30"),
        ("3.11.2026", "2026-11-03"), ("2026-11", "2026-11"), ("31/31/26", "31/31/26"), ("", ""), (None, None),
    ],
)  # fmt: skip
def test_dates_are_written_alike(connection: Connection, text: str | None, expected: str | None) -> None:
    """Slashes have the month first if that is possible. A text that is not a whole date is returned as it is."""
    assert single_value(connection, "iso_date(?)", text) == expected


def test_binomial_equals_python(connection: Connection) -> None:
    found = connection.sql("select n, r, binomial(n, r) from range(0, 50) a(n), range(0, 60) b(r)").fetchall()
    assert {(n, r): value for n, r, value in found} == {(n, r): comb(n, r) for n in range(50) for r in range(60)}
    assert single_value(connection, "binomial(3, -1)") == single_value(connection, "binomial(-3, 2)") == 0
    assert single_value(connection, "[binomial(null, 2), binomial(2, null), binomial(null, 0)]") == [None] * 3


def test_index_of_every_small_layout_equals_python(connection: Connection) -> None:
    enumerated = [list(layout) for layout in layouts(3, 15)]
    assert column(connection, "bearoff_index(points)", enumerated) == list(range(816))


@few_examples
@given(data=st.data())
def test_index_and_pip_count_of_any_layout(connection: Connection, data: st.DataObject) -> None:
    points = data.draw(st.lists(st.integers(1, 18), min_size=1, max_size=30))
    drawn = [layout_at(data.draw(st.integers(0, comb(count + 15, 15) - 1)), count) for count in points]
    assert column(connection, "bearoff_index(points)", drawn) == [position_index(layout) for layout in drawn]
    pips = [sum(point * count for point, count in enumerate(layout, start=1)) for layout in drawn]
    assert column(connection, "pip_count(points)", drawn) == pips


def test_lists_between_nulls_are_independent(connection: Connection) -> None:
    """A list gives the same result in a batch with nulls and lists of other lengths."""
    found = connection.sql(
        "select bearoff_index(points), pip_count(points) from "
        "(values (1, [0, 1]), (2, null), (3, [0, 0, 15]), (4, null), (5, [2])) t(n, points) order by n"
    ).fetchall()
    assert found == [(position_index([0, 1]), 2), (None, None), (815, 45), (None, None), (2, 2)]


@each("points", ["[16]", "[8, 8]", "[-1, 1]", "[null, 1]", "[]", f"{[0] * 19}"])
def test_invalid_layouts_have_no_index(connection: Connection, points: str) -> None:
    assert single_value(connection, f"bearoff_index({points})") is None


def index_or_none(points: list[int | None] | None) -> int | None:
    """The index of a layout, None for an invalid one."""
    try:
        return (
            position_index([count for count in points if count is not None]) if points and None not in points else None
        )
    except InvalidPositionError:
        return None


def pips_or_none(points: list[int | None] | None) -> int | None:
    """The sum of known pips, None without any, like SQL's sum."""
    known = [point * count for point, count in enumerate(points or [], start=1) if count is not None]
    return sum(known) if known else None


@few_examples
@given(st.lists(st.none() | st.lists(st.none() | st.integers(-2, 4) | st.sampled_from([15, 16, 300]), max_size=20)))
def test_plain_and_vectorised_functions_agree(connection: Connection, lists: list[list[int | None] | None]) -> None:
    """Macros and vectorised functions give the same results for random lists, whatever the neighbouring rows."""
    rows = connection.execute(
        "select bearoff_index(points), pip_count(points) "
        "from (select unnest(?::integer[][]) as points, unnest(range(?)) as n) order by n",
        [lists, len(lists)],
    ).fetchall()
    assert rows == [(index_or_none(points), pips_or_none(points)) for points in lists]


def test_many_rows_keep_their_order(connection: Connection) -> None:
    """More rows than in a DuckDB vector, alternately short and long, keep their order."""
    enumerated = [list(layout_at(n % 816, 3 + n % 16)) for n in range(6000)]
    assert column(connection, "bearoff_index(points)", enumerated) == [n % 816 for n in range(6000)]


@each("type_", ["tinyint[]", "smallint[]", "integer[]", "bigint[]", "tinyint[6]"])
def test_any_integer_type_is_accepted(connection: Connection, type_: str) -> None:
    assert single_value(connection, f"bearoff_index([0, 0, 0, 0, 0, 15]::{type_})") == 54_263
    assert single_value(connection, f"pip_count([0, 0, 0, 0, 0, 15]::{type_})") == 90


def test_index_and_pips_equal_table_columns(connection: Connection, small_root: Any) -> None:
    found = connection.execute(
        f"select count(*), count(*) filter (bearoff_index(points) = position_index and pip_count(points) = pip_count) "
        f"from read_parquet('{small_root}/bearoff_one_sided/3x15/*/table.parquet')"
    ).fetchall()
    assert found == [(816, 816)]


def test_win_chance_equals_python(connection: Connection) -> None:
    small = [race(layout, 0) for layout in layouts(6, 2)]
    for first, second in product(small[::3], small[::4]):
        lists = [[float(chances.get(n, 0)) for n in range(max(chances) + 1)] for chances in (first, second)]
        found = single_value(connection, "win_chance(?::double[], ?::double[])", *lists)
        assert found == pytest.approx(float(one_sided_win_chance(first, second)), abs=1e-14)
        assert found == pytest.approx(win_chance(*map(np.array, lists)), abs=1e-14)


def test_win_chance_is_near_the_exact_table(connection: Connection) -> None:
    """The chance is that of the exact table within half a step of its 16-bit equities."""
    wrong = connection.sql(
        "select count(*), count(*) filter (abs(2 * win_chance(a.chances, b.chances) - 1 - one_sided_equity) > 1.6e-5) "
        "from bearoff_error join bearoff_one_sided a on a.position_index = on_roll_index "
        "join bearoff_one_sided b on b.position_index = opponent_index "
        "where a.variant = '3x15' and b.variant = '3x15'"
    ).fetchall()
    assert wrong == [(19 * 19, 0)]


def test_win_chance_of_lists_of_any_length(connection: Connection) -> None:
    assert single_value(connection, "win_chance([1], [1])") == 1  # both are off: the player on roll was first
    assert single_value(connection, "win_chance([0, 0, 0, 1], [0, 1])") == 0
    assert single_value(connection, "win_chance([0, 1], [0, 0, 0, 1])") == 1
    assert single_value(connection, "win_chance([0, 0.5, 0.5], [0, 0.5, 0.5])") == 0.75
    assert single_value(connection, "[win_chance(null, [1]), win_chance([1], null)]") == [None, None]


eighths = st.integers(-16, 16).map(lambda n: Fraction(n, 8))  # ties are common, and floats hold them


@few_examples
@given(st.lists(st.tuples(eighths, eighths), min_size=1))
def test_cube_value_equals_the_rule(connection: Connection, pairs: list[tuple[Fraction, Fraction]]) -> None:
    rows = connection.execute(
        "select cube_value(unnest(?::double[]), unnest(?::double[]))",
        [[float(equity) for equity in side] for side in zip(*pairs, strict=True)],
    ).fetchall()
    assert [Fraction(row[0]) for row in rows] == [cube_value(*pair) for pair in pairs]


def cube_decision(owner: str, no_double: Fraction, opponent_owned: Fraction) -> str:
    """The best action from equities of the player on roll; ties double, and the opponent takes below 1."""
    if owner == "opponent":
        return "no double"
    verb = {"centered": "double", "on_roll": "redouble"}[owner]
    worth = {f"{verb}, take": 2 * opponent_owned, f"{verb}, pass": Fraction(1)}
    answer = min(worth, key=lambda action: (worth[action], action != f"{verb}, pass"))
    if worth[answer] >= no_double:
        return answer
    return "too good to double" if no_double > 1 else "no double"


def check_cube_actions(connection: Connection, positions: Sequence[tuple[Fraction, ...]]) -> set[str]:
    """Compare SQL's actions with those of the reference, for every owner, and return them."""
    columns = [[float(equity) for equity in column] for column in zip(*positions, strict=True)]
    seen = set()
    for owner in ("centered", "on_roll", "opponent"):
        found = connection.execute(
            "select best_cube_action(a, b, c, d, cube_owner := $owner) from (select unnest($a::double[]) as a, "
            "unnest($b::double[]) as b, unnest($c::double[]) as c, unnest($d::double[]) as d, unnest(range($n)) as n) "
            "order by n",
            {"owner": owner, "n": len(positions), **dict(zip("abcd", columns, strict=True))},
        ).fetchall()
        expected = [
            cube_decision(owner, owned if owner == "on_roll" else centered, opponent_owned)
            for _, owned, centered, opponent_owned in positions
        ]
        assert [row[0] for row in found] == expected
        seen |= set(expected)
    return seen


ACTIONS = {"no double", "double, take", "double, pass", "redouble, take", "redouble, pass", "too good to double"}


def test_cube_actions_match_the_reference_in_every_combination(connection: Connection) -> None:
    steps = [Fraction(n, 4) for n in range(-5, 6)]
    positions = [(Fraction(0), *equities) for equities in product(steps, repeat=3)]
    assert check_cube_actions(connection, positions) == ACTIONS


def test_cube_actions_match_the_reference_in_exact_positions(connection: Connection) -> None:
    """Actions of exact positions equal the reference, also where equities are tied."""
    small = layouts(3, 3)[1:]
    positions = [exact_equities(on_roll, opponent) for on_roll in small for opponent in small]
    assert check_cube_actions(connection, positions) == ACTIONS - {"too good to double"}


@each(
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
def test_best_cube_action_names_the_best(
    connection: Connection, equities: tuple[float, ...], owner: str, expected: str
) -> None:
    assert single_value(connection, f"best_cube_action(?, ?, ?, ?, cube_owner := '{owner}')", *equities) == expected
    if owner == "centered":
        assert single_value(connection, "best_cube_action(?, ?, ?, ?)", *equities) == expected
        assert cube_action(equities[2], Equities(*equities)).partition(":")[0] == expected


@each("call", ["best_cube_action(0, 0, 0, null)", "cube_value(null, 1)", "cube_value(1, null)"])
def test_null_gives_null(connection: Connection, call: str) -> None:
    assert single_value(connection, call) is None


def test_unknown_cube_owner_is_refused(connection: Connection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"expected a cube_owner among centered, .*, got white"):
        single_value(connection, "best_cube_action(0, 0, 0, 0, cube_owner := 'white')")


def test_cube_actions_equal_python_in_every_position(connection: Connection, small_root: Any) -> None:
    rows = connection.execute(
        "select cubeless, owned, centered, opponent_owned, best_cube_action(cubeless, owned, centered, opponent_owned) "
        f"from read_parquet('{small_root}/bearoff_two_sided/3x3/*/table.parquet')"
    ).fetchall()
    assert len({row[4] for row in rows}) >= 3
    for *equities, action in rows:
        assert cube_action(equities[2], Equities(*equities)).partition(":")[0] == action, equities


def test_macros_run_in_older_clients() -> None:
    """No SQL script calls `if(...)`, which DuckDB 2 stores as a function that older clients lack."""
    folders = ("macros", "lookups", "views")
    texts = [path.read_text() for folder in folders for path in sorted(SQL.glob(f"*/{folder}/*.sql"))]
    code = re.sub(r"--.*|'[^']*'", "", "\n".join(texts))
    assert "create macro best_cube_action" in code
    assert re.findall(r"\bif\s*\(", code) == []
