"""Steps of match equity tables: one table for each ply, and the distances from the published table."""

import numpy as np
import pytest

from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import met_names, met_of_arrays
from bgdata.equity.steps import MatchEquityPlan, build_met, differences, recipes
from bgdata.errors import InvalidParameterError, MissingTableError, UnknownPlayerError
from bgdata.store.progress import Silence
from bgdata.warehouse import Warehouse

PLAN = MatchEquityPlan("network/tiny", (0, 1), 0.7, 4)


def test_each_ply_has_a_table_beside_the_published_one(warehouse: Warehouse) -> None:
    published, *induced = recipes(warehouse, PLAN)
    assert published == PUBLISHED
    assert [recipe.ply for recipe in induced] == [0, 1]
    for recipe in induced:
        assert recipe.network == "tiny"
        assert recipe.cube_life_index == 0.7
        assert recipe.length == 4


def test_differences_match_the_cells(warehouse: Warehouse) -> None:
    tables = [build_met(warehouse, recipe, Silence()) for recipe in recipes(warehouse, PLAN)[:2]]
    published, induced = (met_of_arrays(table.arrays(), met_names(table.arrays())[0]).cells for table in tables)
    (row,) = differences(warehouse, [table.name for table in tables])
    expected = 100 * np.abs(induced - published[:, :5, :5])[0, 1:, 1:]
    assert row["beside"] == "published-12"
    assert row["largest"] == pytest.approx(expected.max(), abs=0.006)
    assert row["mean"] == pytest.approx(expected.mean(), abs=0.006)


def test_invalid_plans_are_refused(warehouse: Warehouse) -> None:
    with pytest.raises(InvalidParameterError):
        recipes(warehouse, MatchEquityPlan("network/tiny", (9,)))
    with pytest.raises(MissingTableError, match="no network/nobody in"):
        recipes(warehouse, MatchEquityPlan("network/nobody"))
    for player in ("tiny", "pubeval", "other/tiny"):
        with pytest.raises(UnknownPlayerError, match=f"^expected network, network/NAME or .*, got {player}$"):
            recipes(warehouse, MatchEquityPlan(player))
