"""Rows of decisions and their rolled-out plays, from the arrays of a kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.kinds.column_values import chance_columns, class_column, null_columns, position_columns
from bgdata.measures.kinds.shared.benchmarks import DECISIONS, PLAYS
from bgdata.store.arrays import Array

ROW_GROUP_ROWS = 245_760
# columns that are null unless the kind fills them, because imported files lack them
MAY_BE_UNKNOWN = {"n_legal_plays", "game", "turn", "network", "standard_error", "loss_standard_error", "trials"}


class BenchmarkRows:
    """The arrays of one table of a benchmark, by field: BenchmarkRows(arrays, "decisions")["boards"] is
    `decisions_boards`."""

    def __init__(self, arrays: Mapping[str, Array], table: str) -> None:
        self._arrays, self._table = arrays, table

    def __getitem__(self, field: str) -> Array:
        return self._arrays[f"{self._table}_{field}"]

    def __len__(self) -> int:
        return len(self["boards"])

    def batches(self, *columns: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the table for a Parquet file. Its columns are those of all `columns`, in order."""
        table = pa.table({name: values for group in columns for name, values in group.items()})
        yield from table.combine_chunks().to_batches(max_chunksize=ROW_GROUP_ROWS) or [table.schema.empty_table()]


def with_nulls(values: Array, is_null: Array) -> pa.Array:
    """Return a column with these values, except that rows are null where `is_null` is true."""
    return pa.array(values, mask=is_null)


def dice_columns(dice: Array) -> dict[str, Array]:
    """Return the columns `die1` and `die2` of int8[n, 2] dice."""
    return {"die1": np.ascontiguousarray(dice[:, 0]), "die2": np.ascontiguousarray(dice[:, 1])}


def decision_columns(rows: BenchmarkRows, seeds: pa.Array) -> dict[str, Any]:
    """Return the columns of `benchmark_decisions`; columns that files do not contain are null."""
    return {
        "decision": np.arange(len(rows), dtype=np.int32),
        "line": rows["lines"].astype(np.int32),
        **position_columns(rows["boards"]),
        "class": class_column(rows["classes"]),
        **dice_columns(rows["dice"]),
        "n_plays": rows["n_plays"].astype(np.int16),
        "seed": seeds,
        **null_columns(DECISIONS.columns, MAY_BE_UNKNOWN, len(rows)),
    }


def play_columns(rows: BenchmarkRows) -> dict[str, Any]:
    """Return the columns of `benchmark_plays`; columns that files do not contain are null."""
    return {
        "decision": rows["decisions"].astype(np.int32),
        "rank": rows["ranks"].astype(np.int16),
        **position_columns(rows["boards"]),
        "equity": rows["equities"],
        "loss": rows["losses"],
        **null_columns(PLAYS.columns, MAY_BE_UNKNOWN, len(rows)),
    }


def rollout_columns(rows: BenchmarkRows) -> dict[str, Any]:
    """Return the columns of the table `benchmark_rollouts`; columns that files do not contain are null."""
    return {
        "line": rows["lines"].astype(np.int32),
        "decision": with_nulls(rows["decisions"].astype(np.int32), rows["decisions"] < 0),
        **position_columns(rows["boards"]),
        **chance_columns(rows["chances"].astype(np.float32)),
    }
