"""Scores by the exact referee as a dataset kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.datasets.referee_scores import DATASET
from bgdata.errors import CheckFailedError, InvalidParameterError, MissingTableError, UsageError
from bgdata.evaluation.player import open_named_player
from bgdata.game.codec import format_position_ids
from bgdata.kernel import threads
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.rechecking import check_sample

SMALL = DATASET.smallest


def test_rows_and_summary(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, "pubeval-0ply-3x3-20-seed-1")
    chosen = open_named_player("pubeval").choose_plays(table.array("boards"), table.array("rolls"))
    assert np.array_equal(table.array("chosen"), chosen)
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select position_id, die1, die2, next_position_id, best_position_id, rank, loss, n_plays "
            "from referee_scores order by decision"
        ).fetchall()
        summary = connection.sql("from referee_summary")
        (found,) = [dict(zip(summary.columns, row, strict=True)) for row in summary.fetchall()]
    ids = [
        [letters.decode() for letters in format_position_ids(table.array(name)).tolist()]
        for name in ("boards", "chosen", "best")
    ]
    dice = np.asarray(table.array("rolls")).T.tolist()
    figures = [table.array(name).tolist() for name in ("ranks", "losses", "n_plays")]
    assert rows == list(zip(ids[0], *dice, *ids[1:], *figures, strict=True))
    losses = table.array("losses")
    assert found["mean_loss"] == pytest.approx(losses.mean())
    games = table.array("games")
    sums = np.array([(losses[games == game] - losses.mean()).sum() for game in set(games.tolist())])
    assert 2 < len(sums) < 20
    assert found["standard_error"] == pytest.approx(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / 20)
    assert found["error_share"] == (table.array("ranks") > 0).mean()
    assert found["largest_loss"] == found["loss_of_worst_thousandth"] == losses.max()
    assert (losses >= found["loss_of_worst_tenth"]).sum() >= 2
    names = {"player": "pubeval", "ply": 0, "player_version": "2", "has_tables": True, "referee": "3x3"}
    assert {**names, "seed": 1, "decisions": 20}.items() <= found.items()


def test_a_network_is_perfect_with_the_tables(warehouse: Warehouse) -> None:
    """Without them it is another version; that it then errs is shown in `tests/cli/test_referee.py`."""
    means, versions = [], set()
    for tables in (True, False):
        version = open_named_player("network/tiny", 0, warehouse, tables=tables).version
        parameters = replace(SMALL, player="network/tiny", version=version, tables=tables)
        versions.add(version)
        means.append(warehouse.build(DATASET.name, parameters).manifest.statistics["mean_loss"])
    assert means[0] < 1e-6
    assert means[0] <= means[1]
    assert len(versions) == 2
    assert "network-tiny-0ply-without-tables-3x3-20-seed-1" in warehouse.variants(DATASET.name)


def test_it_does_not_depend_on_threads(small_root: Path, memory_path: Path) -> None:
    expected = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALL)).manifest.digest
    with threads(1):
        assert bgdata.open_warehouse(memory_path).build(DATASET.name, SMALL).manifest.digest == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decisions": 1}, "expected 2 to 16,777,216 decisions, got 1"),
        ({"seed": -1}, r"expected a seed from 0 to 2\^63 - 1, got -1"),
        ({"tables": 2}, "expected tables of type bool, got 2"),
        ({"player": "a/b"}, "expected the name of a player, got 'a/b'"),
        ({"version": "1"}, "expected version 2 of pubeval, as it plays here, got 1"),
    ],
)
def test_wrong_parameters(memory_path: Path, changes: dict[str, Any], message: str) -> None:
    warehouse = bgdata.open_warehouse(memory_path)
    with pytest.raises(InvalidParameterError, match=f"^{message}$"):
        warehouse.build(DATASET.name, replace(SMALL, **changes))
    assert warehouse.variants(DATASET.name) == []


def test_wrong_players(memory_path: Path) -> None:
    warehouse = bgdata.open_warehouse(memory_path)
    with pytest.raises(
        UsageError, match=r"^expected a network to play without tables, got pubeval, which plays as it is$"
    ):
        warehouse.build(DATASET.name, replace(SMALL, tables=False))
    with pytest.raises(MissingTableError, match=r"no network/x in .*; try: bgdata train td x"):
        warehouse.build(DATASET.name, replace(SMALL, player="network/x"))


class Changed(Table):
    """A version with an array changed in memory."""

    def change(self, name: str, values: Any) -> None:
        self._arrays[name] = values


@pytest.mark.parametrize("name", [array.name for array in DATASET.arrays if array.name != "chosen"])
def test_changed_rows_are_found(small_root: Path, name: str) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = Changed(warehouse.open(DATASET.name, DATASET.slug(SMALL)).folder)
    inputs = warehouse.find_inputs(DATASET, SMALL) or {}
    check_sample(DATASET, table, inputs, 20, np.random.default_rng(0))
    values = np.array(table.array(name))
    values[7] += 1
    table.change(name, values)
    with pytest.raises(
        CheckFailedError, match=rf"expected {name} of .* for decision 7 of referee_scores/pubeval-.*, found"
    ):
        check_sample(DATASET, table, inputs, 20, np.random.default_rng(0))
