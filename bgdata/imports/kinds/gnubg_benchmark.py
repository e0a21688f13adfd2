"""gnubg's benchmark files: decisions with rolled-out plays, and the positions and rollouts between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bgdata.errors import UsageError
from bgdata.imports.kinds.shared.imports import QUARANTINE, QUARANTINE_ARRAYS, FileImport, ImportParameters
from bgdata.kinds.columns import CHANCE_COLUMNS, POSITION_COLUMNS, text_declarations
from bgdata.measures.kinds.shared.benchmarks import DECISIONS, LINE, PLAYS, ROLLOUTS, SEED
from bgdata.store.dataset import Column, FlatArray, TableShape

ADDRESS = "https://alpha.gnu.org/gnu/gnubg/nn-training/1.00/benchmarks/"
SIDE_TABLES = (
    PLAYS,
    ROLLOUTS,
    TableShape(
        "benchmark_positions",
        "positions.parquet",
        "Positions before the roll with the chances of the player on roll: rollouts for cube decisions (o), network "
        "evaluations (e), one-sided rollouts of races (O).",
        (LINE, Column("kind", "VARCHAR", "", "o, e or O as above"), *POSITION_COLUMNS, *CHANCE_COLUMNS, SEED),
        ("line",),
    ),
    TableShape(
        "benchmark_cube_rollouts",
        "cube_rollouts.parquet",
        "Cubeful rollouts before a double (c lines).",
        (
            LINE,
            *POSITION_COLUMNS,
            Column("no_double_mwc", "DOUBLE", "percent", "Chance of winning the match without doubling"),
            Column("double_take_mwc", "DOUBLE", "percent", "Chance of winning the match after double and take"),
            Column("action", "VARCHAR", "", "ND no double, D/T double and take, D/D double and pass, TG too good"),
            SEED,
        ),
        ("line",),
    ),
    TableShape(
        "benchmark_best_plays",
        "best_plays.parquet",
        "Plays that an evaluation prefers (b lines).",
        (
            LINE,
            *POSITION_COLUMNS,
            Column("die1", "TINYINT", "", "First die as written"),
            Column("die2", "TINYINT", "", "Second die as written"),
            Column("next_position_id", "VARCHAR", "", "Position after the play as written"),
            *CHANCE_COLUMNS,
        ),
        ("line",),
    ),
    TableShape(
        "benchmark_texts",
        "texts.parquet",
        "Settings (s lines) and comments of the file.",
        (LINE, Column("text", "VARCHAR", "", "The line")),
        ("line",),
    ),
    QUARANTINE,
)


def array_declarations() -> tuple[FlatArray, ...]:
    """Return the declarations of the arrays: one for each field of each table that the reader of benchmark files
    fills."""
    dtypes = {
        "boards": "int8", "play_boards": "int8", "dice": "int8", "forms": "int8", "equities": "float64",
        "losses": "float64", "chances": "float64", "mwc_percents": "float64", "kinds": "S1", "actions": "S3",
    }  # fmt: skip
    tables = {
        "seeds": ("lines", "seeds"),
        "decisions": ("lines", "boards", "dice", "seeds", "first_plays", "n_plays"),
        "plays": ("decisions", "ranks", "boards", "equities", "losses", "forms", "rollouts"),
        "rollouts": ("lines", "boards", "chances", "forms", "decisions"),
        "evaluations": ("lines", "kinds", "boards", "chances", "forms", "seeds"),
        "cube_rollouts": ("lines", "boards", "mwc_percents", "forms", "actions", "seeds"),
        "best_plays": ("lines", "boards", "dice", "play_boards", "chances", "forms"),
    }
    meaning = "As the reader gives it: bgdata.formats.gnubg_benchmark"
    return tuple(
        FlatArray(f"{table}_{field}", dtypes.get(field, "int64"), "row", meaning)
        for table, names in tables.items()
        for field in names
    )


class GnubgBenchmark(FileImport):
    """Kind `gnubg_benchmark`: a benchmark file of gnubg. A version contains only one file, because the rows of its
    tables refer to each other by number."""

    name = "gnubg_benchmark"
    revision = 3
    summary = "Checker decisions of GNU Backgammon's benchmark: a position and the roll that is to be played."
    source = f"Imported from <class>.bm files, published at {ADDRESS}"
    address = ADDRESS
    licence = "as published by the GNU Backgammon project; see the file's own notice"
    columns = DECISIONS.columns
    key = DECISIONS.key
    arrays = (
        *array_declarations(),
        FlatArray("decisions_classes", "uint8", "row", "Class of the position, numbered as by gnubg"),
        FlatArray("settings_lines", "int64", "settings line", "Line of the file, from 1"),
        *text_declarations("settings", "settings line", "Settings"),
        FlatArray("comments_lines", "int64", "comment", "Line of the file, from 1"),
        *text_declarations("comments", "comment", "Comments"),
        *text_declarations("sources", "file", "Name of the file"),
        *QUARANTINE_ARRAYS,
    )
    smallest = ImportParameters("contact")

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return DECISIONS, *SIDE_TABLES

    def check_files(self, files: Sequence[Path]) -> None:
        if len(files) != 1:
            raise UsageError(f"expected one benchmark file, got {len(files)}; its tables refer to each other by row")

    def parameters_of(self, files: Sequence[Path], name: str | None = None) -> ImportParameters:
        self.check_files(files)
        return super().parameters_of(files, name)


DATASET = GnubgBenchmark()
