"""Sets of decisions and of reference positions: what players choose and say there, and how fast they evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from bgdata.evaluation.players import NETWORK
from bgdata.game.codec import Boards
from bgdata.imports.kinds.gnubg_benchmark import DATASET as IMPORTED
from bgdata.kernel import thread_count
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARK_SCORES
from bgdata.measures.kinds.benchmark_scores import ROLLED_OUT, ScoreParameters, check_benchmark
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.kinds.reference_scores import DATASET as REFERENCE_SCORES
from bgdata.measures.kinds.reference_scores import ReferenceScoreParameters
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Row, Warehouse

RATES = """
select player, ply, player_version, benchmark, benchmark_version, decisions, error_rate, standard_error,
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
RUNS = 3  # of which the speed is the median
LEAST_SECONDS = 0.2  # of a run
MOST = 1 << 20  # positions
Player = tuple[str, int]  # its name, and how far it looks ahead


def sets_there(warehouse: Warehouse) -> list[Table]:
    """The imported benchmarks and those made here. Raises MissingTableError if there are none."""
    found = [table for kind in (IMPORTED.name, ROLLED_OUT) for table in warehouse.current(kind)]
    if not found:
        raise MissingTableError(
            f"expected a benchmark in {warehouse.root}, found none; try: bgdata build, or "
            "bgdata import gnubg_benchmark contact.bm"
        )
    return found


def chosen_sets(warehouse: Warehouse, names: Sequence[str], more: Sequence[Table] = ()) -> list[Table]:
    """The named benchmarks, and `more`; without either, all that are there. A name is KIND/VARIANT,
    KIND/VARIANT/VERSION, or just the variant if it was imported. Raises InvalidParameterError for a table that is not a
    benchmark, and MissingTableError."""
    found = list[Table]()
    for name in names:
        reference = name if "/" in name else f"{IMPORTED.name}/{name}"
        check_benchmark("/".join(reference.split("/")[:2]))
        found.append(warehouse.open_reference(reference))
    return [*found, *more] or sets_there(warehouse)


def current_sets(warehouse: Warehouse, names: Sequence[str]) -> list[Table]:
    """The named benchmarks, or all, each once. Raises UsageError for a version that is not the current one, of which
    SQL sees no rows, and what `chosen_sets` raises."""
    found = {table.name: table for table in chosen_sets(warehouse, names)}
    for table in found.values():
        current = warehouse.open(table.manifest.dataset, table.manifest.variant)
        if current.name != table.name:
            raise UsageError(f"expected the current version {current.name}, got {table.name}; try: bgdata use")
    return list(found.values())


def build_benchmark_scores(
    warehouse: Warehouse, sets: Sequence[Table], name: str, ply: int, progress: Progress
) -> list[Table]:
    """What a player chooses on each benchmark, unless that is there. Raises what `open_named_player` and building
    raise."""
    version = open_named_player(name, ply, warehouse).version
    recipes = [ScoreParameters.on(benchmark, name, ply, version) for benchmark in sets]
    return [warehouse.build(BENCHMARK_SCORES.name, recipe, progress=progress) for recipe in recipes]


def compared_rows(warehouse: Warehouse, sets: Sequence[Table], wanted: Sequence[Player]) -> list[Row]:
    """Rows of `benchmark_summary`, set by set, for the wanted players on current versions of benchmarks, with figures
    of `benchmark_differences` from the first player.

    Without wanted players all that were scored, by their number of sets and their mean error rate on these.
    """
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
    """The player that a row is about."""
    return row["player"], row["ply"]


def best_first(rates: Sequence[Row]) -> list[Player]:
    """The players of rows: those with the most sets first, of these the one with the lowest mean error rate."""
    found: dict[Player, list[float]] = {}
    for row in rates:
        found.setdefault(player_of(row), []).append(row["error_rate"])
    return sorted(found, key=lambda player: (-len(found[player]), sum(found[player]) / len(found[player]), player))


def references_there(warehouse: Warehouse) -> list[Table]:
    """The current version of every set of reference positions. Raises MissingTableError if there are none."""
    found = list(warehouse.current(REFERENCE.name))
    if not found:
        raise MissingTableError(f"expected reference positions in {warehouse.root}, found none; try: bgdata reference")
    return found


def find_references(warehouse: Warehouse, variant: str = "") -> Table:
    """The current version of a set of reference positions; without a name, of the one with the most positions, the last
    of equals by name. Raises MissingTableError."""
    if variant:
        return warehouse.open(REFERENCE.name, variant.removeprefix(f"{REFERENCE.name}/"))
    return max(references_there(warehouse), key=lambda table: (table.manifest.rows, table.manifest.variant))


def build_reference_scores(warehouse: Warehouse, references: Table, name: str, ply: int, progress: Progress) -> Table:
    """What a player says of a set of reference positions, unless that is there. Raises UsageError for a player that
    only chooses plays, and what `open_named_evaluator` and building raise."""
    version = open_named_evaluator(name, ply, warehouse).version
    recipe = ReferenceScoreParameters.on(references, name, ply, version)
    return warehouse.build(REFERENCE_SCORES.name, recipe, progress=progress)


def workers_text(name: str) -> str:
    """What evaluates for a player of this name: our threads, or what another program runs."""
    if name == "gnubg":
        return "1 process" if thread_count() == 1 else f"{thread_count()} processes"
    if name.partition("/")[0] != NETWORK:
        return "threads of its own"
    return "1 thread" if thread_count() == 1 else f"{thread_count()} threads"


def positions_per_second(evaluator: Evaluator, boards: Boards) -> float:
    """How many of int8[n, 26] boards an evaluator evaluates in a second: the median of RUNS runs, after one that warms
    it up.

    A run is one question about as many positions as take LEAST_SECONDS, and as long as one position does, more than
    that one: programs are slow to start, which does not count. None is asked for again before all others were: gnubg
    remembers what it has answered.
    """
    mixed, total = spread(boards), 0

    def seconds(size: int) -> float:
        nonlocal total
        start, total = total % len(mixed), total + size
        return seconds_of(evaluator, np.resize(np.roll(mixed, -start, axis=0), (size, mixed.shape[1])))

    seconds(thread_count())  # starts as many processes
    start = seconds(1)
    size, taken = 1, 0.0
    while taken < max(LEAST_SECONDS, start) and size < MOST:
        size *= 2
        taken = median(seconds(size) for _ in range(RUNS)) - start
    return (size - 1) / taken


def spread(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows in an order in which those of any part are spread evenly over all of them, the same for as many rows."""
    n = len(rows)
    step = next(step for step in count(round(n * (sqrt(5) - 1) / 2)) if gcd(step, n) == 1)
    return np.asarray(rows[np.arange(n) * step % n])


def seconds_of(evaluator: Evaluator, boards: Boards) -> float:
    """How long an evaluator takes for boards; one that looks ahead without what it remembers."""
    begin = perf_counter()
    if isinstance(evaluator, LookaheadPlayer):
        evaluate_ahead(evaluator.evaluator, boards, evaluator.ply)
    else:
        evaluator.evaluate_many(boards)
    return perf_counter() - begin
