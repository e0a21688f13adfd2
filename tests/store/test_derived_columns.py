"""Tests of columns that were declared after versions were written: they follow from the others, so views fill them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from bgdata.errors import CorruptFileError
from bgdata.store.checks import compare_views, define_version, select_columns
from bgdata.store.dataset import Column, Computed
from bgdata.store.locked_sql import open_memory
from bgdata.store.progress import Silence
from bgdata.store.verify import Status, verify
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, Squares, toy_warehouse

DERIVED = {"half": "number // 2", "title": "concat('squares/', variant)"}


class MoreSquares(Squares):
    """Squares with two columns more, of the same revision."""

    columns = (
        Column("title", "VARCHAR", "", "KIND/VARIANT"),
        *Squares.columns,
        Column("half", "INTEGER", "", "Half of the number, rounded down"),
    )

    def derived_columns(self, _parameters: Count) -> Mapping[str, str]:
        return DERIVED

    def batches(self, computed: Computed[Count]) -> Iterator[pa.RecordBatch]:
        for batch in super().batches(computed):
            halves = pa.array([number // 2 for number in batch["number"].to_pylist()], pa.int32())
            titles = pa.array([f"squares/{computed.parameters.count}"] * len(batch))
            yield batch.append_column("half", halves).append_column("title", titles)


class OtherSquares(MoreSquares):
    """Squares with a column that cannot be derived."""

    def derived_columns(self, _parameters: Count) -> Mapping[str, str]:
        return {"half": DERIVED["half"]}


@pytest.fixture
def old_and_new_variants(memory_path: Path) -> Warehouse:
    """Two variants of `squares`: one written before the columns were declared, one after."""
    toy_warehouse(memory_path / "w").build("squares", Count(9))
    warehouse = toy_warehouse(memory_path / "w", squares=MoreSquares())
    warehouse.build("squares", Count(7))
    return warehouse


def test_views_have_derived_columns_of_older_files(old_and_new_variants: Warehouse) -> None:
    expected = [
        (f"{count}", f"squares/{count}", number, number**2, number // 2) for count in (7, 9) for number in range(count)
    ]
    for _ in range(2):  # from the manifests, and from the index that was written
        with old_and_new_variants.connect() as connection:
            assert connection.sql("from squares order by variant, number").fetchall() == expected
            assert connection.sql("from squares_9 order by number").fetchall() == expected[7:]
            assert connection.sql("describe squares").fetchall()[-1][:2] == ("half", "INTEGER")


def test_another_version_changes_the_catalog_of_older_files(old_and_new_variants: Warehouse) -> None:
    with old_and_new_variants.connect() as connection:
        connection.sql("from squares").fetchall()
    old_and_new_variants.build("squares", Count(8))
    with old_and_new_variants.connect() as connection:
        assert connection.sql("select count(half), count(distinct title) from squares").fetchall() == [(24, 3)]


def test_digest_does_not_depend_on_derived_columns(old_and_new_variants: Warehouse, tmp_path: Path) -> None:
    old = old_and_new_variants.open("squares", "9").manifest
    new = toy_warehouse(tmp_path / "other", squares=MoreSquares()).build("squares", Count(9)).manifest
    assert new.digest == old.digest
    assert new.recipe_key == old.recipe_key
    assert new.files != old.files
    assert old_and_new_variants.build("squares", Count(9)).manifest.files == old.files, "nothing is written"


def test_older_files_verify(old_and_new_variants: Warehouse) -> None:
    tables = [old_and_new_variants.open("squares", variant) for variant in ("7", "9")]
    findings = list(verify(old_and_new_variants, tables, sample_rows=3, seed=0, progress=Silence()))
    assert {"Parquet equals the arrays", "SQL checks"} <= {finding.check for finding in findings}
    assert {finding.status for finding in findings} == {Status.PASSED}


def test_older_files_are_compared_with_newer_ones(old_and_new_variants: Warehouse) -> None:
    kind = old_and_new_variants.kind("squares")
    with open_memory() as connection:
        for name, variant in (("before", "9"), ("after", "7")):
            define_version(connection, name, kind, kind.tables[0], old_and_new_variants.open("squares", variant))
        comparison = compare_views(connection, kind.tables[0])
    changed_rows = {change.column: change.rows_changed for change in comparison.changes}
    assert changed_rows == {"title": 7, "square": 0, "half": 0}
    assert comparison.only_before == 2
    assert comparison.only_after == 0


def test_missing_column_that_cannot_be_derived_is_damage(old_and_new_variants: Warehouse) -> None:
    other = toy_warehouse(old_and_new_variants.root, squares=OtherSquares())
    with other.connect() as connection, pytest.raises(Exception, match=r"expected columns as declared.* title"):
        connection.sql("from squares_9").fetchall()
    with open_memory() as connection, pytest.raises(CorruptFileError, match="found other title"):
        define_version(
            connection, "x", other.kind("squares"), other.kind("squares").tables[0], other.open("squares", "9")
        )


def test_missing_columns_are_selected_by_their_sql() -> None:
    kind = MoreSquares()
    assert select_columns(kind, Count(8), kind.tables[0], {"half": DERIVED["half"]}) == (
        '\'8\' as variant, "title", "number", "square", (number // 2)::INTEGER as "half"'
    )
