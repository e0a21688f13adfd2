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


def test_row_says_what_the_network_learned_from(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    row = network_row(warehouse.open("network", "tiny").manifest)
    assert row["learned_from"] == "400 games of self-play"
    row = network_row(warehouse.open("supervised_network", "tiny-supervised").manifest)
    assert row["learned_from"] == "2 epochs of labels"
    assert row["started_from"] == "network/tiny"


def test_charts_have_every_row_of_the_curve(small_root: Path) -> None:
    for table in networks(bgdata.open_warehouse(small_root)):
        curve = table.array("curve")
        charts = curve_charts(table)
        assert len(charts) in (3, 6)
        for chart in charts:
            assert len(chart.places) == len(curve)
            for line in chart.lines:
                assert len(line.values) == len(curve)


def test_damaged_networks_are_left_out(warehouse: bgdata.Warehouse) -> None:
    names = [table.name for table in networks(warehouse)]
    table = warehouse.open("network", "tiny")
    own(table.parquet).write_bytes(b"")
    names.remove(table.name)
    assert [network.name for network in networks(warehouse)] == names
