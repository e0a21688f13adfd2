"""What a feed refuses, in one line: settings, kinds, empty splits, targets that are no chances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, MissingTableError, UnknownInputSetError, UnknownKindError, UsageError
from bgdata.game.position_hash import position_hashes
from bgdata.selfplay.splits import splits_of_hashes
from bgdata.store.arrays import save_array
from bgdata.warehouse import Warehouse
from tests.together import each
from tests.training.labels import (
    CONTACT,
    LABELS,
    label_boards,
    sample_chances,
    small_blocks,
    write_benchmark,
    write_labels,
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"split": "exam"}, "expected a split among train, validation, test, got exam"),
        ({"batch_size": 0}, "expected a batch_size of at least 1, got 0"),
        ({"seed": -1}, "expected a seed from 0"),
        ({"epochs": 0}, "expected at least 1 epoch, got 0"),
        ({"features": "contact@2"}, "expected features of revision 1 of contact, got contact@2"),
        ({"strata": ("prime",)}, "expected strata among contact, crashed, race, got prime"),
        ({"strata": {"race": 0}}, "expected a weight above 0 for race, got 0"),
        ({"strata": ("contact", "race"), "batch_size": 1}, "expected batches with a row of each of 2 shares"),
    ],
)
def test_invalid_options_are_refused(labels: Warehouse, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        labels.batches(CONTACT, **options)


def test_missing_sources_are_named(labels: Warehouse) -> None:
    with pytest.raises(UsageError, match=r"has positions with chances: .*gnubg_training.*, got position_sample"):
        labels.batches("position_sample")
    with pytest.raises(UnknownKindError, match="got 'nothing'"):
        labels.batches("nothing")
    with pytest.raises(MissingTableError, match="wildbg_training"):
        labels.batches("wildbg_training")
    with pytest.raises(MissingTableError, match="gnubg_training/race"):
        labels.batches("gnubg_training/race")
    with pytest.raises(UnknownInputSetError, match="got pixels"):
        labels.batches(CONTACT, features="pixels")
    with pytest.raises(UsageError, match="expected a weight above 0 for gnubg_training/contact, got nan"):
        labels.batches({CONTACT: float("nan")})
    with pytest.raises(UsageError, match="expected a kind to read, got none"):
        labels.batches({})


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    splits = splits_of_hashes(position_hashes(label_boards()))
    write_labels(tmp_path, CONTACT, label_boards()[splits == 0])
    labels = bgdata.open_warehouse(tmp_path)
    with pytest.raises(UsageError, match=r"expected rows in the split test of gnubg_training/contact, found none$"):
        labels.batches(CONTACT, split="test")
    write_labels(tmp_path, LABELS, label_boards()[(splits == 0)][:0])
    with pytest.raises(UsageError, match="expected rows in the split train of rollout_labels/some, found none"):
        labels.batches({CONTACT: 1, LABELS: 1})
    with pytest.raises(UsageError, match="expected rows in the split train of rollout_labels/some, found none"):
        labels.batches(LABELS)  # which has no row at all
    races = np.isin(labels.open(*CONTACT.split("/")).array("classes"), (4, 6, 8))
    write_labels(tmp_path, CONTACT, label_boards()[splits == 0][~races])
    with pytest.raises(UsageError, match="expected rows of the class race in the split train"):
        labels.batches(CONTACT, strata=("race",))


@pytest.mark.parametrize(
    "wrong",
    [
        (np.nan, 0, 0, 0, 0),
        (0.5, 0.2, np.nan, 0, 0),
        (np.inf, 0, 0, 0, 0),
        (1.01, 0, 0, 0, 0),
        (0.5, -0.01, 0, 0, 0),
        (0.3, 0.4, 0, 0, 0),
        (0.5, 0.2, 0.3, 0, 0),
        (0.6, 0, 0, 0.5, 0),
        (0.5, 0, 0, 0.1, 0.2),
    ],
)
def test_invalid_targets_are_refused(tmp_path: Path, wrong: tuple[float, ...]) -> None:
    chances = sample_chances(len(label_boards()))
    chances[712] = wrong
    version = write_labels(tmp_path, CONTACT, label_boards(), chances)
    with pytest.raises(CheckFailedError, match=f"in row 712 of {version}, found .*; try: bgdata verify"):
        small_blocks(bgdata.open_warehouse(tmp_path))


@each(("slot", "count"), {f"{slot} {count}": (slot, count) for slot in (0, 6, 25) for count in (-128, -16, 16, 127)})
def test_boards_of_impossible_counts_are_refused(tmp_path: Path, slot: int, count: int) -> None:
    """As of a damaged file: kernels would read beyond their arrays, and the numbers that come out look like any."""
    boards = label_boards().copy()
    version = write_labels(tmp_path, CONTACT, boards)
    boards[712, slot] = count
    path = tmp_path / version / "boards.npy"
    path.unlink()
    save_array(path, boards)
    warehouse = bgdata.open_warehouse(tmp_path)
    with pytest.raises(CheckFailedError, match=rf"expected .* in row 712 of {version}, found \[.*; try: bgdata verify"):
        small_blocks(warehouse)


def test_boards_of_benchmarks_are_checked_too(tmp_path: Path) -> None:
    write_labels(tmp_path, CONTACT, label_boards())
    plays = label_boards()[:9].copy()
    plays[7, 3] = 16
    write_benchmark(tmp_path, "some", label_boards()[:9], plays)
    with pytest.raises(CheckFailedError, match=r"in row 7 of gnubg_benchmark/some/r"):
        small_blocks(bgdata.open_warehouse(tmp_path))


@each(
    ("name", "wrong"),
    {"class 99": ("classes", 99), "class 255": ("classes", 255), "too few classes": ("classes", None),
     "too few boards": ("boards", None)},
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, name: str, wrong: int | None) -> None:
    version = write_labels(tmp_path, CONTACT, label_boards())
    values = bgdata.open_warehouse(tmp_path).open_reference(version).array(name).copy()
    if wrong is not None:
        values[712] = wrong
    path = tmp_path / version / f"{name}.npy"
    path.unlink()
    save_array(path, values if wrong is not None else values[:-1])
    with pytest.raises(CheckFailedError, match=rf"expected .* {version}, found .*; try: bgdata verify"):
        small_blocks(bgdata.open_warehouse(tmp_path))


def test_nothing_is_written(labels: Warehouse, labels_root: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in labels_root.rglob("*")}
    assert len(before) > 8
    list(labels.batches({CONTACT: 1, LABELS: 1}, features="race"))
    save_array(labels_root / "other.npy", np.zeros(3))
    after = {path: path.stat().st_mtime_ns for path in labels_root.rglob("*")}
    assert {path for path in after if before.get(path) != after[path]} == {labels_root / "other.npy"}
