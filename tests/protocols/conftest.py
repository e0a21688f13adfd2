"""A match equity table for tests of matches."""

import pytest

import bgdata
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.match_equity import MatchEquity, find_met


@pytest.fixture(scope="session")
def met(tmp_path_factory: pytest.TempPathFactory) -> MatchEquity:
    """A published match equity table."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("met") / "warehouse")
    warehouse.build(MATCH_EQUITY.name, MATCH_EQUITY.defaults[-1])
    return find_met(warehouse, "published-12")
