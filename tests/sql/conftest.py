"""Connections to the small warehouse, as any DuckDB client has them and as bgdata opens them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import bgdata


@pytest.fixture(scope="module")
def plain(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The catalog in a client that knows nothing of bgdata. A copy, which is told where the tables are: DuckDB opens a
    file with one setting at once."""
    catalog = tmp_path_factory.mktemp("plain") / "catalog.duckdb"
    shutil.copy(small_root / "catalog.duckdb", catalog)
    with duckdb.connect(str(catalog), read_only=True) as connection:
        connection.execute(f"set variable warehouse = '{small_root}'")
        yield connection


@pytest.fixture(scope="module")
def fast(small_root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The catalog as bgdata opens it, with vectorised functions in place of some macros."""
    with bgdata.open_warehouse(small_root).connect(allow_files=True) as connection:  # Parquet files by name too
        yield connection


@pytest.fixture(params=["plain", "fast"])
def connection(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    """Each of the two in turn: they must answer alike."""
    opened: duckdb.DuckDBPyConnection = request.getfixturevalue(request.param)
    return opened
