"""Tests of the column `corpus`, by which labels join turns and games, and of pip counts as columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import bgdata
from bgdata.kinds.columns import DERIVED_PIPS
from bgdata.selfplay.kinds.engine_labels import DATASET as ENGINE_LABELS
from bgdata.selfplay.kinds.engine_labels import EngineParameters
from bgdata.selfplay.kinds.position_sample import DATASET as SAMPLE
from bgdata.selfplay.kinds.shared.corpora import corpus_name
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.parameters import VersionRef
from tests.subtests import each


@pytest.fixture(scope="module")
def connection(small_root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to the small warehouse."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        yield connection


def tables_with(column: str) -> dict[str, tuple[Dataset[Any], TableShape]]:
    """The kind and the shape of each table that has this column, by kind and name."""
    return {
        f"{kind.name} {shape.name}": (kind, shape)
        for kind in bgdata.all_kinds().values()
        for shape in kind.tables
        if column in {declared.name for declared in shape.columns}
    }


def count(connection: duckdb.DuckDBPyConnection, rows: str) -> int:
    """The number of rows that `from` and further clauses give."""
    ((number,),) = connection.sql(f"select count(*) {rows}").fetchall()
    assert isinstance(number, int)
    return number


def test_every_declared_join_finds_each_row_of_a_game_once(connection: duckdb.DuckDBPyConnection) -> None:
    """Turns join games; labels and samples join turns and games."""
    joins = {(shape.name, join) for _, shape in tables_with("corpus").values() for join in shape.joins}
    assert ("selfplay_labels", "turns using (corpus, game, turn)") in joins
    assert ("turns", "games using (corpus, game)") in joins
    for table, join in joins:
        if table == "games":  # has many turns
            continue
        n_rows = count(connection, f"from {table} where game is not null and corpus in (select corpus from turns)")
        n_joined = count(connection, f"from {table} join {join}") if n_rows else 0
        assert n_joined == n_rows, (table, join)


def test_labels_join_the_turn_of_their_position(connection: duckdb.DuckDBPyConnection) -> None:
    joined = "from selfplay_labels as l join turns as t using (corpus, game, turn)"
    n_joined = count(connection, joined)
    assert n_joined > 0
    assert count(connection, f"{joined} where l.board = t.board and l.pips = t.pips") == n_joined


def test_engine_labels_of_a_sample_name_its_corpus() -> None:
    source = VersionRef(SAMPLE.name, SAMPLE.slug(SAMPLE.smallest))
    corpus = f"selfplay/{bgdata.all_kinds()['selfplay'].slug(SAMPLE.smallest.corpus)}"
    assert corpus_name(SAMPLE, SAMPLE.smallest) == corpus
    assert corpus_name(ENGINE_LABELS, EngineParameters(source, "network", 0)) == corpus


@pytest.mark.parametrize(
    ("source", "corpus"),
    [
        (VersionRef("selfplay", "x", "r2-01234567"), "selfplay/x"),
        (VersionRef("matches", "mine"), "matches/mine"),
        (VersionRef("training_games", "mixed", "r3-01234567"), "training_games/mixed"),
        (VersionRef("positions", "mine"), ""),
        (VersionRef("position_sample", "y", "r1-01234567"), ""),  # only the version is known, not its recipe
    ],
    ids=str,
)
def test_labels_name_the_corpus_of_their_source(source: VersionRef, corpus: str) -> None:
    assert corpus_name(ENGINE_LABELS, EngineParameters(source, "network", 0)) == corpus


def test_corpus_is_null_without_games(connection: duckdb.DuckDBPyConnection) -> None:
    """Labels of imported positions, which are from no game, have no corpus, game and turn."""
    assert connection.sql("select distinct corpus, game, turn from engine_labels").fetchall() == [(None, None, None)]


def test_turns_and_labels_have_pip_counts() -> None:
    assert {"selfplay turns", "matches turns", "selfplay_labels selfplay_labels"} <= tables_with("pips").keys()


@each(("kind", "shape"), lambda: tables_with("pips"))
def test_pip_columns_equal_the_pips_of_the_board(
    connection: duckdb.DuckDBPyConnection, kind: Dataset[Any], shape: TableShape
) -> None:
    """Pip counts are the same in the files' columns, by the macro, and by the SQL for files that lack the columns."""
    derived = kind.derived_columns(kind.smallest)
    assert count(connection, f"from {shape.name}") > 0
    for column, board in (("pips", "board"), ("opponent_pips", "flip(board)")):
        assert derived[column] == DERIVED_PIPS[column]
        is_wrong = f"{column} <> pip_count({board}) or {column} is distinct from ({DERIVED_PIPS[column]})"
        assert count(connection, f"from {shape.name} where {is_wrong}") == 0


@each(("kind", "shape"), lambda: tables_with("corpus"))
def test_column_corpus_is_the_same_in_older_files(
    connection: duckdb.DuckDBPyConnection, kind: Dataset[Any], shape: TableShape
) -> None:
    """The SQL for files that lack the column gives the same corpus."""
    derived = kind.derived_columns(kind.smallest)["corpus"]
    rows = f"from {shape.name} where " + (f"dataset = '{kind.name}'" if shape.shared else "true")
    assert count(connection, rows) > 0
    assert count(connection, f"{rows} and corpus is distinct from ({derived})") == 0
