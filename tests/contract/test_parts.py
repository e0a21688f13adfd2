"""Every computed kind that falls into parts has the same rows in many parts as in one."""

import shutil
from pathlib import Path

import duckdb
import numpy as np
import pytest

import bgdata
from bgdata.kinds import all_kinds
from bgdata.store.dataset import TableShape
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import Status, verify

PARTED_KINDS = [kind.name for kind in all_kinds().values() if kind.part_items and not kind.takes_files]
GAMES_OF_A_PART = {"selfplay": 7, "selfplay_labels": 7, "cubeful_selfplay": 2, "training_games": 9}
# kinds whose smallest version may have another number of rows in parts
LABELS = {"lookahead_labels", "engine_labels"}


def test_corpora_and_labels_are_split_into_parts() -> None:
    assert set(PARTED_KINDS) == {*GAMES_OF_A_PART, *LABELS, "rollout_labels"}


@pytest.mark.parametrize("name", PARTED_KINDS)
def test_many_parts_have_the_rows_of_one(
    small_root: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A kind that is built in several parts has the arrays and rows of one that is built in a single part."""
    root = memory_path / "warehouse"
    shutil.copytree(small_root, root)
    kind = all_kinds()[name]
    warehouse = bgdata.open_warehouse(root)
    single = warehouse.open(name, kind.slug(kind.smallest))
    inputs = warehouse.made_from(single)
    count = kind.item_count(kind.smallest, inputs)
    monkeypatch.setattr(type(kind), "part_items", GAMES_OF_A_PART.get(name, max(1, count // 3)))
    parted = warehouse.build(name, kind.smallest, force=True, inputs=inputs)
    assert len(parted.parts) >= 2
    assert parted.manifest.rows == single.manifest.rows or name in LABELS
    if parted.manifest.rows == single.manifest.rows:
        for array, expected in single.arrays().items():
            np.testing.assert_array_equal(np.asarray(parted.array(array)), np.asarray(expected), array)
        for shape in kind.tables:
            assert rows_of(parted, shape) == rows_of(single, shape)
    findings = list(verify(warehouse, [parted], seed=1, progress=Silence()))
    assert [finding.text for finding in findings if finding.status in (Status.FAILED, Status.UNCHECKED)] == []
    assert parted.manifest.statistics.keys() == single.manifest.statistics.keys()


def rows_of(table: Table, shape: TableShape) -> str:
    """The rows of a version as a text, so that NaN equals NaN."""
    columns = ", ".join(f"columns.{column.name}" for column in shape.columns)
    files = ", ".join(f"'{path}'" for path in table.check_files(shape.file))
    with duckdb.connect() as connection:
        sql = f"select {columns} from read_parquet([{files}], hive_partitioning = false) as columns"
        return repr(connection.sql(sql).fetchall())
