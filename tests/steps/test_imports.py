"""Steps of importing: a file becomes a version that is checked, and leaks are counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import CheckFailedError, MissingFileError, UsageError
from bgdata.steps.imports import Leak, check_version, import_files, import_parameters, leaks
from bgdata.store.progress import Silence
from bgdata.warehouse import Warehouse
from tests.formats.samples import BENCHMARK_ROWS


@pytest.fixture
def empty(tmp_path: Path) -> Warehouse:
    """A warehouse without anything."""
    return bgdata.open_warehouse(tmp_path / "warehouse")


def test_a_file_becomes_a_checked_version(empty: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "mine.bm").write_bytes(BENCHMARK_ROWS)
    table = import_files(empty, "gnubg_benchmark", [tmp_path / "mine.bm"], Silence())
    assert table.manifest.variant == "mine"
    lines = check_version(empty, table.name, Silence())
    assert len(lines) > 3
    assert {line.rpartition(": ")[2] for line in lines} <= {"passed", "skipped"}
    assert import_files(empty, "gnubg_benchmark", [tmp_path / "mine.bm"], Silence()).folder == table.folder


def test_a_damaged_version_is_named(empty: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "mine.bm").write_bytes(BENCHMARK_ROWS)
    table = import_files(empty, "gnubg_benchmark", [tmp_path / "mine.bm"], Silence())
    path = table.folder / "decisions_boards.npy"
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckFailedError, match=rf"^{table.name}: "):
        check_version(empty, table.name, Silence())


def test_wrong_kinds_and_files(empty: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a kind that is imported from files, got network"):
        import_parameters(empty, "network", [tmp_path])
    with pytest.raises(MissingFileError, match=r"expected a file in .*nothing, found none"):
        import_parameters(empty, "positions", [tmp_path / "nothing"])


def test_leaks_are_the_rows_of_the_view(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    found = leaks(warehouse)
    with warehouse.connect() as connection:
        ((rows,),) = connection.sql("select count(*) from leakage").fetchall()
    assert sum(leak.rows for leak in found) == rows > 0
    assert all(isinstance(leak, Leak) and "/" in leak.labels and "/" in leak.benchmarks for leak in found)


def test_no_leaks_without_benchmarks(small_root: Path, tmp_path: Path) -> None:
    shutil.copytree(small_root / "selfplay_labels", tmp_path / "warehouse" / "selfplay_labels")
    assert leaks(bgdata.open_warehouse(tmp_path / "warehouse")) == []
