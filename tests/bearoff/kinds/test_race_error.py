"""The error of one-sided tables by groups: against the table of all pairs, and against sums of single pairs."""

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.index import layout_at, layout_count
from bgdata.bearoff.kinds.race_error import DATASET, RaceErrorParameters
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.errors import InvalidParameterError


@pytest.mark.parametrize("combination", ["plain", "corrected"])
def test_groups_match_the_table_of_all_pairs(tmp_path: Path, combination: str) -> None:
    """Groups by checkers have the sums of `bearoff_error`, the table of all pairs, and the same worst pair."""
    warehouse = bgdata.open_warehouse(tmp_path)
    groups, pairs = (
        warehouse.build(kind, warehouse.kinds[kind].parameters(4, 4, combination))
        for kind in ("race_error", "bearoff_error")
    )
    assert groups.manifest.statistics["pairs"] == pairs.manifest.rows == 69 * 69
    with warehouse.connect() as connection:
        found = connection.sql(
            "select on_roll_group, opponent_group, pairs, mean_difference, sd_difference, mean_absolute_difference, "
            "largest_difference, smallest_difference from race_error where grouping = 'checkers' order by all"
        ).fetchall()
        expected = connection.sql(
            "select list_sum(a.points), list_sum(b.points), count(*), avg(difference), stddev_pop(difference), "
            "avg(abs(difference)), max(difference), min(difference) from bearoff_error join bearoff_positions a "
            "on a.position_index = on_roll_index and a.variant = '4x15' join bearoff_positions b "
            "on b.position_index = opponent_index and b.variant = '4x15' group by all order by all"
        ).fetchall()
        worst = connection.sql(
            "select difference from bearoff_error join race_error on on_roll_index = largest_on_roll_index "
            "and opponent_index = largest_opponent_index where grouping = 'all' "
            "union all select largest_difference from race_error where grouping = 'all'"
        ).fetchall()
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert np.array(found) == pytest.approx(np.array(expected, float), abs=1e-7)
    assert worst[0][0] == pytest.approx(worst[1][0], abs=1e-7)


def test_gammons_count_with_15_checkers(tmp_path: Path) -> None:
    """A side that bears none of 15 checkers off before the other side is off loses two points in the combined
    equity."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build(DATASET.name, RaceErrorParameters(1, 15))
    rolls, first = (RaceTable(warehouse.open(kind, "1x15")) for kind in ("bearoff_one_sided", "bearoff_gammon"))
    exact = TwoSidedTable(warehouse.open("bearoff_two_sided", "1x15"))
    differences = []
    for own in range(1, layout_count(1, 15)):
        for other in range(1, layout_count(1, 15)):
            mine, theirs = (rolls.probe_chances(each) for each in (own, other))
            combined = 2 * sum(chance * theirs[n:].sum() for n, chance in enumerate(mine)) - 1
            for winner, loser, before, sign in ((mine, other, 1, 1), (theirs, own, 0, -1)):
                if sum(layout_at(loser, 1)) == 15:
                    none_off = first.probe_chances(loser)
                    combined += sign * sum(
                        chance * none_off[max(n - before, 0) + 1 :].sum() for n, chance in enumerate(winner)
                    )
            differences.append(combined - exact.probe(own, other).cubeless)
    found = table.manifest.statistics
    assert found["mean_difference"] == pytest.approx(np.mean(differences), abs=1e-7)
    assert found["mean_absolute_difference"] == pytest.approx(np.abs(differences).mean(), abs=1e-7)
    # without choices on the ace point the combination is exact
    assert max(found["largest_difference"], -found["smallest_difference"]) < found["difference_error_bound"]


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
