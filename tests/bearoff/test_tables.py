"""Reading tables as a player does: by index, by layout, in bulk, and out of range."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.tables import RACE_STUDY, RaceTable, TwoSidedTable, fit_layout, measured_error
from bgdata.errors import CorruptFileError, InvalidPositionError, MissingTableError, NotCoveredError, UsageError
from bgdata.kinds import all_kinds
from tests.contract.kinds import Corrupted
from tests.reference.bearoff import equities, layouts, race
from tests.test_readme import provide


@pytest.mark.parametrize(
    "layout",
    [[0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0, 0, 0], bgdata.position_index([0, 1, 0, 0, 1, 0])],
    ids=str,
)
def test_one_sided_probes_are_exact(tables: Path, layout: list[int] | int) -> None:
    """A layout of any length, or its index, gets the exact chances."""
    exact = race((0, 1, 0, 0, 1, 0), 0)
    chances = bgdata.open_one_sided(tables, 6).probe_chances(layout)
    assert chances.tolist() == pytest.approx([float(exact.get(n, 0)) for n in range(len(chances))], abs=1e-7)


def test_one_sided_table_has_the_published_mean_and_spread(tables: Path) -> None:
    table = bgdata.open_one_sided(tables, 6)
    assert len(table) == 54_264
    assert table.probe_mean_rolls([0, 0, 0, 0, 0, 15]) == pytest.approx(12.266187, abs=1e-6)
    assert table.probe_sd_rolls([0, 0, 0, 0, 0, 15]) == pytest.approx(1.51251, abs=1e-5)


def test_chances_matrix_has_the_rows(tables: Path) -> None:
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


def test_two_sided_probes_are_exact(tables: Path) -> None:
    table = bgdata.open_two_sided(tables, 6, 4)
    enumerated = layouts(6, 2)
    pairs = list(product(range(1, len(enumerated)), repeat=2))
    rows = table.probe_many([on_roll for on_roll, _ in pairs], [opponent for _, opponent in pairs])
    for (on_roll, opponent), row in zip(pairs, rows, strict=True):
        exact = [float(equity) for equity in equities(enumerated[on_roll], enumerated[opponent])]
        assert np.abs(row - exact).max() < error_bound(6, 4)
        assert table.probe(on_roll, opponent) == pytest.approx(tuple(row), abs=1e-7)
        assert table.probe(enumerated[on_roll], enumerated[opponent]) == table.probe(on_roll, opponent)


def test_finished_games_are_won_or_lost(tables: Path) -> None:
    small, full = bgdata.open_two_sided(tables, 6, 4), bgdata.open_two_sided(tables, 2, 15)
    assert small.probe(0, 5) == (1, 1, 1, 1)
    assert small.probe(5, 0) == (-1, -1, -1, -1)
    assert full.probe([0, 0], [15, 0]) == (2, 2, 2, 2)
    assert full.probe([15, 0], [0, 0]) == (-2, -2, -2, -2)
    assert full.probe([0, 0], [14, 0]) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    "sequence_of", [list, tuple, *(partial(np.array, dtype=dtype) for dtype in ("i1", "u2", "i4", "u8"))]
)
def test_bulk_probes_accept_lists_and_arrays(tables: Path, sequence_of: Any) -> None:
    table = bgdata.open_two_sided(tables, 6, 4)
    rows = table.probe_many(sequence_of([1, 100]), sequence_of([2, 101]))
    assert rows.tolist() == [pytest.approx(table.probe(1, 2)), pytest.approx(table.probe(100, 101))]


def test_probes_accept_numpy_integers_and_no_pairs(tables: Path) -> None:
    table = bgdata.open_two_sided(tables, 6, 4)
    assert table.probe_many([], []).shape == (0, 4)
    assert table.probe(np.int64(1), np.array(2)) == table.probe(1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "variant", "name"),
    [
        ("bearoff_two_sided", "6x4", "equities"),
        ("bearoff_one_sided", "6x15", "offsets"),
        ("bearoff_gammon", "6x15", "first_roll"),
        ("bearoff_one_sided", "6x15", "chances"),
    ],
)
def test_arrays_of_wrong_sizes_are_refused(tables: Path, kind: str, variant: str, name: str) -> None:
    table = bgdata.open_warehouse(tables).open(kind, variant)
    shorter = Corrupted(table, name, np.array(table.array(name)[:-1]))
    with pytest.raises(CorruptFileError, match=f"expected the array {name} of {table.name} .*; try: bgdata verify"):
        TwoSidedTable(shorter) if kind == "bearoff_two_sided" else RaceTable(shorter)


def test_layouts_are_cut_or_filled_to_the_points_of_a_table() -> None:
    assert fit_layout([1, 2], 4) == [1, 2, 0, 0]
    assert fit_layout([1, 2, 0], 2) == [1, 2]
    with pytest.raises(NotCoveredError, match="expected all checkers on points 1 to 2"):
        fit_layout([1, 2, 3], 2)


@pytest.mark.parametrize(
    ("on_roll", "opponent"), [(-1, 0), (0, 210), ([0, 0, 0, 0, 0, 5], 0), ([0, 0, 0, 0, 0, 0, 1], 0)]
)
def test_positions_beyond_a_table_are_not_covered(tables: Path, on_roll: Any, opponent: Any) -> None:
    with pytest.raises(NotCoveredError, match="expected"):
        bgdata.open_two_sided(tables, 6, 4).probe(on_roll, opponent)


@pytest.mark.parametrize(
    ("on_roll", "opponent"),
    [([0, 210 * 210], [0, 0]), ([0, 1 << 40], [0, 0]), ([5], [-1]), ([5], [210]), ([-1], [5])],
)
def test_indexes_beyond_a_table_are_not_covered(tables: Path, on_roll: list[int], opponent: list[int]) -> None:
    with pytest.raises(NotCoveredError, match="expected indexes below 210"):
        bgdata.open_two_sided(tables, 6, 4).probe_many(on_roll, opponent)


@pytest.mark.parametrize("index", [1.0, True, np.True_, "1", None, b"1", [1.5], [True], ["1"], [[1]], 2.0**70])
def test_indexes_must_be_integers(tables: Path, index: Any) -> None:
    two_sided, one_sided = bgdata.open_two_sided(tables, 6, 4), bgdata.open_one_sided(tables, 6)
    integers = r"expected (an index as an integer|.* as integers), got"
    for probe in (one_sided.probe_chances, one_sided.probe_mean_rolls, one_sided.probe_sd_rolls):
        with pytest.raises(InvalidPositionError, match=integers):
            probe(index)
    with pytest.raises(InvalidPositionError, match=integers):
        two_sided.probe(index, 1)


def test_impossible_layouts_are_refused(tables: Path) -> None:
    two_sided, one_sided = bgdata.open_two_sided(tables, 6, 4), bgdata.open_one_sided(tables, 6)
    with pytest.raises(InvalidPositionError, match=r"expected one layout, got an array \[8, 6\]"):
        two_sided.probe(np.zeros((8, 6), np.int64), 0)  # type: ignore[arg-type]
    with pytest.raises(InvalidPositionError, match="expected at most 15 checkers"):
        two_sided.probe([16, 0, 0, 0, 0, 0], 0)
    with pytest.raises(InvalidPositionError, match="expected at most 15 checkers"):
        one_sided.probe_chances([-1, 0, 0, 0, 0, 0])


SAME_SHAPE = r"expected position indexes of both sides in the same shape \(n,\), got "
INTEGERS = r"expected position indexes as integers\[n\], got "


@pytest.mark.parametrize(
    ("on_roll", "opponent", "message"),
    [
        ([1, 2], [3], rf"{SAME_SHAPE}\(2,\) and \(1,\)"),
        (1, 2, rf"{SAME_SHAPE}\(\) and \(\)"),
        ([[1, 2]], [[1, 2]], rf"{SAME_SHAPE}\(1, 2\) and \(1, 2\)"),
        ([1.5], [2], rf"{INTEGERS}float64\[1\]"),
        (np.zeros(2), [0, 0], rf"{INTEGERS}float64\[2\]"),
        ([True, 2], [1, 1], rf"{INTEGERS}\[True, 2\]"),
        (np.ones(1, np.bool_), [1], rf"{INTEGERS}bool\[1\]"),
        (["1"], [1], rf"{INTEGERS}<U1\[1\]"),
        ([None], [1], rf"{INTEGERS}object\[1\]"),
        ([[1], [1, 2]], [1, 2], rf"{INTEGERS}\[\[1\], \[1, 2\]\]"),
    ],
)
def test_bulk_probes_refuse_wrong_shapes_and_types(tables: Path, on_roll: Any, opponent: Any, message: str) -> None:
    table = bgdata.open_two_sided(tables, 6, 4)
    for probe in (table.probe_many, table.probe_stored):
        with pytest.raises(UsageError, match=message):
            probe(on_roll, opponent)


def test_missing_table_error_lists_existing_ones(tables: Path, tmp_path: Path) -> None:
    have = r"bearoff_two_sided/6x9 .*have.*6x4.*bgdata build bearoff_two_sided"
    with pytest.raises(MissingTableError, match=have):
        bgdata.open_two_sided(tables, 6, 9)
    with pytest.raises(MissingTableError, match="bearoff_one_sided/6x15"):
        bgdata.open_one_sided(tmp_path, 6)


def test_mapped_values_are_read_only(tables: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        bgdata.open_two_sided(tables, 6, 4).stored[0] = 0


def test_repr_names_the_version(tables: Path) -> None:
    one_sided, pairs = bgdata.open_one_sided(tables, 6), bgdata.open_two_sided(tables, 6, 4)
    assert repr(one_sided) == f"RaceTable({one_sided.table.name}: 54,264 layouts)"
    assert repr(pairs) == f"TwoSidedTable({pairs.table.name}: 44,100 pairs of layouts)"


def test_measured_error_defaults_to_the_published_study() -> None:
    assert measured_error(None, "equity") == (
        "over all pairs of 6x9 the error of the equity is 0.0017 on average, -0.0279 to +0.0236"
    )


# slow: compares all pairs of 6x9 unless the checkout has the table
@pytest.mark.slow
def test_published_study_matches_the_table(tmp_path: Path) -> None:
    kind = all_kinds()["bearoff_error"]
    (parameters,) = kind.defaults
    wanted = [each for each in kind.inputs(parameters).values() if isinstance(each, tuple)]
    inputs = [(all_kinds()[name], needed) for name, needed in wanted]
    *_, table = provide(tmp_path / "warehouse", [*inputs, (kind, parameters)])
    size, figures = RACE_STUDY
    assert table.manifest.variant == size
    assert {name: table.manifest.statistics[name] for name in figures} == pytest.approx(figures, abs=6e-7)
