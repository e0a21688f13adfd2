"""Content and descriptions of the files of every kind."""

import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.bearoff.kinds import bearoff_two_sided
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.kinds import all_kinds
from bgdata.store.checks import select_columns
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters
from bgdata.store.table import Table
from bgdata.store.verify import check_hashes
from bgdata.version import __version__
from docs.ship import FOLDERS
from tests.contract.kinds import each_kind, sized_kind, sized_kinds, smallest_version
from tests.kinds.rows import ROWS
from tests.rechecking import check_sample
from tests.subtests import each


@each_kind
def test_parquet_has_the_declared_columns_in_key_order(small_root: Path, kind: Dataset[Any]) -> None:
    table = smallest_version(small_root, kind)
    for shape in kind.tables:
        path = table.folder / shape.file
        expected = [f"{column.name} {column.type}" for column in shape.columns]
        expected = [*(["dataset VARCHAR"] if shape.shared else []), "variant VARCHAR", *expected]
        with duckdb.connect() as connection:
            rows = connection.sql(f"select {select_columns(kind, kind.smallest, shape)} from '{path}'")
            columns = [f"{name} {type_}" for name, type_ in zip(rows.columns, rows.types, strict=True)]
            assert columns == expected
            keys = rows.select(*shape.key).fetchall()
        assert keys == sorted(set(keys))


def check_description(kind: Dataset[Any], table: Table) -> None:
    """Columns and files have the declared descriptions, without times or machine names. Files of the package, and files
    that tests keep, may be from an earlier version."""
    manifest = table.manifest
    for shape in kind.tables:
        schema = pq.read_schema(table.folder / shape.file)
        assert schema.names == [column.name for column in shape.columns]
        for column in shape.columns:
            metadata = schema.field(column.name).metadata
            assert metadata == {b"unit": column.unit.encode(), b"meaning": column.meaning.encode()}
        about = {
            "dataset": kind.name,
            "variant": manifest.variant,
            "version": table.folder.name,
            "table": shape.name,
            "summary": shape.summary,
            "row": shape.row,
            "licence": manifest.licence,
            "source": manifest.source,
            "digest": manifest.digest,
            "recipe_key": manifest.recipe_key,
        }
        written_by = schema.metadata[b"bgdata.written_by"].decode()
        assert re.fullmatch(r"bgdata \d+\.\d+\.\d+", written_by)
        about["written_by"] = written_by
        assert schema.metadata == {f"bgdata.{name}".encode(): text.encode() for name, text in about.items()}


@each_kind
def test_every_parquet_file_has_descriptions(small_root: Path, kind: Dataset[Any]) -> None:
    check_description(kind, smallest_version(small_root, kind))


def package_versions() -> list[Path]:
    """The versions in the package."""
    return sorted(path.parent for folder in set(FOLDERS.values()) for path in folder.glob("*/*/manifest.json"))


@each("folder", package_versions)
def test_every_parquet_file_of_the_package_has_descriptions(folder: Path) -> None:
    table = Table(folder)
    check_description(all_kinds()[table.manifest.dataset], table)
    check_hashes(table)


def test_same_version_has_the_same_parquet_bytes(memory_path: Path) -> None:
    """Building a version in two folders gives the same bytes of Parquet, which therefore contain no time or place."""
    kind = sized_kinds()["bearoff_two_sided"]
    files = [bgdata.open_warehouse(memory_path / name).build(kind.name, kind.smallest).parquet for name in "ab"]
    assert pq.read_schema(files[0]).metadata[b"bgdata.written_by"].decode() == f"bgdata {__version__}"
    assert files[0].read_bytes() == files[1].read_bytes()


def test_rounded_tables_have_equities_in_parquet(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Parquet file of a table that is rounded to 16 bits has equities as plain floats, so that readers need no
    codes."""
    monkeypatch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
    table = bgdata.open_warehouse(memory_path).build("bearoff_two_sided", TwoSidedParameters(3, 4))
    rows = pq.read_table(table.parquet)
    row_group = pq.read_metadata(table.parquet).row_group(0)
    equities = (table.array("equities").reshape(-1, 4) / 32767.5 - 1).astype(np.float32)
    for number, name in enumerate(("cubeless", "owned", "centered", "opponent_owned")):
        assert str(rows.schema.field(name).type) == "float"
        np.testing.assert_array_equal(rows[name].to_numpy(), equities[:, number])
        assert "RLE_DICTIONARY" in row_group.column(2 + number).encodings  # after two indices


@sized_kind
def test_parquet_equals_the_arrays(small_root: Path, kind: Dataset[Any]) -> None:
    assert set(ROWS) == set(sized_kinds()), "every kind needs its rows in tests/kinds/rows.py"
    check_rows(smallest_version(small_root, kind), kind, kind.smallest)


def check_rows(table: Table, kind: Dataset[Any], parameters: Parameters) -> None:
    """Every row of the table's Parquet file agrees with its arrays, as a second decoder (`ROWS`) reads them."""
    columns = select_columns(kind, parameters, kind.tables[0])
    with duckdb.connect() as connection:
        rows = connection.sql(f"select {columns} from '{table.parquet}'").fetchall()
    arrays = table.arrays()
    assert len(rows) == table.manifest.rows
    for number, values in enumerate(rows):
        expected = ROWS[kind.name](parameters, arrays, number)
        assert values[0] == kind.slug(parameters)
        for column, value in zip(kind.columns, values[1:], strict=True):
            assert value == pytest.approx(expected[column.name], abs=1e-7), (number, column.name)


def test_rounded_tables_show_decoded_values(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A two-sided table that is rounded to 16 bits, as large ones are, has the rounded values of the exact table, and
    passes its checks."""
    kind = sized_kinds()["bearoff_two_sided"]
    exact = bgdata.open_warehouse(memory_path / "exact").build(kind.name, kind.smallest)
    monkeypatch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
    rounded = bgdata.open_warehouse(memory_path / "rounded").build(kind.name, kind.smallest)
    assert rounded.array("equities").dtype == np.uint16
    check_rows(rounded, kind, kind.smallest)
    codes = np.rint((exact.array("equities").astype(np.float64) + 1) * 32767.5)
    assert (rounded.array("equities") == codes).all()
    check_sample(kind, rounded, {}, 500, np.random.default_rng(1))


@each_kind
def test_arrays_are_as_declared(small_root: Path, kind: Dataset[Any]) -> None:
    arrays = smallest_version(small_root, kind).arrays()
    declared = {array.name: np.dtype(array.dtype) for array in kind.arrays}
    assert {name: values.dtype for name, values in arrays.items()} == declared
