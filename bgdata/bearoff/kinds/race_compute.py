"""Computes the one-sided and the gammon table: solves one-sided races backwards, by pip count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.kinds.bearoff_one_sided import RaceDataset, RaceParameters
from bgdata.bearoff.layouts import all_layouts, roll_results
from bgdata.bearoff.race import distributions, solve_pips, start_race
from bgdata.bearoff.tables import RaceTable
from bgdata.errors import CheckFailedError
from bgdata.kinds.column_values import fixed_lists
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, drawn_sample_text

CHANCE_ERROR = 6e-8  # one rounding per roll in units of 2^-30, and one to float32
MOMENT_ERROR = 1e-5  # error of mean and variance computed from float32 chances
TIE_ROLLS = 1e-7  # plays that differ by less are ties, and each may have been chosen


class RaceComputation(Computation[RaceParameters]):
    """Computes datasets of the kinds `bearoff_one_sided` and `bearoff_gammon`: distributions of rolls and their
    moments, in one pass over pip counts."""

    kind: RaceDataset

    def compute(self, build: Build[RaceParameters]) -> None:
        parameters = build.parameters
        first = self.kind.first_index(parameters.points)
        race = start_race(parameters.points, max(first, 1))
        state = {name: getattr(race, name) for name in ("key", "half", "first_roll", "length", "chances")}
        sizes = np.diff(race.layer_start).tolist()
        for pips in build.job.steps("positions", range(len(sizes)), sizes, state):
            solve_pips(race, pips)
        for name, values in distributions(race, first)._asdict().items():
            build.job.save(name, values)

    def batches(self, computed: Computed[RaceParameters]) -> Iterator[pa.RecordBatch]:
        parameters, arrays = computed.parameters, computed.arrays
        first_index = self.kind.first_index(parameters.points)
        layouts = all_layouts(parameters.points, MAX_CHECKERS)[first_index:]
        shown = {column.name for column in self.kind.columns}
        for start in range(0, len(layouts), self.kind.row_group_rows):
            rows = slice(start, min(len(layouts), start + self.kind.row_group_rows))
            columns = {
                "position_index": pa.array(np.arange(rows.start, rows.stop, dtype=np.int32) + first_index),
                "points": fixed_lists(layouts[rows]),
                "checkers": pa.array(layouts[rows].sum(axis=1, dtype=np.int8)),
                "pip_count": pa.array(layouts[rows] @ np.arange(1, parameters.points + 1, dtype=np.int16)),
                "chances": chance_lists(arrays, rows),
                "mean_rolls": pa.array(arrays["mean_rolls"][rows]),
                "sd_rolls": pa.array(arrays["sd_rolls"][rows]),
            }
            yield pa.record_batch({name: values for name, values in columns.items() if name in shown})

    def statistics(self, computed: Computed[RaceParameters]) -> Mapping[str, float]:
        lengths = np.diff(computed.arrays["offsets"])
        return {
            "chance_error_bound": CHANCE_ERROR,
            "largest_mean_rolls": float(computed.arrays["mean_rolls"].max()),
            "average_chances_per_row": float(lengths.mean()),
            "most_chances_per_row": float(lengths.max()),
        }

    def check_sample(self, recheck: Recheck[RaceParameters]) -> str:
        reader = RaceTable(recheck.table)
        layouts = all_layouts(reader.points, MAX_CHECKERS)
        for index in recheck.generator.integers(max(reader.first_index, 1), len(layouts), recheck.rows).tolist():
            check_row(reader, index, layouts)
        return drawn_sample_text(recheck.rows, len(layouts) - reader.first_index)


def check_row(reader: RaceTable, index: int, layouts: Array) -> None:
    """Recompute the row of a race table with position index `index` from the rows that its plays lead to, and its
    moments from its chances. Raises CheckFailedError if they differ."""
    means = reader.table.array("mean_rolls")
    total, mixture, is_unique = 0.0, np.zeros(128), True
    for roll, results in enumerate(roll_results(index, layouts)):
        weight = (2 if roll < 15 else 1) / 36
        values = np.where(results >= reader.first_index, means[np.maximum(results - reader.first_index, 0)], 0.0)
        best = int(values.argmin())
        is_unique &= np.count_nonzero(values < values[best] + TIE_ROLLS) == 1
        over = results[best] < reader.first_index or results[best] == 0
        chances = np.ones(1) if over else reader.probe_chances(int(results[best]))
        mixture[1 : len(chances) + 1] += weight * chances
        total += weight * (1.0 + values[best])
    stored = reader.probe_chances(index)
    mixture[: len(stored)] -= stored
    off_by = max(abs(total - reader.probe_mean_rolls(index)), float(np.abs(mixture).max()) if is_unique else 0.0)
    if not off_by <= 4 * CHANCE_ERROR:  # also raises for NaN
        raise CheckFailedError(
            f"expected position {index} of {reader.table.name} to follow from its plays within {4 * CHANCE_ERROR}, "
            f"found it off by {off_by:.3g}"
        )
    rolls = np.arange(len(stored))
    mean = float(stored @ rolls)
    variance = float(stored @ (rolls - mean) ** 2)
    found = reader.probe_mean_rolls(index), reader.probe_sd_rolls(index)
    if not (abs(found[0] - mean) <= MOMENT_ERROR and abs(found[1] ** 2 - variance) <= MOMENT_ERROR):  # or NaN
        raise CheckFailedError(
            f"expected mean {mean:.6f} and standard deviation {variance**0.5:.6f} rolls at position {index} of "
            f"{reader.table.name}, found {found[0]:.6f} and {found[1]:.6f}"
        )


def chance_lists(arrays: Mapping[str, Array], rows: slice) -> pa.Array:
    """Return the chances of some rows as lists that begin with the chance of 0 rolls."""
    first = arrays["first_roll"][rows].astype(np.int64)
    offsets = arrays["offsets"][rows.start : rows.stop + 1].astype(np.int64)
    lengths = np.diff(offsets)
    starts = np.concatenate([[0], np.cumsum(first + lengths)])
    values = np.zeros(starts[-1], np.float32)
    # the chances of a row are shifted by the leading zeros of all rows up to it
    values[np.arange(offsets[-1] - offsets[0]) + np.repeat(np.cumsum(first), lengths)] = arrays["chances"][
        offsets[0] : offsets[-1]
    ]
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), pa.array(values))


COMPUTATION = RaceComputation
