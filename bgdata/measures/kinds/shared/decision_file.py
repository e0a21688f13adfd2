"""Decisions that were rolled out here, as the benchmark file that they export as."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bgdata.formats import gnubg_benchmark as tables
from bgdata.formats.gnubg_benchmark import Benchmark, parse_gnubg_benchmark
from bgdata.measures.kinds.shared.benchmarks_compute import BenchmarkRows
from bgdata.store.arrays import Array

DECIMALS = 7  # of equities and losses, as in the newer lines of gnubg's files
CHANCE_DECIMALS = 6


def with_lines(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """With the lines of the benchmark file: a comment, then of each decision its seed, its rollouts and itself."""
    n_plays, decisions = np.asarray(arrays["decisions_n_plays"]), np.asarray(arrays["plays_decisions"])
    lines = 1 + np.cumsum(n_plays + 2)
    rollouts = lines[decisions] - n_plays[decisions] + arrays["plays_ranks"]
    names = ("boards", "chances", "decisions")
    found = {f"rollouts_{name}": np.asarray(arrays[f"plays_{name}"]) for name in names}
    return {**arrays, "decisions_lines": lines, "rollouts_lines": rollouts, **found}


def benchmark_of(arrays: Mapping[str, Array]) -> Benchmark:
    """The tables of a benchmark file, to be written."""
    arrays = with_lines(arrays)
    decisions, plays, rollouts = (BenchmarkRows(arrays, name) for name in ("decisions", "plays", "rollouts"))
    text = f"# plays rolled out by {np.asarray(arrays['network']).tobytes().decode()}, all of a roll with the same dice"
    chances: Array = np.round(rollouts["chances"].astype(np.float64), CHANCE_DECIMALS)
    count, lines = len(plays), decisions["lines"]
    empty = parse_gnubg_benchmark(b"")
    return tables.Benchmark(
        empty.ledger,
        settings=(),
        comments=(tables.Text(1, text),),
        seeds=tables.Seeds(lines - decisions["n_plays"] - 1, decisions["seeds"]),
        decisions=tables.BenchmarkDecisions(
            lines, *(decisions[name] for name in ("boards", "dice", "seeds", "first_plays", "n_plays"))
        ),
        plays=tables.BenchmarkPlays(
            plays["decisions"],
            plays["ranks"],
            plays["boards"],
            plays["equities"],
            plays["losses"],
            forms=np.full(count, DECIMALS, np.int8),
            rollouts=np.arange(count),
        ),
        rollouts=tables.Rollouts(
            rollouts["lines"],
            rollouts["boards"],
            chances,
            np.full((count, 5), CHANCE_DECIMALS, np.int8),
            rollouts["decisions"],
        ),
        evaluations=empty.evaluations,
        cube_rollouts=empty.cube_rollouts,
        best_plays=empty.best_plays,
    )
