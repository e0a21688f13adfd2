"""A folder in memory to import in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datasets.importing import Imports


@pytest.fixture
def imports(memory_path: Path) -> Imports:
    """An empty warehouse, and a folder for files."""
    return Imports(memory_path)
