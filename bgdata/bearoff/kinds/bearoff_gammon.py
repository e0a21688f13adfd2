"""Tables for saving the gammon: the number of rolls in which a side with all 15 checkers bears off the first one."""

from __future__ import annotations

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.kinds.bearoff_one_sided import POSITION_COLUMNS, RaceDataset
from bgdata.store.dataset import Column


class BearoffGammon(RaceDataset):
    """Kind `bearoff_gammon`: how many rolls a side with 15 checkers needs to bear off the first one, as a distribution,
    with one row for each layout."""

    name = "bearoff_gammon"
    summary = (
        "Chance that the first of 15 checkers is off after exactly n rolls, playing for the fewest expected rolls."
    )
    source = "Computed: backward recursion over all legal plays of the 21 rolls; all 15 checkers on the board"
    columns = (
        *POSITION_COLUMNS,
        Column("chances", "FLOAT[]", "chance", "Chance that the first checker is off after exactly n rolls; from 0 on"),
        Column("mean_rolls", "DOUBLE", "rolls", "Expected rolls until the first checker is off"),
    )
    rolls_estimate = 6.0

    def first_index(self, points: int) -> int:
        return layout_count(points, MAX_CHECKERS - 1)


DATASET = BearoffGammon()
