"""Steps from games to rollouts: each uses the version of the previous step, and the plan gives the sizes."""

from __future__ import annotations

import pytest

from bgdata.errors import UnknownPlayerError
from bgdata.selfplay import steps
from bgdata.selfplay.steps import CorpusPlan
from bgdata.store.executors import InProcess
from bgdata.store.progress import Silence
from bgdata.warehouse import Warehouse

PLAN = CorpusPlan("network/tiny", games=12, seed=5, cubeful_games=3, most=2, trials=72)


def test_steps_lead_from_games_to_rollouts(warehouse: Warehouse) -> None:
    """Each step uses the version that the step before has built, from games to rollouts."""
    games = steps.build_games(warehouse, PLAN, InProcess(), Silence())
    assert (games.manifest.rows, games.manifest.variant) == (12, "network-tiny-12-seed-5")
    labels = steps.build_labels(warehouse, games.name, Silence())
    input_digests = {title.rpartition("@")[2] for title in labels.manifest.inputs.values()}
    assert games.manifest.digest in input_digests
    sample = steps.build_sample(warehouse, PLAN, games.name, Silence())
    assert 0 < sample.manifest.rows <= 3 * PLAN.most
    rollouts = steps.build_rollouts(warehouse, PLAN, sample.name, InProcess(), Silence())
    assert rollouts.manifest.rows == sample.manifest.rows
    assert rollouts.manifest.parameters["trials"] == 72
    assert steps.build_games(warehouse, PLAN, InProcess(), Silence()).folder == games.folder


def test_build_cubeful_games(warehouse: Warehouse) -> None:
    table = steps.build_cubeful_games(warehouse, PLAN, InProcess(), Silence())
    assert table.manifest.rows == 3
    assert table.manifest.parameters["network"] == "tiny"


def test_players_without_networks_are_refused(warehouse: Warehouse) -> None:
    with pytest.raises(UnknownPlayerError, match="expected network, network/NAME"):
        steps.build_games(warehouse, CorpusPlan("pubeval"), InProcess(), Silence())
