"""What batches and splits are made of: weights, strata, and splits that never move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import MissingTableError
from bgdata.game.classes import PositionClass
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.warehouse import Warehouse
from tests.training.labels import (
    CONTACT,
    LABELS,
    label_boards,
    rows_of,
    sample_boards,
    small_blocks,
    split_by,
    write_labels,
    write_version,
)


def test_weights_share_out_every_batch(labels: Warehouse) -> None:
    feed = small_blocks(labels, {CONTACT: 2.0, LABELS: 1.0}, batch_size=90)
    batches = list(feed)
    assert {tuple(np.bincount(batch.versions).tolist()) for batch in batches} == {(60, 30)}
    assert np.ptp(np.flatnonzero(batches[0].versions)) > 60  # not one after the other
    for number, (name, share) in enumerate(zip(feed.versions, (60, 30), strict=True)):
        rows = rows_of(batch._replace(rows=batch.rows[batch.versions == number]) for batch in batches)
        own = small_blocks(labels, name).row_count
        assert len(rows) == len(feed) * share >= own
        times = np.bincount(rows)
        assert set(times.tolist()) <= {0, len(rows) // own, len(rows) // own + 1}  # all before any comes again
        assert set(rows) == set(rows_of(small_blocks(labels, name)))


def test_strata_share_out_every_batch(labels: Warehouse) -> None:
    feed = small_blocks(labels, {CONTACT: 1, LABELS: 1}, strata=("contact", "crashed", "race"), batch_size=60)
    for batch, _ in zip(feed, range(6), strict=False):
        found = [PositionClass(number).file_class.name.lower() for number in batch.classes.tolist()]
        assert {name: found.count(name) for name in set(found)} == {"contact": 20, "crashed": 20, "race": 20}
        assert np.bincount(batch.versions).tolist() == [30, 30]
    shares = small_blocks(labels, strata={"contact": 1, "race": 3}, batch_size=40)
    classes = [PositionClass(number).file_class for number in next(iter(shares)).classes.tolist()]
    assert classes.count(PositionClass.RACE) == 30


def test_a_source_without_a_class_leaves_its_share_to_the_others(tmp_path: Path) -> None:
    write_labels(tmp_path, CONTACT, label_boards())
    is_race = np.isin(bgdata.open_warehouse(tmp_path).open(*CONTACT.split("/")).array("classes"), (4, 6, 8))
    write_labels(tmp_path, LABELS, label_boards()[is_race])
    feed = bgdata.open_warehouse(tmp_path).batches(
        {CONTACT: 1, LABELS: 1}, strata=("contact", "race"), batch_size=80, guard=False
    )
    assert np.bincount(feed.batch(0, 0).versions).tolist() == [60, 20]


def test_splits_never_move_when_data_grow(labels: Warehouse, labels_root: Path) -> None:
    def positions(split: str) -> set[bytes]:
        return {board.tobytes() for batch in labels.batches(CONTACT, split=split) for board in batch.boards}

    before = {split: positions(split) for split in SPLITS}
    write_labels(labels_root, CONTACT, np.concatenate([sample_boards(20, seed=77), label_boards()[::-1]]))
    for split in SPLITS:
        assert before[split] < positions(split)


def test_a_position_and_its_flip_are_in_one_split(tmp_path: Path) -> None:
    from bgdata.game.codec import flip_boards

    write_labels(tmp_path, CONTACT, np.concatenate([label_boards(), flip_boards(label_boards())]))
    for split in SPLITS:
        rows = rows_of(bgdata.open_warehouse(tmp_path).batches(CONTACT, split=split))
        assert {(row + len(label_boards())) % (2 * len(label_boards())) for row in rows} == set(rows)


def test_games_are_split_whole_where_there_are_games(tmp_path: Path) -> None:
    games = np.arange(len(label_boards()), dtype=np.int32) // 20
    expected = splits_of_games(5, games)
    write_labels(tmp_path, CONTACT, label_boards(), games=games)
    positions = {"boards": label_boards(), "classes": np.zeros(len(label_boards()), np.uint8), **split_by(games)}
    sample = write_version(tmp_path, "position_sample/some", positions)
    labels = bgdata.open_warehouse(tmp_path)
    digest = labels.open(*sample.split("/")).manifest.digest
    write_labels(tmp_path, LABELS, label_boards(), source=f"position_sample/some@{digest}")
    for name in (CONTACT, LABELS):  # of their own, and of the positions that they label
        for number, split in enumerate(SPLITS):
            rows = rows_of(labels.batches(name, split=split))
            assert sorted(rows) == np.flatnonzero(expected == number).tolist()
    (tmp_path / sample).rename(tmp_path / "away")
    with pytest.raises(MissingTableError, match=r"whose games split rollout_labels/some/r1-.*, found no such version"):
        labels.batches(LABELS)
