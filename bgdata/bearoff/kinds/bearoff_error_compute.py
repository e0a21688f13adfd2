"""Computes the error of combining two one-sided distributions for every pair of layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import excess, layout_wastages, one_roll_ahead, one_sided_equities, win_chance
from bgdata.bearoff.kinds.bearoff_error import ErrorParameters
from bgdata.bearoff.kinds.bearoff_two_sided_compute import ROUNDED_GROUP_ROWS, error_bound, pair_groups
from bgdata.bearoff.layouts import NON_DOUBLES, all_layouts, all_plays, roll_results
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.errors import CheckFailedError
from bgdata.kinds.column_values import dictionary_column
from bgdata.store.dataset import Build, Computation, Computed, Recheck, drawn_sample_text

STEPS = 32767.5


class BearoffErrorComputation(Computation[ErrorParameters]):
    """Computes datasets of the kind `bearoff_error`."""

    def compute(self, build: Build[ErrorParameters]) -> None:
        parameters, job = build.parameters, build.job
        layouts = all_layouts(parameters.points, parameters.checkers)
        job.progress.start(job.title, len(layouts) ** 2, "pairs")
        race = RaceTable(build.inputs["one_sided"])
        wastages = layout_wastages(race, layouts)[1:] if parameters.is_corrected else None
        one_sided = one_sided_equities(race.chances_matrix(len(layouts))[1:], wastages)
        if parameters.looks_ahead:
            one_sided = one_roll_ahead(one_sided, all_plays(parameters.points, parameters.checkers))
        exact = TwoSidedTable(build.inputs["two_sided"])
        equities = exact.decode(exact.stored[1:, 1:, 0])
        job.save("exact", (equities * STEPS + (STEPS + 0.5)).astype(np.uint16))
        one_sided -= equities
        job.save("difference", one_sided.astype(np.float32))
        job.progress.advance(len(layouts) ** 2)

    def batches(self, computed: Computed[ErrorParameters]) -> Iterator[pa.RecordBatch]:
        count = len(computed.arrays["exact"])
        exact = np.arange(1 << 16) / STEPS - 1
        for rows, indexes in pair_groups(count, ROUNDED_GROUP_ROWS, (0, count), first=1):
            codes, difference = (
                np.asarray(computed.arrays[name][rows[0] : rows[-1] + 1]).ravel() for name in ("exact", "difference")
            )
            columns = {
                "one_sided_equity": (exact[codes] + difference).astype(np.float32),
                "exact_equity": dictionary_column(codes, exact.astype(np.float32)),
                "difference": difference,
            }
            yield pa.record_batch({**indexes, **columns})

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
        parameters = ErrorParameters.from_manifest(table.manifest.parameters)
        for on_roll, opponent in recheck.generator.integers(1, len(difference) + 1, (recheck.rows, 2)).tolist():
            found = float(difference[on_roll - 1, opponent - 1])
            equity = exact.probe(on_roll, opponent).cubeless
            expected = combined_equity(parameters, one_sided, on_roll, opponent) - equity
            stored = float(codes[on_roll - 1, opponent - 1]) / STEPS - 1
            if abs(stored - equity) > 1 / STEPS:
                raise CheckFailedError(
                    f"expected the exact equity {equity:.6f} at {on_roll} against {opponent} in {table.name}, "
                    f"found {stored:.6f}"
                )
            if not abs(found - expected) <= 1e-6:  # also raises for NaN
                raise CheckFailedError(
                    f"expected a difference of {expected:.7f} at {on_roll} against {opponent} in {table.name}, "
                    f"found {found:.7f}"
                )
        return drawn_sample_text(recheck.rows, table.manifest.rows)


def combined_equity(parameters: ErrorParameters, one_sided: RaceTable, on_roll: int, opponent: int) -> float:
    """Compute the combined equity of the player on roll for one pair of position indexes. It needs the one-sided rows
    of the two layouts, and of the layouts to which their plays lead."""

    def race_equity(first: int, second: int) -> float:
        equity = 2 * win_chance(one_sided.probe_chances(first), one_sided.probe_chances(second)) - 1
        if not parameters.is_corrected:
            return equity
        return equity - excess(equity, one_sided.probe_wastage(first), one_sided.probe_wastage(second))

    if not parameters.looks_ahead:
        return race_equity(on_roll, opponent)
    layouts = all_layouts(parameters.points, parameters.checkers)
    best = [
        max(1.0 if after == 0 else -race_equity(opponent, after) for after in results.tolist())
        for results in roll_results(on_roll, layouts)
    ]
    return (2 * sum(best[:NON_DOUBLES]) + sum(best[NON_DOUBLES:])) / 36


COMPUTATION = BearoffErrorComputation
