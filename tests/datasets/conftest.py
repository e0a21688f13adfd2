"""A folder in memory to import in, and a warehouse to train in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.datasets.network import DATASET
from bgdata.warehouse import Warehouse
from tests.datasets.importing import Imports


@pytest.fixture
def imports(memory_path: Path) -> Imports:
    """An empty warehouse, and a folder for files."""
    return Imports(memory_path)


@pytest.fixture
def untrained(small_root: Path, memory_path: Path) -> Warehouse:
    """A warehouse with what the smallest network is made from, but no network."""
    for kind, _ in DATASET.inputs(DATASET.smallest).values():
        shutil.copytree(small_root / kind, memory_path / "warehouse" / kind)
    return bgdata.open_warehouse(memory_path / "warehouse")


@pytest.fixture
def untaught(small_root: Path, memory_path: Path) -> Warehouse:
    """A warehouse with what the smallest network is taught by, but without it."""
    root = memory_path / "warehouse"
    for kind in ("bearoff_one_sided", "bearoff_gammon", "bearoff_two_sided", "network", "selfplay", "selfplay_labels"):
        shutil.copytree(small_root / kind, root / kind)
    return bgdata.open_warehouse(root)
