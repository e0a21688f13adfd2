"""SQL checks: found by name, run before anything is published."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgdata.errors import CheckFailedError
from bgdata.kinds import sql_folders
from bgdata.store import checks
from bgdata.store.registry import Kinds, SqlFolders
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, Squares


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of checks to add to."""
    (tmp_path / "sql" / "checks").mkdir(parents=True)
    return tmp_path / "sql" / "checks"


@pytest.fixture
def warehouse(memory_path: Path, folder: Path) -> Warehouse:
    """A warehouse of squares whose checks may use our macros."""
    return Warehouse(memory_path / "warehouse", Kinds({"squares": Squares()}, sql=[*sql_folders(), folder.parent]))


def test_checks_of_a_kind(folder: Path) -> None:
    for name in ("squares__b_c.sql", "squares__a.sql", "square_sums__x.sql", "squares.sql"):
        (folder / name).write_text(name)
    assert list(SqlFolders((folder.parent,)).checks("squares")) == [
        ("a", "squares__a.sql"),
        ("b_c", "squares__b_c.sql"),
    ]


def test_failed_check_is_not_published(folder: Path, warehouse: Warehouse) -> None:
    (folder / "squares__below_fifty.sql").write_text("select number, square from squares where square >= 50;")
    message = r"expected below fifty in every row of squares/10, found \(8, 64\); the table is not published"
    with pytest.raises(CheckFailedError, match=message):
        warehouse.build("squares", Count(10))
    assert list(warehouse.versions()) == []
    warehouse.build("squares", Count(8))
    assert [table.name.split("/")[:2] for table in warehouse.versions()] == [["squares", "8"]]


def test_checks_may_use_macros(folder: Path, warehouse: Warehouse) -> None:
    (folder / "squares__macros.sql").write_text("select * from squares where epc(number) < 0")
    warehouse.build("squares", Count(8))


def test_declared_columns_are_selected_in_order(warehouse: Warehouse) -> None:
    squares = warehouse.kind("squares")
    assert checks.select_columns(squares, Count(8), squares.tables[0]) == ('\'8\' as variant, "number", "square"')
