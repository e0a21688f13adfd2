"""Tests of match equity in SQL: macros against Python, the view of differences, and invalid scores."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

import bgdata
from bgdata.equity.match_equity import MatchEquity, find_met, met_of_arrays
from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.game.match import MatchScore
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, run
from tests.subtests import each

NAME = "tiny-0ply-4-index-0-5"  # the smallest that is computed


@pytest.fixture(scope="module")
def met(small_root: Path) -> MatchEquity:
    return find_met(bgdata.open_warehouse(small_root), NAME)


def test_mwc_macro_equals_python(connection: duckdb.DuckDBPyConnection, met: MatchEquity) -> None:
    """`mwc` equals Python, and takes the caller's columns even if they are named like those of the view."""
    rows = connection.sql(
        "select away, opponent_away, is_post_crawford, mwc, mwc(met, away, opponent_away, is_post_crawford) "
        f"from match_equity where met = '{NAME}'"
    ).fetchall()
    assert len(rows) == 16 + 7
    for away, opponent_away, is_post_crawford, column, macro in rows:
        expected = met.mwc(away, opponent_away, is_post_crawford=is_post_crawford)
        assert column == expected
        assert macro == expected
    query = f"select mwc('{NAME}', 0, 2), mwc('{NAME}', 2, -1), mwc('{NAME}', null, 2), mwc(null, 1, 2)"
    assert connection.sql(query).fetchall() == [(1.0, 0.0, None, None)]


def test_take_points_and_gammon_values(connection: duckdb.DuckDBPyConnection, met: MatchEquity) -> None:
    score_arguments = f"'{NAME}', a, b"
    rows = connection.sql(
        f"select a, b, cube, take_point({score_arguments}, cube_value := cube), "
        f"take_point({score_arguments}, cube, win_gammon_share := 0.2, lose_gammon_share := 0.3), "
        f"gammon_value({score_arguments}, cube_value := cube), mwc_after({score_arguments}, cube), "
        f"mwc_after({score_arguments}, -2) "
        "from range(1, 5) as own(a), range(1, 5) as other(b), range(1, 3) as cubes(cube)"
    ).fetchall()
    assert len(rows) == 16 * 2
    for away, opponent_away, cube_value, take_point, with_gammons, gammon_value, won, lost in rows:
        score = MatchScore(away, opponent_away)
        assert take_point == pytest.approx(met.take_point(score, cube_value))
        expected = met.take_point(score, cube_value, win_gammon_share=0.2, lose_gammon_share=0.3)
        assert with_gammons == pytest.approx(expected)
        assert gammon_value == pytest.approx(met.game(score, cube_value).gammon_value)
        assert won == pytest.approx(met.after(score, cube_value))
        assert lost == pytest.approx(met.after(score, -2))


@each(
    ("arguments", "message"),
    [
        ("'none', 2, 3", "expected a score of a table in the view match_equity, got none, 2-away 3-away"),
        (f"'{NAME}', 5, 3", f"expected a score of a table in the view match_equity, got {NAME}, 5-away 3-away"),
        (f"'{NAME}', 2, 3, true", f"expected a score of a table .* got {NAME}, 2-away 3-away post-crawford"),
        (f"'{NAME}', 0, 0", "expected one winner of the match, got 0-away 0-away"),
    ],
)
def test_invalid_scores_are_refused(connection: duckdb.DuckDBPyConnection, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.sql(f"select mwc({arguments})").fetchall()


def test_score_beyond_the_table_is_refused(small_root: Path) -> None:
    assert "expected one winner" in error_of(run(small_root, "query", f"select mwc('{NAME}', 0, 0)"), 1)


def test_view_has_the_differences_between_tables(
    connection: duckdb.DuckDBPyConnection, small_root: Path, met: MatchEquity
) -> None:
    other_met = find_met(bgdata.open_warehouse(small_root), "sample")
    rows = connection.sql(
        "select is_post_crawford, away, opponent_away, mwc, other_mwc, difference from match_equity_differences "
        f"where met = '{NAME}' and other_met = 'sample'"
    ).fetchall()
    assert len(rows) == 4 + 3
    for is_post_crawford, away, opponent_away, mwc, other_mwc, difference in rows:
        assert mwc == met.mwc(away, opponent_away, is_post_crawford=is_post_crawford)
        assert other_mwc == other_met.mwc(away, opponent_away, is_post_crawford=is_post_crawford)
        assert difference == mwc - other_mwc
    same = "select count(*) from match_equity_differences where met = other_met"
    assert connection.sql(same).fetchall() == [(0,)]


@each(
    ("name", "value", "message"),
    [
        ("mwc", 100.0, "expected scores of 1-away to 12-away and chances from 0 to 1 in the match equity table"),
        ("mwc", np.nan, "expected scores of 1-away to 12-away and chances from 0 to 1 in the match equity table"),
        ("opponent_away", 100, "expected scores of 1-away to 12-away and chances from 0 to 1"),
        ("is_post_crawford", 2, "expected scores of 1-away to 12-away and chances from 0 to 1"),
        ("away", None, "expected as many scores as chances in the match equity table published-12, found different"),
    ],
)
def test_damaged_table_is_refused(small_root: Path, name: str, value: float | None, message: str) -> None:
    table = bgdata.open_warehouse(small_root).open("match_equity", "published-12")
    arrays = {key: np.array(values) for key, values in table.arrays().items()}
    if value is None:
        arrays[name] = arrays[name][:5]
    else:
        arrays[name][7] = value
    assert met_of_arrays(table.arrays(), "published-12").length == 12
    with pytest.raises(CorruptFileError, match=f"^{message}"):
        met_of_arrays(arrays, "published-12")


def test_tables_are_found_by_name(small_root: Path, tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    assert find_met(warehouse, "sample").mwc(1, 2) == 0.7
    have = f"published-12, {NAME}, sample"  # the first is the input of others
    with pytest.raises(MissingTableError, match=rf"no match equity table x in .* \(have: {have}\); try: "):
        find_met(warehouse, "x")
    with pytest.raises(MissingTableError, match=r"no match equity table is built in .*; try: bgdata build match_eq"):
        find_met(warehouse)
    with pytest.raises(MissingTableError, match=r"no match equity table is built in .* \(have: none\)"):
        find_met(Warehouse(tmp_path / "none", bgdata.all_kinds()))
