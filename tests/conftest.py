"""What tests of the store, the commands and SQL share: a small warehouse to read, and copies of it to spoil."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.datasets.common.race import RaceParameters
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.store.dataset import Dataset, ImportedDataset
from bgdata.warehouse import Warehouse
from tests.evaluation.network_versions import random_networks, write_network

LUCKY = SelfPlayParameters("network", "", 6, 4, 1)


@pytest.fixture(scope="session")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a warehouse with the smallest variant of every kind. Only to be read: `warehouse` is a copy."""
    root = tmp_path_factory.mktemp("small") / "warehouse"
    warehouse = bgdata.open_warehouse(root)
    for kind in sorted(warehouse.kinds.values(), key=lambda kind: not kind.takes_files):  # others may be made from them
        warehouse.build(kind.name, kind.smallest, files=sample_files(kind, root.parent))
    return root


def sample_files(kind: Dataset[Any], folder: Path) -> list[Path]:
    """What an imported kind is imported from in tests; nothing for one that is computed."""
    return kind.write_sample(folder) if isinstance(kind, ImportedDataset) else []


@pytest.fixture(scope="session")
def player_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a warehouse with bearoff tables of 6 points, the exact one of 3 checkers, and network/random."""
    root = tmp_path_factory.mktemp("player") / "warehouse"
    warehouse = bgdata.open_warehouse(root)
    for kind in ("bearoff_one_sided", "bearoff_gammon"):
        warehouse.build(kind, RaceParameters(6))
    warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 3))
    write_network(root, "random", random_networks(7))
    return root


@pytest.fixture(scope="session")
def network_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a warehouse with the network that comes with bgdata, and some games of it with luck."""
    root = tmp_path_factory.mktemp("network") / "warehouse"
    bgdata.open_warehouse(root).build("selfplay", LUCKY)
    return root


@pytest.fixture
def warehouse(small_root: Path, tmp_path: Path) -> Warehouse:
    """A copy of the small warehouse, with files that a test can write to."""
    root = tmp_path / "warehouse"
    shutil.copytree(small_root, root)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return bgdata.open_warehouse(root)


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there can be one: builds by the dozen would wait for the disk most of the time."""
    if os.access("/dev/shm", os.W_OK):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            yield Path(folder)
    else:
        yield tmp_path
