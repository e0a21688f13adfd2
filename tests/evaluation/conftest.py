"""Bearoff tables for tests of evaluators."""

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.store.table import Table


@pytest.fixture(scope="package")
def four_checkers(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The two-sided table of 6 points and 4 checkers."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("four") / "warehouse")
    return warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 4))
