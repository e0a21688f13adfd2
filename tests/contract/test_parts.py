"""Every computed kind that falls into parts has the same rows in many parts as in one."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.kinds import all_kinds
from bgdata.store.progress import Silence
from bgdata.store.verify import Status, verify

PARTED = [kind.name for kind in all_kinds().values() if kind.part_items and not kind.takes_files]
# items of a part; the items of other kinds are positions
ITEMS = {"selfplay": 7, "selfplay_labels": 7, "cubeful_selfplay": 2, "training_games": 9}


def test_corpora_and_labels_are_split_into_parts() -> None:
    assert set(PARTED) == {*ITEMS, "lookahead_labels", "engine_labels", "rollout_labels"}


@pytest.mark.parametrize("name", PARTED)
def test_many_parts_have_the_rows_of_one(
    small_root: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A kind that is built in several parts has the arrays and rows of one that is built in a single part."""
    root = memory_path / "warehouse"
    shutil.copytree(small_root, root)
    kind = all_kinds()[name]
    warehouse = bgdata.open_warehouse(root)
    whole = warehouse.open(name, kind.slug(kind.smallest))
    inputs = warehouse.made_from(whole)
    count = kind.item_count(kind.smallest, inputs)
    monkeypatch.setattr(type(kind), "part_items", ITEMS.get(name, max(1, count // 3)))
    table = warehouse.build(name, kind.smallest, force=True, inputs=inputs)
    assert len(table.parts) >= 2
    assert table.manifest.rows == whole.manifest.rows or name in ("lookahead_labels", "engine_labels")
    if table.manifest.rows == whole.manifest.rows:
        for array, expected in whole.arrays().items():
            np.testing.assert_array_equal(np.asarray(table.array(array)), np.asarray(expected), array)
        for shape in kind.tables:
            columns = ", ".join(f"columns.{column.name}" for column in shape.columns)
            query = f"select {columns} from read_parquet([{{}}], hive_partitioning = false) as columns"
            rows = [
                warehouse.connect(allow_files=True)
                .sql(query.format(", ".join(f"'{path}'" for path in each.check_files(shape.file))))
                .fetchall()
                for each in (table, whole)
            ]
            assert repr(rows[0]) == repr(rows[1])  # also where both have no number
    findings = list(verify(warehouse, [table], seed=1, progress=Silence()))
    assert [finding.text for finding in findings if finding.status in (Status.FAILED, Status.UNCHECKED)] == []
    (figures, expected_figures) = (each.manifest.statistics for each in (table, whole))
    assert set(figures) == set(expected_figures)
