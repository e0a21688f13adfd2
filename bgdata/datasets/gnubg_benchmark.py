"""gnubg's benchmark files: decisions whose plays were rolled out, and the positions and rollouts between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.datasets.common.benchmarks import (
    DECISIONS,
    LINE,
    PLAYS,
    ROLLOUTS,
    SEED,
    Rows,
    decision_columns,
    dice_columns,
    nullable,
    play_columns,
    rollout_columns,
)
from bgdata.datasets.common.columns import (
    CHANCE_COLUMNS,
    POSITION_COLUMNS,
    chance_columns,
    position_columns,
    text_arrays,
    text_column,
    text_declarations,
)
from bgdata.datasets.common.imports import QUARANTINE, QUARANTINE_ARRAYS, FileImport, ImportParameters, are_over
from bgdata.errors import UsageError
from bgdata.store.context import Computed
from bgdata.store.declaration import Column, FlatArray, TableShape
from bgdata.store.manifest import RawFile, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.formats.gnubg_benchmark_tables import Benchmark
    from bgdata.store.arrays import Array

ADDRESS = "https://alpha.gnu.org/gnu/gnubg/nn-training/1.00/benchmarks/"
PUBLISHED = {  # SHA-256 of the unpacked files of version 1.00
    "contact": "68317d792c152ff836a4af69e9c632056480663e403548daea793f8b270b25e4",
    "crashed": "e0ee39a8cc5fc0172eb47abc209c06e8129fddd582a450adf54c33f7a0bb9f64",
    "race": "72a79284ca1d71316f838747a954b841aaf45b9bcdd05d526ea08b30b600b9ff",
}
NO_SEED = int(np.iinfo(np.int64).min)  # as the reader says it
PERCENTS = ("no_double_mwc", "double_take_mwc")
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
TABLES = ("seeds", "decisions", "plays", "rollouts", "evaluations", "cube_rollouts", "best_plays")
TEXTS = ("settings", "comments")
SAMPLE = """s version 1.93 weights 1.00 moves2plyLimit 20 rolloutLimit 5 nRollOutGames 1296
r 17
m OAHDPAABDAOAHDPAABDA 2 4 JIGHPAABDAOAHDPAABDA 0.114795 OAHDOEABCBOAHDPAABDA 0.0421133
"""


def array_declarations() -> tuple[FlatArray, ...]:
    """One array for each field of each table that the reader gives."""
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
    meaning = "As the reader gives it: bgdata.formats.gnubg_benchmark_tables"
    return tuple(
        FlatArray(f"{table}_{field}", dtypes.get(field, "int64"), "row", meaning)
        for table, names in tables.items()
        for field in names
    )


class GnubgBenchmark(FileImport):
    """One file a version: its tables refer to each other by row."""

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

    def is_published(self, content_sha256: str) -> bool:
        return content_sha256 in PUBLISHED.values()

    def warnings(self, files: Sequence[RawFile]) -> list[str]:
        return [
            f"{file.name} is none of the published {', '.join(f'{name}.bm' for name in PUBLISHED)} of version 1.00 "
            f"(its SHA-256 is {file.content_sha256[:16]}...): scores do not compare with published ones"
            for file in files
            if not self.is_published(file.content_sha256)
        ]

    def parse(self, source: Source) -> Benchmark:
        from bgdata.formats.gnubg_benchmark import parse_gnubg_benchmark
        from bgdata.game.legality import are_legal_results

        benchmark = parse_gnubg_benchmark(source.content)
        is_over = are_over(benchmark.decisions.boards)
        benchmark = benchmark.quarantine("decisions", is_over, "expected a position of a game that goes on")
        decisions, plays = benchmark.decisions, benchmark.plays
        first_plays = np.append(decisions.first_plays, len(plays))
        legal = are_legal_results(decisions.boards, decisions.dice, first_plays, plays.boards)
        return benchmark.quarantine("plays", ~legal, "expected plays that are legal for the roll")

    def has_rows(self, intake: Any) -> bool:
        """Settings and seeds alone say nothing."""
        return any(len(getattr(intake, name)) for name in TABLES if name != "seeds")

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        from bgdata.game.board_kernels import position_classes

        (benchmark,) = intakes
        found = {
            f"{name}_{field.name}": getattr(getattr(benchmark, name), field.name)
            for name in TABLES
            for field in fields(getattr(benchmark, name))
        }
        for name in TEXTS:
            found[f"{name}_lines"] = np.array([entry.line for entry in getattr(benchmark, name)], np.int64)
            found |= text_arrays(name, [entry.text for entry in getattr(benchmark, name)])
        found["decisions_classes"] = position_classes(benchmark.decisions.boards).astype(np.uint8)
        return found

    def batches(self, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        return decision_rows(computed.arrays)

    def side_batches(self, name: str, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        if name == QUARANTINE.name:
            return super().side_batches(name, computed)
        writers = {
            "benchmark_plays": play_rows,
            "benchmark_rollouts": rollout_rows,
            "benchmark_positions": evaluation_rows,
            "benchmark_cube_rollouts": cube_rollout_rows,
            "benchmark_best_plays": best_play_rows,
            "benchmark_texts": text_rows,
        }
        return writers[name](computed.arrays)

    def write_sample(self, folder: Path) -> list[Path]:
        path = folder / "contact.bm"
        path.write_text(SAMPLE)
        return [path]


def decision_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """benchmark_decisions."""
    rows = Rows(arrays, "decisions")
    return rows.batches(decision_columns(rows, nullable(rows["seeds"], rows["seeds"] == NO_SEED)))


def play_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """benchmark_plays."""
    rows = Rows(arrays, "plays")
    return rows.batches(play_columns(rows))


def rollout_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """benchmark_rollouts."""
    rows = Rows(arrays, "rollouts")
    return rows.batches(rollout_columns(rows))


def evaluation_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """benchmark_positions."""
    rows = Rows(arrays, "evaluations")
    return rows.batches(
        {"line": rows["lines"].astype(np.int32), "kind": rows["kinds"].astype(str)},
        position_columns(rows["boards"]),
        chance_columns(rows["chances"].astype(np.float32)),
        {"seed": nullable(rows["seeds"], rows["seeds"] == NO_SEED)},
    )


def cube_rollout_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """benchmark_cube_rollouts."""
    rows = Rows(arrays, "cube_rollouts")
    percents = {name: np.ascontiguousarray(rows["mwc_percents"][:, n]) for n, name in enumerate(PERCENTS)}
    return rows.batches(
        {"line": rows["lines"].astype(np.int32)},
        position_columns(rows["boards"]),
        percents,
        {"action": rows["actions"].astype(str), "seed": nullable(rows["seeds"], rows["seeds"] == NO_SEED)},
    )


def best_play_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """benchmark_best_plays."""
    rows = Rows(arrays, "best_plays")
    return rows.batches(
        {"line": rows["lines"].astype(np.int32)},
        position_columns(rows["boards"]),
        dice_columns(rows["dice"]),
        {"next_position_id": position_columns(rows["play_boards"])["position_id"]},
        chance_columns(rows["chances"].astype(np.float32)),
    )


def text_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """benchmark_texts."""
    import pyarrow as pa

    lines = np.concatenate([arrays[f"{name}_lines"] for name in TEXTS])
    texts = pa.concat_arrays([text_column(arrays, name) for name in TEXTS])
    order = np.argsort(lines, kind="stable")
    yield pa.record_batch({"line": lines[order].astype(np.int32), "text": texts.take(pa.array(order))})


def benchmark_of(arrays: Mapping[str, Array]) -> Benchmark:
    """The tables of the reader again, to be written as a file."""
    from bgdata.formats import gnubg_benchmark_tables as tables
    from bgdata.formats.lines import Ledger, split_lines

    types = {
        "seeds": tables.Seeds, "decisions": tables.BenchmarkDecisions, "plays": tables.BenchmarkPlays,
        "rollouts": tables.Rollouts, "evaluations": tables.BenchmarkEvaluations,
        "cube_rollouts": tables.CubeRollouts, "best_plays": tables.BestPlays,
    }  # fmt: skip
    found: dict[str, Any] = {
        name: type_(**{entry.name: np.asarray(arrays[f"{name}_{entry.name}"]) for entry in fields(type_)})
        for name, type_ in types.items()
    }
    for name in TEXTS:
        texts = text_column(arrays, name).to_pylist()
        found[name] = tuple(map(tables.Text, arrays[f"{name}_lines"].tolist(), texts))
    return tables.Benchmark(ledger=Ledger(split_lines(b"")), **found)


DATASET = GnubgBenchmark()
