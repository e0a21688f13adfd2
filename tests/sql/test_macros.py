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
    """The value of an SQL expression."""
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
    rows = connection.sql("select n, r, binomial(n, r) from range(0, 50) a(n), range(0, 60) b(r)").fetchall()
    assert len(rows) == 50 * 60
    for n, r, binomial in rows:
        assert binomial == comb(n, r)
    assert single_value(connection, "binomial(3, -1)") == single_value(connection, "binomial(-3, 2)") == 0
    assert single_value(connection, "[binomial(null, 2), binomial(2, null), binomial(null, 0)]") == [None] * 3


@few_examples
@given(data=st.data())
def test_index_and_pip_count_of_any_layout(connection: Connection, data: st.DataObject) -> None:
    points = data.draw(st.lists(st.integers(1, 18), min_size=1, max_size=30))
    layouts = [layout_at(data.draw(st.integers(0, comb(count + 15, 15) - 1)), count) for count in points]
    assert column(connection, "bearoff_index(points)", layouts) == [position_index(layout) for layout in layouts]
    pips = [sum(point * count for point, count in enumerate(layout, start=1)) for layout in layouts]
    assert column(connection, "pip_count(points)", layouts) == pips


def test_lists_between_nulls_are_independent(connection: Connection) -> None:
    """A list gives the same result in a batch with nulls and lists of other lengths."""
    rows = connection.sql(
        "select bearoff_index(points), pip_count(points) from "
        "(values (1, [0, 1]), (2, null), (3, [0, 0, 15]), (4, null), (5, [2])) t(n, points) order by n"
    ).fetchall()
    assert rows == [(position_index([0, 1]), 2), (None, None), (815, 45), (None, None), (2, 2)]


@each("points", ["[16]", "[8, 8]", "[-1, 1]", "[null, 1]", "[]", f"{[0] * 19}"])
def test_invalid_layouts_have_no_index(connection: Connection, points: str) -> None:
    assert single_value(connection, f"bearoff_index({points})") is None


def index_or_none(points: list[int | None] | None) -> int | None:
    """The index of a layout, None for an invalid one."""
    if not points or None in points:
        return None
    try:
        return position_index([count for count in points if count is not None])
    except InvalidPositionError:
        return None


def pips_or_none(points: list[int | None] | None) -> int | None:
    """The sum of known pips, None without any, like SQL's sum."""
    known = [point * count for point, count in enumerate(points or [], start=1) if count is not None]
    return sum(known) if known else None


@few_examples
@given(st.lists(st.none() | st.lists(st.none() | st.integers(-2, 4) | st.sampled_from([15, 16, 300]), max_size=20)))
def test_plain_and_vectorised_functions_agree(connection: Connection, lists: list[list[int | None] | None]) -> None:
    rows = connection.execute(
        "select bearoff_index(points), pip_count(points) "
        "from (select unnest(?::integer[][]) as points, unnest(range(?)) as n) order by n",
        [lists, len(lists)],
    ).fetchall()
    assert rows == [(index_or_none(points), pips_or_none(points)) for points in lists]


def test_many_rows_keep_their_order(connection: Connection) -> None:
    """More rows than in a DuckDB vector (2,048), alternately short and long, keep their order."""
    n_layouts = comb(3 + 15, 3)  # of 3 points; on more points, these are the first ones
    layouts = [list(layout_at(n % n_layouts, 3 + n % 16)) for n in range(6000)]
    assert column(connection, "bearoff_index(points)", layouts) == [n % n_layouts for n in range(6000)]


@each("type_", ["tinyint[]", "smallint[]", "integer[]", "bigint[]", "tinyint[6]"])
def test_any_integer_type_is_accepted(connection: Connection, type_: str) -> None:
    assert single_value(connection, f"bearoff_index([0, 0, 0, 0, 0, 15]::{type_})") == 54_263
    assert single_value(connection, f"pip_count([0, 0, 0, 0, 0, 15]::{type_})") == 90


def test_index_and_pips_equal_table_columns(connection: Connection, small_root: Any) -> None:
    counts = connection.execute(
        f"select count(*), count(*) filter (bearoff_index(points) = position_index and pip_count(points) = pip_count) "
        f"from read_parquet('{small_root}/bearoff_one_sided/3x15/*/table.parquet')"
    ).fetchall()
    assert counts == [(816, 816)]


def test_win_chance_equals_python(connection: Connection) -> None:
    races = [race(layout, 0) for layout in layouts(6, 2)]
    for on_roll, opponent in product(races[::3], races[::4]):  # some of the pairs, as fractions are slow
        chances = [[float(side.get(n, 0)) for n in range(max(side) + 1)] for side in (on_roll, opponent)]
        value = single_value(connection, "win_chance(?::double[], ?::double[])", *chances)
        assert value == pytest.approx(float(one_sided_win_chance(on_roll, opponent)), abs=1e-14)
        assert value == pytest.approx(win_chance(*map(np.array, chances)), abs=1e-14)


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
    actions = set()
    for owner in ("centered", "on_roll", "opponent"):
        rows = connection.execute(
            "select best_cube_action(a, b, c, d, cube_owner := $owner) from (select unnest($a::double[]) as a, "
            "unnest($b::double[]) as b, unnest($c::double[]) as c, unnest($d::double[]) as d, unnest(range($n)) as n) "
            "order by n",
            {"owner": owner, "n": len(positions), **dict(zip("abcd", columns, strict=True))},
        ).fetchall()
        expected = [
            cube_decision(owner, owned if owner == "on_roll" else centered, opponent_owned)
            for _, owned, centered, opponent_owned in positions
        ]
        assert [row[0] for row in rows] == expected
        actions |= set(expected)
    return actions


ACTIONS = {"no double", "double, take", "double, pass", "redouble, take", "redouble, pass", "too good to double"}


def test_cube_actions_match_the_reference_in_every_combination(connection: Connection) -> None:
    steps = [Fraction(n, 4) for n in range(-5, 6)]
    positions = [(Fraction(0), *equities) for equities in product(steps, repeat=3)]
    assert check_cube_actions(connection, positions) == ACTIONS


def test_cube_actions_match_the_reference_in_exact_positions(connection: Connection) -> None:
    small = layouts(3, 3)[1:]
    positions = [exact_equities(on_roll, opponent) for on_roll in small for opponent in small]
    assert check_cube_actions(connection, positions) == ACTIONS - {"too good to double"}


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
