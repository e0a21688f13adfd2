"""A small warehouse shared by the tests of reading."""

from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with one-sided and gammon tables of 6 points and two-sided tables of 6x4 and 2x15."""
    root = tmp_path_factory.mktemp("tables")
    warehouse = bgdata.open_warehouse(root)
    warehouse.build("bearoff_one_sided", RaceParameters(6))
    warehouse.build("bearoff_gammon", RaceParameters(6))
    for points, checkers in ((6, 4), (2, 15)):
        warehouse.build("bearoff_two_sided", TwoSidedParameters(points, checkers))
    return root
