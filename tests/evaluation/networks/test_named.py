"""Networks as players by name: which one, with which tables, and what their version says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CorruptFileError, MissingTableError, UnknownPlayerError, UsageError
from bgdata.evaluation.networks import player as network_player
from bgdata.evaluation.networks.player import NetworkPlayer, find_network, network_name
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.players import DEFAULT_NETWORK
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.training.kinds.network import DATASET, default_network
from bgdata.warehouse import Warehouse
from tests.random_games import random_game_positions

TINY = DATASET.smallest


def test_default_network_needs_no_warehouse(tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(tmp_path / "none")
    kind, parameters = default_network()
    name = f"network/{warehouse.kind(kind).slug(parameters)}"
    folder = warehouse.kind(kind).published(parameters)
    assert network_name("network") == name
    assert find_network("network", warehouse).folder == find_network(name, warehouse).folder == folder
    player = open_named_player("network", 0, warehouse)
    games = random_game_positions(5, seed=3)
    chosen = flip_boards(player.choose_plays(games.boards, games.rolls)).tolist()
    offsets, after_play = batch_plays(games.boards, games.rolls)
    candidates = after_play.tolist()
    assert all(board in candidates[offsets[row] : offsets[row + 1]] for row, board in enumerate(chosen))
    assert not warehouse.root.exists()


def test_networks_of_the_warehouse_come_first(warehouse: Warehouse) -> None:
    """Also under the name of what comes with bgdata: it is the newest."""
    player = open_named_player("network/tiny", 0, warehouse)
    assert isinstance(player, NetworkPlayer)
    assert repr(player) == f"MappedNetwork({player.label})"
    assert player.label == "tiny"
    assert np.array_equal(player.networks.weights, warehouse.open("network", "tiny").array("weights"))
    assert player.tables.two_sided_points == player.tables.gammon_points == 6
    installed = warehouse.root / "network" / DEFAULT_NETWORK
    installed.symlink_to(warehouse.root / "network" / "tiny")
    assert find_network("network", warehouse).folder.parent == installed


def test_missing_current_version_is_refused(tmp_path: Path) -> None:
    """Of the same name, which plays in another way."""
    folder = tmp_path / "network" / DEFAULT_NETWORK
    folder.mkdir(parents=True)
    (folder / "current").write_text("r1-00000000\n")
    with pytest.raises(CorruptFileError, match=f"no current version network/{DEFAULT_NETWORK}/r1-00000000 in"):
        find_network("network", bgdata.open_warehouse(tmp_path))


def test_its_version_changes_with_weights_and_tables(warehouse: Warehouse) -> None:
    versions = [open_named_player("network/tiny", 0, warehouse).version]
    assert open_named_player("network/tiny", 0, warehouse).version == versions[0]
    warehouse.build("network", replace(TINY, seed=5))
    versions.append(open_named_player("network/tiny", 0, warehouse).version)
    shutil.rmtree(warehouse.root / "bearoff_two_sided" / "6x6")
    versions.append(open_named_player("network/tiny", 0, warehouse).version)
    assert len(set(versions)) == 3
    assert all(len(version) == 8 for version in versions)


def test_it_looks_ahead(warehouse: Warehouse) -> None:
    player = open_named_player("network/tiny", 1, warehouse)
    assert player.label == "tiny-1ply"
    with pytest.raises(UsageError, match="expected a ply from 0 to 3, got 4"):
        open_named_player("network/tiny", 4, warehouse)


def test_invalid_names_are_refused(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    for name in ("network/", "network/A", "network/../x", "network/a/b"):
        with pytest.raises(
            UnknownPlayerError, match=f"expected network, network/NAME or network/NAME/VERSION, got {name}"
        ):
            open_named_player(name, 0, warehouse)
    with pytest.raises(
        MissingTableError, match=r"no network/x in .* \(have: tiny, tiny-supervised\); try: bgdata train td x"
    ):
        open_named_player("network/x", 0, warehouse)
    with pytest.raises(
        UnknownPlayerError,
        match=r"expected a player among random, pubeval, gnubg, bgsage, NAME\.onnx, NAME\.ubgi, got network",
    ):
        open_named_player("network")
    monkeypatch.setattr(network_player, "SHIPPED", small_root / "none")
    with pytest.raises(MissingTableError, match=f"no network/{DEFAULT_NETWORK} in .*; try: bgdata train td "):
        open_named_player("network", 0, warehouse)
