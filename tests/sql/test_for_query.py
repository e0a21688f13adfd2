"""Tests of connections for one query, which define only the tables and views that it needs."""

from pathlib import Path

import duckdb
import pytest

import bgdata
from bgdata.kinds import all_kinds
from bgdata.store.registry import PARTS
from tests.subtests import Subtests


def test_every_view_equals_that_of_the_whole_catalog(small_root: Path) -> None:
    """A connection for one view has its columns and number of rows, also for views of variants."""
    warehouse = bgdata.open_warehouse(small_root)
    with warehouse.connect(mend=False) as catalog, Subtests() as subtests:
        names = view_names(catalog)
        assert len(names) > 100
        for name in names:
            with subtests.test(name), warehouse.connect(for_query=f'from "{name}"') as connection:
                for query in (f'select count(*) from "{name}"', f'describe "{name}"'):
                    assert connection.sql(query).fetchall() == catalog.sql(query).fetchall()


def view_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The names of the views that a connection defines."""
    return [name for (name,) in connection.sql("select view_name from duckdb_views() where not internal").fetchall()]


def test_connection_for_a_query_lacks_other_tables(small_root: Path) -> None:
    with bgdata.open_warehouse(small_root).connect(for_query="from selfplay_summary") as connection:
        assert {"selfplay_summary", "turns"} <= set(view_names(connection))
        assert "bearoff_two_sided" not in view_names(connection)
        with pytest.raises(duckdb.CatalogException):
            connection.sql("from bearoff_two_sided")


def test_names_are_followed_through_views_and_macros() -> None:
    """A query loads the scripts that it names, and those that they name, but no scripts that only contain such a
    name."""
    sql = all_kinds().sql
    created = {name for script in sql.scripts(*PARTS) for name in script.creates}
    assert sql.needed_by("select 1") & created == frozenset()
    assert "manifests" in sql.needed_by("from lineage")
    assert "turns" in sql.needed_by("select * from luck_by_game where x > 1")
