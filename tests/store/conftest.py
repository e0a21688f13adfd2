"""Warehouses of toy kinds, in memory if possible."""

import shutil
from pathlib import Path

import pytest

from bgdata.kinds import SQL
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, declare_toys, toy_warehouse


@pytest.fixture
def toys(memory_path: Path) -> Warehouse:
    """An empty warehouse that knows the toy kinds."""
    return toy_warehouse(memory_path / "warehouse")


@pytest.fixture
def sql_scripts(tmp_path: Path) -> Path:
    """A few SQL scripts, so that a catalog takes milliseconds."""
    folder = tmp_path / "sql"
    for path in (*SQL.glob("*/macros/*.sql"), SQL / "warehouse" / "views" / "versions.sql"):
        (folder / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.parent.name)
    return folder


@pytest.fixture
def module_warehouse(
    memory_path: Path, tmp_path: Path, sql_scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> Warehouse:
    """A warehouse with squares/10, whose kinds are declared in modules, so that queries use the catalog on disk."""
    (folder := tmp_path / "modules").mkdir()
    warehouse = Warehouse(memory_path / "warehouse", declare_toys(folder, monkeypatch, [sql_scripts]))
    warehouse.build("squares", Count(10))
    return warehouse
