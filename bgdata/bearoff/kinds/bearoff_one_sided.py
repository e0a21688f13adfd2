"""One-sided bearoff: how many rolls one side alone needs to bear off."""

from __future__ import annotations

from bgdata.bearoff.kinds.shared.race import POSITION_COLUMNS, RaceDataset, RaceParameters
from bgdata.store.dataset import Column


class BearoffOneSided(RaceDataset):
    """The race ends when all checkers are off."""

    name = "bearoff_one_sided"
    revision = 1
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
    defaults = (RaceParameters(points=6), RaceParameters(points=10))
    smallest = RaceParameters(points=3)
    rolls_estimate = 15.0

    def first_index(self, _points: int) -> int:
        return 0


DATASET = BearoffOneSided()
