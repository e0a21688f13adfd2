"""The study of the one-sided approximation: its equity against the exact one for every pair of layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.bearoff.index import MAX_POINTS, layout_count
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.datasets.bearoff_two_sided import ROUNDED_GROUP_ROWS, TwoSidedParameters, error_bound
from bgdata.datasets.common.columns import decoded
from bgdata.datasets.common.race import RaceParameters
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa


STEPS = 32767.5
MOST_CHECKERS = 14  # with 15 a gammon is possible, which one-sided chances of winning leave out


@dataclass(frozen=True)
class ErrorParameters(Parameters):
    """Both sides have 1 to `checkers` on points 1 to `points`."""

    points: int = 6
    checkers: int = 9


class BearoffError(Dataset[ErrorParameters]):
    """Every ordered pair of non-empty layouts."""

    name = "bearoff_error"
    revision = 2  # 2: Parquet holds all columns, as SQL shows them
    summary = (
        "One-sided against exact cubeless equity for every ordered pair of non-empty layouts: what combining two "
        "one-sided distributions gets wrong."
    )
    source = "Computed from bearoff_one_sided and bearoff_two_sided"
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column("one_sided_equity", "FLOAT", "points", "Cubeless equity from the two one-sided distributions"),
        Column("exact_equity", "FLOAT", "points", "Cubeless equity of the two-sided table"),
        Column("difference", "FLOAT", "points", "one_sided_equity - exact_equity"),
    )
    key = ("on_roll_index", "opponent_index")
    whole_rows = 30_000_000
    arrays = (
        FlatArray("difference", "float32", "on-roll index - 1, opponent index - 1", "One-sided minus exact equity"),
        FlatArray(
            "exact",
            "uint16",
            "on-roll index - 1, opponent index - 1",
            "Exact equity, within 1.6e-5: code / 32767.5 - 1",
        ),
    )
    parameters = ErrorParameters
    defaults = (ErrorParameters(6, 9),)
    smallest = ErrorParameters(3, 3)

    def slug(self, parameters: ErrorParameters) -> str:
        return f"{parameters.points}x{parameters.checkers}"

    def check_parameters(self, parameters: ErrorParameters) -> None:
        if not (1 <= parameters.points <= MAX_POINTS and 1 <= parameters.checkers <= MOST_CHECKERS):
            raise InvalidParameterError(
                f"expected 1 to {MAX_POINTS} points and 1 to {MOST_CHECKERS} checkers, "
                f"got {parameters.points} points and {parameters.checkers} checkers"
            )

    def inputs(self, parameters: ErrorParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {
            "one_sided": ("bearoff_one_sided", RaceParameters(parameters.points)),
            "two_sided": ("bearoff_two_sided", TwoSidedParameters(parameters.points, parameters.checkers)),
        }

    def estimate(self, parameters: ErrorParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers) - 1
        return Estimate(rows=count**2, disk_bytes=count**2 * 15, memory_bytes=count**2 * 28 + 2**28)

    def compute(self, build: Build[ErrorParameters]) -> None:
        from bgdata.bearoff.combine import one_sided_equities

        parameters, job = build.parameters, build.job
        count = layout_count(parameters.points, parameters.checkers)
        job.progress.start(f"{self.name}/{self.slug(parameters)}", count**2, "pairs")
        one_sided = one_sided_equities(RaceTable(build.inputs["one_sided"]).chances_matrix(count)[1:])
        exact = TwoSidedTable(build.inputs["two_sided"])
        equities = exact.decode(exact.stored[1:, 1:, 0])
        job.save("exact", (equities * STEPS + (STEPS + 0.5)).astype(np.uint16))
        one_sided -= equities
        job.save("difference", one_sided.astype(np.float32))
        job.progress.advance(count**2)

    def batches(self, computed: Computed[ErrorParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

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
        from bgdata.bearoff.combine import win_chance

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


DATASET = BearoffError()
