"""What the one-sided and the gammon table share: one race, two goals."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb
from typing import ClassVar

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS
from bgdata.errors import InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

STATE_BYTES = 8 + 18 * 8 + 1 + 1 + 32 * 4  # of a row in a checkpoint: see bearoff.race.Race


@dataclass(frozen=True)
class RaceParameters(Parameters):
    """Points 1 to `points`, 15 checkers."""

    size_names = ("points",)
    points: int = 6


def race_inputs(points: int) -> dict[str, tuple[str, Parameters]]:
    """The one-sided and the gammon table of these points, as inputs by role."""
    race = RaceParameters(points)
    return {"one_sided": ("bearoff_one_sided", race), "gammon": ("bearoff_gammon", race)}


class RaceDataset(Dataset[RaceParameters]):
    """A table of distributions of rolls; subclasses define the goal that ends the race."""

    parameters = RaceParameters
    computed_by = "race"
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


POSITION_COLUMNS = (
    Column("position_index", "INTEGER", "", "Rank of the layout: checkers ascending, then most on the ace point first"),
    Column("points", "TINYINT[]", "checkers", "Checkers on each point, the ace point first"),
)
