"""Labels from rollouts: rows, digests, what is resumed, what is refused, and what is written for gnubg."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.cli.export import write_text
from bgdata.computations import rollout_labels
from bgdata.computations.common.rollouts import open_roller
from bgdata.datasets.rollout_labels import DATASET, RolloutLabelParameters
from bgdata.errors import CheckFailedError, CorruptFileError, InvalidParameterError, MissingTableError
from bgdata.formats.gnubg_training import parse_gnubg_training
from bgdata.formats.lines import read_bytes
from bgdata.kernel import threads
from bgdata.play.rollout import RolloutSettings, roll_out
from bgdata.store import job
from bgdata.store.context import Context
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.kept import own
from tests.rechecking import check_sample, inputs_of

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


def test_labels_do_not_depend_on_threads_or_steps(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    first = warehouse.open(DATASET.name, DATASET.slug(SMALL)).manifest.digest
    for count, step in ((1, 1), (2, 2)):
        monkeypatch.setattr(rollout_labels, "STEP", step)
        with threads(count):
            assert warehouse.build(DATASET.name, SMALL, force=True).manifest.digest == first


def test_a_killed_run_goes_on(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    first = warehouse.open(DATASET.name, DATASET.slug(SMALL)).manifest.digest
    whole, rows = rollout_labels.rolled_out, []

    def rolled_out(*arguments: Any) -> dict[str, Any]:
        rows.append(arguments[3])
        if rows == [0, 1]:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(rollout_labels, "STEP", 1)
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(rollout_labels, "rolled_out", rolled_out)
    with pytest.raises(KeyboardInterrupt):
        warehouse.build(DATASET.name, SMALL, force=True)
    assert warehouse.build(DATASET.name, SMALL, force=True).manifest.digest == first
    assert rows == [0, 1, 1]


def test_verify_rolls_out_again(warehouse: Warehouse) -> None:
    table = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    check_sample(DATASET, table, inputs_of(warehouse, DATASET, SMALL), 2, np.random.default_rng(0))
    chances = np.load(table.folder / "chances.npy")
    chances[1, 0] += 0.01
    np.save(own(table.folder / "chances.npy"), chances)
    with pytest.raises(CheckFailedError, match=r"expected chances of .* in row 1 of rollout_labels/"):
        check_sample(DATASET, Table(table.folder), inputs_of(warehouse, DATASET, SMALL), 2, np.random.default_rng(0))


def test_labels_are_written_as_training_data(small_root: Path, tmp_path: Path) -> None:
    table = small_table(small_root)
    write_text(table, "gnubg-training", tmp_path / "contact-train-data")
    found = parse_gnubg_training(read_bytes(tmp_path / "contact-train-data"))
    assert np.array_equal(found.boards, table.array("boards"))
    assert found.chances == pytest.approx(np.asarray(table.array("chances")), abs=1e-6)


def test_a_version_of_the_warehouse_plays(warehouse: Warehouse) -> None:
    version = warehouse.open("network", "tiny").folder.name
    table = warehouse.build(DATASET.name, replace(SMALL, network_version=version))
    small = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    assert np.array_equal(table.array("chances"), small.array("chances"))
    with pytest.raises(MissingTableError, match="r1-00000000"):
        warehouse.build(DATASET.name, replace(SMALL, network_version="r1-00000000"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"source": VersionRef("nothing", "x")},
            "expected a table of positions, such as positions/NAME, got nothing/x",
        ),
        ({"source": VersionRef("bearoff_error", "3x3")}, "expected a table of positions"),
        (
            {"source": VersionRef("selfplay", "x", "r1-01234567")},
            r"expected a table of positions, .* got selfplay/x/r1-01234567, which holds turns of games; try: ",
        ),
        ({"trials": 100}, "expected a multiple of 36 trials"),
        ({"until": -1.0}, "expected a standard error above 0"),
        ({"most_trials": 100}, "expected most trials to be a multiple of 72"),
        ({"stop": "never"}, "expected a rollout to stop at one of"),
        ({"turns": -1}, "expected 0 turns"),
        ({"seed": -1}, "expected a seed"),
        ({"network": "../x"}, "expected the name of a network"),
    ],
)
def test_wrong_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(SMALL, **changes))


def test_the_default_network_comes_with_the_package() -> None:
    assert "network" in RolloutLabelParameters(source=VersionRef("positions", "x")).inputs()
    assert "network" not in RolloutLabelParameters("mine", "r1-00000000", source=VersionRef("positions", "x")).inputs()
