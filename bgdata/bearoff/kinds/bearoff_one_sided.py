"""One-sided bearoff: the number of rolls that one side needs to bear off. Contains the base class of the gammon table
too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS, layout_count
from bgdata.errors import InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

STATE_BYTES = 8 + 18 * 8 + 1 + 1 + 32 * 4  # bytes of a row in a checkpoint, see bearoff.race.Race
POSITION_COLUMNS = (
    Column("position_index", "INTEGER", "", "Rank of the layout: checkers ascending, then most on the ace point first"),
    Column("points", "TINYINT[]", "checkers", "Checkers on each point, the ace point first"),
)


@dataclass(frozen=True)
class RaceParameters(Parameters):
    """Parameters of one-sided and gammon tables: a side bears off from points 1 to `points`, with up to 15 checkers."""

    size_names = ("points",)
    points: int = 6


def race_inputs(points: int) -> dict[str, tuple[str, Parameters]]:
    """Return the one-sided table and the gammon table with `points` points as inputs of a dataset, by name."""
    race = RaceParameters(points)
    return {"one_sided": ("bearoff_one_sided", race), "gammon": ("bearoff_gammon", race)}


class RaceDataset(Dataset[RaceParameters]):
    """Base class of the kinds `bearoff_one_sided` and `bearoff_gammon`: how many rolls a side needs to reach a goal, as
    a distribution. Subclasses define the goal."""

    revision = 1
    parameters = RaceParameters
    defaults = (RaceParameters(points=6), RaceParameters(points=10))
    smallest = RaceParameters(points=3)
    computed_by = "race"
    arrays = (
        FlatArray("offsets", "uint32", "row, and one past the last", "Where the row's chances begin in `chances`"),
        FlatArray("first_roll", "uint8", "row", "Number of rolls that the first of the row's chances stands for"),
        FlatArray("chances", "float32", "packed", "Chances of first_roll, first_roll + 1, ... rolls"),
        FlatArray("mean_rolls", "float64", "row", "Expected rolls"),
        FlatArray("sd_rolls", "float32", "row", "Standard deviation of the rolls"),
    )
    key: ClassVar[tuple[str, ...]] = ("position_index",)
    whole_rows = 1 << 40  # checks all rows: checking a sample row by row would take longer
    rolls_estimate: ClassVar[float]  # average number of stored chances per row, for the estimate

    def first_index(self, points: int) -> int:  # noqa: ARG002
        """Return the position index of the layout in the first row."""
        return 0

    def slug(self, parameters: RaceParameters) -> str:
        return f"{parameters.points}x{MAX_CHECKERS}"

    def check_parameters(self, parameters: RaceParameters) -> None:
        if not 1 <= parameters.points <= MAX_POINTS:
            raise InvalidParameterError(f"expected 1 to {MAX_POINTS} points, got {parameters.points}")

    def estimate(self, parameters: RaceParameters) -> Estimate:
        positions = layout_count(parameters.points, MAX_CHECKERS)
        rows = positions - self.first_index(parameters.points)
        return Estimate(
            rows=rows,
            disk_bytes=int(rows * (17 + 4 * self.rolls_estimate) * 2),
            memory_bytes=int(positions * (4 + parameters.points) + rows * (314 + 17 + 4 * self.rolls_estimate)) + 2**27,
            checkpoint_bytes=(rows + 1) * STATE_BYTES,
        )


class BearoffOneSided(RaceDataset):
    """Kind `bearoff_one_sided`: how many rolls a side needs to bear off all checkers, as a distribution, with one row
    for each layout."""

    name = "bearoff_one_sided"
    summary = "Chance of being off in exactly n rolls for every layout, playing for the fewest expected rolls."
    source = "Computed: backward recursion over all legal plays of the 21 rolls; up to 15 checkers"
    columns = (
        *POSITION_COLUMNS,
        Column("checkers", "TINYINT", "checkers", "Checkers on the board"),
        Column("pip_count", "SMALLINT", "pips", "Pips to bear all of them off"),
        Column("chances", "FLOAT[]", "chance", "Chance of being off in exactly n rolls; the first entry is 0 rolls"),
        Column("mean_rolls", "DOUBLE", "rolls", "Expected rolls"),
        Column("sd_rolls", "FLOAT", "rolls", "Standard deviation of the rolls"),
    )
    rolls_estimate = 15.0


DATASET = BearoffOneSided()
