"""Fixtures with connections to the small warehouse, of a plain DuckDB client and of bgdata."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import bgdata


@pytest.fixture(scope="module")
def plain(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The catalog in a plain DuckDB client. It is a copy, because DuckDB opens a file with only one configuration at a
    time."""
    catalog = tmp_path_factory.mktemp("plain") / "catalog.duckdb"
    shutil.copy(small_root / "catalog.duckdb", catalog)
    with duckdb.connect(str(catalog), read_only=True) as connection:
        connection.execute(f"set variable warehouse = '{small_root}'")
        yield connection


@pytest.fixture(scope="module")
def fast(small_root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The catalog opened by bgdata, with vectorised functions instead of some macros."""
    with bgdata.open_warehouse(small_root).connect(allow_files=True) as connection:  # Parquet files by name too
        yield connection


@pytest.fixture(params=["plain", "fast"])
def connection(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    """Both connections in turn, because they must give the same answers."""
    opened: duckdb.DuckDBPyConnection = request.getfixturevalue(request.param)
    return opened
