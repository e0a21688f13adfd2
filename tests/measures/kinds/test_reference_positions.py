"""Reference positions: rows, digests, what is resumed, what is refused, and what verify finds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError, MissingTableError, UsageError
from bgdata.evaluation.chances import cubeless_equities
from bgdata.game.themes import Theme, position_themes
from bgdata.measures.kinds import reference_positions_compute as reference_positions
from bgdata.measures.kinds.reference_positions import DATASET, THEMES, ReferenceParameters, published_references
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.selfplay.rollout import Limits, RolloutSettings, roll_out
from bgdata.store.dataset import Context
from bgdata.store.table import Table
from bgdata.training.feed.rows import benchmark_versions, labelled_versions
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted
from tests.rechecking import check_sample, inputs_of

SMALL = DATASET.smallest
ROWS = len(THEMES) * SMALL.positions


def small_table(warehouse: Warehouse) -> Table:
    return warehouse.open(DATASET.name, DATASET.slug(SMALL))


def test_rows_are_rollouts(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = small_table(warehouse)
    chooser = open_roller(Context(SMALL, inputs_of(warehouse, DATASET, SMALL), warehouse)).chooser
    boards = np.ascontiguousarray(table.array("boards"))
    result = roll_out(boards, chooser, Limits(72, 0.0001, 144), 1, RolloutSettings("exact", 2))
    with warehouse.connect() as connection:
        columns = (
            "row, theme, board, win, lose_backgammon, cubeless_equity, standard_error, trials, is_reached, network"
        )
        found = connection.sql(f"select {columns} from reference_positions order by row").fetchall()
    version = warehouse.open("network", "tiny").folder.name
    chances = result.legal_chances()
    for row, values in enumerate(found):
        assert values[:2] == (row, Theme(position_themes(boards)[row]).label)
        assert list(values[2]) == boards[row].tolist()
        assert values[3:6] == (chances[row, 0], chances[row, 4], cubeless_equities(chances)[row])
        error = result.equity_standard_errors[row]
        assert values[6:] == (error, result.trials[row], bool(error <= 0.0001), f"network/tiny/{version}")
    assert len(found) == ROWS
    assert set(result.trials.tolist()) == {72, 144}


def test_themes_sources_and_splits(small_root: Path) -> None:
    with bgdata.open_warehouse(small_root).connect() as connection:
        found = connection.sql("select theme, split, source, start, is_perturbed from reference_positions").fetchall()
    assert Counter(row[0] for row in found) == dict.fromkeys(THEMES, SMALL.positions)
    assert Counter(row[:2] for row in found) == {
        (theme, half): 1 for theme in THEMES for half in ("validation", "test")
    }
    assert len({row[2] for row in found}) > 2
    assert {row[2] for row in found} <= set(SMALL.sources)


def test_statistics(small_root: Path) -> None:
    table = small_table(bgdata.open_warehouse(small_root))
    found, errors = table.manifest.statistics, np.asarray(table.array("equity_standard_errors"))
    rows = np.asarray(table.array("themes")) == Theme.BACK_GAME_ON_ROLL
    assert found["mean_standard_error"] == pytest.approx(errors.mean())
    assert found["reached_share"] == (errors <= 0.0001).mean()
    assert found["games"] == table.array("trials").sum()
    assert found["back_game_on_roll_positions"] == 2
    assert found["back_game_on_roll_mean_standard_error"] == pytest.approx(errors[rows].mean())
    assert found["back_game_on_roll_games"] == table.array("trials")[rows].sum()
    assert found["back_game_on_roll_source_games"] == table.array("games")[rows].max() + 1


def test_positions_are_kept_from_training(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    assert small_table(warehouse).name in benchmark_versions(warehouse)
    with pytest.raises(
        UsageError, match=r"expected a kind that has positions with chances: .*, got reference_positions"
    ):
        labelled_versions(warehouse, DATASET.name)
    with warehouse.connect() as connection:
        ids = {row[0] for row in connection.sql("select position_id(board) from benchmark_boards").fetchall()}
        own = {row[0] for row in connection.sql("select position_id from reference_positions").fetchall()}
    assert own <= ids


def test_verify_samples_and_rolls_out_again(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table, inputs, generator = small_table(warehouse), inputs_of(warehouse, DATASET, SMALL), np.random.default_rng(0)
    said = check_sample(DATASET, table, inputs, ROWS, generator)
    assert said == f"{ROWS} of {ROWS} positions drawn from their games again, {ROWS} rolled out again"
    values = np.array(table.array("turns"))
    values[9] += 1
    message = "expected in row 9 of .* the position that is drawn from game .* for mutual-holding, found that of"
    with pytest.raises(CheckFailedError, match=message):
        check_sample(DATASET, Corrupted(table, "turns", values), inputs, ROWS, generator)


def test_verify_rolls_out_one_position_at_least(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    monkeypatch.setattr(reference_positions, "REPLAYED_TRIALS", 0)
    said = check_sample(
        DATASET, small_table(warehouse), inputs_of(warehouse, DATASET, SMALL), 5, np.random.default_rng(0)
    )
    assert said == f"5 of {ROWS} positions drawn from their games again, 1 rolled out again"


def test_a_version_of_the_warehouse_plays(warehouse: Warehouse) -> None:
    """As the one that rolls out, and as another source."""
    version, small = warehouse.open("network", "tiny").folder.name, small_table(warehouse)
    table = warehouse.build(DATASET.name, replace(SMALL, network_version=version))
    assert np.array_equal(table.array("chances"), small.array("chances"))
    named = tuple(source.replace("network", f"network/tiny/{version}") for source in SMALL.sources)
    table = warehouse.build(DATASET.name, replace(SMALL, sources=named))
    assert np.array_equal(table.array("boards"), small.array("boards"))
    with pytest.raises(MissingTableError, match="r1-00000000"):
        warehouse.build(DATASET.name, replace(SMALL, sources=("pubeval", "network/tiny/r1-00000000")))


def test_another_seed_has_other_positions(warehouse: Warehouse) -> None:
    table = warehouse.build(DATASET.name, replace(SMALL, seed=2))
    small = small_table(warehouse)
    assert not {*map(bytes, table.array("boards"))} & {*map(bytes, small.array("boards"))}


def test_a_theme_without_positions(warehouse: Warehouse) -> None:
    """Random plays make no primes, so one line names the theme, and nothing is written."""
    few = replace(SMALL, sources=("random",), most_games=44, seed=3)
    with pytest.raises(
        InvalidParameterError, match=r"expected 2 positions of the theme [a-z-]+ in 44 games, found [01];"
    ):
        warehouse.build(DATASET.name, few)
    assert warehouse.variants(DATASET.name) == [DATASET.slug(SMALL)]


def test_default_recipes() -> None:
    parameters = ReferenceParameters()
    DATASET.check_parameters(parameters)
    assert (parameters.positions, parameters.until) == (240, 0.007)
    assert DATASET.estimate(parameters).rows == 14 * 240
    assert list(DATASET.defaults) == list(published_references())
    assert parameters.players()[1:3] == (("pubeval", "pubeval"), ("network", "pubeval"))
