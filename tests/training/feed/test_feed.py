"""The feed: the same batches for the same seed, each row once an epoch, gone on with where it stopped."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import MissingTableError, UsageError
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode
from bgdata.game.classes import PositionClass
from bgdata.game.position_hash import position_hashes
from bgdata.kernel import threads
from bgdata.selfplay.splits import SPLITS, splits_of_games, splits_of_hashes
from bgdata.training.feed.feed import Feed, FeedRecipe, listed_rows
from bgdata.training.feed.rows import Batch
from bgdata.warehouse import Warehouse
from tests.training.labels import (
    CONTACT,
    LABELS,
    label_boards,
    rows_of,
    sample_boards,
    small_blocks,
    split_by,
    write_benchmark,
    write_labels,
    write_version,
)

GOLDEN_ROWS = [252, 467, 4749, 4775, 263, 860, 4761, 970]


def assert_equal(found: Iterable[Batch], expected: Iterable[Batch]) -> None:
    """The same batches, to the last bit."""
    for one, other in zip(found, expected, strict=True):
        for name, value in one._asdict().items():
            assert np.array_equal(value, getattr(other, name)), name


def test_an_epoch_has_each_row_of_the_split_once(labels: Warehouse) -> None:
    splits = splits_of_hashes(position_hashes(label_boards()))
    for number, split in enumerate(SPLITS):
        feed = small_blocks(labels, split=split, epochs=2)
        batches = list(feed)
        expected = np.flatnonzero(splits == number).tolist()
        assert [len(batch.rows) for batch in batches[: len(feed) - 1]] == [64] * (len(feed) - 1)
        for epoch in (0, 1):
            rows = rows_of(batch for batch in batches if batch.epoch == epoch)
            assert sorted(rows) == expected
            assert rows != expected
        assert feed.row_count == len(expected)
    assert np.bincount(splits).tolist() == pytest.approx(
        [0.8 * len(label_boards()), *[0.1 * len(label_boards())] * 2], rel=0.15
    )


def test_batches_hold_what_their_rows_say(labels: Warehouse) -> None:
    feed = small_blocks(labels, {CONTACT: 1, LABELS: 1}, features="tesauro-196")
    tables = [labels.open(*name.split("/")) for name in feed.versions]
    assert len(tables) == 2
    for batch in feed:
        for n in range(len(batch.rows)):
            table, row = tables[batch.versions[n]], batch.rows[n]
            assert np.array_equal(batch.boards[n], table.array("boards")[row])
            assert np.array_equal(batch.targets[n], table.array("chances")[row])
            assert batch.classes[n] == table.array("classes")[row]
        assert batch.features is not None
        assert np.array_equal(batch.features * 64, encode(InputSet.TESAURO_196, batch.boards))
        for array in (batch.boards, batch.features, batch.targets, batch.classes):
            assert array.flags.c_contiguous
            assert array.flags.writeable
        assert (batch.features.dtype, batch.targets.dtype) == (np.float32, np.float32)


def test_rows_are_shuffled_across_blocks(labels: Warehouse) -> None:
    """A batch is from all blocks of the pool, and pools are of blocks from anywhere."""
    rows = [batch.rows for batch in small_blocks(labels)]
    assert len(np.unique(rows[0] // 100)) == 3
    pools = [frozenset((batch // 100).tolist()) for batch in rows]
    assert any(max(pool) - min(pool) > 3 for pool in pools)
    assert abs(np.corrcoef(np.arange(64), rows[0])[0, 1]) < 0.5


def test_batches_follow_from_the_seed_and_the_epoch(labels: Warehouse) -> None:
    first = list(small_blocks(labels, seed=3, epochs=2))
    with threads(1):
        assert_equal(small_blocks(labels, seed=3, epochs=2), first)
    assert rows_of(first) != rows_of(small_blocks(labels, seed=4, epochs=2))
    half = len(first) // 2
    assert rows_of(first[:half]) != rows_of(first[half:])
    feed = small_blocks(labels, seed=3)
    assert_equal([feed.batch(1, 2), feed.batch(0, 1)], [first[half + 2], first[1]])  # in any order


def test_the_order_is_the_same_on_every_machine(labels: Warehouse) -> None:
    """Whoever changes the order on purpose raises the format of recipes."""
    feed = small_blocks(labels, {CONTACT: 2, LABELS: 1}, seed=3)
    assert feed.batch(1, 2).rows[:8].tolist() == GOLDEN_ROWS
    assert FeedRecipe.from_record(feed.recipe.record()).format == 1


def test_nothing_depends_on_the_order_of_names(labels: Warehouse, labels_root: Path) -> None:
    """JSON may sort them; and `some-more` comes after `some` but `some-more/` before `some/`."""
    write_labels(labels_root, "rollout_labels/some-more", label_boards()[::3])
    weights, strata = {CONTACT: 2, "rollout_labels": 1}, {"race": 1, "contact": 2}
    feed = labels.batches(weights, strata=strata, batch_size=90)
    turned = [dict(reversed(entry.items())) for entry in (weights, strata)]
    state = json.loads(json.dumps(feed.state_after(feed.batch(0, 1)), sort_keys=True))
    other = labels.batches(turned[0], strata=turned[1], batch_size=90, state=state)
    assert_equal(other, list(feed)[2:])
    seen = json.loads(json.dumps(feed.seen(feed.batch(0, 0)), sort_keys=True))
    (listed,) = listed_rows(labels, seen)
    batch = feed.batch(0, 0)
    assert {name: len(rows) for name, rows in listed.items()} == {
        name: int((batch.versions == number).sum()) for number, name in enumerate(feed.versions)
    }


@pytest.mark.parametrize("kind", [CONTACT, {CONTACT: 2.0, LABELS: 1.0}])
@pytest.mark.parametrize("stop", [0, 3, -1])
def test_resumed_batches_are_those_of_an_uninterrupted_run(labels: Warehouse, kind: Any, stop: int) -> None:
    options: dict[str, Any] = {"seed": 1, "batch_size": 200, "features": "race", "epochs": 2}
    whole = list(labels.batches(kind, **options))
    size = len(whole) // 2
    last = whole[size - 1 if stop == -1 else stop]
    state = json.loads(json.dumps(labels.batches(kind, **options).state_after(last)))
    assert len(json.dumps(state)) < 4096
    rest = list(labels.batches(kind, **options, state=state))
    assert_equal(rest, whole[last.epoch * size + last.number + 1 :])


def test_a_state_of_other_data_is_refused(labels: Warehouse, labels_root: Path) -> None:
    feed = labels.batches(CONTACT, seed=1)
    state = feed.state_after(next(iter(feed)))
    with pytest.raises(UsageError, match="expected the state of a feed with seed 2, got one with 1"):
        labels.batches(CONTACT, seed=2, state=state)
    with pytest.raises(UsageError, match=r"with features contact@1, got one with $"):
        labels.batches(CONTACT, seed=1, features="contact", state=state)
    with pytest.raises(UsageError, match="expected the record of a feed in the state"):
        labels.batches(CONTACT, state={**state, "feed": 3})
    with pytest.raises(UsageError, match="expected a state with feed, epoch and batch, got none"):
        labels.batches(CONTACT, state={})
    with pytest.raises(UsageError, match="expected a batch below"):
        labels.batches(CONTACT, seed=1, state={**state, "batch": 10**6})
    with pytest.raises(UsageError, match="expected the numbers of an epoch and a batch, got -1 and 1"):
        labels.batches(CONTACT, seed=1, state={**state, "epoch": -1, "batch": 1})
    write_labels(labels_root, CONTACT, label_boards()[:-1])
    with pytest.raises(UsageError, match=r"expected the state of a feed with sources .*r1-"):
        labels.batches(CONTACT, seed=1, state=state)


def test_adding_a_benchmark_changes_the_feed(labels: Warehouse, labels_root: Path) -> None:
    feed = labels.batches(CONTACT)
    state = feed.state_after(next(iter(feed)))
    write_benchmark(labels_root, "contact", label_boards()[:3], label_boards()[3:5])
    with pytest.raises(UsageError, match="expected the state of a feed with benchmarks"):
        labels.batches(CONTACT, state=state)


def test_workers_share_the_batches_out(labels: Warehouse) -> None:
    whole = list(small_blocks(labels, epochs=2))
    parts = [list(small_blocks(labels, epochs=2).part(first, 3)) for first in range(3)]
    assert_equal([parts[n % 3][n // 3] for n in range(len(whole))], whole)


def test_a_feed_can_be_sent_to_another_process(labels: Warehouse) -> None:
    feed = small_blocks(labels, {CONTACT: 1, LABELS: 3}, epochs=2)
    next(iter(feed))
    sent = pickle.dumps(feed)
    assert len(sent) < 20_000  # neither arrays nor pools
    assert_equal(pickle.loads(sent), feed)


def test_the_set_is_never_in_memory(tmp_path: Path) -> None:
    boards = np.tile(label_boards(), (200_000 // len(label_boards()), 1))
    write_labels(tmp_path, CONTACT, boards)
    labels = bgdata.open_warehouse(tmp_path)
    recipe = replace(labels.batches(CONTACT).recipe, block_rows=2000, pool_blocks=4)
    Feed(labels, recipe).batch(0, 0)
    set_bytes = len(boards) * (26 + 20)
    tracemalloc.start()
    rows = sum(len(batch.rows) for batch in Feed(labels, recipe))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows > 150_000
    assert peak < set_bytes / 4


def test_an_endless_feed_goes_on_after_an_epoch(labels: Warehouse) -> None:
    feed = labels.batches(LABELS, batch_size=10_000, epochs=None)
    epochs = [batch.epoch for batch, _ in zip(feed, range(5), strict=False)]
    assert epochs == [0, 1, 2, 3, 4]


def test_all_variants_of_a_kind_are_one_source(labels: Warehouse, labels_root: Path) -> None:
    write_labels(labels_root, "gnubg_training/race", sample_boards(5, seed=9))
    feed = labels.batches("gnubg_training")
    assert [name.rpartition("/")[0] for name in feed.versions] == [CONTACT, "gnubg_training/race"]
    seen = [(v, r) for batch in feed for v, r in zip(batch.versions.tolist(), batch.rows.tolist(), strict=True)]
    assert len(seen) == len(set(seen)) == feed.row_count
    assert {version for version, _ in seen} == {0, 1}


def test_a_version_can_be_named(labels: Warehouse, labels_root: Path) -> None:
    old = labels.batches(CONTACT).versions[0]
    new = write_labels(labels_root, CONTACT, label_boards()[::2])
    assert labels.batches(CONTACT).versions == (new,)
    assert labels.batches(old).versions == (old,)


# what a manifest says


def test_the_rows_of_a_run_are_listed_again(labels: Warehouse, labels_root: Path) -> None:
    feed = labels.batches({CONTACT: 2, LABELS: 1}, batch_size=100, features="race", seed=8, epochs=2)
    batches = [batch for batch, _ in zip(feed, range(len(feed) + 3), strict=False)]
    seen = json.loads(json.dumps(feed.seen(batches[-1])))
    write_labels(labels_root, CONTACT, label_boards()[::2])  # another version is current by now
    write_benchmark(labels_root, "contact", label_boards()[:100], label_boards()[:0])
    listed = list(listed_rows(labels, seen))
    assert len(listed) == len(batches)
    for found, batch in zip(listed, batches, strict=True):
        assert sum(map(len, found.values())) == len(batch.rows)
        for number, name in enumerate(feed.versions):
            assert np.array_equal(found[name], batch.rows[batch.versions == number])


def test_invalid_record_of_rows_is_refused(labels: Warehouse) -> None:
    feed = labels.batches(CONTACT)
    seen = feed.seen(feed.batch(0, 0))
    for wrong in ({}, {**seen, "feed": {}}, {**seen, "feed": {**seen["feed"], "format": 2}}):
        with pytest.raises(UsageError, match=r"expected (a|the) record"):
            list(listed_rows(labels, wrong))


def test_a_version_that_is_gone_or_changed_is_named(labels: Warehouse, labels_root: Path) -> None:
    feed = labels.batches(CONTACT)
    seen = feed.seen(feed.batch(0, 0))
    (version,) = feed.versions
    wrong = json.loads(json.dumps(seen).replace(seen["feed"]["sources"][CONTACT]["versions"][version], "0" * 64))
    with pytest.raises(UsageError, match=f"expected {version} with the digest 0000"):
        list(listed_rows(labels, wrong))
    (labels_root / version).rename(labels_root / "away")
    with pytest.raises(MissingTableError, match=f"no {version} in"):
        list(listed_rows(labels, seen))


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
