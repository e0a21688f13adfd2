"""A warehouse of toy kinds, in memory if possible."""

from pathlib import Path

import pytest

from bgdata.warehouse import Warehouse
from tests.store.toy import toy_warehouse


@pytest.fixture
def toys(memory_path: Path) -> Warehouse:
    """An empty warehouse that knows the toy kinds."""
    return toy_warehouse(memory_path / "warehouse")
