"""Labels from looking ahead: rows, sources of all kinds, splits, what is resumed, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError, MissingTableError
from bgdata.evaluation.chances import cubeless_equities
from bgdata.game.position_hash import position_hashes
from bgdata.selfplay.kinds.bearoff_labels import DATASET as BEAROFFS
from bgdata.selfplay.kinds.labels_compute import LABEL_SOURCES
from bgdata.selfplay.kinds.lookahead_labels import DATASET
from bgdata.selfplay.kinds.position_sample import DATASET as SAMPLE
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.shared.games_compute import places_of
from bgdata.selfplay.kinds.shared.rollouts import find_source, source_input
from bgdata.selfplay.splits import SPLITS, splits_of_games, splits_of_hashes
from bgdata.store.parameters import Given, VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.kept import own
from tests.rechecking import check_sample, inputs_of

SMALL = DATASET.smallest
CORPUS = f"{SELFPLAY.name}/{SELFPLAY.slug(SELFPLAY.smallest)}"


def small_table(root: Path) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(SMALL))


def test_rows_are_positions_of_the_source(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table, source = small_table(small_root), inputs_of(warehouse, DATASET, SMALL)["source"]
    with warehouse.connect() as connection:
        rows = connection.sql("select * exclude (variant, network) from lookahead_labels order by row").fetchall()
        shown = connection.sql("select distinct network from lookahead_labels").fetchall()
        sample = connection.sql("select game, turn, position_id, board, class, split from position_sample").fetchall()
    assert shown == [(f"network/tiny/{warehouse.open('network', 'tiny').folder.name}",)]
    assert [row[0] for row in rows] == list(range(len(source.array("boards"))))
    assert [(*row[1:6], row[-1]) for row in rows] == sample
    chances, static = table.array("chances"), table.array("static_chances")
    assert [row[6:11] for row in rows] == [tuple(row) for row in chances.tolist()]
    equities, static_equities = cubeless_equities(chances), cubeless_equities(static)
    assert [row[11:14] for row in rows] == [
        pytest.approx(values) for values in zip(equities, static_equities, equities - static_equities, strict=True)
    ]
    assert [row[14] for row in rows] == [LABEL_SOURCES[number] for number in table.array("sources")]


def test_bearoff_tables_answer_covered_positions(warehouse: Warehouse) -> None:
    table = warehouse.build(DATASET.name, replace(SMALL, table_points=6, table_checkers=6))
    with warehouse.connect() as connection:
        query = f"from lookahead_labels where variant = '{table.folder.parent.name}'"
        found = connection.sql(f"select label_source, count(*), max(abs(change)) {query} group by all").fetchall()
    largest = {source: change for source, _, change in found}
    assert set(largest) == {"lookahead", "exact", "combined"}
    assert largest["exact"] == largest["combined"] == 0 < largest["lookahead"]
    assert {source: count for source, count, _ in found}["exact"] == table.manifest.statistics["exact"]


def test_statistics(small_root: Path) -> None:
    table = small_table(small_root)
    found, sources = table.manifest.statistics, table.array("sources")
    assert [found[name] for name in LABEL_SOURCES] == [(sources == number).sum() for number in range(4)]
    changes = table.array("changes")[sources == 3]
    assert found["mean_change"] == pytest.approx(changes.mean())
    assert found["mean_absolute_change"] == pytest.approx(np.abs(changes).mean())
    assert found["largest_absolute_change"] == pytest.approx(np.abs(changes).max())


def test_positions_that_change_too_little_are_left_out(warehouse: Warehouse) -> None:
    every = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    is_large = np.abs(every.array("changes")) >= np.float32(0.05)
    assert 5 < is_large.sum() < len(is_large) - 5
    table = warehouse.build(DATASET.name, replace(SMALL, least_change=0.05))
    assert table.folder.parent.name == DATASET.slug(SMALL) + "-change-0-05"
    for array in DATASET.arrays:
        expected = every.array(array.name)
        assert np.array_equal(table.array(array.name), expected if array.name == "network" else expected[is_large])
    none = warehouse.build(DATASET.name, replace(SMALL, least_change=6.0))
    assert none.manifest.rows == 0
    found = warehouse.find_inputs(DATASET, replace(SMALL, least_change=0.05))
    assert found
    check_sample(DATASET, table, found, 30, np.random.default_rng(0))


def test_a_corpus_has_each_position_once_and_its_games(warehouse: Warehouse) -> None:
    source = warehouse.open(*CORPUS.split("/"))
    places = places_of(source)
    boards = source.array("turn_boards")
    assert len(places.rows) == len(np.unique(boards, axis=0)) < len(boards)
    assert np.array_equal(boards[places.rows], places.boards)
    first: dict[Any, Any] = {}
    for row, board in enumerate(boards.tolist()):
        first.setdefault(tuple(board), row)
    assert sorted(first.values()) == places.rows.tolist()
    first_turns = source.array("first_turns")
    assert np.array_equal(first_turns[places.games] + places.turns, places.rows)
    assert np.array_equal(places.splits, splits_of_games(SELFPLAY.smallest.seed, places.games))
    assert len(set(places.splits.tolist())) == len(SPLITS)


def test_lists_are_split_by_position(warehouse: Warehouse) -> None:
    source = warehouse.open("positions", "sample")
    places = places_of(source)
    assert places.games.tolist() == places.turns.tolist() == [-1, -1]
    assert np.array_equal(places.splits, splits_of_hashes(position_hashes(source.array("boards"))))
    table = warehouse.build(DATASET.name, replace(SMALL, source=VersionRef("positions", "sample")))
    with warehouse.connect() as connection:
        query = f"select game, turn from lookahead_labels where variant = '{table.folder.parent.name}'"
        assert connection.sql(query).fetchall() == [(None, None)] * 2


def test_records_of_matches_are_split_by_game(warehouse: Warehouse) -> None:
    source = next(warehouse.versions("matches"))
    places = places_of(source)
    assert np.array_equal(places.splits, splits_of_games(0, places.games))
    assert np.array_equal(source.array("turn_boards")[places.rows], places.boards)


def test_variants_that_are_no_defaults_bring_their_parameters(warehouse: Warehouse) -> None:
    parameters = replace(SAMPLE.smallest, most=3)
    source = warehouse.build(SAMPLE.name, parameters)
    reference = VersionRef(SAMPLE.name, SAMPLE.slug(parameters))
    place, recipe = find_source(warehouse, str(reference))
    assert (place, source_input(place, recipe)) == (reference, (SAMPLE.name, parameters))
    table = warehouse.build(DATASET.name, replace(SMALL, source=place, source_recipe=recipe))
    assert np.array_equal(table.array("boards"), source.array("boards"))
    again = VersionRef(DATASET.name, table.folder.parent.name)  # labels of labels
    place, nested = find_source(warehouse, str(again))
    assert place == again
    assert source_input(place, nested) == (
        DATASET.name,
        DATASET.parameters.from_manifest(table.manifest.parameters),
    )
    for known in (SMALL.source, VersionRef("positions", "sample")):
        assert find_source(warehouse, str(known)) == (known, Given())


def test_missing_sources(warehouse: Warehouse) -> None:
    with pytest.raises(MissingTableError, match="no positions/none in"):
        find_source(warehouse, "positions/none")
    for name in ("positions", "nothing/x", "positions/../x"):
        with pytest.raises(InvalidParameterError, match="expected a table of positions, such as positions/NAME, got "):
            find_source(warehouse, name)


def test_a_source_that_no_recipe_leads_to_is_named_by_its_version(warehouse: Warehouse) -> None:
    """The corpus that it was made from is gone; and older imports are not what their name stands for."""
    parameters = replace(SAMPLE.smallest, most=3)
    source = warehouse.build(SAMPLE.name, parameters)
    for path in (warehouse.root / "selfplay").glob("*/r*"):
        path.rename(path.with_name("aside"))
    version = VersionRef.parse(source.name)
    assert version.version == source.folder.name
    for name in (version.title, source.name):
        assert find_source(warehouse, name) == (version, Given())
    table = warehouse.build(DATASET.name, replace(SMALL, source=version))
    assert warehouse.made_from(table)["source"].folder == source.folder
    assert np.array_equal(table.array("boards"), source.array("boards"))


def test_verify_of_a_corpus_and_of_nothing(warehouse: Warehouse) -> None:
    """Turns are looked at again too; and so is a sample of which no position changes by enough."""
    corpus = replace(SMALL, source=VersionRef(SELFPLAY.name, SELFPLAY.slug(SELFPLAY.smallest)))
    for parameters in (corpus, replace(SMALL, least_change=2.0)):
        table = warehouse.build(DATASET.name, parameters)
        said = check_sample(DATASET, table, inputs_of(warehouse, DATASET, parameters), 20, np.random.default_rng(0))
        assert "positions" in said


def test_verify_misses_rows(warehouse: Warehouse) -> None:
    table = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    rows = np.load(table.folder / "rows.npy")
    rows[5] = rows[4]
    np.save(own(table.folder / "rows.npy"), rows)
    with pytest.raises(CheckFailedError, match=r"expected rows of 5 in row 5 of|expected \d+ of \d+ positions in"):
        check_sample(DATASET, Table(table.folder), inputs_of(warehouse, DATASET, SMALL), 1000, np.random.default_rng(0))


def test_feed_gives_the_rows_of_a_split(warehouse: Warehouse) -> None:
    """A feed gives the rows of a split: those of the games of the corpus, or by position where there are none."""
    of_list = warehouse.build(DATASET.name, replace(SMALL, source=VersionRef("positions", "sample")))
    every = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    for table in (every, of_list, warehouse.open("bearoff_labels", BEAROFFS.slug(BEAROFFS.smallest))):
        name = "/".join(table.folder.parts[-3:-1])
        for number, split in enumerate(SPLITS):
            expected = np.flatnonzero(table.array("splits") == number).tolist()
            if expected:
                feed = bgdata.open_warehouse(warehouse.root).batches(name, split=split, guard=False, batch_size=1)
                assert sorted(row for batch in feed for row in batch.rows.tolist()) == expected
