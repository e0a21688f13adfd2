"""Compares combined one-sided with exact equities over all pairs of layouts, and keeps sums by groups of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import Combination, GroupSums, add_pairs, start_sums, wastages_of
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.kinds.race_error import GROUPINGS, RaceErrorParameters
from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.kinds.column_values import chosen_texts
from bgdata.kinds.rechecking import check_arrays
from bgdata.store.arrays import Array
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Computation
from bgdata.store.table import Table

BLOCK_PAIRS = 4_000_000  # compared at a time
IN_ORDER = sorted(GROUPINGS)  # as rows are


class RaceErrorComputation(Computation[RaceErrorParameters]):
    """Computation of `race_error`."""

    def compute(self, build: Build[RaceErrorParameters]) -> None:
        races = Races.of(build.parameters, build.inputs)
        build.job.progress.start(build.job.title, len(races.groups) ** 2, "pairs")
        for name, values in compared(races, build.job.progress.advance).items():
            build.job.save(name, values)

    def batches(self, computed: Computed[RaceErrorParameters]) -> Iterator[pa.RecordBatch]:
        groups, pairs, moments, extremes, places = (
            np.asarray(computed.arrays[name]) for name in ("groups", "pairs", "moments", "extremes", "places")
        )
        mean, deviation, size = moments.T
        columns = {
            "grouping": chosen_texts(pa.array(IN_ORDER), groups[:, 0].astype(np.int32)),
            "on_roll_group": groups[:, 1].astype(np.int32),
            "opponent_group": groups[:, 2].astype(np.int32),
            "pairs": pairs,
            "mean_difference": mean,
            "sd_difference": deviation,
            "mean_absolute_difference": size,
        }
        for which, name in enumerate(("largest", "smallest")):
            columns[f"{name}_difference"] = extremes[:, which].astype(np.float32)
            columns[f"{name}_on_roll_index"] = places[:, which, 0]
            columns[f"{name}_opponent_index"] = places[:, which, 1]
        yield pa.record_batch({name: pa.array(values) for name, values in columns.items()})

    def statistics(self, computed: Computed[RaceErrorParameters]) -> Mapping[str, float]:
        parameters, arrays = computed.parameters, computed.arrays
        mean, deviation, size = np.asarray(arrays["moments"])[0].tolist()  # the row of all pairs
        largest, smallest = np.asarray(arrays["extremes"])[0].tolist()
        return {
            "pairs": int(arrays["pairs"][0]),
            "mean_difference": mean,
            "sd_difference": deviation,
            "mean_absolute_difference": size,
            "largest_difference": largest,
            "smallest_difference": smallest,
            "difference_error_bound": error_bound(parameters.points, parameters.checkers) + 1e-6,
        }

    def check_sample(self, recheck: Recheck[RaceErrorParameters]) -> str:
        """Everything again: sums have no smaller part that could be."""
        parameters = RaceErrorParameters.from_manifest(recheck.table.manifest.parameters)
        check_arrays(recheck.table, compared(Races.of(parameters, recheck.inputs)))
        return f"all {recheck.table.manifest.rows:,} rows"


class Races(NamedTuple):
    """Exact and combined equities of all pairs of layouts but the empty one, and the groups of layouts."""

    exact: TwoSidedTable
    combination: Combination
    groups: Array  # int64[N, groupings], groupings in order of name

    @classmethod
    def of(cls, parameters: RaceErrorParameters, inputs: Mapping[str, Table]) -> Races:
        """The races of the inputs of a version."""
        exact, one_sided = TwoSidedTable(inputs["two_sided"]), RaceTable(inputs["one_sided"])
        layouts = all_layouts(exact.points, exact.checkers)
        wasted = wastages_of(one_sided, layouts)[1:]
        gammon = RaceTable(inputs["gammon"]) if "gammon" in inputs else None
        combination = Combination(
            one_sided.chances_matrix(len(layouts))[1:],
            wasted if parameters.is_corrected else None,
            gammon.chances_matrix(len(gammon)) if gammon else None,
        )
        found = {
            "all": np.zeros(len(wasted), np.int64),
            "pips": pip_counts(layouts)[1:].astype(np.int64),
            "checkers": layouts[1:].sum(axis=1, dtype=np.int64),
            "wastage": np.rint(wasted).astype(np.int64),
        }
        return cls(exact, combination, np.stack([found[name] for name in IN_ORDER], axis=1))


def compared(races: Races, advance: Callable[[int], object] = lambda _: None) -> dict[str, Array]:
    """Every array of a version."""
    count = len(races.groups)
    sizes = races.groups.max(axis=0) + 1
    sums = start_sums(int((sizes**2).sum()))
    step = max(1, BLOCK_PAIRS // count)
    for begin in range(0, count, step):
        end = min(begin + step, count)
        differences = races.combination.equities(begin, end)
        differences -= races.exact.decode(races.exact.stored[begin + 1 : end + 1, 1:, 0])
        add_pairs(sums, sizes, races.groups, begin, differences)
        advance(differences.size)
    return arrays_of(sums, sizes)


def arrays_of(sums: GroupSums, sizes: Array) -> dict[str, Array]:
    """Every array of a version, in key order; groups without pairs are left out."""
    groups = np.concatenate(
        [
            np.stack([np.full(size * size, n), *np.divmod(np.arange(size * size), size)], axis=1)
            for n, size in enumerate(sizes.tolist())
        ]
    )
    chosen = sums.counts > 0
    counts = sums.counts[chosen]
    mean, square, size = (sums.sums[chosen] / counts[:, None]).T
    deviation = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return {
        "groups": groups[chosen].astype(np.int16),
        "pairs": counts,
        "moments": np.stack([mean, deviation, size], axis=1),
        "extremes": sums.extremes[chosen],
        "places": sums.places[chosen] + np.int32(1),
    }


COMPUTATION = RaceErrorComputation
