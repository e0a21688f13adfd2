"""Labels from tables: rows against twins that know no arrays, both sorts, splits, damage, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.game.codec import check_legal_boards
from bgdata.game.position import Position
from bgdata.game.position_hash import position_hashes
from bgdata.kernel import threads
from bgdata.selfplay.kinds.bearoff_labels import DATASET, BearoffParameters
from bgdata.selfplay.kinds.bearoff_labels_compute import (
    LEAST_PIPS,
    NEAR,
    SOURCES,
    hash_rows,
    near_layouts,
    paired_boards,
    random_pairs,
)
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
    monkeypatch.setattr("bgdata.selfplay.kinds.bearoff_labels_compute.win_chance", lambda *_: 0.5)
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


N = comb(5 + 8, 5) - 1  # layouts but the empty one, which is in no pair
MASK = (1 << 64) - 1


@cache
def all_pips() -> NDArray[np.int64]:
    return pip_counts(some_layouts()).astype(int)


@cache
def some_layouts() -> NDArray[np.int8]:
    return all_layouts(5, 8)


def test_every_layout_is_on_roll_once_before_any_is_twice() -> None:
    assert random_pairs(some_layouts(), N, 3).on_roll.tolist() == list(range(1, N + 1))
    counts = np.bincount(random_pairs(some_layouts(), 2 * N + 100, 3).on_roll, minlength=N + 1)
    assert counts[0] == 0
    assert set(counts[1:].tolist()) == {1, 2, 3}  # 1: the same opponent again
    assert (counts == 3).sum() in range(90, 101)
    few = random_pairs(some_layouts(), 100, 3)
    assert len(set(few.on_roll.tolist())) == 100
    assert few.on_roll.mean() == pytest.approx(N / 2, rel=0.2)


def test_pairs_come_in_order_and_once() -> None:
    on_roll, opponent = random_pairs(some_layouts(), 5 * N, 1)
    found = list(zip(on_roll.tolist(), opponent.tolist(), strict=True))
    assert found == sorted(set(found))
    assert 4.8 * N < len(found) <= 5 * N
    assert min(opponent) >= 1
    assert max(opponent) == N


def test_a_seed_decides() -> None:
    first, again, other = (random_pairs(some_layouts(), 300, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first.opponent, other.opponent)
    assert len(set(first.on_roll.tolist()) & set(other.on_roll.tolist())) < 200


def test_half_of_the_opponents_are_near() -> None:
    on_roll, opponent = random_pairs(some_layouts(), 20 * N, 4)
    distances = np.abs(all_pips()[on_roll] - all_pips()[opponent])
    is_near = distances <= np.maximum(LEAST_PIPS, all_pips()[on_roll] // NEAR)
    generator = np.random.default_rng(1)
    any_near = np.abs(all_pips()[on_roll] - all_pips()[generator.integers(1, N + 1, len(on_roll))]) <= LEAST_PIPS
    assert is_near.mean() == pytest.approx(0.5 + 0.5 * any_near.mean(), abs=0.03)
    assert len(set(opponent.tolist())) > 0.99 * N


def test_near_layouts_are_all_of_about_as_many_pips() -> None:
    row = int(np.flatnonzero(all_pips() == 30)[0])
    bits = np.arange(1 << 14, dtype=np.uint64) << np.uint64(50)  # evenly
    found = near_layouts(some_layouts(), np.full(len(bits), row), bits)
    assert set(found.tolist()) == set(np.flatnonzero(np.abs(all_pips() - 30) <= 3).tolist())
    for pips in (1, all_pips().max()):  # the ends
        row = int(np.flatnonzero(pips == all_pips())[0])
        found = near_layouts(some_layouts(), np.full(len(bits), row), bits)
        is_near = (np.abs(all_pips() - pips) <= max(LEAST_PIPS, pips // NEAR)) & (all_pips() > 0)
        assert set(found.tolist()) == set(np.flatnonzero(is_near).tolist())


def test_bits_are_those_of_the_generator() -> None:
    def mixed(state: int) -> int:
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        return state ^ (state >> 31)

    expected = []
    for row in (0, 7, 1 << 40):
        bits = 0
        for part in (5, 2, row):
            bits = mixed((bits + (part + 1) * 0x9E3779B97F4A7C15) & MASK)
        expected.append(bits)
    assert hash_rows(np.array([0, 7, 1 << 40]), 5, 2).tolist() == expected


def test_boards_are_both_layouts() -> None:
    for points in (1, 5, 12):
        layouts = all_layouts(points, 3)
        pairs = random_pairs(layouts, 500, 1)
        boards = check_legal_boards(paired_boards(layouts, pairs))
        assert len(boards) == len(pairs.on_roll)
        for board, row, other in zip(boards.tolist(), *pairs, strict=True):
            assert [max(count, 0) for count in board[1 : points + 1]] == layouts[row].tolist()
            assert [max(-board[25 - point], 0) for point in range(1, points + 1)] == layouts[other].tolist()
            assert sum(map(abs, board)) == layouts[[row, other]].sum()


def test_no_pairs() -> None:
    assert len(random_pairs(some_layouts(), 0, 1).on_roll) == 0
    with pytest.raises(ValueError, match="expected layouts beside the empty one, got 1 in all"):
        random_pairs(some_layouts()[:1], 5, 1)
