"""The view `leakage` lists what the feed leaves out, row by row: every kind with labels, every split and benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bgdata.game.position import START, Position, format_key20
from bgdata.game.position_hash import position_hashes
from bgdata.imports.kinds.gnubg_benchmark import GnubgBenchmark
from bgdata.kinds import all_kinds
from bgdata.selfplay.splits import SPLITS
from bgdata.store.context import Build, Computed
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.training.feed import is_labelled
from bgdata.training.feed.rows import LabelledRows, benchmark_versions, open_guard, splits_of
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, Toy

KEYS = "select dataset, variant, key from leakage"


def plant(warehouse: Warehouse, folder: Path, boards: list[Any]) -> None:
    """Make positions those of a benchmark, the second of each two seen by the other side."""
    positions = [Position(board) for board in boards]
    seen = [position.flip() if n % 2 else position for n, position in enumerate(positions)]
    keys = map(format_key20, seen)
    path = folder / "race.bm"
    path.write_text("".join(f"e {key} 0.5 0 0 0 0\n" for key in keys))
    kind = GnubgBenchmark()
    warehouse.build(kind.name, kind.parameters_of([path]), files=[path])


def leaking(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Dataset, variant and key of every row of the view, in order."""
    return sorted((*row[:2], tuple(json.loads(row[2]).values())) for row in connection.sql(KEYS).fetchall())


@pytest.mark.catalog
def test_leakage_is_what_the_feed_leaves_out(warehouse: Warehouse, tmp_path: Path) -> None:
    kinds = [kind for kind in warehouse.kinds.values() if is_labelled(kind)]
    tables = [table for kind in kinds for table in warehouse.current(kind.name)]
    plant(warehouse, tmp_path, [board for table in tables for board in table.array("boards")[[0, -1]].tolist()])
    guard = open_guard(warehouse, benchmark_versions(warehouse))
    expected = []
    for table in tables:
        rows = LabelledRows(table, splits_of(warehouse, table), from_parquet=False)
        block = rows.read(0, len(rows))
        left_out = sum(rows.choose(block, 0, split, guard).guarded for split in range(len(SPLITS)))
        is_known = guard.contains(position_hashes(block.boards))
        keys = pq.read_table(table.parquet, columns=list(warehouse.kind(table.manifest.dataset).key)).to_pylist()
        found = [tuple(key.values()) for key, known in zip(keys, is_known, strict=True) if known]
        assert len(found) == left_out >= 1
        expected += [(table.manifest.dataset, table.manifest.variant, key) for key in found]
    with warehouse.connect() as connection:
        assert leaking(connection) == sorted(expected)
        boards = np.array(connection.sql("select board from benchmark_boards").fetchall(), np.int8)[:, 0]
    assert set(position_hashes(boards).tolist()) == set(guard.known.tolist())
    with duckdb.connect(str(warehouse.catalog), read_only=True) as plain:
        assert leaking(plain) == sorted(expected)


class LabelledBatches(Toy):
    """A kind with labels that nobody has heard of."""

    name = "lessons"
    summary = "Lessons."
    columns = (
        Column("number", "INTEGER", "", "Number"),
        Column("position_id", "VARCHAR", "", "Position"),
        Column("board", "TINYINT[]", "checkers", "Position"),
    )
    arrays = (
        FlatArray("boards", "int8", "number", "Positions"),
        FlatArray("chances", "float32", "number", "Chances"),
        FlatArray("classes", "uint8", "number", "Classes"),
    )

    def compute(self, build: Build[Count]) -> None:
        parameters, job = build.parameters, build.job
        job.save("boards", np.array([START.board] * parameters.count, np.int8))
        job.save("chances", np.zeros((parameters.count, 5), np.float32))
        job.save("classes", np.zeros(parameters.count, np.uint8))

    def batches(self, computed: Computed[Parameters]) -> Iterator[pa.RecordBatch]:
        boards = computed.arrays["boards"].tolist()
        numbers, ids = np.arange(len(boards), dtype=np.int32), [START.id] * len(boards)
        yield pa.record_batch({"number": numbers, "position_id": ids, "board": pa.array(boards, pa.list_(pa.int8()))})


def test_a_new_kind_with_labels_is_not_forgotten(memory_path: Path, tmp_path: Path) -> None:
    warehouse = Warehouse(memory_path, all_kinds() | {"lessons": LabelledBatches()})
    warehouse.build("lessons", Count(3))
    with warehouse.connect() as connection:
        assert leaking(connection) == []
    plant(warehouse, tmp_path, [list(START.board)])
    with warehouse.connect() as connection:
        assert leaking(connection) == [("lessons", "3", (number,)) for number in range(3)]
