"""A folder in memory to import in, and a warehouse to train in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.datasets.network import DATASET
from bgdata.store.warehouse import Warehouse
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
