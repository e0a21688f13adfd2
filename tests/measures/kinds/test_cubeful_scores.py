"""Games with the cube of two players as a dataset kind: what is played, what is kept, and what goes wrong."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckSkippedError, UsageError
from bgdata.evaluation.player import open_named_player
from bgdata.measures.kinds.cubeful_scores import DATASET, CubefulScoreParameters
from bgdata.selfplay.series import CubefulRules, play_cubeful
from bgdata.store.dataset import Recheck
from bgdata.warehouse import Warehouse
from tests.rechecking import inputs_of

SMALL = DATASET.smallest
MONEY = replace(SMALL, length=0, games=6)


def against_pubeval_trained(warehouse: Warehouse) -> CubefulScoreParameters:
    """The tiny network against one that comes with the package, without tables."""
    version = open_named_player("network/contact-160", 0, warehouse, tables=False).version
    return replace(MONEY, opponent="network/contact-160", opponent_version=version)


def test_rows_are_those_of_the_games(warehouse: Warehouse) -> None:
    parameters = against_pubeval_trained(warehouse)
    table = warehouse.build(DATASET.name, parameters)
    players = [open_named_player(name, 0, warehouse, tables=False) for name in ("network/tiny", "network/contact-160")]
    found = play_cubeful((players[0], players[1]), CubefulRules(), 6, parameters.seed)
    points = np.where(found.column("winner") == np.arange(6) % 2, 1, -1) * found.column("points")
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select net_points, games_played, turns, net_luck from cubeful_scores "
            f"where variant = '{DATASET.slug(parameters)}'"
        ).fetchall()
    assert rows == [
        (outcome, 1, turns, None)
        for outcome, turns in zip(points.tolist(), found.column("turns").tolist(), strict=True)
    ]
    assert table.manifest.statistics["points_per_game"] == points.mean() < 0  # tiny has learned next to nothing


def test_matches_are_won_or_lost(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALL))
    outcomes = np.asarray(table.array("outcomes"))
    assert set(outcomes.tolist()) <= {1, -1}
    assert (outcomes[::2] + outcomes[1::2]).tolist() == [0] * (SMALL.games // 2)  # against itself


@pytest.mark.parametrize("length", [0, 3])
def test_luck_is_subtracted(network_root: Path, tmp_path: Path, length: int) -> None:
    """Of a player against itself nothing is left of a pair."""
    shutil.copytree(network_root, tmp_path / "warehouse", ignore=shutil.ignore_patterns(".*"))
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    player = open_named_player("network/contact-160", 0, warehouse)
    entrant = ("network/contact-160", 0, player.version)
    table = warehouse.build(DATASET.name, CubefulScoreParameters(*entrant, *entrant, length, 4, 1, True))
    lucks, outcomes = (np.asarray(table.array(name), np.float64) for name in ("lucks", "outcomes"))
    assert np.isfinite(lucks).all()
    assert (lucks != 0).all()
    assert (outcomes - lucks)[::2] + (outcomes - lucks)[1::2] == pytest.approx(0)
    assert (outcomes - lucks).std() < outcomes.std()
    assert table.manifest.statistics["hedged_standard_error"] == pytest.approx(0)


def test_changed_players_are_not_rechecked(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    inputs = inputs_of(warehouse, DATASET, SMALL)
    recheck = Recheck(replace(SMALL, version="older"), inputs, warehouse, table, 9, np.random.default_rng(0))
    with pytest.raises(CheckSkippedError, match="no game can be played again: expected version b49ded87 of network/"):
        DATASET.computation.check_sample(recheck)
    parameters = replace(SMALL, player="gone.ubgi")
    recheck = Recheck(parameters, inputs, warehouse, table, 9, np.random.default_rng(0))
    with pytest.raises(CheckSkippedError, match="no game can be played again: expected a network to play without"):
        DATASET.computation.check_sample(recheck)


def test_player_without_evaluations_is_refused(warehouse: Warehouse) -> None:
    wrong = replace(SMALL, opponent="pubeval", opponent_version="2", tables=True)
    wrong = replace(wrong, version=open_named_player("network/tiny", 0, warehouse).version)
    with pytest.raises(UsageError, match="expected a player that evaluates positions, got pubeval"):
        warehouse.build(DATASET.name, wrong)
