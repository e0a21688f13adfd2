"""The tables of decisions with rolled-out plays: the same for imported files and for sets that are made here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.datasets.common.columns import (
    CHANCE_COLUMNS,
    CLASS_COLUMN,
    POSITION_COLUMNS,
    chance_columns,
    class_column,
    null_columns,
    position_columns,
)
from bgdata.datasets.common.rollouts import NETWORK_COLUMN
from bgdata.store.declaration import PARQUET, Column, TableShape

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

ROW_GROUP_ROWS = 245_760
LINE = Column("line", "INTEGER", "", "Line of the file, from 1; of a set made here: of the file that it exports as")
DECISION = Column("decision", "INTEGER", "", "Number of the decision, from 0 in order of the file")
SEED = Column("seed", "BIGINT", "", "Random seed of the rollouts, where the file says")
DECISIONS = TableShape(
    "benchmark_decisions",
    PARQUET,
    "Checker decisions whose plays were rolled out, imported or made here: a position and the roll to be played.",
    (
        DECISION,
        LINE,
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("die1", "TINYINT", "", "First die as written"),
        Column("die2", "TINYINT", "", "Second die as written"),
        Column("n_plays", "SMALLINT", "plays", "Plays that were rolled out"),
        SEED,
        Column("n_legal_plays", "INTEGER", "plays", "All legal plays, null if imported"),
        Column("game", "INTEGER", "", "Game of the corpus that the decision is from, null if imported"),
        Column("turn", "INTEGER", "", "Turn of that game, null if imported"),
        replace(NETWORK_COLUMN, meaning=f"{NETWORK_COLUMN.meaning}; null if imported"),
    ),
    ("decision",),
    shared=True,
)
PLAYS = TableShape(
    "benchmark_plays",
    "plays.parquet",
    "Rolled-out plays of the decisions in benchmark_decisions, best first.",
    (
        DECISION,
        Column("rank", "SMALLINT", "", "0 for the best play"),
        *(
            replace(column, meaning=f"{column.meaning}; after the play, the OPPONENT on roll")
            for column in POSITION_COLUMNS
        ),
        Column("equity", "DOUBLE", "points", "Cubeless money equity of the player who makes the play"),
        Column("standard_error", "DOUBLE", "points", "Standard error of equity, null if imported"),
        Column("loss", "DOUBLE", "points", "Equity that the play loses against the best"),
        Column(
            "loss_standard_error",
            "DOUBLE",
            "points",
            "Standard error of loss, from the differences block by block; null if imported",
        ),
        Column("trials", "BIGINT", "games", "Games played, null if imported"),
    ),
    ("decision", "rank"),
    shared=True,
)
ROLLOUTS = TableShape(
    "benchmark_rollouts",
    "rollouts.parquet",
    "Rollout results (#R lines): the position after a play, the OPPONENT on roll, whose chances they are.",
    (
        LINE,
        replace(DECISION, meaning="Decision that the play belongs to, null where none follows"),
        *POSITION_COLUMNS,
        *CHANCE_COLUMNS,
    ),
    ("line",),
    shared=True,
)

# null unless the kind says otherwise: imported files do not say them
MAY_BE_UNKNOWN = {"n_legal_plays", "game", "turn", "network", "standard_error", "loss_standard_error", "trials"}


class Rows:
    """The arrays of one table, by field: `decisions_boards` is Rows(arrays, "decisions")["boards"]."""

    def __init__(self, arrays: Mapping[str, Array], table: str) -> None:
        self._arrays, self._table = arrays, table

    def __getitem__(self, field: str) -> Array:
        return self._arrays[f"{self._table}_{field}"]

    def __len__(self) -> int:
        return len(self["boards"])

    def batches(self, *columns: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """One Parquet table from groups of columns, in the order given."""
        import pyarrow as pa

        table = pa.table({name: values for group in columns for name, values in group.items()})
        yield from table.combine_chunks().to_batches(max_chunksize=ROW_GROUP_ROWS) or [table.schema.empty_table()]


def nullable(values: Array, is_null: Array) -> pa.Array:
    """A column in which some rows are null."""
    import pyarrow as pa

    return pa.array(values, mask=is_null)


def dice_columns(dice: Array) -> dict[str, Array]:
    """`die1` and `die2` of int8[n, 2]."""
    return {"die1": np.ascontiguousarray(dice[:, 0]), "die2": np.ascontiguousarray(dice[:, 1])}


def decision_columns(rows: Rows, seeds: pa.Array) -> dict[str, Any]:
    """The columns of benchmark_decisions, those null that files do not have."""
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


def play_columns(rows: Rows) -> dict[str, Any]:
    """The columns of benchmark_plays, those null that files do not have."""
    return {
        "decision": rows["decisions"].astype(np.int32),
        "rank": rows["ranks"].astype(np.int16),
        **position_columns(rows["boards"]),
        "equity": rows["equities"],
        "loss": rows["losses"],
        **null_columns(PLAYS.columns, MAY_BE_UNKNOWN, len(rows)),
    }


def rollout_columns(rows: Rows) -> dict[str, Any]:
    """The columns of benchmark_rollouts."""
    return {
        "line": rows["lines"].astype(np.int32),
        "decision": nullable(rows["decisions"].astype(np.int32), rows["decisions"] < 0),
        **position_columns(rows["boards"]),
        **chance_columns(rows["chances"].astype(np.float32)),
    }
