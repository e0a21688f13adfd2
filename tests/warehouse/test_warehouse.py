"""Rows of the catalog: figures that people compare."""

from __future__ import annotations

from pathlib import Path

import pytest

import bgdata
from bgdata.errors import QueryError


def test_sums_are_added_in_one_order(small_root: Path) -> None:
    """With more threads the last digits of a sum depend on which of them was first."""
    query = "select current_setting('threads') as threads, $player as player"
    assert bgdata.open_warehouse(small_root).rows(query, {"player": "pubeval"}) == [{"threads": 1, "player": "pubeval"}]


def test_missing_table_is_an_error(small_root: Path) -> None:
    with pytest.raises(QueryError, match=r"^expected tables that can be read, got Catalog Error: .*nothing"):
        bgdata.open_warehouse(small_root).rows("from nothing_of_that_name")
