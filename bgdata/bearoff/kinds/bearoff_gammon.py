"""Saving the gammon: how many rolls a side with all 15 checkers needs to bear off the first one."""

from __future__ import annotations

from math import comb

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.kinds.shared.race import POSITION_COLUMNS, RaceDataset, RaceParameters
from bgdata.store.dataset import Column


class BearoffGammon(RaceDataset):
    """The race ends when the first checker is off."""

    name = "bearoff_gammon"
    revision = 1
    summary = (
        "Chance that the first of 15 checkers is off after exactly n rolls, playing for the fewest expected rolls."
    )
    source = "Computed: backward recursion over all legal plays of the 21 rolls; all 15 checkers on the board"
    columns = (
        *POSITION_COLUMNS,
        Column("chances", "FLOAT[]", "chance", "Chance that the first checker is off after exactly n rolls; from 0 on"),
        Column("mean_rolls", "DOUBLE", "rolls", "Expected rolls until the first checker is off"),
    )
    defaults = (RaceParameters(points=6), RaceParameters(points=10))
    smallest = RaceParameters(points=3)
    rolls_estimate = 6.0

    def first_index(self, points: int) -> int:
        return comb(points + MAX_CHECKERS - 1, points)


DATASET = BearoffGammon()
