"""Write gnubg's benchmark files.

Rows come in the order of their lines, and numbers in the form in which they were read: a file in canonical form (line
feeds, single spaces, no blank line, numbers of at most 15 digits without a redundant sign or zero) comes out byte for
byte, although its numbers are mixed: six significant digits in old lines, seven decimals in merged ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Any

from numpy.typing import NDArray

from bgdata.formats.fields import format_number
from bgdata.formats.gnubg_benchmark_tables import (
    Benchmark,
    BenchmarkDecisions,
    BenchmarkEvaluations,
    BenchmarkPlays,
    BestPlays,
    CubeRollouts,
    Rollouts,
)
from bgdata.formats.lines import write_bytes
from bgdata.game.codec import Boards, format_key20s


def write_gnubg_benchmark(path: str | os.PathLike[str], benchmark: Benchmark) -> None:
    """Write a benchmark file; compressed if the name ends in .gz or .bz2. Errors as in `format_gnubg_benchmark`, and
    StorageError where the file cannot be written."""
    write_bytes(path, format_gnubg_benchmark(benchmark))


def format_gnubg_benchmark(benchmark: Benchmark) -> Iterator[bytes]:
    """The lines of a benchmark file, one by one; the `lines` of each table must ascend.

    Raises InvalidPositionError for an illegal board.
    """
    tables: list[tuple[Any, Iterable[str]]] = [
        (benchmark.seeds, (f"r {seed}" for seed in benchmark.seeds.seeds.tolist())),
        (benchmark.decisions, _decisions(benchmark.decisions, benchmark.plays)),
        (benchmark.rollouts, _rollouts(benchmark.rollouts)),
        (benchmark.evaluations, _evaluations(benchmark.evaluations)),
        (benchmark.cube_rollouts, _cube_rollouts(benchmark.cube_rollouts)),
        (benchmark.best_plays, _best_plays(benchmark.best_plays)),
    ]
    rows = [zip(table.lines.tolist(), texts, strict=True) for table, texts in tables]
    for _, text in merge(benchmark.settings, benchmark.comments, *rows, key=lambda row: row[0]):
        yield f"{text}\n".encode()


def _decisions(decisions: BenchmarkDecisions, plays: BenchmarkPlays) -> Iterator[str]:
    written = [
        equity if rank == 0 else loss
        for rank, equity, loss in zip(plays.ranks.tolist(), plays.equities.tolist(), plays.losses.tolist(), strict=True)
    ]
    numbers = map(format_number, written, plays.forms.tolist())
    texts = [f"{key} {number}" for key, number in zip(_keys(plays.boards), numbers, strict=True)]
    spans = zip(decisions.first_plays.tolist(), decisions.n_plays.tolist(), strict=True)
    for key, (die, other), (first, count) in zip(_keys(decisions.boards), decisions.dice.tolist(), spans, strict=True):
        yield f"m {key} {die} {other} {' '.join(texts[first : first + count])}"


def _rollouts(rollouts: Rollouts) -> Iterator[str]:
    for key, chances in zip(_keys(rollouts.boards), _numbers(rollouts.chances, rollouts.forms), strict=True):
        yield f"#R {key} {chances}"


def _evaluations(evaluations: BenchmarkEvaluations) -> Iterator[str]:
    chances = _numbers(evaluations.chances, evaluations.forms)
    for kind, key, text in zip(evaluations.kinds.tolist(), _keys(evaluations.boards), chances, strict=True):
        yield f"{kind.decode()} {key} {text}"


def _cube_rollouts(rollouts: CubeRollouts) -> Iterator[str]:
    percents = _numbers(rollouts.mwc_percents, rollouts.forms)
    for key, text, action in zip(_keys(rollouts.boards), percents, rollouts.actions.tolist(), strict=True):
        yield f"c {key} {text} {action.decode()}"


def _best_plays(plays: BestPlays) -> Iterator[str]:
    keys = zip(_keys(plays.boards), plays.dice.tolist(), _keys(plays.play_boards), strict=True)
    for (key, (first, second), play), chances in zip(keys, _numbers(plays.chances, plays.forms), strict=True):
        yield f"b {key} {first} {second} {play} {chances}"


def _keys(boards: Boards) -> Iterator[str]:
    return (key.decode() for key in format_key20s(boards).tolist())


def _numbers(values: NDArray[Any], forms: NDArray[Any]) -> Iterator[str]:
    """The numbers of each row, in their forms."""
    for row, row_forms in zip(values.tolist(), forms.tolist(), strict=True):
        yield " ".join(map(format_number, row, row_forms))
