"""Scores by the exact referee as a dataset kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import MissingTableError, UsageError
from bgdata.evaluation.player import open_named_player
from bgdata.game.codec import format_position_ids
from bgdata.measures.kinds.referee_scores import DATASET
from bgdata.warehouse import Warehouse

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
    """Without them it is another version; that it then errs is shown in `tests/measures/commands/test_referee.py`."""
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


def test_wrong_players(memory_path: Path) -> None:
    warehouse = bgdata.open_warehouse(memory_path)
    with pytest.raises(
        UsageError, match=r"^expected a network to play without tables, got pubeval, which plays as it is$"
    ):
        warehouse.build(DATASET.name, replace(SMALL, tables=False))
    with pytest.raises(MissingTableError, match=r"no network/x in .*; try: bgdata train td x"):
        warehouse.build(DATASET.name, replace(SMALL, player="network/x"))
