"""Probing contact endgames, and positions that are not covered."""

import pickle

import duckdb
import numpy as np
import pytest

import bgdata
from bgdata.bearoff.index import rank
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.solver import is_possible
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import NotCoveredError


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> EndgameTable:
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("endgames"))
    return EndgameTable(warehouse.build("contact_endgame", EndgameParameters(2)))


def test_rank_matches_all_layouts() -> None:
    counts = all_layouts(3).counts
    assert [rank(row) for row in counts.tolist()] == list(range(len(counts)))


def test_probe_covers_the_possible_pairs(table: EndgameTable) -> None:
    layouts = all_layouts(2)
    possible = is_possible(layouts)
    pairs = np.random.default_rng(4).integers(1, len(layouts), (300, 2)).tolist()
    for on_roll, opponent in pairs:
        sides = layouts.counts[on_roll].tolist(), layouts.counts[opponent].tolist()
        if possible[on_roll, opponent]:
            assert list(table.probe(*sides)) == table.stored[on_roll, opponent].tolist()
        else:
            with pytest.raises(NotCoveredError, match="expected a position in contact_endgame/2/"):
                table.probe(*sides)


def test_table_is_pickled_and_described(table: EndgameTable) -> None:
    assert pickle.loads(pickle.dumps(table)).checkers == 2
    assert repr(table).endswith(": 106,552 pairs of layouts)")


@pytest.mark.parametrize("on_roll", [[0] * 25, [3, *[0] * 24], [-1, 2, *[0] * 23], [1], [1, *[0] * 25]])
def test_positions_beyond_the_table_are_not_covered(table: EndgameTable, on_roll: list[int]) -> None:
    with pytest.raises(NotCoveredError, match="expected a position in contact_endgame/2/"):
        table.probe(on_roll, [1, *[0] * 24])


def test_middle_rows_match_parquet(table: EndgameTable) -> None:
    rows = table.middle_rows(9)
    assert len(rows) == 9
    for row in rows:
        pair = f"on_roll_index = {row['on_roll_index']} and opponent_index = {row['opponent_index']}"
        assert duckdb.read_parquet(str(table.table.parquet)).filter(pair).fetchall() == [tuple(row.values())]
