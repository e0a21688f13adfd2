"""The choices and values of players on benchmarks and reference positions, and the speed of their evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import gcd, sqrt
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import MissingTableError, UsageError
from bgdata.evaluation.chances import Evaluator
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import open_named_evaluator, open_named_player
from bgdata.evaluation.players import NETWORK, PROGRAMS
from bgdata.game.codec import Boards
from bgdata.imports.kinds.gnubg_benchmark import DATASET as IMPORTED
from bgdata.kernel import thread_count
from bgdata.kinds.column_values import text_column
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARK_SCORES
from bgdata.measures.kinds.benchmark_scores import JUDGED, ROLLED_OUT, ScoreParameters, check_benchmark
from bgdata.measures.kinds.cube_benchmark import DATASET as CUBE_BENCHMARK
from bgdata.measures.kinds.cube_benchmark_scores import AHEAD, MODELS, CubeScoreParameters
from bgdata.measures.kinds.cube_benchmark_scores import DATASET as CUBE_SCORES
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.kinds.reference_scores import DATASET as REFERENCE_SCORES
from bgdata.measures.kinds.reference_scores import ReferenceScoreParameters
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Row, Warehouse

RATES = """
select player, ply, player_version, benchmark, benchmark_version, judge, decisions, error_rate, standard_error,
       unlisted_share, best_share
from benchmark_summary
where benchmark || '/' || benchmark_version in (select unnest($sets)) and decisions > 0
order by all
"""
DIFFERENCES = """
select player, ply, benchmark, other_player, other_ply, same_choices, difference,
       standard_error as difference_standard_error, rollout_standard_error
from benchmark_differences
where other_player = $player and other_ply = $ply
      and benchmark || '/' || benchmark_version in (select unnest($sets))
