"""Taking a network into the package: only a whole one of this code's recipe, in place of the one before."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bgdata.datasets.network import DATASET
from bgdata.errors import CheckFailedError, MissingTableError
from bgdata.store.lockfile import load_lock
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse
from docs import ship as shipping
from docs.ship import LOCK, ship


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A copy of the lock of the default warehouse."""
    path = tmp_path / "warehouse.lock"
    shutil.copy(LOCK, path)
    return path


def test_it_takes_the_place_of_the_one_before(warehouse: Warehouse, tmp_path: Path, lock: Path) -> None:
    before, package = load_lock(lock), tmp_path / "networks"
    (package / "older" / "r1-00000000").mkdir(parents=True)
    table = warehouse.open("network", "tiny")
    (folder,) = ship(["network/tiny"], str(warehouse.root), {"network": package}, lock)
    assert [path.parent for path in package.rglob("manifest.json")] == [folder]
    assert Table(folder).manifest == table.manifest
    after = load_lock(lock)
    assert [entry for entry in after if entry.dataset != "network"] == [e for e in before if e.dataset != "network"]
    (entry,) = [entry for entry in after if entry.dataset == "network"]
    assert (entry.variant, entry.digest, entry.recipe_key) == ("tiny", table.manifest.digest, table.manifest.recipe_key)


def test_others_are_refused(warehouse: Warehouse, tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(message: str) -> None:
        before = lock.read_bytes()
        with pytest.raises(CheckFailedError, match=message):
            ship(["network/tiny"], str(warehouse.root), {"network": tmp_path / "networks"}, lock)
        assert lock.read_bytes() == before
        assert not (tmp_path / "networks").exists()

    with monkeypatch.context() as patch:
        patch.setattr(shipping, "MOST_BYTES", 1000)
        refused(r"expected at most 1,000 bytes, found [\d,]+ in network/tiny/")
    with monkeypatch.context() as patch:
        patch.setattr(type(DATASET), "revision", 2)
        refused("expected network/tiny/.* to have the recipe of this code, found another; build it anew")
    path = warehouse.open("network", "tiny").folder / "weights.npy"
    weights = np.load(path)
    np.save(path, weights[::-1])
    refused("expected SHA-256 .* of .*weights.npy, found ")
    with pytest.raises(MissingTableError, match="no network/none in "):
        ship(["network/none"], str(warehouse.root), {"network": tmp_path / "networks"}, lock)


def test_the_newest_is_taken(warehouse: Warehouse, tmp_path: Path, lock: Path) -> None:
    table = warehouse.build("network", replace(DATASET.smallest, seed=5))
    (folder,) = ship(["network/tiny"], str(warehouse.root), {"network": tmp_path / "networks"}, lock)
    assert folder.name == table.folder.name
