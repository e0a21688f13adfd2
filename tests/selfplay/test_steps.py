"""Steps from games to rollouts: each takes the version before it, and the plan decides how much is made."""

from __future__ import annotations

import pytest

from bgdata.errors import UnknownPlayerError
from bgdata.selfplay.steps import (
    CorpusPlan,
    build_cubeful_games,
    build_games,
    build_labels,
    build_rollouts,
    build_sample,
    games_of,
)
from bgdata.store.executors import InProcess
from bgdata.store.progress import Silence
from bgdata.warehouse import Warehouse

PLAN = CorpusPlan("network/tiny", games=12, seed=5, cubeful_games=3, most=2, trials=72)


def test_from_games_to_rollouts(warehouse: Warehouse) -> None:
    games = build_games(warehouse, PLAN, InProcess(), Silence())
    assert (games.manifest.rows, games.manifest.variant) == (12, "network-tiny-12-seed-5")
    labels = build_labels(warehouse, games.name, Silence())
    digests = {each.rpartition("@")[2] for each in labels.manifest.inputs.values()}
    assert games.manifest.digest in digests
    sample = build_sample(warehouse, PLAN, games.name, Silence())
    assert 0 < sample.manifest.rows <= 3 * PLAN.most
    rollouts = build_rollouts(warehouse, PLAN, sample.name, InProcess(), Silence())
    assert rollouts.manifest.rows == sample.manifest.rows
    assert rollouts.manifest.parameters["trials"] == 72
    assert build_games(warehouse, PLAN, InProcess(), Silence()).folder == games.folder


def test_games_with_the_cube(warehouse: Warehouse) -> None:
    table = build_cubeful_games(warehouse, PLAN, InProcess(), Silence())
    assert table.manifest.rows == 3
    assert table.manifest.parameters["network"] == "tiny"


def test_only_networks_play(warehouse: Warehouse) -> None:
    with pytest.raises(UnknownPlayerError, match="expected network, network/NAME"):
        games_of(warehouse, CorpusPlan("pubeval"))
