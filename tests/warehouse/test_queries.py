"""Rows of the catalog: figures that people compare."""

from __future__ import annotations

from pathlib import Path

import pytest

import bgdata
from bgdata.errors import QueryError
from bgdata.warehouse.queries import rows_of


def test_sums_are_added_in_one_order(small_root: Path) -> None:
    """With more threads the last digits of a sum depend on which of them was first."""
    query = "select current_setting('threads') as threads, $player as player"
    assert rows_of(bgdata.open_warehouse(small_root), query, {"player": "pubeval"}) == [
        {"threads": 1, "player": "pubeval"}
    ]


def test_what_cannot_be_read(small_root: Path) -> None:
    with pytest.raises(QueryError, match=r"^expected tables that can be read, got Catalog Error: .*nothing"):
        rows_of(bgdata.open_warehouse(small_root), "from nothing_of_that_name", {})
