"""The error of combining two one-sided tables, by groups of pairs, for tables with too many pairs for a row each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.kinds.bearoff_error import CombinationErrorTable, ErrorParameters
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.store.dataset import Column, Estimate, FlatArray
from bgdata.store.parameters import Parameters

GROUPINGS = ("all", "pips", "checkers", "wastage")


@dataclass(frozen=True)
class RaceErrorParameters(ErrorParameters):
    """Parameters of `race_error`. With 15 checkers gammons count. The plays of the next roll are never tried."""

    later = ()


class RaceErrorTable(CombinationErrorTable[RaceErrorParameters]):
    """Kind `race_error`: the error of combining two one-sided tables, with one row for each group of pairs: all pairs,
    and groups by pips, checkers and wastage of both sides."""

    name = "race_error"
    revision = 1
    summary = (
        "What combining two one-sided tables gets wrong against the exact cubeless equity, over all pairs of layouts, "
        "by pips, checkers and wastage of both sides; with 15 checkers by the gammon table too."
    )
    source = "Computed from bearoff_one_sided, bearoff_gammon and bearoff_two_sided"
    columns = (
        Column("grouping", "VARCHAR", "", f"What pairs are grouped by: {', '.join(GROUPINGS)}"),
        Column(
            "on_roll_group",
            "INTEGER",
            "",
            "Pips, checkers, or effective less plain pips, rounded, of the player on roll; 0 for all",
        ),
        Column("opponent_group", "INTEGER", "", "The same of the opponent"),
        Column("pairs", "BIGINT", "pairs", "Pairs of layouts, neither of them empty"),
        Column("mean_difference", "DOUBLE", "points", "Mean of combined less exact equity"),
        Column("sd_difference", "DOUBLE", "points", "Standard deviation of these"),
        Column("mean_absolute_difference", "DOUBLE", "points", "Mean of their sizes"),
        Column("largest_difference", "FLOAT", "points", "The largest of them: the player on roll is overrated"),
        Column("largest_on_roll_index", "INTEGER", "", "Position index of the player on roll of the first such pair"),
        Column("largest_opponent_index", "INTEGER", "", "Position index of its opponent"),
        Column("smallest_difference", "FLOAT", "points", "The smallest: the player on roll is underrated"),
        Column("smallest_on_roll_index", "INTEGER", "", "Position index of the player on roll of the first such pair"),
        Column("smallest_opponent_index", "INTEGER", "", "Position index of its opponent"),
    )
    key = ("grouping", "on_roll_group", "opponent_group")
    arrays = (
        FlatArray("groups", "int16", "row, (grouping, on roll, opponent)", "Groups, groupings in order of name"),
        FlatArray("pairs", "int64", "row", "Pairs of layouts"),
        FlatArray("moments", "float64", "row, (mean, standard deviation, mean size)", "Of the differences, points"),
        FlatArray("extremes", "float64", "row, (largest, smallest)", "Differences, points"),
        FlatArray("places", "int32", "row, (largest, smallest), (on roll, opponent)", "Position indexes of these"),
    )
    combinations = ("plain", "corrected")
    parameters = RaceErrorParameters
    defaults = more = (RaceErrorParameters(),)
    smallest = RaceErrorParameters(3, 3)

    def inputs(self, parameters: RaceErrorParameters) -> Mapping[str, tuple[str, Parameters]]:
        found = dict(super().inputs(parameters))
        if parameters.checkers == MAX_CHECKERS:
            found["gammon"] = ("bearoff_gammon", RaceParameters(parameters.points))
        return found

    def estimate(self, parameters: RaceErrorParameters) -> Estimate:
        layouts = layout_count(parameters.points, parameters.checkers)
        rows = (parameters.points * parameters.checkers) ** 2 + 2 * parameters.checkers**2 + 1000
        return Estimate(rows, 120 * rows, (1 << 29) + 2000 * layouts)


DATASET = RaceErrorTable()
