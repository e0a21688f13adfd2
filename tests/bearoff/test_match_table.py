"""Probes match bearoff tables by board, layout and index."""

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_match import DATASET
from bgdata.bearoff.match_table import MatchDecision, MatchTable, match_columns, match_owner
from bgdata.errors import InvalidPositionError, InvalidScoreError, NotCoveredError
from bgdata.game.match import CubeOwner, MatchScore


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[int, MatchTable]:
    """The smallest table, and the same score with a cube of 2, by cube value."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("probe") / "warehouse")
    recipes = [DATASET.smallest.with_changes({"cube_value": cube_value}) for cube_value in (1, 2)]
    return {recipe.cube_value: MatchTable(warehouse.build(DATASET.name, recipe)) for recipe in recipes}


def board_of(on_roll: list[int], opponent: list[int]) -> list[int]:
    board = [0] * 26
    for point, count in enumerate(on_roll, start=1):
        board[point] += count
    for point, count in enumerate(opponent, start=1):
        board[25 - point] -= count
    return board


@pytest.mark.slow
@pytest.mark.parametrize(("cube_value", "owner"), [(1, "centered"), (2, "on_roll"), (2, "opponent")])
@pytest.mark.parametrize(
    ("on_roll", "opponent"), [([0, 2, 1], [0, 1, 2]), ([1, 0, 0], [0, 0, 3]), ([3, 0, 0], [1, 0, 0])]
)
def test_boards_layouts_and_indexes_give_the_same_decision(
    tables: dict[int, MatchTable], cube_value: int, owner: str, on_roll: list[int], opponent: list[int]
) -> None:
    table = tables[cube_value]
    board = board_of(on_roll, opponent)
    indexes = bgdata.position_index(on_roll), bgdata.position_index(opponent)
    expected = table.probe_layouts(*indexes, owner)
    assert table.probe(board, owner) == expected
    assert table.probe(np.array(board, np.int8), CubeOwner(owner)) == expected
    assert table.probe_layouts(on_roll, opponent, owner) == expected
    if owner != "opponent":  # the default
        assert table.probe(board) == expected
    (row,) = table.probe_many([indexes[0]], [indexes[1]])
    assert row[0] == expected.cubeless
    assert len(row) == len(table.columns)


def test_repr_and_length_are_those_of_the_pairs(tables: dict[int, MatchTable]) -> None:
    assert len(tables[1]) == 400
    assert repr(tables[1]) == f"MatchTable({tables[1].table.name}: 400 pairs of layouts)"


def test_equity_is_normalised(tables: dict[int, MatchTable]) -> None:
    table = tables[1]
    assert table.equity(table.won) == 1
    assert table.equity(table.lost) == -1
    assert table.equity((table.won + table.lost) / 2) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("decision", "action", "mwc"),
    [
        (MatchDecision(0.6, 0.61, 0.62, 0.7), "double, take", 0.62),
        (MatchDecision(0.6, 0.61, 0.72, 0.7), "double, pass", 0.7),
        (MatchDecision(0.6, 0.61, 0.60, 0.7), "no double", 0.61),
        (MatchDecision(0.6, 0.61, 0.61, 0.7), "double, take", 0.61),
        (MatchDecision(0.6, 0.61, None, 0.7), "no double", 0.61),
        (MatchDecision(0.7, 0.7, 0.75, 0.7), "no double", 0.7),
    ],
)
def test_action_and_mwc_follow_from_the_decision(decision: MatchDecision, action: str, mwc: float) -> None:
    assert (decision.action, decision.mwc) == (action, mwc)


def test_columns_are_possible_cubes() -> None:
    assert match_columns(MatchScore(3, 4), 1) == ("cubeless", "centered", "taken")
    assert match_columns(MatchScore(3, 4), 2) == ("cubeless", "owned", "opponent_owned", "taken")
    assert match_columns(MatchScore(1, 4, True), 1) == ("cubeless",)


@pytest.mark.parametrize(
    ("cube_value", "owner", "message"),
    [
        (1, "on_roll", "expected a cube of 1 to be centered, got 'on_roll'"),
        (2, "centered", "expected a cube of 2 to be that of on_roll or opponent, got 'centered'"),
        (2, "white", r"expected a cube owner in \{centered, on_roll, opponent\}, got 'white'"),
    ],
)
def test_invalid_owners_are_refused(tables: dict[int, MatchTable], cube_value: int, owner: str, message: str) -> None:
    with pytest.raises(InvalidScoreError, match=message):
        match_owner(cube_value, owner)
    with pytest.raises(InvalidScoreError, match=message):
        tables[cube_value].probe(board_of([1], [1]), owner)


def test_positions_beyond_the_table_are_not_covered(tables: dict[int, MatchTable]) -> None:
    """Too many checkers or points, the bar, and indexes out of range raise an error that names the limit."""
    table = tables[1]
    with pytest.raises(NotCoveredError, match="expected all checkers on points 1 to 3, got"):
        table.probe(board_of([0, 0, 0, 1], [1]))
    with pytest.raises(NotCoveredError, match="expected a position in bearoff_match/3x3-away-2-3-cube-1-"):
        table.probe(board_of([4], [1]))
    with pytest.raises(NotCoveredError, match="a bearoff position, got a checker on the bar"):
        table.probe([1, *board_of([1], [1])[1:]])
    for index in (400, -1):
        with pytest.raises(NotCoveredError, match=f"expected indexes below 20 for bearoff_match/.*, got {index}"):
            table.probe_many([index], [index])
    with pytest.raises(InvalidPositionError, match="expected 26 integers, got 25"):
        table.probe([0] * 25)


def test_probing_loads_no_database(tables: dict[int, MatchTable]) -> None:
    from tests.test_imports import heavy, run_python

    loaded = run_python(
        "from pathlib import Path\n"
        "from bgdata.bearoff.match_table import MatchTable\n"
        "from bgdata.store.table import Table\n"
        f"table = MatchTable(Table(Path({str(tables[1].table.folder)!r})))\n"
        "assert 0 < table.probe_layouts([0, 0, 1], [1]).mwc < 1\n"
    )
    assert heavy(loaded) == set()
