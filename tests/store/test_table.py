"""An opened version: what is there, and what is said of what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.store.toy import Count


@pytest.fixture
def table(toys: Warehouse) -> Table:
    return toys.build("squares", Count(10))


def test_open(table: Table) -> None:
    assert table.name == f"squares/10/{table.manifest.version}"
    assert table.array("square").tolist() == [number**2 for number in range(10)]
    assert table.array("square") is table.array("square")
    assert {name: values.tolist() for name, values in table.arrays().items()} == {
        "square": table.array("square").tolist()
    }
    table.check_sizes()


def test_opening_reads_nothing(tmp_path: Path) -> None:
    table = Table(tmp_path / "kind" / "variant" / "r1-00000000")
    assert table.name == "kind/variant/r1-00000000"
    with pytest.raises(MissingTableError, match="expected a manifest"):
        table.manifest  # noqa: B018
    with pytest.raises(MissingTableError, match="expected the array"):
        table.array("square")


@pytest.mark.parametrize("name", ["square.npy", "table.parquet"])
def test_files_of_another_size(table: Table, name: str) -> None:
    path = table.folder / name
    size = path.stat().st_size
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match=rf"expected {size} bytes in .*{name}, found {size - 1}; try: bgdata ve"):
        table.check_sizes()
    path.unlink()
    with pytest.raises(MissingTableError, match=rf"expected .*{name}, found no such file; try: bgdata verify --repair"):
        table.check_sizes()
