"""The tables of decisions with rolled-out plays, for imported files and for sets that bgdata makes."""

from __future__ import annotations

from dataclasses import replace

from bgdata.kinds.columns import CHANCE_COLUMNS, CLASS_COLUMN, POSITION_COLUMNS
from bgdata.selfplay.kinds.shared.rollouts import NETWORK_COLUMN
from bgdata.store.dataset import PARQUET, Column, TableShape

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
