"""Sets of reference positions: what players say of them, how far they are from rollouts, and how fast they are."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from math import gcd, sqrt
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import MissingTableError
from bgdata.evaluation.chances import Evaluator
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import open_named_evaluator, open_named_player
from bgdata.evaluation.players import NETWORK
from bgdata.game.codec import Boards
from bgdata.kernel import thread_count
from bgdata.measures.kinds.reference_checks import DATASET as CHECKS
from bgdata.measures.kinds.reference_checks import ReferenceCheckParameters
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.kinds.reference_scores import DATASET as SCORES
from bgdata.measures.kinds.reference_scores import ReferenceScoreParameters
from bgdata.store.parameters import VersionRef
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Row, Warehouse

ERRORS = """
select player, ply, player_version, has_tables, reference, reference_version, split, theme, quantity, positions, rmse,
       rmse_standard_error, mae, mae_standard_error, bias, bias_standard_error, judge_rmse, source_version
from reference_errors
where reference = $reference and reference_version = $version and split = $split and quantity = $quantity
order by all
"""
CHECKED = """
select theme, positions, mean_difference, mean_standard_error, rms_difference, rms_standard_error, rms_z_score, beyond_3
from reference_check_summary
where variant = $variant
order by theme = 'all', theme
"""
RUNS = 3
LEAST_SECONDS = 0.2  # of a run
MOST = 1 << 20  # positions


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
    return warehouse.build(SCORES.name, ReferenceScoreParameters.on(references, name, ply, version), progress=progress)


def check_parameters(
    warehouse: Warehouse, references: Table, name: str, ply: int, how: Mapping[str, Any]
) -> ReferenceCheckParameters:
    """The recipe by which a player rolls out a sample of reference positions again. Raises InvalidParameterError, and
    what `open_named_player` raises."""
    version = open_named_player(name, ply, warehouse).version
    reference = VersionRef.parse(references.name)
    found = ReferenceCheckParameters(**how, player=name, ply=ply, version=version, reference=reference)
    CHECKS.check_parameters(found)
    return found


def check_rows(warehouse: Warehouse, table: Table) -> list[Row]:
    """Rows of `reference_check_summary` of a version that is the current one, that of all themes last."""
    return warehouse.rows(CHECKED, {"variant": table.manifest.variant})


def error_rows(warehouse: Warehouse, references: Table, split: str, quantity: str) -> list[Row]:
    """The rows of the view `reference_errors` for a set of reference positions, a split and a quantity."""
    recipe = {"reference": references.name.rpartition("/")[0], "version": references.folder.name}
    return warehouse.rows(ERRORS, {**recipe, "split": split, "quantity": quantity})


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
    mixed, asked = spread(boards), 0

    def seconds(size: int) -> float:
        nonlocal asked
        start, asked = asked % len(mixed), asked + size
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
