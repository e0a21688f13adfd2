"""What every dataset kind promises. Kinds are discovered: one that is added is held to all of this."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from functools import partial
from importlib.metadata import version as installed_version
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.bearoff import two_sided
from bgdata.cli.build import SIZED
from bgdata.computations import bearoff_two_sided as bearoff_two_sided_computation
from bgdata.datasets import bearoff_two_sided
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.datasets.common.race import RaceParameters
from bgdata.errors import CheckFailedError, InvalidParameterError, ManifestFormatError, MissingTableError
from bgdata.evaluation.chances import CHANCES
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.store.build import folder_bytes
from bgdata.store.checks import run_sql_checks, select_columns
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import RECOMPUTED, Status, check_hashes, check_recomputed, finding_of, verify
from bgdata.warehouse import Warehouse
from docs.ship import FOLDERS
from tests.datasets.rows import ROWS
from tests.rechecking import check_sample

ALL = bgdata.all_kinds()
# tables computed for the default warehouse; tests of networks are in test_network.py
KINDS = {kind.name: kind for kind in SIZED}
HEADERS_BYTES = 4000  # .npy headers and Parquet footers, which weigh in the smallest tables only
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
every_kind = pytest.mark.parametrize("kind", ALL.values(), ids=ALL.keys())  # imported, scored and trained ones too

# words of DESIGN.md, section 4, that names must not have, and why not for whole names only
WRONG_WORDS = {
    *("piece", "man", "white", "black", "player", "move", "action", "value", "score", "drop", "fold", "tp"),
    *("sim", "n", "se", "os", "ts", "num", "idx", "prob", "avg", "std", "pos", "cnt", "eq", "tmp", "utils"),
}
# units that the name of a column ends with, unless it is one of those that the design names
# columns of whole numbers and flags that count or name nothing with a unit
UNITLESS = {"INTEGER", "BIGINT", "SMALLINT", "TINYINT", "BOOLEAN", "VARCHAR"}
# what records of games and files of others are about: seats, turns, scores, and counts
RECORDED_WORDS = {"player", "action", "score", "scores", "value", "n"}
UNIT_ENDINGS = {"rolls": ("_rolls",), "pips": ("_pips", "pip_count"), "seconds": ("_seconds",), "bytes": ("_bytes",)}


def small(root: Path, kind: Dataset[Any]) -> Table:
    """The smallest version of a kind in the shared warehouse."""
    return bgdata.open_warehouse(root).open(kind.name, kind.slug(kind.smallest))


def inputs_of(root: Path, kind: Dataset[Any]) -> dict[str, Table]:
    return bgdata.open_warehouse(root).find_inputs(kind, kind.smallest) or {}


def test_there_are_kinds() -> None:
    assert len(KINDS) >= 4
    assert len(ALL) >= 11
    assert list(ALL) == sorted(ALL)


@every_kind
def test_declaration(kind: Dataset[Any]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.name)
    assert kind.revision >= 1
    assert kind.summary.endswith(".")
    assert kind.source
    assert kind.licence
    for parameters in (*kind.defaults, kind.smallest):
        assert isinstance(parameters, kind.parameters)
        kind.check_parameters(parameters)
    for shape in kind.tables:
        names = [column.name for column in shape.columns]
        assert len(set(names)) == len(names)
        assert set(shape.key) <= set(names)
        assert shape.summary.endswith(".")
    assert kind.tables[0].file == "table.parquet"
    assert kind.tables[0].columns == kind.columns


@every_kind
def test_every_column_and_array_is_explained(kind: Dataset[Any]) -> None:
    for shape in kind.tables:
        for column in shape.columns:
            assert column.meaning
            assert not column.meaning.endswith(".")
            assert column.unit or column.name in shape.key or column.type in UNITLESS, f"{column.name} has no unit"
            assert column.comment == (f"{column.meaning} [{column.unit}]" if column.unit else column.meaning)
    for array in kind.arrays:
        assert array.axes
        assert array.meaning[0].isupper()
        assert np.dtype(array.dtype).str[0] in "<|"


@every_kind
def test_names(kind: Dataset[Any]) -> None:
    columns = [column for shape in kind.tables for column in shape.columns]
    names = [kind.name, *(shape.name for shape in kind.tables), *(column.name for column in columns)]
    for name in (*names, *(array.name for array in kind.arrays), *kind.parameters.names()):
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)
        assert not set(name.split("_")) & (WRONG_WORDS - (set() if kind in SIZED else RECORDED_WORDS)), name
    for column in columns:
        assert column.name.endswith(UNIT_ENDINGS.get(column.unit, "")), f"{column.name} in {column.unit}"


def test_the_same_name_has_the_same_unit_and_type_everywhere() -> None:
    found = defaultdict(set)
    for kind in ALL.values():
        for shape in kind.tables:
            for column in shape.columns:
                found[column.name].add((column.type, column.unit))
    assert {name: uses for name, uses in found.items() if len(uses) > 1} == {}


@every_kind
def test_parquet_has_the_declared_columns_in_order_of_the_key(small_root: Path, kind: Dataset[Any]) -> None:
    table = small(small_root, kind)
    for shape in kind.tables:
        path = table.folder / shape.file
        declared = [("variant", "VARCHAR"), *((column.name, column.type) for column in shape.columns)]
        with duckdb.connect() as connection:
            rows = connection.sql(f"select {select_columns(kind, kind.smallest, shape)} from '{path}'")
            shown = [(name, str(type_)) for name, type_ in zip(rows.columns, rows.types, strict=True)]
            assert shown == [("dataset", "VARCHAR"), *declared] if shape.shared else declared
            keys = rows.select(*shape.key).fetchall()
            footer = connection.sql(f"select key, value from parquet_kv_metadata('{path}')").fetchall()
        assert keys == sorted(set(keys))
        assert dict(footer)[b"bgdata.digest"].decode() == table.manifest.digest


def described(path: Path) -> tuple[list[str], dict[str, dict[str, str]], dict[str, str]]:
    """(names of the columns, what each says of itself, what the file says of itself) of a Parquet file."""
    schema = pq.read_schema(path)
    columns = {field.name: decoded(field.metadata) for field in schema}
    return schema.names, columns, decoded(schema.metadata)


def decoded(metadata: dict[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): text.decode() for name, text in metadata.items()}


def check_description(kind: Dataset[Any], table: Table) -> None:
    """Columns and files say what is declared, and nothing of time or machine."""
    manifest = table.manifest
    for shape in kind.tables:
        names, columns, about = described(table.folder / shape.file)
        assert names == [column.name for column in shape.columns]
        assert columns == {each.name: {"unit": each.unit, "meaning": each.meaning} for each in shape.columns}
        assert about == {
            "bgdata.dataset": kind.name,
            "bgdata.variant": manifest.variant,
            "bgdata.version": table.folder.name,
            "bgdata.table": shape.name,
            "bgdata.summary": shape.summary,
            "bgdata.row": shape.row,
            "bgdata.licence": manifest.licence,
            "bgdata.source": manifest.source,
            "bgdata.digest": manifest.digest,
            "bgdata.recipe_key": manifest.recipe_key,
            "bgdata.written_by": f"bgdata {installed_version('bgdata')}",
        }


@every_kind
def test_every_parquet_file_explains_itself(small_root: Path, kind: Dataset[Any]) -> None:
    check_description(kind, small(small_root, kind))


SHIPPED = sorted(path.parent for folder in set(FOLDERS.values()) for path in folder.glob("*/*/manifest.json"))


@pytest.mark.parametrize("folder", SHIPPED, ids=[folder.parent.name for folder in SHIPPED])
def test_every_parquet_file_of_the_package_explains_itself(folder: Path) -> None:
    table = Table(folder)
    check_description(ALL[table.manifest.dataset], table)
    check_hashes(table)


def test_what_a_row_is() -> None:
    assert (
        KINDS["bearoff_two_sided"].tables[0].row == "One row for each on_roll_index and opponent_index, in this order."
    )
    assert KINDS["bearoff_one_sided"].tables[0].row == "One row for each position_index, in this order."


def test_the_same_version_has_the_same_parquet(memory_path: Path) -> None:
    """So nothing in it is of a time or a place."""
    kind = KINDS["bearoff_two_sided"]
    files = [bgdata.open_warehouse(memory_path / name).build(kind.name, kind.smallest).parquet for name in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_rounded_tables_hold_equities(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain numbers by dictionary: no codes, and no categories, for who reads the file alone."""
    monkeypatch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
    table = bgdata.open_warehouse(memory_path).build("bearoff_two_sided", TwoSidedParameters(3, 4))
    found = pq.read_table(table.parquet)
    codes = table.array("equities").reshape(-1, 4)
    for place, name in enumerate(("cubeless", "owned", "centered", "opponent_owned")):
        assert str(found.schema.field(name).type) == "float"
        assert (found[name].to_numpy() == (codes[:, place] / 32767.5 - 1).astype(np.float32)).all()
        assert "RLE_DICTIONARY" in pq.read_metadata(table.parquet).row_group(0).column(2 + place).encodings


