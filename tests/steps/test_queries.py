"""Rows of the catalog: figures that people compare."""

from __future__ import annotations

from pathlib import Path

import bgdata
from bgdata.steps.queries import rows_of


def test_sums_are_added_in_one_order(small_root: Path) -> None:
    """With more threads the last digits of a sum depend on which of them was first."""
    query = "select current_setting('threads') as threads, $player as player"
    assert rows_of(bgdata.open_warehouse(small_root), query, {"player": "pubeval"}) == [
        {"threads": 1, "player": "pubeval"}
    ]
