"""The error of one-sided tables by groups: against the table of all pairs, and against sums of single pairs."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.index import layout_at, layout_count
from bgdata.bearoff.kinds.bearoff_error import ErrorParameters
from bgdata.bearoff.kinds.race_error import DATASET, RaceErrorParameters
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.errors import InvalidParameterError


@pytest.mark.parametrize("combination", ["plain", "corrected"])
def test_groups_match_the_table_of_all_pairs(tmp_path: Path, combination: str) -> None:
    """Groups by checkers have the sums of `bearoff_error`, the table of all pairs, and the same worst pair."""
    warehouse = bgdata.open_warehouse(tmp_path)
    groups = warehouse.build("race_error", RaceErrorParameters(4, 4, combination))
    pairs = warehouse.build("bearoff_error", ErrorParameters(4, 4, combination))
    assert groups.manifest.statistics["pairs"] == pairs.manifest.rows == 69 * 69
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select on_roll_group, opponent_group, pairs, mean_difference, sd_difference, mean_absolute_difference, "
            "largest_difference, smallest_difference from race_error where grouping = 'checkers' order by all"
        ).fetchall()
        expected = connection.sql(
            "select list_sum(a.points), list_sum(b.points), count(*), avg(difference), stddev_pop(difference), "
            "avg(abs(difference)), max(difference), min(difference) from bearoff_error join bearoff_positions a "
            "on a.position_index = on_roll_index and a.variant = '4x15' join bearoff_positions b "
            "on b.position_index = opponent_index and b.variant = '4x15' group by all order by all"
        ).fetchall()
        ((stated_worst, worst),) = connection.sql(
            "select largest_difference, difference from bearoff_error join race_error "
            "on on_roll_index = largest_on_roll_index and opponent_index = largest_opponent_index "
            "where grouping = 'all'"
        ).fetchall()
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    assert np.array(rows) == pytest.approx(np.array(expected, float), abs=1e-7)
    assert stated_worst == pytest.approx(worst, abs=1e-7)


def test_gammons_count_with_15_checkers(tmp_path: Path) -> None:
    """A side that bears none of 15 checkers off before the other side is off loses two points in the combined
    equity."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build(DATASET.name, RaceErrorParameters(1, 15))
    rolls = RaceTable(warehouse.open("bearoff_one_sided", "1x15"))
    rolls_to_first_off = RaceTable(warehouse.open("bearoff_gammon", "1x15"))
    exact = TwoSidedTable(warehouse.open("bearoff_two_sided", "1x15"))

    def gammon_chance(winner: int, loser: int, rolls_before: int) -> float:
        """The chance that the winner is off in n rolls, and the loser has no checker off after n - rolls_before."""
        if sum(layout_at(loser, 1)) < 15:
            return 0.0
        first_off = rolls_to_first_off.probe_chances(loser)
        return sum(
            chance * first_off[max(n - rolls_before, 0) + 1 :].sum()
            for n, chance in enumerate(rolls.probe_chances(winner))
        )

    differences = []
    for on_roll, opponent in product(range(1, layout_count(1, 15)), repeat=2):
        opponent_chances = rolls.probe_chances(opponent)
        win = sum(chance * opponent_chances[n:].sum() for n, chance in enumerate(rolls.probe_chances(on_roll)))
        combined = 2 * win - 1 + gammon_chance(on_roll, opponent, 1) - gammon_chance(opponent, on_roll, 0)
        differences.append(combined - exact.probe(on_roll, opponent).cubeless)
    statistics = table.manifest.statistics
    assert statistics["mean_difference"] == pytest.approx(np.mean(differences), abs=1e-7)
    assert statistics["mean_absolute_difference"] == pytest.approx(np.abs(differences).mean(), abs=1e-7)
    # without choices on the ace point the combination is exact
    assert statistics["largest_difference"] < statistics["difference_error_bound"]
    assert -statistics["smallest_difference"] < statistics["difference_error_bound"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (RaceErrorParameters(0, 3), "expected 1 to "),
        (RaceErrorParameters(6, 16), "expected 1 to "),
        (RaceErrorParameters(3, 3, "one-roll"), "expected a combination among plain, corrected, got 'one-roll'"),
    ],
)
def test_invalid_parameters_are_refused(parameters: RaceErrorParameters, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(parameters)