"""
RUNS = 3  # number of runs, of which the median is the speed
MIN_SECONDS = 0.2  # time of the shortest run
MAX_POSITIONS = 1 << 20  # maximum number of positions of a run
Player = tuple[str, int]  # (name, ply)


def available_benchmarks(warehouse: Warehouse) -> list[Table]:
    """Return the current versions of all benchmarks, whether they were imported, made or judged here. Raises
    MissingTableError if there are none."""
    found = [table for kind in (IMPORTED.name, ROLLED_OUT, JUDGED) for table in warehouse.current(kind)]
    if not found:
        raise MissingTableError(
            f"expected a benchmark in {warehouse.root}, found none; try: bgdata build, or "
            "bgdata import gnubg_benchmark contact.bm"
        )
    return found


def chosen_sets(warehouse: Warehouse, names: Sequence[str], more: Sequence[Table] = ()) -> list[Table]:
    """Return the benchmarks called `names`, and `more`; all benchmarks if both are empty. A name is KIND/VARIANT,
    KIND/VARIANT/VERSION, or just the variant of an imported benchmark. Raises InvalidParameterError for a table that is
    not a benchmark, and MissingTableError for one that does not exist."""
    found = list[Table]()
    for name in names:
        reference = name if "/" in name else f"{IMPORTED.name}/{name}"
        check_benchmark("/".join(reference.split("/")[:2]))
        found.append(warehouse.open_reference(reference))
    return [*found, *more] or available_benchmarks(warehouse)


def current_sets(warehouse: Warehouse, names: Sequence[str]) -> list[Table]:
    """Return the benchmarks called `names`, or all, each once. Raises UsageError for a version that is not current,
    because SQL does not see its rows; InvalidParameterError for a table that is not a benchmark; and MissingTableError
    for one that does not exist."""
    found = {table.name: table for table in chosen_sets(warehouse, names)}
    for table in found.values():
        current = warehouse.open(table.manifest.dataset, table.manifest.variant)
        if current.name != table.name:
            raise UsageError(f"expected the current version {current.name}, got {table.name}; try: bgdata use")
    return list(found.values())


def build_benchmark_scores(
    warehouse: Warehouse, sets: Sequence[Table], name: str, ply: int, progress: Progress
) -> list[Table]:
    """Score a player on each benchmark, unless it has been scored before. Returns one version for each benchmark.
    Raises the errors of `open_named_player` and `Warehouse.build`."""
    version = open_named_player(name, ply, warehouse).version
    recipes = [ScoreParameters.on(benchmark, name, ply, version) for benchmark in sets]
    return [warehouse.build(BENCHMARK_SCORES.name, recipe, progress=progress) for recipe in recipes]


def judge_of(table: Table) -> str | None:
    """Return the network or program that rolled out the plays of a benchmark, and its version; None if it is
    imported."""
    if table.has_array("judge"):
        (judge,) = text_column(table.arrays(), "judge").to_pylist()
        return str(judge)
    return np.asarray(table.array("network")).tobytes().decode() if table.has_array("network") else None


def build_cube_scores(warehouse: Warehouse, name: str, ply: int, progress: Progress) -> Iterator[Table]:
    """Score a player's cube actions on the current version of every cube benchmark, unless they have been scored
    before. A network is scored by each cube model. Yields the versions. Raises MissingTableError if there is no cube
    benchmark, and the errors of `open_named_player` and `Warehouse.build`."""
    version = open_named_player(name, ply, warehouse).version
    benchmarks = list(warehouse.current(CUBE_BENCHMARK.name))
    if not benchmarks:
        raise MissingTableError(
            f"expected a cube benchmark in {warehouse.root}, found none; try: bgdata build cube_benchmark"
        )
    models = [""] if name in PROGRAMS else [model for model in MODELS if ply or not model.startswith(AHEAD)]
    for benchmark in benchmarks:
        for model in models:
            recipe = CubeScoreParameters.on(benchmark, name, ply, model, version)
            yield warehouse.build(CUBE_SCORES.name, recipe, progress=progress)


def cube_score_row(table: Table) -> Row:
    """Return the figures of a version of `cube_benchmark_scores` as a row of data."""
    recipe, found = table.manifest.parameters, table.manifest.statistics
    (judge,) = text_column(table.arrays(), "judge").to_pylist()
    names = [f"{part}{name}" for part in ("", "double_", "answer_") for name in ("error_rate", "standard_error")]
    return {
        "player": recipe["player"],
        "ply": recipe["ply"],
        "cube_model": recipe["cube"],
        "judge": judge,
        "benchmark": recipe["benchmark"]["variant"],
        "version": recipe["benchmark"]["version"],
        "decisions": table.manifest.rows,
        **{name: round(found[name], 3) for name in names},
        "low": round(found["error_rate_low"], 3),
        "high": round(found["error_rate_high"], 3),
    }


def compared_rows(warehouse: Warehouse, sets: Sequence[Table], wanted: Sequence[Player]) -> list[Row]:
    """Return the rows of `benchmark_summary` for each benchmark and player in `wanted`, with the differences from the
    first player. If `wanted` is empty, all players with scores are compared, in the order of `best_first`."""
    names = [table.name for table in sets]
    rates = warehouse.rows(RATES, {"sets": names})
    players = list(wanted) or best_first(rates)
    if not players:
        return []
    player, ply = players[0]
    found = warehouse.rows(DIFFERENCES, {"sets": names, "player": player, "ply": ply})
    differences = {(row["benchmark"], row["player"], row["ply"]): row for row in found}
    order = {f"{row.manifest.dataset}/{row.manifest.variant}": place for place, row in enumerate(sets)}
    rows = [
        {**row, **differences.get((row["benchmark"], row["player"], row["ply"]), {})}
        for row in rates
        if player_of(row) in players
    ]
    return sorted(rows, key=lambda row: (order[row["benchmark"]], players.index(player_of(row))))


def player_of(row: Mapping[str, Any]) -> Player:
    """Return the name and ply of the player that a row is about."""
    return row["player"], row["ply"]


def best_first(rates: Sequence[Row]) -> list[Player]:
    """Return the players in these rows, by number of benchmarks (most first), then by mean error rate (lowest
    first)."""
    found: dict[Player, list[float]] = {}
    for row in rates:
        found.setdefault(player_of(row), []).append(row["error_rate"])
    return sorted(found, key=lambda player: (-len(found[player]), sum(found[player]) / len(found[player]), player))


def available_references(warehouse: Warehouse) -> list[Table]:
    """Return the current version of every set of reference positions. Raises MissingTableError if there are none."""
    found = list(warehouse.current(REFERENCE.name))
    if not found:
        raise MissingTableError(f"expected reference positions in {warehouse.root}, found none; try: bgdata reference")
    return found


def find_references(warehouse: Warehouse, variant: str = "") -> Table:
    """Return the current version of the reference positions called `variant`. If `variant` is empty, return the largest
    set, where ties go to the last by name. Raises MissingTableError if there is none."""
    if variant:
        return warehouse.open(REFERENCE.name, variant.removeprefix(f"{REFERENCE.name}/"))
    return max(available_references(warehouse), key=lambda table: (table.manifest.rows, table.manifest.variant))


def build_reference_scores(warehouse: Warehouse, references: Table, name: str, ply: int, progress: Progress) -> Table:
    """Evaluate reference positions with a player, unless this has been done before. Raises UsageError if the player
    only chooses plays, and the errors of `open_named_evaluator` and `Warehouse.build`."""
    version = open_named_evaluator(name, ply, warehouse).version
    recipe = ReferenceScoreParameters.on(references, name, ply, version)
    return warehouse.build(REFERENCE_SCORES.name, recipe, progress=progress)


def workers_text(name: str) -> str:
    """Return what evaluates positions for a player, in words, such as "2 threads" or "threads of its own"."""
    if name == "gnubg":
        return "1 process" if thread_count() == 1 else f"{thread_count()} processes"
    if name.partition("/")[0] != NETWORK:
        return "threads of its own"
    return "1 thread" if thread_count() == 1 else f"{thread_count()} threads"


def positions_per_second(evaluator: Evaluator, boards: Boards) -> float:
    """Return the speed of an evaluator on int8[n, 26] boards, in positions per second: the median of RUNS runs after a
    warm-up. A run takes at least MIN_SECONDS and longer than a single position, so that the start of a program does not
    count. Every position is evaluated once before any is repeated, because gnubg caches its answers."""
    mixed, total = spread_evenly(boards), 0

    def seconds(size: int) -> float:
        nonlocal total
        start, total = total % len(mixed), total + size
        return seconds_of(evaluator, np.resize(np.roll(mixed, -start, axis=0), (size, mixed.shape[1])))

    seconds(thread_count())  # the warm-up, which starts this number of processes
    start = seconds(1)
    size, taken = 1, 0.0
    while taken < max(MIN_SECONDS, start) and size < MAX_POSITIONS:
        size *= 2
        taken = median(seconds(size) for _ in range(RUNS)) - start
    return (size - 1) / taken


def spread_evenly(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows in another order, in which every run of rows is spread evenly over the original order. The order
    is always the same."""
    n = len(rows)
    step = next(step for step in count(round(n * (sqrt(5) - 1) / 2)) if gcd(step, n) == 1)
    return np.asarray(rows[np.arange(n) * step % n])


def seconds_of(evaluator: Evaluator, boards: Boards) -> float:
    """Return the seconds that an evaluator takes for int8[n, 26] boards. An evaluator that looks ahead begins with an
    empty cache."""
    begin = perf_counter()
    if isinstance(evaluator, LookaheadPlayer):
        evaluate_ahead(evaluator.evaluator, boards, evaluator.ply)
    else:
        evaluator.evaluate_many(boards)
    return perf_counter() - begin
