"""Tests of queries of the warehouse, and of the distribution of positions over pips."""

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import QueryError
from bgdata.game.position import Position
from bgdata.warehouse.rows import BOARDS, GROUP_PIPS, pip_spread


def test_queries_run_on_one_thread_with_parameters(small_root: Path) -> None:
    """Queries run on one thread, because with several the last digits of a sum would vary, and take named
    parameters."""
    query = "select current_setting('threads') as threads, $player as player"
    assert bgdata.open_warehouse(small_root).rows(query, {"player": "pubeval"}) == [{"threads": 1, "player": "pubeval"}]


def test_query_of_a_missing_table_raises(small_root: Path) -> None:
    with pytest.raises(QueryError, match=r"^expected tables that can be read, got Catalog Error: .*nothing"):
        bgdata.open_warehouse(small_root).rows("from nothing_of_that_name")


@pytest.mark.parametrize(
    ("kind", "array"), list(zip(("position_sample", "selfplay", "gnubg_benchmark"), BOARDS, strict=True))
)
def test_pip_groups_equal_those_of_single_positions(small_root: Path, kind: str, array: str) -> None:
    table = next(iter(bgdata.open_warehouse(small_root).current(kind)))
    pips = [Position(board).pip_count for board in table.array(array)]
    spread = pip_spread(table)
    assert spread is not None
    assert spread.pips == list(range(0, max(pips) + 1, GROUP_PIPS))
    for first, percent in zip(spread.pips, spread.percents, strict=True):
        inside = sum(first <= each < first + GROUP_PIPS for each in pips)
        assert percent == pytest.approx(100 * inside / len(pips), abs=0.005)
    assert np.sum(spread.percents) == pytest.approx(100, abs=0.1)
    assert pip_spread(next(iter(bgdata.open_warehouse(small_root).current("bearoff_gammon")))) is None
