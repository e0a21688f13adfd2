"""Reads gnubg's benchmark files and writes their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.formats import gnubg_benchmark as tables
from bgdata.formats.gnubg_benchmark import Benchmark, parse_gnubg_benchmark
from bgdata.formats.lines import Ledger, split_lines
from bgdata.game.board_kernels import position_classes
from bgdata.game.play_kernels import are_legal_results
from bgdata.imports.kinds.shared.imports import QUARANTINE, ImportParameters
from bgdata.imports.kinds.shared.imports_compute import WholeFilesComputation, are_over
from bgdata.imports.sources import published_contents
from bgdata.kinds.column_values import chance_columns, position_columns, text_arrays, text_column
from bgdata.measures.kinds.shared.benchmarks_compute import (
    BenchmarkRows,
    decision_columns,
    dice_columns,
    play_columns,
    rollout_columns,
    with_nulls,
)
from bgdata.store.arrays import Array
from bgdata.store.dataset import Computed
from bgdata.store.manifest import RawFile, Source

PERCENTS = ("no_double_mwc", "double_take_mwc")
TABLES = ("seeds", "decisions", "plays", "rollouts", "evaluations", "cube_rollouts", "best_plays")
TEXTS = ("settings", "comments")
Groups = tuple[Mapping[str, Any], ...]  # groups of columns
SAMPLE = """s version 1.93 weights 1.00 moves2plyLimit 20 rolloutLimit 5 nRollOutGames 1296
r 17
m OAHDPAABDAOAHDPAABDA 2 4 JIGHPAABDAOAHDPAABDA 0.114795 OAHDOEABCBOAHDPAABDA 0.0421133
"""


class GnubgBenchmarkComputation(WholeFilesComputation):
    """Reads gnubg's benchmark files, and makes the rows of the kind `gnubg_benchmark`."""

    sample = ("contact.bm", SAMPLE)

    def is_published(self, content_sha256: str) -> bool:
        return content_sha256 in published_contents(self.kind.name).values()

    def warnings(self, files: Sequence[RawFile]) -> list[str]:
        return [
            f"{file.name} is none of the published {', '.join(published_contents(self.kind.name))} of version 1.00 "
            f"(its SHA-256 is {file.content_sha256[:16]}...): scores do not compare with published ones"
            for file in files
            if not self.is_published(file.content_sha256)
        ]

    def parse(self, source: Source, _parameters: ImportParameters) -> Benchmark:
        benchmark = parse_gnubg_benchmark(source.content)
        is_over = are_over(benchmark.decisions.boards)
        benchmark = benchmark.quarantine("decisions", is_over, "expected a position of a game that goes on")
        decisions, plays = benchmark.decisions, benchmark.plays
        first_plays = np.append(decisions.first_plays, len(plays))
        legal = are_legal_results(decisions.boards, decisions.dice, first_plays, plays.boards)
        return benchmark.quarantine("plays", ~legal, "expected plays that are legal for the roll")

    def has_rows(self, intake: Any) -> bool:
        """Whether a file contains any line besides settings and seeds."""
        return any(len(getattr(intake, name)) for name in TABLES if name != "seeds")

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
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
        rows = BenchmarkRows(computed.arrays, "decisions")
        return rows.batches(decision_columns(rows, seed_column(rows)))

    def side_batches(self, name: str, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        if name == QUARANTINE.name:
            return super().side_batches(name, computed)
        if name == "benchmark_texts":
            return text_rows(computed.arrays)
        table, columns = SIDE_TABLES[name]
        rows = BenchmarkRows(computed.arrays, table)
        return rows.batches(*columns(rows))


def evaluation_columns(rows: BenchmarkRows) -> Groups:
    """The columns of the table `benchmark_positions`."""
    return (
        {"line": rows["lines"].astype(np.int32), "kind": rows["kinds"].astype(str)},
        position_columns(rows["boards"]),
        chance_columns(rows["chances"].astype(np.float32)),
        {"seed": seed_column(rows)},
    )


def cube_rollout_columns(rows: BenchmarkRows) -> Groups:
    """The columns of the table `benchmark_cube_rollouts`."""
    return (
        {"line": rows["lines"].astype(np.int32)},
        position_columns(rows["boards"]),
        {name: np.ascontiguousarray(rows["mwc_percents"][:, n]) for n, name in enumerate(PERCENTS)},
        {"action": rows["actions"].astype(str), "seed": seed_column(rows)},
    )


def best_play_columns(rows: BenchmarkRows) -> Groups:
    """The columns of the table `benchmark_best_plays`."""
    return (
        {"line": rows["lines"].astype(np.int32)},
        position_columns(rows["boards"]),
        dice_columns(rows["dice"]),
        {"next_position_id": position_columns(rows["play_boards"])["position_id"]},
        chance_columns(rows["chances"].astype(np.float32)),
    )


def seed_column(rows: BenchmarkRows) -> pa.Array:
    """Return the column with the seed of each row, null where the file has none."""
    return with_nulls(rows["seeds"], rows["seeds"] == tables.NO_SEED)


SIDE_TABLES: dict[str, tuple[str, Callable[[BenchmarkRows], Groups]]] = {  # by table: its prefix of arrays, its columns
    "benchmark_plays": ("plays", lambda rows: (play_columns(rows),)),
    "benchmark_rollouts": ("rollouts", lambda rows: (rollout_columns(rows),)),
    "benchmark_positions": ("evaluations", evaluation_columns),
    "benchmark_cube_rollouts": ("cube_rollouts", cube_rollout_columns),
    "benchmark_best_plays": ("best_plays", best_play_columns),
}


def text_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `benchmark_texts`."""
    lines = np.concatenate([arrays[f"{name}_lines"] for name in TEXTS])
    texts = pa.concat_arrays([text_column(arrays, name) for name in TEXTS])
    order = np.argsort(lines, kind="stable")
    yield pa.record_batch({"line": lines[order].astype(np.int32), "text": texts.take(pa.array(order))})


def benchmark_of(arrays: Mapping[str, Array]) -> Benchmark:
    """Convert the arrays of a version back to the tables of the reader, from which the file can be written again."""
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


COMPUTATION = GnubgBenchmarkComputation
