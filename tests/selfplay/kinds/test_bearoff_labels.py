"""Labels from tables: rows against twins that know no arrays, both sorts, splits, damage, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.game.position import Position
from bgdata.game.position_hash import position_hashes
from bgdata.kernel import threads
from bgdata.selfplay.kinds.bearoff_labels import DATASET, BearoffParameters
from bgdata.selfplay.kinds.labels_compute import TABLE_SOURCES as SOURCES
from bgdata.selfplay.splits import SPLITS, splits_of_hashes
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.kept import own
from tests.rechecking import check_sample, inputs_of
from tests.reference.bearoff_chances import Rolls, combined_chances

SMALL = DATASET.smallest
LAYOUTS = 815  # of 15 checkers on three points, without the empty one


def small_table(root: Path) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(SMALL))


def rolls_of(table: RaceTable, layout: list[int]) -> Rolls:
    return {rolls: chance for rolls, chance in enumerate(table.probe_chances(layout).tolist()) if chance}


def test_chances_are_those_of_the_tables(small_root: Path) -> None:
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALL)
    one_sided, gammon = RaceTable(inputs["one_sided"]), RaceTable(inputs["gammon"])
    exact, table = TwoSidedTable(inputs["two_sided"]), small_table(small_root)
    seen = []
    for row, board in enumerate(table.array("boards").tolist()):
        on_roll, opponent = board[1:4], [-count for count in board[24:21:-1]]
        saved, opponent_saved = (rolls_of(gammon, side) if sum(side) == 15 else None for side in (on_roll, opponent))
        if max(sum(on_roll), sum(opponent)) <= 3:
            win, win_gammon, lose_gammon = (1 + exact.probe(on_roll, opponent).cubeless) / 2, 0.0, 0.0
        else:
            sides = rolls_of(one_sided, on_roll), rolls_of(one_sided, opponent)
            win, win_gammon, lose_gammon = combined_chances(*sides, saved, opponent_saved)
        expected = [win, win_gammon, 0.0, lose_gammon, 0.0]
        assert table.array("chances")[row].tolist() == pytest.approx(expected, abs=1e-6), row
        seen.append((SOURCES[table.array("sources")[row]], bool(saved), bool(opponent_saved)))
        assert (seen[-1][0] == "exact") == (max(sum(on_roll), sum(opponent)) <= 3)
    assert set(seen) == {("exact", False, False), *(("combined", a, b) for a in (False, True) for b in (False, True))}
    found = table.manifest.statistics
    assert [found[name] for name in SOURCES] == [sum(row[0] == name for row in seen) for name in SOURCES]
    assert found["with_gammons"] == table.array("chances")[:, [1, 3]].any(axis=1).sum()


def test_rows(small_root: Path) -> None:
    """Every layout once on roll, then pairs of the two-sided table."""
    table = small_table(small_root)
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql(
            "select row, position_id, board, label_source, split, board[2:4] from bearoff_labels order by row"
        ).fetchall()
    assert [row[0] for row in rows] == list(range(table.manifest.rows))
    assert LAYOUTS + 80 < len(rows) <= LAYOUTS + 100
    assert len({tuple(row[5]) for row in rows[:LAYOUTS]}) == LAYOUTS
    assert {row[3] for row in rows[LAYOUTS:]} == {"exact"}
    boards = table.array("boards")
    assert [row[2] for row in rows] == boards.tolist()
    assert [row[1] for row in rows] == [Position(board).id for board in boards.tolist()]
    assert [row[4] for row in rows] == [SPLITS[split] for split in splits_of_hashes(position_hashes(boards))]


def test_without_a_two_sided_table(warehouse: Warehouse) -> None:
    table = warehouse.build(DATASET.name, replace(SMALL, table_points=0, table_checkers=0, pairs=50))
    assert table.folder.parent.name == "3x15-50-seed-1"
    assert (table.manifest.rows, table.manifest.statistics["exact"]) == (50, 0)


def test_labels_do_not_depend_on_threads(warehouse: Warehouse) -> None:
    first = warehouse.open(DATASET.name, DATASET.slug(SMALL)).manifest.digest
    for count in (1, 2):
        with threads(count):
            assert warehouse.build(DATASET.name, SMALL, force=True).manifest.digest == first


@pytest.mark.parametrize("name", [array.name for array in DATASET.arrays])
def test_verify_asks_again(warehouse: Warehouse, name: str) -> None:
    table = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    check_sample(DATASET, table, inputs_of(warehouse, DATASET, SMALL), 200, np.random.default_rng(0))
    values = np.load(table.folder / f"{name}.npy")
    values[5] += 1
    np.save(own(table.folder / f"{name}.npy"), values)
    with pytest.raises(CheckFailedError, match=rf"expected {name} of .* in row 5 of bearoff_labels/"):
        check_sample(DATASET, Table(table.folder), inputs_of(warehouse, DATASET, SMALL), 2000, np.random.default_rng(0))


def test_verify_sums_in_another_way(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bgdata.selfplay.kinds.labels_compute.win_chance", lambda *_: 0.5)
    table = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    with pytest.raises(CheckFailedError, match=r"expected a win chance of 0\.500000 in row \d+ of bearoff_labels/"):
        check_sample(DATASET, table, inputs_of(warehouse, DATASET, SMALL), 200, np.random.default_rng(0))


def test_verify_counts(warehouse: Warehouse) -> None:
    table = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    np.save(own(table.folder / "boards.npy"), np.load(table.folder / "boards.npy")[:-1])
    with pytest.raises(CheckFailedError, match=r"expected \d+ pairs in bearoff_labels/.*, found \d+"):
        check_sample(DATASET, Table(table.folder), inputs_of(warehouse, DATASET, SMALL), 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": 0}, "expected 1 to 12 points, got 0"),
        ({"points": 13}, "expected 1 to 12 points, got 13"),
        ({"table_points": 0}, "expected 1 to .* points and 1 to 15 checkers, got 0 points and 3 checkers"),
        ({"table_checkers": 0}, "expected 1 to .* points and 1 to 15 checkers, got 3 points and 0 checkers"),
        ({"table_points": 13}, "expected 1 to 12 points, got 13"),
        ({"table_checkers": 16}, "expected .* 1 to 15 checkers"),
        ({"pairs": -1}, "expected 0 to 268,435,456 pairs, got -1"),
        ({"exact_pairs": 1 << 29}, "expected 0 to 268,435,456 exact pairs, got 536870912"),
        ({"seed": -1}, "expected a seed from 0"),
    ],
)
def test_wrong_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(SMALL, **changes))


def test_estimate(small_root: Path) -> None:
    estimate, table = DATASET.estimate(SMALL), small_table(small_root)
    assert estimate.rows == LAYOUTS + 100 >= table.manifest.rows
    assert DATASET.estimate(BearoffParameters()).rows == 500_000
