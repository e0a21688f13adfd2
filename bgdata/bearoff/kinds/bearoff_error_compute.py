"""Computes the error of combining two one-sided distributions, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import correct_equities, excess, one_roll_ahead, one_sided_equities, win_chance
from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds.bearoff_error import ErrorParameters
from bgdata.bearoff.kinds.bearoff_two_sided_compute import ROUNDED_GROUP_ROWS, error_bound
from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.plays import all_plays, roll_results
from bgdata.bearoff.race import NON_DOUBLES
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.errors import CheckFailedError
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.kinds.column_values import dictionary_column
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, drawn_text

STEPS = 32767.5


class BearoffErrorComputation(Computation[ErrorParameters]):
    """Computation of `bearoff_error`."""

    def compute(self, build: Build[ErrorParameters]) -> None:
        parameters, job = build.parameters, build.job
        count = layout_count(parameters.points, parameters.checkers)
        job.progress.start(job.title, count**2, "pairs")
        one_sided = combined_equities(parameters, RaceTable(build.inputs["one_sided"]))
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
                    "exact_equity": dictionary_column(codes, exact.astype(np.float32)),
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
        combined = Combined(ErrorParameters.from_manifest(table.manifest.parameters), one_sided)
        for on_roll, opponent in recheck.generator.integers(1, len(difference) + 1, (recheck.rows, 2)).tolist():
            found = float(difference[on_roll - 1, opponent - 1])
            equity = exact.probe(on_roll, opponent).cubeless
            expected = combined.equity(on_roll, opponent) - equity
            stored = float(codes[on_roll - 1, opponent - 1]) / STEPS - 1
            if abs(stored - equity) > 1 / STEPS:
                raise CheckFailedError(
                    f"expected the exact equity {equity:.6f} at {on_roll} against {opponent} in {table.name}, "
                    f"found {stored:.6f}"
                )
            if not abs(found - expected) <= 1e-6:  # NaN neither
                raise CheckFailedError(
                    f"expected a difference of {expected:.7f} at {on_roll} against {opponent} in {table.name}, "
                    f"found {found:.7f}"
                )
        return drawn_text(recheck.rows, table.manifest.rows)


def combined_equities(parameters: ErrorParameters, one_sided: RaceTable) -> Array:
    """float64[N, N] for every ordered pair of layouts but the empty one."""
    layouts = all_layouts(parameters.points, parameters.checkers)
    equities: Array = one_sided_equities(one_sided.chances_matrix(len(layouts))[1:])
    if parameters.is_corrected:
        wasted = wastages(one_sided, layouts)[1:]
        correct_equities(equities, wasted, wasted)
    if parameters.looks_ahead:
        equities = one_roll_ahead(equities, all_plays(parameters.points, parameters.checkers))
    return equities


def wastages(one_sided: RaceTable, layouts: Array) -> Array:
    """float64[N] effective less plain pip counts of the first layouts of a table."""
    effective_pips: Array = one_sided.table.array("mean_rolls")[: len(layouts)] * PIPS_PER_ROLL
    return effective_pips - pip_counts(layouts)


class Combined(NamedTuple):
    """The combined equity of a pair at a time, by the distributions of the two layouts and of what they lead to."""

    parameters: ErrorParameters
    one_sided: RaceTable

    def equity(self, on_roll: int, opponent: int) -> float:
        """Of the player on roll, by indexes."""
        if not self.parameters.looks_ahead:
            return self.race_equity(on_roll, opponent)
        layouts = all_layouts(self.parameters.points, self.parameters.checkers)
        best = [max(1.0 if after == 0 else -self.race_equity(opponent, after) for after in results.tolist())
                for results in roll_results(on_roll, layouts)]  # fmt: skip
        return (2 * sum(best[:NON_DOUBLES]) + sum(best[NON_DOUBLES:])) / 36

    def race_equity(self, on_roll: int, opponent: int) -> float:
        """The same without looking ahead."""
        chances, other = (self.one_sided.probe_chances(index) for index in (on_roll, opponent))
        equity = 2 * win_chance(chances, other) - 1
        if not self.parameters.is_corrected:
            return equity
        return equity - excess(equity, *map(self.one_sided.probe_wastage, (on_roll, opponent)))


COMPUTATION = BearoffErrorComputation
