"""What the one-sided and the gammon table share: one race, two goals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS
from bgdata.datasets.common.columns import fixed_lists
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

STATE_BYTES = 8 + 18 * 8 + 1 + 1 + 32 * 4  # of a row in a checkpoint: see bearoff.race.Race
CHANCE_ERROR = 6e-8  # rounding once a roll in units of 2^-30, and once to float32
MOMENT_ERROR = 1e-5  # of the mean and the variance that float32 chances give
TIE_ROLLS = 1e-7  # plays this close may have been chosen the other way round


@dataclass(frozen=True)
class RaceParameters(Parameters):
    """Points 1 to `points`, 15 checkers."""

    points: int = 6


class RaceDataset(Dataset[RaceParameters]):
    """A table of distributions of rolls; a subclass says which goal ends the race."""

    parameters = RaceParameters
    arrays = (
        FlatArray("offsets", "uint32", "row, and one past the last", "Where the row's chances begin in `chances`"),
        FlatArray("first_roll", "uint8", "row", "Number of rolls that the first of the row's chances stands for"),
        FlatArray("chances", "float32", "packed", "Chances of first_roll, first_roll + 1, ... rolls"),
        FlatArray("mean_rolls", "float64", "row", "Expected rolls"),
        FlatArray("sd_rolls", "float32", "row", "Standard deviation of the rolls"),
    )
    key: ClassVar[tuple[str, ...]] = ("position_index",)
    whole_rows = 1 << 40  # all: a sample of enough rows, one by one, would take longer
    rolls_estimate: ClassVar[float]  # stored chances a row, for the estimate

    @abstractmethod
    def first_index(self, points: int) -> int:
        """Position index of the first row."""

    def slug(self, parameters: RaceParameters) -> str:
        return f"{parameters.points}x{MAX_CHECKERS}"

    def check_parameters(self, parameters: RaceParameters) -> None:
        if not 1 <= parameters.points <= MAX_POINTS:
            raise InvalidParameterError(f"expected 1 to {MAX_POINTS} points, got {parameters.points}")

    def estimate(self, parameters: RaceParameters) -> Estimate:
        positions = comb(parameters.points + MAX_CHECKERS, parameters.points)
        rows = positions - self.first_index(parameters.points)
        return Estimate(
            rows=rows,
            disk_bytes=int(rows * (17 + 4 * self.rolls_estimate) * 2),
            memory_bytes=int(positions * (4 + parameters.points) + rows * (314 + 17 + 4 * self.rolls_estimate)) + 2**27,
            checkpoint_bytes=(rows + 1) * STATE_BYTES,
        )

    def compute(self, build: Build[RaceParameters]) -> None:
        from bgdata.bearoff.race import distributions, solve_pips, start_race

        parameters = build.parameters
        first = self.first_index(parameters.points)
        race = start_race(parameters.points, max(first, 1))
        state = {name: getattr(race, name) for name in ("key", "half", "first_roll", "length", "chances")}
        sizes = np.diff(race.layer_start).tolist()
        for pips in build.job.steps(
            f"{self.name}/{self.slug(parameters)}", "positions", range(len(sizes)), sizes, state
        ):
            solve_pips(race, pips)
        for name, values in distributions(race, first)._asdict().items():
            build.job.save(name, values)

    def batches(self, computed: Computed[RaceParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.bearoff.layouts import all_layouts

        parameters, arrays = computed.parameters, computed.arrays
        first_index = self.first_index(parameters.points)
        layouts = all_layouts(parameters.points, MAX_CHECKERS)[first_index:]
        shown = {column.name for column in self.columns}
        for start in range(0, len(layouts), self.row_group_rows):
            rows = slice(start, min(len(layouts), start + self.row_group_rows))
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
        from bgdata.bearoff.layouts import all_layouts
        from bgdata.bearoff.tables import RaceTable

        reader = RaceTable(recheck.table)
        layouts = all_layouts(reader.points, MAX_CHECKERS)
        for index in recheck.generator.integers(max(reader.first_index, 1), len(layouts), recheck.rows).tolist():
            check_row(reader, index, layouts)
            check_moments(reader, index)
        return sampled(recheck.rows, len(layouts) - reader.first_index)


def check_row(reader: Any, index: int, layouts: Array) -> None:
    """Recompute one row of a race table from the rows that its plays lead to; raises CheckFailedError."""
    from bgdata.bearoff.plays import roll_results

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
    if off_by > 4 * CHANCE_ERROR:
        raise CheckFailedError(
            f"expected position {index} of {reader.table.name} to follow from its plays within {4 * CHANCE_ERROR}, "
            f"found it off by {off_by:.3g}"
        )


def check_moments(reader: Any, index: int) -> None:
    """Recompute the mean and the standard deviation of one row from its chances; raises CheckFailedError."""
    chances = reader.probe_chances(index)
    rolls = np.arange(len(chances))
    mean = float(chances @ rolls)
    variance = float(chances @ (rolls - mean) ** 2)
    found = reader.probe_mean_rolls(index), reader.probe_sd_rolls(index)
    if abs(found[0] - mean) > MOMENT_ERROR or abs(found[1] ** 2 - variance) > MOMENT_ERROR:
        raise CheckFailedError(
            f"expected mean {mean:.6f} and standard deviation {variance**0.5:.6f} rolls at position {index} of "
            f"{reader.table.name}, found {found[0]:.6f} and {found[1]:.6f}"
        )


def chance_lists(arrays: Mapping[str, Array], rows: slice) -> pa.Array:
    """The chances of some rows as lists that begin at 0 rolls."""
    import pyarrow as pa

    first = arrays["first_roll"][rows].astype(np.int64)
    offsets = arrays["offsets"][rows.start : rows.stop + 1].astype(np.int64)
    lengths = np.diff(offsets)
    starts = np.concatenate([[0], np.cumsum(first + lengths)])
    values = np.zeros(starts[-1], np.float32)
    # each row's chances move right by all the leading zeros up to it
    values[np.arange(offsets[-1] - offsets[0]) + np.repeat(np.cumsum(first), lengths)] = arrays["chances"][
        offsets[0] : offsets[-1]
    ]
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), pa.array(values))


POSITION_COLUMNS = (
    Column("position_index", "INTEGER", "", "Rank of the layout: checkers ascending, then most on the ace point first"),
    Column("points", "TINYINT[]", "checkers", "Checkers on each point, the ace point first"),
)
