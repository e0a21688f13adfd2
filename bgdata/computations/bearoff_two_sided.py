"""Solves every pair of layouts backwards, by pip count of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.plays import Plays, all_plays
from bgdata.bearoff.race import NON_DOUBLES, ROLL_COUNT
from bgdata.bearoff.tables import TwoSidedTable, equity_limit
from bgdata.bearoff.two_sided import equity_rows, pairs_of_total, solve_total, start_pairs
from bgdata.computations.common.columns import decoded
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters, is_rounded
from bgdata.errors import CheckFailedError
from bgdata.store.arrays import Array
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Computation, sampled

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned")
BATCH_PAIRS = 4096  # that a check recomputes at a time, with some hundred plays each
ROUNDED_GROUP_ROWS = 491_520  # of Parquet: each group has every value once, up to 65,536 of them


def equities_of_codes(checkers: int) -> Array:
    """float32[65536]: the equity of each 16-bit code, rounded once."""
    limit = equity_limit(checkers)
    equities: Array = (np.arange(1 << 16) * (limit / 32767.5) - limit).astype(np.float32)
    return equities


def error_bound(points: int, checkers: int) -> float:
    """Largest error of any stored equity: the recursion's rounding, and half a step of a 16-bit code.

    The first part is an upper envelope of the difference between the float32 recursion and the same one in float64,
    measured on every size up to 6x9 that the tests solve: it grows with the length of the game.
    """
    recursion = 1e-6 + 1e-8 * points * checkers
    return equity_limit(checkers) * (recursion + is_rounded(points, checkers) / 65535.0)


class BearoffTwoSidedComputation(Computation[TwoSidedParameters]):
    """Computation of `bearoff_two_sided`."""

    def compute(self, build: Build[TwoSidedParameters]) -> None:
        parameters, job = build.parameters, build.job
        pairs = start_pairs(parameters.points, parameters.checkers)
        totals = list(pairs.totals)
        sizes = [pairs_of_total(pairs, total) for total in totals]
        for total in job.steps("pairs", totals, sizes, {"cells": pairs.cells}):
            solve_total(pairs, total)
        count = len(pairs.order)
        dtype = np.uint16 if is_rounded(parameters.points, parameters.checkers) else np.float32
        job.progress.start(f"{job.title}: saving", count, "positions")
        with job.create("equities", dtype, (count, count, 4)) as writer:
            for index, row in equity_rows(pairs, equity_limit(parameters.checkers), dtype):
                writer.write(index, row[None])
                job.progress.advance(1)

    def batches(self, computed: Computed[TwoSidedParameters]) -> Iterator[pa.RecordBatch]:
        parameters = computed.parameters
        equities = computed.arrays["equities"]
        count = layout_count(parameters.points, parameters.checkers)
        is_coded = equities.dtype == np.uint16
        shown = equities_of_codes(parameters.checkers)
        step = max(1, (ROUNDED_GROUP_ROWS if is_coded else self.kind.row_group_rows) // count)
        opponents = np.arange(count, dtype=np.int32)
        for start in range(0, count, step):
            rows = np.arange(start, min(count, start + step), dtype=np.int32)
            values = equities[start : start + len(rows)].reshape(-1, 4)
            found = [np.ascontiguousarray(values[:, n]) for n in range(len(COLUMNS))]
            columns = {
                name: decoded(each, shown) if is_coded else each for name, each in zip(COLUMNS, found, strict=True)
            }
            yield pa.record_batch(
                {"on_roll_index": np.repeat(rows, count), "opponent_index": np.tile(opponents, len(rows)), **columns}
            )

    def statistics(self, computed: Computed[TwoSidedParameters]) -> Mapping[str, float]:
        parameters = computed.parameters
        bound = error_bound(parameters.points, parameters.checkers)
        return {"equity_limit": equity_limit(parameters.checkers)} | {f"{name}_error_bound": bound for name in COLUMNS}

    def check_sample(self, recheck: Recheck[TwoSidedParameters]) -> str:
        rows = recheck.rows
        reader = TwoSidedTable(recheck.table)
        plays, layouts = all_plays(reader.points, reader.checkers), all_layouts(reader.points, reader.checkers)
        pairs = recheck.generator.integers(1, len(layouts), (rows, 2))
        # one opponent after the other: what plays lead to is in one row of the table
        for batch in np.array_split(pairs[np.argsort(pairs[:, 1], kind="stable")], -(-rows // BATCH_PAIRS)):
            check_pairs(reader, plays, layouts, batch)
        bound = 3 * error_bound(reader.points, reader.checkers)
        return f"{sampled(rows, recheck.table.manifest.rows)}, if its error is above {bound:.2g}"


def check_pairs(reader: TwoSidedTable, plays: Plays, layouts: Array, pairs: Array) -> None:
    """Recompute int64[n, 2] pairs (on roll, opponent) from the pairs that their plays lead to; raises CheckFailedError
    naming the worst.

    The value of doubling counts an error of the table twice, and the row itself has another error.
    """
    on_roll, opponent = pairs.T
    rolls = (on_roll[:, None] * ROLL_COUNT + np.arange(ROLL_COUNT)).ravel()
    counts = plays.start[rolls + 1] - plays.start[rolls]
    begins = np.cumsum(counts) - counts  # of the plays of each roll of each pair
    results = plays.results[np.repeat(plays.start[rolls] - begins, counts) + np.arange(counts.sum())]
    opponents = np.repeat(np.repeat(opponent, ROLL_COUNT), counts)
    theirs = reader.probe_many(opponents, results).astype(np.float32)
    over = np.flatnonzero(results == 0)
    is_gammon = (reader.limit == 2.0) & (layouts[opponents[over]].sum(axis=1) == MAX_CHECKERS)
    theirs[over] = np.where(is_gammon, -2.0, -1.0)[:, None]
    cubeless, owned, centered, opponent_owned = theirs.T
    doubled = np.minimum(2 * opponent_owned, 1)
    worth = [cubeless, opponent_owned, np.maximum(centered, doubled), np.maximum(owned, doubled)]
    weights = np.where(np.arange(ROLL_COUNT) < NON_DOUBLES, 2, 1) / 36
    totals = np.stack([-np.minimum.reduceat(each, begins).reshape(-1, ROLL_COUNT) @ weights for each in worth], axis=1)
    off_by = np.abs(totals - reader.probe_many(on_roll, opponent))
    bound = 3 * error_bound(reader.points, reader.checkers)
    if off_by.max() > bound:
        worst, column = np.unravel_index(off_by.argmax(), off_by.shape)
        raise CheckFailedError(
            f"expected {COLUMNS[column]} of position {on_roll[worst]} against {opponent[worst]} in {reader.table.name} "
            f"to follow from its plays within {bound:.2g}, found it off by {off_by.max():.3g}"
        )


COMPUTATION = BearoffTwoSidedComputation
