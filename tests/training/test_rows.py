"""Rows of networks against their manifests."""

from pathlib import Path

import bgdata
from bgdata.training.rows import KINDS, curve_charts, network_row, networks
from tests.kept import own


def test_every_network_has_a_row(small_root: Path) -> None:
    """Every current network has a row with its training and its points against PubEval, the oldest first."""
    warehouse = bgdata.open_warehouse(small_root)
    tables = networks(warehouse)
    assert {table.name for table in tables} == {table.name for kind in KINDS for table in warehouse.current(kind)}
    assert [table.manifest.created for table in tables] == sorted(table.manifest.created for table in tables)
    for table in tables:
        row = network_row(table.manifest)
        assert f"{row['network']}/{row['version']}" == table.name
        assert row["points_per_game"] == table.manifest.statistics["points_per_game"]
    learned = {row["network"]: row for row in (network_row(table.manifest) for table in tables)}
    assert learned["network/tiny"]["learned_from"] == "400 games of self-play"
    assert learned["supervised_network/tiny-supervised"]["learned_from"] == "2 epochs of labels"
    assert learned["supervised_network/tiny-supervised"]["started_from"] == "network/tiny"


def test_charts_have_every_row_of_the_curve(small_root: Path) -> None:
    for table in networks(bgdata.open_warehouse(small_root)):
        curve = table.array("curve")
        charts = curve_charts(table)
        assert len(charts) in (3, 6)
        assert all(len(line.values) == len(chart.places) == len(curve) for chart in charts for line in chart.lines)


def test_damaged_networks_are_left_out(warehouse: bgdata.Warehouse) -> None:
    names = [table.name for table in networks(warehouse)]
    table = warehouse.open("network", "tiny")
    own(table.parquet).write_bytes(b"")
    assert [each.name for each in networks(warehouse)] == [name for name in names if name != table.name]
