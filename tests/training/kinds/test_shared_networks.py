"""Networks that others are made from: of the warehouse, or those that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import bgdata
from bgdata.errors import MissingTableError
from bgdata.evaluation.networks.named import find_network
from bgdata.evaluation.networks.shipped import SHIPPED
from bgdata.store.parameters import VersionRef
from bgdata.training.kinds.network_compute import opened


def test_a_start_that_is_not_built_is_the_one_that_comes_with_the_package(tmp_path: Path) -> None:
    """So that a copy of a shipped network is proven in a warehouse without its ancestors."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = find_network("network", warehouse)
    kind, variant, version = table.manifest.dataset, *table.folder.parts[-2:]
    place = VersionRef(kind, variant, version)
    assert opened(place, None, warehouse).folder == SHIPPED / variant / version
    assert opened(place, table, warehouse) is table
    for other in (
        VersionRef("network" if kind != "network" else "supervised_network", variant, version),
        VersionRef(kind, variant, "r1-00000000"),
        VersionRef(kind, "nothing", version),
    ):
        with pytest.raises(MissingTableError, match=r"no .* in .* \(have: none\)"):
            opened(other, None, warehouse)
