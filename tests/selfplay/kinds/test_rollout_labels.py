"""Labels from rollouts: rows, digests, what is resumed, what is refused, and what is written for gnubg."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CorruptFileError
from bgdata.selfplay.kinds.rollout_labels import DATASET, RolloutLabelParameters
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.selfplay.rollout import RolloutSettings, roll_out
from bgdata.store.context import Context
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.kept import own
from tests.rechecking import inputs_of

SMALL = DATASET.smallest


def small_table(root: Path) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(SMALL))


def test_rows_are_rollouts(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    brain = open_roller(Context(SMALL, inputs_of(warehouse, DATASET, SMALL), warehouse)).chooser
    boards = np.asarray(warehouse.open("positions", "sample").array("boards"))
    result = roll_out(boards, brain, 72, 0, RolloutSettings("exact", 2), until=0.02, most_trials=144)
    with warehouse.connect() as connection:
        found = connection.sql("select * exclude (variant, board) from rollout_labels").fetchall()
        ids = connection.sql("select position_id, class from positions order by line").fetchall()
    version = warehouse.open("network", "tiny").folder.name
    for row, values in enumerate(found):
        assert values[0] == row
        assert values[1:3] == ids[row]
        expected = [*result.legal_chances()[row], *result.standard_errors[row]]
        assert values[3:13] == pytest.approx(expected, abs=1e-7)
        error = result.equity_standard_errors[row]
        assert values[13:16] == (result.equities[row], error, result.plain_standard_errors[row])
        assert values[16:] == (result.trials[row], bool(error <= 0.02), f"network/tiny/{version}")
    assert len(found) == len(boards) == 2


def test_a_source_that_is_cut_off(warehouse: Warehouse) -> None:
    """It has half of its rows, as a valid array: its size is not that of the manifest."""
    folder = warehouse.open("positions", "sample").folder
    boards = np.load(folder / "boards.npy")
    (folder / "boards.npy").unlink()
    np.save(own(folder / "boards.npy"), boards[:1])
    for version in ("", folder.name):
        with pytest.raises(CorruptFileError, match=r"boards\.npy"):
            warehouse.build(DATASET.name, replace(SMALL, seed=77, source=VersionRef("positions", "sample", version)))


def test_statistics(small_root: Path) -> None:
    table = small_table(small_root)
    found, errors = table.manifest.statistics, table.array("equity_standard_errors")
    assert found["mean_standard_error"] == pytest.approx(errors.mean())
    assert found["largest_standard_error"] == errors.max()
    assert found["reached_share"] == (errors <= 0.02).mean()
    assert found["games"] == table.array("trials").sum()
    assert found["median_reduction"] > 1


def test_the_default_network_comes_with_the_package() -> None:
    assert "network" in RolloutLabelParameters(source=VersionRef("positions", "x")).inputs()
    assert "network" not in RolloutLabelParameters("mine", "r1-00000000", source=VersionRef("positions", "x")).inputs()
