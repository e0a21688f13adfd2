"""Compares combined one-sided and exact equities over all pairs of layouts, and sums differences by groups of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import Combination, add_pairs, layout_wastages, start_sums
from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.kinds.race_error import GROUPINGS, RaceErrorParameters
from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.kinds.column_values import select_texts
from bgdata.kinds.rechecking import check_arrays
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck
from bgdata.store.table import Table

BLOCK_PAIRS = 4_000_000  # how many pairs are compared at a time
IN_ORDER = sorted(GROUPINGS)  # the order of rows
MOMENTS = ("mean_difference", "sd_difference", "mean_absolute_difference")
EXTREMES = ("largest_difference", "smallest_difference")


class RaceErrorComputation(Computation[RaceErrorParameters]):
    """Computes datasets of the kind `race_error`."""

    def compute(self, build: Build[RaceErrorParameters]) -> None:
        parameters, job = build.parameters, build.job
        job.progress.start(job.title, (layout_count(parameters.points, parameters.checkers) - 1) ** 2, "pairs")
        for name, values in error_arrays(parameters, build.inputs, job.progress.advance).items():
            job.save(name, values)

    def batches(self, computed: Computed[RaceErrorParameters]) -> Iterator[pa.RecordBatch]:
        arrays = {name: np.asarray(values) for name, values in computed.arrays.items()}
        groups, moments = arrays["groups"], arrays["moments"]
        columns = {
            "grouping": select_texts(pa.array(IN_ORDER), groups[:, 0].astype(np.int32)),
            "on_roll_group": groups[:, 1].astype(np.int32),
            "opponent_group": groups[:, 2].astype(np.int32),
            "pairs": arrays["pairs"],
            **dict(zip(MOMENTS, moments.T, strict=True)),
        }
        for which, name in enumerate(("largest", "smallest")):
            columns[f"{name}_difference"] = arrays["extremes"][:, which].astype(np.float32)
            columns[f"{name}_on_roll_index"] = arrays["places"][:, which, 0]
            columns[f"{name}_opponent_index"] = arrays["places"][:, which, 1]
        yield pa.record_batch({name: pa.array(values) for name, values in columns.items()})

    def statistics(self, computed: Computed[RaceErrorParameters]) -> Mapping[str, float]:
        parameters, arrays = computed.parameters, computed.arrays
        return {  # the first row is about all pairs
            "pairs": int(arrays["pairs"][0]),
            **dict(zip(MOMENTS, np.asarray(arrays["moments"])[0].tolist(), strict=True)),
            **dict(zip(EXTREMES, np.asarray(arrays["extremes"])[0].tolist(), strict=True)),
            "difference_error_bound": error_bound(parameters.points, parameters.checkers) + 1e-6,
        }

    def check_sample(self, recheck: Recheck[RaceErrorParameters]) -> str:
        """Check a table by computing everything again: sums cannot be checked in parts."""
        check_arrays(recheck.table, error_arrays(recheck.parameters, recheck.inputs))
        return f"all {recheck.table.manifest.rows:,} rows"


def error_arrays(
    parameters: RaceErrorParameters, inputs: Mapping[str, Table], advance: Callable[[int], object] = lambda _: None
) -> dict[str, Array]:
    """Compute the arrays of a version, with one row for each group that is not empty, in the order of the table's key.
    `advance` is called with the number of pairs finished since the last call."""
    exact, one_sided = TwoSidedTable(inputs["two_sided"]), RaceTable(inputs["one_sided"])
    layouts = all_layouts(exact.points, exact.checkers)
    wastages = layout_wastages(one_sided, layouts)[1:]
    gammon = RaceTable(inputs["gammon"]) if "gammon" in inputs else None
    combination = Combination(
        one_sided.chances_matrix(len(layouts))[1:],
        wastages if parameters.is_corrected else None,
        gammon.chances_matrix(len(gammon)) if gammon else None,
    )
    found = {
        "all": np.zeros(len(wastages), np.int64),
        "pips": pip_counts(layouts)[1:].astype(np.int64),
        "checkers": layouts[1:].sum(axis=1, dtype=np.int64),
        "wastage": np.rint(wastages).astype(np.int64),
    }
    groups = np.stack([found[name] for name in IN_ORDER], axis=1)
    sizes = groups.max(axis=0) + 1
    sums = start_sums(int((sizes**2).sum()))
    step = max(1, BLOCK_PAIRS // len(groups))
    for begin in range(0, len(groups), step):
        end = min(begin + step, len(groups))
        differences = combination.equities(begin, end)
        differences -= exact.decode(exact.stored[begin + 1 : end + 1, 1:, 0])
        add_pairs(sums, sizes, groups, begin, differences)
        advance(differences.size)
    keys = [
        np.stack([np.full(size * size, n), *np.divmod(np.arange(size * size), size)], axis=1)
        for n, size in enumerate(sizes.tolist())
    ]
    chosen = sums.counts > 0
    counts = sums.counts[chosen]
    mean, square, size = (sums.sums[chosen] / counts[:, None]).T
    deviation = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return {
        "groups": np.concatenate(keys)[chosen].astype(np.int16),
        "pairs": counts,
        "moments": np.stack([mean, deviation, size], axis=1),
        "extremes": sums.extremes[chosen],
        "places": sums.places[chosen] + np.int32(1),
    }


COMPUTATION = RaceErrorComputation