@each_kind
def test_parquet_shows_the_arrays(small_root: Path, kind: Dataset[Any]) -> None:
    assert set(ROWS) == set(KINDS), "every kind has its rows in tests/datasets/rows.py"
    check_rows(small(small_root, kind), kind, kind.smallest)


def check_rows(table: Table, kind: Dataset[Any], parameters: Parameters) -> None:
    with duckdb.connect() as connection:
        found = connection.sql(
            f"select {select_columns(kind, parameters, kind.tables[0])} from '{table.parquet}'"
        ).fetchall()
    arrays = table.arrays()
    assert len(found) == table.manifest.rows
    for number, values in enumerate(found):
        expected = ROWS[kind.name](parameters, arrays, number)
        assert values[0] == kind.slug(parameters)
        for column, value in zip(kind.columns, values[1:], strict=True):
            assert value == pytest.approx(expected[column.name], abs=1e-7), (number, column.name)


def test_rounded_tables_show_their_codes(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large two-sided tables are rounded to 16 bits; here a small one is."""
    kind = KINDS["bearoff_two_sided"]
    exact = bgdata.open_warehouse(memory_path / "exact").build(kind.name, kind.smallest)
    monkeypatch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
    rounded = bgdata.open_warehouse(memory_path / "rounded").build(kind.name, kind.smallest)
    assert rounded.array("equities").dtype == np.uint16
    check_rows(rounded, kind, kind.smallest)
    codes = np.rint((exact.array("equities").astype(np.float64) + 1) * 32767.5)
    assert (rounded.array("equities") == codes).all()
    check_sample(kind, rounded, {}, 500, np.random.default_rng(1))


@every_kind
def test_arrays_are_as_declared(small_root: Path, kind: Dataset[Any]) -> None:
    arrays = small(small_root, kind).arrays()
    assert {name: values.dtype for name, values in arrays.items()} == {a.name: np.dtype(a.dtype) for a in kind.arrays}


@each_kind
def test_digest_does_not_depend_on_the_number_of_threads(
    small_root: Path, memory_path: Path, kind: Dataset[Any]
) -> None:
    expected = small(small_root, kind).manifest.digest
    for count in (1, 2):
        warehouse = bgdata.open_warehouse(memory_path / str(count))
        with threads(count):
            assert warehouse.build(kind.name, kind.smallest).manifest.digest == expected


@each_kind
def test_manifest_is_complete(small_root: Path, kind: Dataset[Any]) -> None:
    manifest = small(small_root, kind).manifest
    may_be_empty = {"source_commit", "raw_files", "warnings"} | (
        {"inputs"} if not kind.inputs(kind.smallest) else set()
    )
    for field in dataclasses.fields(manifest):
        assert getattr(manifest, field.name) or field.name in may_be_empty, field.name
    assert (manifest.dataset, manifest.variant) == (kind.name, kind.slug(kind.smallest))
    assert manifest.parameters == kind.smallest.to_json()
    assert set(manifest.inputs) == set(kind.inputs(kind.smallest))
    assert {entry.name for entry in manifest.files} == {"table.parquet", *(f"{a.name}.npy" for a in kind.arrays)}
    assert any("error" in name for name in manifest.statistics), "no error bound is stated"
    assert all(np.isfinite(figure) for figure in manifest.statistics.values())
    assert set(manifest.software) == {"bgdata", "numpy", "numba", "pyarrow", "duckdb", "python"}


@each_kind
def test_estimate(small_root: Path, kind: Dataset[Any]) -> None:
    estimate, manifest = kind.estimate(kind.smallest), small(small_root, kind).manifest
    assert estimate.rows == manifest.rows
    actual = sum(entry.bytes for entry in manifest.files)
    assert estimate.disk_bytes / 4 <= actual <= estimate.disk_bytes + HEADERS_BYTES
    assert estimate.memory_bytes > estimate.disk_bytes / 2
    for smaller, larger in zip((kind.smallest, *kind.defaults), kind.defaults, strict=False):
        assert kind.estimate(smaller) <= kind.estimate(larger)


@pytest.mark.parametrize(
    ("name", "parameters"), [("bearoff_one_sided", RaceParameters(5)), ("bearoff_two_sided", TwoSidedParameters(5, 5))]
)
def test_estimates_have_room_for_checkpoints(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, parameters: Parameters
) -> None:
    """The most that is on the disk at any time, with a checkpoint after every step."""
    warehouse, most = bgdata.open_warehouse(memory_path), [0]
    remove = job.remove_folder

    def measured(path: Path) -> None:
        most[0] = max(most[0], folder_bytes(warehouse.staging))
        remove(path)

    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(job, "remove_folder", measured)
    warehouse.build(name, parameters)
    estimate = warehouse.kind(name).estimate(parameters)
    assert estimate.disk_bytes < most[0] <= estimate.building_bytes + 2 * HEADERS_BYTES
    assert estimate.building_bytes < 1.6 * most[0]  # Parquet files are counted, and come when checkpoints are gone


@pytest.mark.parametrize("rows", [None, 40_000])
def test_a_table_made_from_damaged_cells_is_found(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int | None
) -> None:
    """What a damaged checkpoint became: some cells are wrong, and all others follow from them as they should."""
    warehouse, solve = bgdata.open_warehouse(memory_path), two_sided.solve_total

    def damaged(pairs: two_sided.Pairs, total: int) -> None:
        solve(pairs, total)
        if total == 20:
            pairs.cells[60:70, 2, :, 3:9] += np.float32(0.05)

    with monkeypatch.context() as patch:
        patch.setattr(bearoff_two_sided_computation, "solve_total", damaged)
        table = warehouse.build("bearoff_two_sided", TwoSidedParameters(4, 5))
    found = {
        finding.check: finding for finding in verify(warehouse, [table], sample_rows=rows, seed=0, progress=Silence())
    }
    assert [check for check, finding in found.items() if finding.problem] == [RECOMPUTED]
    assert f" {table.name}" in found[RECOMPUTED].problem
    table = warehouse.build("bearoff_two_sided", TwoSidedParameters(4, 5), force=True)
    assert not [f for f in verify(warehouse, [table], sample_rows=rows, seed=0, progress=Silence()) if f.problem]


@each_kind
def test_a_sample_of_rows_follows_from_the_others(small_root: Path, kind: Dataset[Any]) -> None:
    check_sample(kind, small(small_root, kind), inputs_of(small_root, kind), 50, np.random.default_rng(0))
    run_sql_checks(kind, kind.smallest, small(small_root, kind).folder)


@every_kind
def test_verify_says_what_was_recomputed_or_why_not(small_root: Path, kind: Dataset[Any]) -> None:
    """No check returns silently."""
    warehouse = bgdata.open_warehouse(small_root)
    table = small(small_root, kind)
    for rows in (None, 2, 0):
        found = finding_of(table.name, RECOMPUTED, partial(check_recomputed, warehouse, table, rows, 0, Silence()))
        assert found.text, found
        few_games = kind.name == "cube_studies" and rows == 2  # only whole arms can be played again
        is_skipped = rows == 0 or kind.takes_files or few_games
        assert found.status is (Status.SKIPPED if is_skipped else Status.PASSED)


@every_kind
def test_positions_with_chances_are_declared_as_labels(kind: Dataset[Any]) -> None:
    """So that the feed finds them, and the view `leakage`; benchmarks are never trained on."""
    columns = {column.name for column in kind.columns}
    assert kind.is_labelled == ({"board", *CHANCES} <= columns)
    assert not (kind.is_labelled and kind.is_benchmark)
    assert kind.is_benchmark == any(shape.name.startswith("benchmark_") for shape in kind.tables if shape.shared)


@pytest.mark.parametrize("title", [f"{kind.name}.{array.name}" for kind in KINDS.values() for array in kind.arrays])
def test_a_corrupted_value_in_any_array_is_found(small_root: Path, title: str) -> None:
    name, _, array = title.partition(".")
    kind = KINDS[name]
    generator = np.random.default_rng(5)
    table = Corrupted(small(small_root, kind).folder)
    for _ in range(3):
        values = np.array(Table(table.folder).array(array))
        # not the last of the offsets, nor a row of a finished game, which nothing follows from
        place = tuple(int(generator.integers(size // 3, size - 1)) for size in values.shape)
        values[place] += 1 if values.dtype.kind in "iu" and values.dtype != np.uint16 else corrupt(values.dtype)
        table.corrupt(array, values)
        with pytest.raises(CheckFailedError, match=f"in {table.name}|of {table.name}"):
            check_sample(kind, table, inputs_of(small_root, kind), 8 * table.manifest.rows, generator)


def corrupt(dtype: np.dtype[Any]) -> Any:
    """A change of about a hundredth."""
    return np.uint16(300) if dtype == np.uint16 else 0.01


class Corrupted(Table):
    """A version with one array replaced in memory."""

    def corrupt(self, name: str, values: np.ndarray[Any, Any]) -> None:
        self._arrays = {name: values}


@each_kind
def test_slugs_are_unique_and_safe(kind: Dataset[Any]) -> None:
    slugs = set()
    several = [
        kind.parameters(**dict(zip(kind.parameters.names(), values, strict=True)))
        for values in product(range(1, 19), repeat=len(kind.parameters.names()))
    ]
    for parameters in several:
        slug = kind.slug(parameters)
        assert re.fullmatch(r"[a-z0-9x-]+", slug)
        slugs.add(slug)
    assert len(slugs) == len(several)


@each_kind
def test_defaults_are_found_by_their_slug(kind: Dataset[Any]) -> None:
    for parameters in kind.defaults:
        assert kind.default(kind.slug(parameters)) == parameters
    with pytest.raises(MissingTableError, match=f"expected a default variant of {kind.name}: .*, got none"):
        kind.default("none")


@each_kind
def test_parameters_come_back_from_the_manifest(small_root: Path, kind: Dataset[Any]) -> None:
    recorded = small(small_root, kind).manifest.parameters
    assert kind.parameters.from_manifest(recorded) == kind.smallest
    for wrong in ({}, {**recorded, "colour": 1}, {"colour": 1}):
        with pytest.raises(ManifestFormatError, match="expected the parameters "):
            kind.parameters.from_manifest(wrong)


@each_kind
def test_bad_parameters_are_refused(memory_path: Path, kind: Dataset[Any]) -> None:
    warehouse = Warehouse(memory_path / "warehouse", KINDS)
    for name in kind.parameters.names():
        for value in (0, -1, 1000):
            parameters = kind.smallest.with_changes({name: value})
            with pytest.raises(InvalidParameterError, match=f"expected 1 to .* got .*{value}"):
                warehouse.build(kind.name, parameters)
    with pytest.raises(InvalidParameterError, match=r"expected a parameter among .*, got colour"):
        kind.smallest.with_changes({"colour": 1})
    assert not warehouse.root.exists()


@each_kind
def test_inputs_are_kinds(kind: Dataset[Any]) -> None:
    for wanted in kind.inputs(kind.smallest).values():
        if isinstance(wanted, str):  # a version
            name, *place = wanted.split("/")
            assert (name in KINDS, len(place)) == (True, 2)
            continue
        name, parameters = wanted
        KINDS[name].check_parameters(parameters)
        assert KINDS[name].slug(parameters)
