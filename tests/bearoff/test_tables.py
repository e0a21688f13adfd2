"""Reading tables as a player does: by index, by layout, in bulk, and out of range."""

from functools import partial
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
from tests.subtests import all_raise
from tests.test_readme import provide


def test_one_sided_probes_are_exact(tables: Path) -> None:
    """A layout of any length, or its index, gets the exact chances and the published mean and spread."""
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


@pytest.mark.parametrize("type_", [list, tuple, *(partial(np.array, dtype=each) for each in ("i1", "u2", "i4", "u8"))])
def test_bulk_probes_accept_lists_and_arrays(tables: Path, type_: Any) -> None:
    table = bgdata.open_two_sided(tables, 6, 4)
    found = table.probe_many(type_([1, 100]), type_([2, 101]))
    assert found.tolist() == [pytest.approx(table.probe(1, 2)), pytest.approx(table.probe(100, 101))]
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


def test_positions_beyond_a_table_are_not_covered(tables: Path) -> None:
    """Layouts with more points or checkers, and indexes out of range, raise an error with the limit."""
    assert fit_layout([1, 2], 4) == [1, 2, 0, 0]
    assert fit_layout([1, 2, 0], 2) == [1, 2]
    table = bgdata.open_two_sided(tables, 6, 4)
    pairs: list[Any] = [(-1, 0), (0, 210), ([0, 0, 0, 0, 0, 5], 0), ([0, 0, 0, 0, 0, 0, 1], 0)]
    many = [([0, 210 * 210], [0, 0]), ([0, 1 << 40], [0, 0]), ([5], [-1]), ([5], [210]), ([-1], [5])]
    all_raise(
        NotCoveredError,
        [
            (partial(fit_layout, [1, 2, 3], 2), "expected all checkers on points 1 to 2"),
            *((partial(table.probe, *pair), "expected") for pair in pairs),
            *((partial(table.probe_many, *pair), "expected indexes below 210") for pair in many),
        ],
    )


def test_invalid_indexes_and_layouts_are_refused(tables: Path) -> None:
    """Floats, booleans, texts and arrays in place of an index, and impossible layouts, raise an error."""
    two_sided, one_sided = bgdata.open_two_sided(tables, 6, 4), bgdata.open_one_sided(tables, 6)
    probe: Any = two_sided.probe
    probes: list[Any] = [lambda index: probe(index, 1), one_sided.probe_chances]
    probes += [one_sided.probe_mean_rolls, one_sided.probe_sd_rolls]
    wrong: list[Any] = [1.0, True, np.True_, "1", None, b"1", [1.5], [True], ["1"], [[1]], 2.0**70]
    integers = r"expected (an index as an integer|.* as integers), got"
    all_raise(
        InvalidPositionError,
        [
            *((partial(each, index), integers) for each in probes for index in wrong),
            (partial(probe, np.zeros((8, 6), np.int64), 0), r"expected one layout, got an array \[8, 6\]"),
            (partial(probe, [16, 0, 0, 0, 0, 0], 0), "expected at most 15 checkers"),
            (partial(one_sided.probe_chances, [-1, 0, 0, 0, 0, 0]), "expected at most 15 checkers"),
        ],
    )


def test_bulk_probes_refuse_wrong_shapes_and_types(tables: Path) -> None:
    """Index arrays of different shapes, of more dimensions, and of other types raise an error that shows them."""
    same, integers = r"in the same shape \(n,\), got ", r"expected position indexes as integers\[n\], got "
    cases: list[tuple[Any, Any, str]] = [
        ([1, 2], [3], rf"expected position indexes of both sides {same}\(2,\) and \(1,\)"),
        (1, 2, rf"{same}\(\) and \(\)"),
        ([[1, 2]], [[1, 2]], rf"{same}\(1, 2\) and \(1, 2\)"),
        ([1.5], [2], rf"{integers}float64\[1\]"),
        (np.zeros(2), [0, 0], rf"{integers}float64\[2\]"),
        ([True, 2], [1, 1], rf"{integers}\[True, 2\]"),
        (np.ones(1, np.bool_), [1], rf"{integers}bool\[1\]"),
        (["1"], [1], rf"{integers}<U1\[1\]"),
        ([None], [1], rf"{integers}object\[1\]"),
        ([[1], [1, 2]], [1, 2], rf"{integers}\[\[1\], \[1, 2\]\]"),
    ]
    table = bgdata.open_two_sided(tables, 6, 4)
    for probe in (table.probe_many, table.probe_stored):
        all_raise(UsageError, [(partial(probe, on_roll, opponent), message) for on_roll, opponent, message in cases])


def test_missing_table_error_lists_existing_ones(tables: Path, tmp_path: Path) -> None:
    have = r"bearoff_two_sided/6x9 .*have.*6x4.*bgdata build bearoff_two_sided"
    all_raise(
        MissingTableError,
        [
            (partial(bgdata.open_two_sided, tables, 6, 9), have),
            (partial(bgdata.open_one_sided, tmp_path, 6), "bearoff_one_sided/6x15"),
        ],
    )


def test_mapped_values_are_read_only(tables: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        bgdata.open_two_sided(tables, 6, 4).stored[0] = 0


def test_repr_names_the_version(tables: Path) -> None:
    race, pairs = bgdata.open_one_sided(tables, 6), bgdata.open_two_sided(tables, 6, 4)
    assert repr(race) == f"RaceTable({race.table.name}: 54,264 layouts)"
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
