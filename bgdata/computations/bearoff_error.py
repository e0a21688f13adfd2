"""Computes the error of combining two one-sided distributions, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import one_sided_equities, win_chance
from bgdata.bearoff.index import layout_count
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.computations.bearoff_two_sided import ROUNDED_GROUP_ROWS, error_bound
from bgdata.computations.common.columns import decoded
from bgdata.datasets.bearoff_error import ErrorParameters
from bgdata.errors import CheckFailedError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Computation, sampled

STEPS = 32767.5


class BearoffErrorComputation(Computation[ErrorParameters]):
    """Computation of `bearoff_error`."""

    def compute(self, build: Build[ErrorParameters]) -> None:
        parameters, job = build.parameters, build.job
        count = layout_count(parameters.points, parameters.checkers)
        job.progress.start(job.title, count**2, "pairs")
        one_sided = one_sided_equities(RaceTable(build.inputs["one_sided"]).chances_matrix(count)[1:])
        exact = TwoSidedTable(build.inputs["two_sided"])
        equities = exact.decode(exact.stored[1:, 1:, 0])
        job.save("exact", (equities * STEPS + (STEPS + 0.5)).astype(np.uint16))
        one_sided -= equities
        job.save("difference", one_sided.astype(np.float32))
        job.progress.advance(count**2)

    def batches(self, computed: Computed[ErrorParameters]) -> Iterator[pa.RecordBatch]:
        count = layout_count(computed.parameters.points, computed.parameters.checkers) - 1
        step = max(1, ROUNDED_GROUP_ROWS // count)
        exact = np.arange(1 << 16) / STEPS - 1
        opponents = np.arange(1, count + 1, dtype=np.int32)
        for start in range(0, count, step):
            rows = np.arange(start, min(count, start + step), dtype=np.int32)
            codes = np.asarray(computed.arrays["exact"][start : start + len(rows)]).ravel()
            difference = np.asarray(computed.arrays["difference"][start : start + len(rows)]).ravel()
            yield pa.record_batch(
                {
                    "on_roll_index": np.repeat(rows + 1, count),
                    "opponent_index": np.tile(opponents, len(rows)),
                    "one_sided_equity": (exact[codes] + difference).astype(np.float32),
                    "exact_equity": decoded(codes, exact.astype(np.float32)),
                    "difference": difference,
                }
            )

    def statistics(self, computed: Computed[ErrorParameters]) -> Mapping[str, float]:
        difference = computed.arrays["difference"]
        return {
            "mean_difference": float(difference.mean(dtype=np.float64)),
            "sd_difference": float(difference.std(dtype=np.float64)),
            "largest_difference": float(difference.max()),
            "smallest_difference": float(difference.min()),
            "mean_absolute_difference": float(np.abs(difference).mean(dtype=np.float64)),
            "difference_error_bound": error_bound(computed.parameters.points, computed.parameters.checkers) + 1e-6,
        }

    def check_sample(self, recheck: Recheck[ErrorParameters]) -> str:
        table = recheck.table
        one_sided, exact = RaceTable(recheck.inputs["one_sided"]), TwoSidedTable(recheck.inputs["two_sided"])
        difference, codes = table.array("difference"), table.array("exact")
        for on_roll, opponent in recheck.generator.integers(1, len(difference) + 1, (recheck.rows, 2)).tolist():
            chance = win_chance(one_sided.probe_chances(on_roll), one_sided.probe_chances(opponent))
            found = float(difference[on_roll - 1, opponent - 1])
            equity = exact.probe(on_roll, opponent).cubeless
            expected = 2 * chance - 1 - equity
            stored = float(codes[on_roll - 1, opponent - 1]) / STEPS - 1
            if abs(stored - equity) > 1 / STEPS:
                raise CheckFailedError(
                    f"expected the exact equity {equity:.6f} at {on_roll} against {opponent} in {table.name}, "
                    f"found {stored:.6f}"
                )
            if abs(found - expected) > 1e-6:
                raise CheckFailedError(
                    f"expected a difference of {expected:.7f} at {on_roll} against {opponent} in {table.name}, "
                    f"found {found:.7f}"
                )
        return sampled(recheck.rows, table.manifest.rows)


COMPUTATION = BearoffErrorComputation
