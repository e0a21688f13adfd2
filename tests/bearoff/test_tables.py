"""Reading tables as a player does: by index, by layout, in bulk, and beyond their edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.tables import fitted
from bgdata.datasets.bearoff_two_sided import error_bound
from bgdata.errors import InvalidPositionError, MissingTableError, NotCoveredError
from tests.reference.bearoff import equities, layouts, race


def test_one_sided_probes(tables: Path) -> None:
    table = bgdata.open_one_sided(tables, 6)
    assert len(table) == 54_264
    exact = race((0, 1, 0, 0, 1, 0), 0)
    for layout in (
        [0, 1, 0, 0, 1, 0],
        [0, 1, 0, 0, 1],
        [0, 1, 0, 0, 1, 0, 0, 0],
        bgdata.position_index([0, 1, 0, 0, 1, 0]),
    ):
        chances = table.probe_chances(layout)
        assert chances.tolist() == pytest.approx([float(exact.get(n, 0)) for n in range(len(chances))], abs=1e-7)
    assert table.probe_mean_rolls([0, 0, 0, 0, 0, 15]) == pytest.approx(12.266187, abs=1e-6)
    assert table.probe_sd_rolls([0, 0, 0, 0, 0, 15]) == pytest.approx(1.51251, abs=1e-5)


def test_matrix_holds_the_rows(tables: Path) -> None:
    table = bgdata.open_one_sided(tables, 6)
    matrix = table.chances_matrix(500)
    for index in range(500):
        chances = table.probe_chances(index)
        assert matrix[index, : len(chances)].tolist() == chances.tolist()
        assert not matrix[index, len(chances) :].any()


def test_gammon_table_begins_with_15_checkers(tables: Path) -> None:
    table = bgdata.open_gammon(tables, 6)
    assert len(table) == 15_504
    assert table.probe_chances([0, 0, 0, 0, 0, 15])[1:4].round(5).tolist() == [0.47222, 0.44985, 0.06865]
    with pytest.raises(NotCoveredError, match="expected a position in bearoff_gammon/6x15"):
        table.probe_chances([0, 0, 0, 0, 0, 14])


def test_two_sided_probes_agree_with_each_other_and_with_fractions(tables: Path) -> None:
    table = bgdata.open_two_sided(tables, 6, 4)
    enumerated = layouts(6, 2)
    pairs = [(a, b) for a in range(1, len(enumerated)) for b in range(1, len(enumerated))]
    many = table.probe_many([a for a, _ in pairs], [b for _, b in pairs])
    for (a, b), found in zip(pairs, many, strict=True):
        exact = [float(equity) for equity in equities(enumerated[a], enumerated[b])]
        assert np.abs(found - exact).max() < error_bound(6, 4)
        assert table.probe(a, b) == pytest.approx(tuple(found), abs=1e-7)
        assert table.probe(enumerated[a], enumerated[b]) == table.probe(a, b)


def test_finished_games_are_won_or_lost(tables: Path) -> None:
    small, full = bgdata.open_two_sided(tables, 6, 4), bgdata.open_two_sided(tables, 2, 15)
    assert small.probe(0, 5) == (1, 1, 1, 1)
    assert small.probe(5, 0) == (-1, -1, -1, -1)
    assert full.probe([0, 0], [15, 0]) == (2, 2, 2, 2)
    assert full.probe([15, 0], [0, 0]) == (-2, -2, -2, -2)
    assert full.probe([0, 0], [14, 0]) == (1, 1, 1, 1)


@pytest.mark.parametrize("pair", [(-1, 0), (0, 210), ([0, 0, 0, 0, 0, 5], 0), ([0, 0, 0, 0, 0, 0, 1], 0)])
def test_positions_beyond_a_two_sided_table(tables: Path, pair: tuple[int | list[int], int]) -> None:
    with pytest.raises(NotCoveredError, match="expected"):
        bgdata.open_two_sided(tables, 6, 4).probe(*pair)


@pytest.mark.parametrize("index", [210 * 210, 1 << 40])
def test_bulk_probes_beyond_a_table(tables: Path, index: int) -> None:
    with pytest.raises(NotCoveredError, match="expected indexes below 210"):
        bgdata.open_two_sided(tables, 6, 4).probe_many([0, index], [0, 0])


@pytest.mark.parametrize(("on_roll", "opponent"), [(5, -1), (5, 210), (-1, 5)])
def test_bulk_probes_do_not_wrap_around(tables: Path, on_roll: int, opponent: int) -> None:
    with pytest.raises(NotCoveredError, match="expected indexes below 210"):
        bgdata.open_two_sided(tables, 6, 4).probe_many([on_roll], [opponent])


def test_impossible_layouts(tables: Path) -> None:
    with pytest.raises(InvalidPositionError, match="expected at most 15 checkers"):
        bgdata.open_two_sided(tables, 6, 4).probe([16, 0, 0, 0, 0, 0], 0)
    with pytest.raises(InvalidPositionError, match="expected at most 15 checkers"):
        bgdata.open_one_sided(tables, 6).probe_chances([-1, 0, 0, 0, 0, 0])


def test_missing_tables_say_what_there_is(tables: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"bearoff_two_sided/6x9 .*have.*6x4.*bgdata build bearoff_two_sided"):
        bgdata.open_two_sided(tables, 6, 9)
    with pytest.raises(MissingTableError, match="bearoff_one_sided/6x15"):
        bgdata.open_one_sided(tmp_path, 6)


def test_layouts_are_fitted_to_the_points() -> None:
    assert fitted([1, 2], 4) == [1, 2, 0, 0]
    assert fitted([1, 2, 0], 2) == [1, 2]
    with pytest.raises(NotCoveredError, match="expected all checkers on points 1 to 2"):
        fitted([1, 2, 3], 2)


def test_mapped_values_cannot_be_changed(tables: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        bgdata.open_two_sided(tables, 6, 4).stored[0] = 0
