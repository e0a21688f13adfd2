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
def catalog(small_root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to the small warehouse."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        yield connection


def tables_with(column: str) -> dict[str, tuple[Dataset[Any], TableShape]]:
    """The kind and the shape of each table that has this column, by name."""
    kinds = bgdata.all_kinds().values()
    shapes = {f"{kind.name} {shape.name}": (kind, shape) for kind in kinds for shape in kind.tables}
    return {name: (kind, shape) for name, (kind, shape) in shapes.items() if column in {c.name for c in shape.columns}}


def only_value(connection: duckdb.DuckDBPyConnection, sql: str) -> Any:
    ((value,),) = connection.sql(sql).fetchall()
    return value


def test_every_declared_join_finds_each_row_of_a_game_once(catalog: duckdb.DuckDBPyConnection) -> None:
    """Turns join games; labels and samples join turns and games."""
    joins = [(shape.name, join) for _, shape in tables_with("corpus").values() for join in shape.joins]
    assert {("selfplay_labels", "turns using (corpus, game, turn)"), ("turns", "games using (corpus, game)")} <= {
        *joins
    }
    for table, join in dict.fromkeys(joins):
        if table == "games":  # has many turns
            continue
        rows = only_value(
            catalog, f"select count(*) from {table} where game is not null and corpus in (select corpus from turns)"
        )
        assert only_value(catalog, f"select count(*) from {table} join {join}") == rows > 0 or not rows, (table, join)
    joined = "select count(*) from selfplay_labels as l join turns as t using (corpus, game, turn)"
    assert only_value(catalog, joined) == only_value(catalog, f"{joined} where l.board = t.board and l.pips = t.pips")
    assert only_value(catalog, "select count(*) from games join turns using (corpus, game)") == only_value(
        catalog, "select count(*) from turns"
    )


def test_engine_labels_of_a_sample_name_its_corpus() -> None:
    source = VersionRef(SAMPLE.name, SAMPLE.slug(SAMPLE.smallest))
    recipe = SAMPLE.smallest
    corpus = f"selfplay/{bgdata.all_kinds()['selfplay'].slug(recipe.corpus)}"
    assert corpus_name(SAMPLE, recipe) == corpus
    assert corpus_name(ENGINE_LABELS, EngineParameters(source, "network", 0)) == corpus


@each(
    ("source", "corpus"),
    {
        "games played here": (VersionRef("selfplay", "x", "r2-01234567"), "selfplay/x"),
        "imported games": (VersionRef("matches", "mine"), "matches/mine"),
        "training games": (VersionRef("training_games", "mixed", "r3-01234567"), "training_games/mixed"),
        "positions without games": (VersionRef("positions", "mine"), ""),
        "a sample of which only the version is known": (VersionRef("position_sample", "y", "r1-01234567"), ""),
    },
)
def test_labels_name_the_corpus_of_their_source(source: VersionRef, corpus: str) -> None:
    assert corpus_name(ENGINE_LABELS, EngineParameters(source, "network", 0)) == corpus


def test_corpus_is_null_without_games(catalog: duckdb.DuckDBPyConnection) -> None:
    """Labels of imported positions, which are from no game, have no corpus, game and turn."""
    assert catalog.sql("select distinct corpus, game, turn from engine_labels").fetchall() == [(None, None, None)]


def test_pip_columns_equal_the_pips_of_the_board(catalog: duckdb.DuckDBPyConnection) -> None:
    """Pip counts are the same in the files' columns, by the macro, and by the SQL for files that lack the columns."""
    tables = tables_with("pips")
    assert {"selfplay turns", "matches turns", "selfplay_labels selfplay_labels"} <= tables.keys()
    for kind, shape in tables.values():
        derived = kind.derived_columns(kind.smallest)
        assert {name: derived[name] for name in DERIVED_PIPS} == DERIVED_PIPS
        wrong = " or ".join(f"{name} is distinct from ({sql})" for name, sql in DERIVED_PIPS.items())
        rows, bad = catalog.sql(
            f"select count(*), count(*) filter ({wrong} or pips <> pip_count(board) "
            f"or opponent_pips <> pip_count(flip(board))) from {shape.name}"
        ).fetchall()[0]
        assert rows > 0
        assert not bad, shape.name


def test_column_corpus_is_the_same_in_older_files(catalog: duckdb.DuckDBPyConnection) -> None:
    for name, (kind, shape) in tables_with("corpus").items():
        derived = kind.derived_columns(kind.smallest)["corpus"]
        only = f" where dataset = '{kind.name}'" if shape.shared else ""
        ((rows, wrong),) = catalog.sql(
            f"select count(*), count(*) filter (corpus is distinct from ({derived})) from {shape.name}{only}"
        ).fetchall()
        assert rows > 0
        assert not wrong, name
