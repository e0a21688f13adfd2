"""SQL checks: found by name, run before anything is published."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgdata.errors import CheckFailedError
from bgdata.store import checks, scripts
from bgdata.warehouse import Warehouse
from tests.store.toy import Count


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our SQL, with a folder of checks to add to."""
    for name in ("macros", "views"):
        (tmp_path / name).symlink_to(scripts.SQL / name)
    (tmp_path / "checks").mkdir()
    monkeypatch.setattr(scripts, "SQL", tmp_path)
    return tmp_path / "checks"


def test_checks_of_a_kind(folder: Path) -> None:
    for name in ("squares__b_c.sql", "squares__a.sql", "square_sums__x.sql", "squares.sql"):
        (folder / name).write_text(name)
    assert list(scripts.sql_checks("squares")) == [("a", "squares__a.sql"), ("b_c", "squares__b_c.sql")]


def test_what_breaks_a_check_is_not_published(folder: Path, toys: Warehouse) -> None:
    (folder / "squares__below_fifty.sql").write_text("select number, square from squares where square >= 50;")
    message = r"expected below fifty in every row of squares/10, found \(8, 64\); the table is not published"
    with pytest.raises(CheckFailedError, match=message):
        toys.build("squares", Count(10))
    assert list(toys.versions()) == []
    toys.build("squares", Count(8))
    assert [table.name.split("/")[:2] for table in toys.versions()] == [["squares", "8"]]


def test_checks_may_use_macros(folder: Path, toys: Warehouse) -> None:
    (folder / "squares__macros.sql").write_text("select * from squares where epc(number) < 0")
    toys.build("squares", Count(8))


def test_declared_columns_are_selected_in_order(toys: Warehouse) -> None:
    squares = toys.kind("squares")
    assert checks.select_columns(squares, Count(8), squares.tables[0]) == ('\'8\' as variant, "number", "square"')
