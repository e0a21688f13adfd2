"""The feed gives the same batches for the same seed, each row once per epoch, and continues where it stopped."""

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
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.position_hash import position_hashes
from bgdata.kernel import threads
from bgdata.selfplay.splits import SPLITS, splits_of_games, splits_of_hashes
from bgdata.training.feed.feed import FORMAT, Feed, FeedRecipe, listed_rows, parse_place
from bgdata.training.feed.rows import Batch
from bgdata.training.feed.stream import spread_order
from bgdata.warehouse import Warehouse
from tests.training.labels import (
    CONTACT,
    LABELS,
    label_boards,
    labelled,
    rows_of,
    sample_boards,
    sample_chances,
    small_blocks,
    split_by,
    write_benchmark,
    write_labels,
    write_version,
)

GOLDEN_ROWS = {
    1: [252, 467, 4749, 4775, 263, 860, 4761, 970],
    2: [2946, 2049, 4525, 3283, 2959, 166, 3265, 369],
}  # by format


def assert_equal(found: Iterable[Batch], expected: Iterable[Batch]) -> None:
    """Check that batches are equal to the last bit."""
    for one, other in zip(found, expected, strict=True):
        for name, value in one._asdict().items():
            assert np.array_equal(value, getattr(other, name)), name


def test_epoch_has_each_row_of_the_split_once(labels: Warehouse) -> None:
    """Each epoch contains every row of the split once, in a random order; splits have about 80, 10 and 10 %."""
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


def test_batches_hold_the_values_of_their_rows(labels: Warehouse) -> None:
    """Batches contain the boards, targets, classes and features of the rows that they name, in arrays of their own."""
    feed = small_blocks(labels, {CONTACT: 1, LABELS: 1}, features="tesauro-196")
    tables = [labels.open(*name.split("/")) for name in feed.versions]
    assert len(tables) == 2
    for batch in feed:
        for n in range(len(batch.rows)):
            table = tables[batch.versions[n]]
            row = batch.rows[n]
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
    """A batch contains rows from all blocks of its pool, and a pool contains blocks from the whole version."""
    rows = [batch.rows for batch in small_blocks(labels)]
    assert len(np.unique(rows[0] // 100)) >= 3
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


def test_order_is_the_same_on_every_machine(labels: Warehouse) -> None:
    """Batches have the known digest. If you change the order on purpose, increase the format of recipes."""
    feed = small_blocks(labels, {CONTACT: 2, LABELS: 1}, seed=3)
    for number, rows in GOLDEN_ROWS.items():
        ordered = Feed(labels, replace(feed.recipe, format=number))
        assert ordered.batch(1, 2).rows[:8].tolist() == rows
        assert FeedRecipe.from_record(ordered.recipe.record()).format == number
    assert feed.recipe.format == FORMAT == max(GOLDEN_ROWS)


def test_order_of_names_changes_no_batches(labels: Warehouse, labels_root: Path) -> None:
    """Batches and records are the same if names are given or stored in another order, such as that of JSON."""
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
def test_resumed_batches_equal_an_uninterrupted_run(labels: Warehouse, kind: Any, stop: int) -> None:
    options: dict[str, Any] = {"seed": 1, "batch_size": 200, "features": "race", "epochs": 2}
    whole = list(labels.batches(kind, **options))
    size = len(whole) // 2
    last = whole[size - 1 if stop == -1 else stop]
    state = json.loads(json.dumps(labels.batches(kind, **options).state_after(last)))
    assert len(json.dumps(state)) < 4096
    rest = list(labels.batches(kind, **options, state=state))
    assert_equal(rest, whole[last.epoch * size + last.number + 1 :])


def test_states_of_another_feed_are_refused(labels: Warehouse, labels_root: Path) -> None:
    """A state of a feed with another seed, features or sources is refused, as is a state that is damaged."""
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


def test_feed_can_be_sent_to_another_process(labels: Warehouse) -> None:
    feed = small_blocks(labels, {CONTACT: 1, LABELS: 3}, epochs=2)
    next(iter(feed))
    sent = pickle.dumps(feed)
    assert len(sent) < 20_000  # neither arrays nor pools
    assert_equal(pickle.loads(sent), feed)


def test_set_is_never_in_memory(tmp_path: Path) -> None:
    """Reading all batches takes less than a quarter of the memory that the whole set would take."""
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


def test_endless_feed_goes_on_after_an_epoch(labels: Warehouse) -> None:
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


def test_version_can_be_named(labels: Warehouse, labels_root: Path) -> None:
    old = labels.batches(CONTACT).versions[0]
    new = write_labels(labels_root, CONTACT, label_boards()[::2])
    assert labels.batches(CONTACT).versions == (new,)
    assert labels.batches(old).versions == (old,)


# contents of a manifest


def test_rows_of_a_run_are_listed_again(labels: Warehouse, labels_root: Path) -> None:
    """A record of what a run has seen lists the same rows, even after other versions have become current."""
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
    for wrong in ({}, {**seen, "feed": {}}, {**seen, "feed": {**seen["feed"], "format": 3}}):
        with pytest.raises(UsageError, match=r"expected (a|the) record|expected a feed of format 1 or 2, got format 3"):
            list(listed_rows(labels, wrong))


def test_version_that_is_gone_or_changed_is_named(labels: Warehouse, labels_root: Path) -> None:
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
    """Every batch contains the sources in proportion to their weights; all rows of a source come before any comes
    again."""
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


def test_source_without_a_class_leaves_its_share_to_the_others(tmp_path: Path) -> None:
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


def test_position_and_its_flip_are_in_one_split(tmp_path: Path) -> None:
    from bgdata.game.codec import flip_boards

    write_labels(tmp_path, CONTACT, np.concatenate([label_boards(), flip_boards(label_boards())]))
    for split in SPLITS:
        rows = rows_of(bgdata.open_warehouse(tmp_path).batches(CONTACT, split=split))
        assert {(row + len(label_boards())) % (2 * len(label_boards())) for row in rows} == set(rows)


def test_games_are_split_whole_where_there_are_games(tmp_path: Path) -> None:
    """Rows of one game are in one split, by splits of their own or those of the positions that they label."""
    games = np.arange(len(label_boards()), dtype=np.int32) // 20
    expected = splits_of_games(5, games)
    write_labels(tmp_path, CONTACT, label_boards(), games=games)
    positions = {"boards": label_boards(), "classes": np.zeros(len(label_boards()), np.uint8), **split_by(games)}
    sample = write_version(tmp_path, "position_sample/some", positions)
    labels = bgdata.open_warehouse(tmp_path)
    digest = labels.open(*sample.split("/")).manifest.digest
    write_labels(tmp_path, LABELS, label_boards(), source=f"position_sample/some@{digest}")
    for name in (CONTACT, LABELS):  # labels with splits of their own, and with those of the positions that they label
        for number, split in enumerate(SPLITS):
            rows = rows_of(labels.batches(name, split=split))
            assert sorted(rows) == np.flatnonzero(expected == number).tolist()
    (tmp_path / sample).rename(tmp_path / "away")
    with pytest.raises(MissingTableError, match=r"whose games split rollout_labels/some/r1-.*, found no such version"):
        labels.batches(LABELS)


# evenness of batches


@pytest.fixture(scope="module")
def uneven_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Versions of unequal size, two of them with 8 % and 2 % of all rows. Classes come one after another in each, in
    games of 50 rows with nearly the same chances."""
    root = tmp_path_factory.mktemp("mixed")
    boards = np.tile(label_boards(), (20, 1))
    classes = position_classes(boards)
    for name, count in (("large", 45_000), ("medium", 45_000), ("some", 8_000), ("small", 2_000)):
        rows = np.random.default_rng(count).choice(len(boards), count)
        rows = rows[np.argsort(classes[rows], kind="stable")]
        games = np.arange(count) // 50
        chances = sample_chances(int(games[-1]) + 1)[np.random.default_rng(1).permutation(games[-1] + 1)][games]
        write_labels(root, f"gnubg_training/{name}", boards[rows], chances)
    return bgdata.open_warehouse(root)


def pooled_feed(warehouse: Warehouse, order: int = FORMAT) -> Feed:
    """A feed of all versions that keeps a tenth of the rows in memory at a time."""
    recipe = warehouse.batches("gnubg_training", batch_size=512).recipe
    block_rows, pool_blocks = {1: (2000, 4), 2: (10, 800)}[order]
    return Feed(warehouse, replace(recipe, block_rows=block_rows, pool_blocks=pool_blocks, format=order))


def share_deviation(feed: Feed, column: str) -> float:
    """How far the shares of `column` in batches deviate from those in batches drawn from all rows: the standardised
    chi-squared of all full batches, which is about 0 with a spread of 1 for the latter."""
    batches = list(feed)[:-1]
    values = np.unique(np.concatenate([getattr(batch, column) for batch in batches]))
    counts = np.array([[(getattr(batch, column) == value).sum() for value in values] for batch in batches])
    expected = counts.sum(axis=0) / len(batches)
    left = 1 - feed.recipe.batch_size / feed.row_count  # they are drawn without putting back
    freedom = (len(batches) - 1) * (len(values) - 1)
    return float((((counts - expected) ** 2 / expected).sum() / left - freedom) / (2 * freedom) ** 0.5)


@pytest.mark.parametrize("column", ["versions", "classes"])
def test_shares_in_batches_equal_draws_from_all_rows(uneven_warehouse: Warehouse, column: str) -> None:
    assert abs(share_deviation(pooled_feed(uneven_warehouse), column)) < 4
    assert share_deviation(pooled_feed(uneven_warehouse, 1), column) > 100  # whole blocks in random order


def test_neighbours_in_a_batch_are_from_different_games(uneven_warehouse: Warehouse) -> None:
    batches = list(pooled_feed(uneven_warehouse))
    same = [
        (batch.rows[1:] // 50 == batch.rows[:-1] // 50) & (batch.versions[1:] == batch.versions[:-1])
        for batch in batches
    ]
    assert np.concatenate(same).mean() < 0.01  # share of neighbours from one game
    for column in ("versions", "classes", "targets"):
        values = [getattr(batch, column).reshape(len(batch.rows), -1)[:, 0].astype(float) for batch in batches]
        first, second = (np.concatenate([each[part] for each in values]) for part in (slice(-1), slice(1, None)))
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.01


def test_every_pool_has_its_share_of_each_version(uneven_warehouse: Warehouse) -> None:
    feed = pooled_feed(uneven_warehouse)
    (stream,) = feed._streams
    stream.read(0, 0, 1)
    pools = [[part for lane in stream._lanes for part in lane.parts(number)] for number in range(len(stream._ends))]
    assert len(pools) == 10
    for number, version in enumerate(feed.versions):
        taken = [sum(part.taken for part in parts if part.version == number) for parts in pools]
        assert max(taken) - min(taken) <= 1, version
    whole = sorted((part.version, part.block, part.skipped, part.taken) for parts in pools for part in parts)
    assert sum(taken for *_, taken in whole) == feed.row_count


def test_each_part_of_an_order_has_one_of_every_window() -> None:
    for count, pools in ((100, 10), (7, 3), (5, 1), (3, 8), (0, 2), (103, 10)):
        order = spread_order((1, 2), count, pools)
        assert sorted(order.tolist()) == list(range(count))
        first = 0
        for number in range(pools):
            part = order[first : first + len(range(number, count, pools))]
            assert (part // pools).tolist() == list(range(len(part)))
            first += len(part)
    assert spread_order((1,), 100, 10).tolist() != spread_order((2,), 100, 10).tolist()


# several processes that learn together


@pytest.mark.parametrize("kind", [CONTACT, {CONTACT: 2.0, LABELS: 1.0}])
@pytest.mark.parametrize("uneven", ["drop", "fill"])
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_every_rank_has_as_many_batches_of_full_size(labels: Warehouse, kind: Any, uneven: str, ranks: int) -> None:
    """Ranks share the batches of a feed: equally many, all of full size, with rows left out or filled up at the end of
    an epoch."""
    feed = small_blocks(labels, kind, batch_size=100, epochs=2)
    whole = [len(batch.rows) for batch in feed]
    shared = [list(feed.share(rank, ranks, uneven)) for rank in range(ranks)]
    steps = len(feed) / ranks
    expected = 2 * (int(steps) if uneven == "drop" else -int(-steps // 1))
    assert {len(batches) for batches in shared} == {expected}
    assert {len(feed.share(rank, ranks, uneven)) for rank in range(ranks)} == {expected // 2}
    assert {len(batch.rows) for batches in shared for batch in batches} == {100}
    in_turn = [batch for step in zip(*shared, strict=True) for batch in step]
    for epoch in (0, 1):
        of_epoch = [batch for batch in in_turn if batch.epoch == epoch]
        full = [batch for batch in feed if batch.epoch == epoch and len(batch.rows) == 100]
        assert_rows(of_epoch[: len(full)], full[: len(of_epoch)])
        if uneven == "fill":
            everything = {(v, r) for b in feed for v, r in zip(b.versions.tolist(), b.rows.tolist(), strict=True)}
            found = {(v, r) for b in of_epoch for v, r in zip(b.versions.tolist(), b.rows.tolist(), strict=True)}
            assert found == everything
    assert whole


def assert_rows(found: Iterable[Batch], expected: Iterable[Batch]) -> None:
    """Check that batches contain the same rows of the same versions."""
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.versions, other.versions)


@pytest.mark.parametrize("uneven", ["drop", "fill"])
@pytest.mark.parametrize("saved_by", [0, 1, 2])
def test_state_of_any_rank_is_one_of_all_ranks(labels: Warehouse, uneven: str, saved_by: int) -> None:
    feed = small_blocks(labels, batch_size=100, epochs=2)
    shared = [list(feed.share(rank, 3, uneven)) for rank in range(3)]
    for step in (0, 3, len(feed.share(0, 3, uneven)) - 1, len(shared[0]) - 2):
        # also a state of the feed that is not shared
        state = json.loads(json.dumps(feed.state_after(shared[saved_by][step])))
        assert state == feed.share(saved_by, 3, uneven).state_after(shared[saved_by][step])
        rest = Feed(labels, feed.recipe, begin=parse_place(feed.recipe, state), epochs=2)
        for rank in range(3):
            assert_equal(rest.share(rank, 3, uneven), shared[rank][step + 1 :])


def test_state_resumes_with_another_number_of_ranks(labels: Warehouse) -> None:
    """Another number of ranks continues from a state: it gets all batches that were not seen, except the dropped
    rows."""
    feed = small_blocks(labels, batch_size=100)
    whole = [batch for batch in feed if len(batch.rows) == 100]
    second = list(feed.share(1, 2))[4]
    state = feed.state_after(second)
    assert (state["epoch"], state["batch"]) == (0, 10)
    for ranks in (1, 3, 4):
        rest = Feed(labels, feed.recipe, begin=parse_place(feed.recipe, state))
        parts = [list(rest.share(rank, ranks)) for rank in range(ranks)]
        in_turn = [batch for step in zip(*parts, strict=True) for batch in step]
        assert_rows([batch for batch in in_turn if len(batch.rows) == 100], whole[10 : 10 + len(in_turn)])
        assert len(in_turn) > len(whole) - 10 - ranks


def test_workers_of_a_rank_share_its_batches_out(labels: Warehouse) -> None:
    part = small_blocks(labels, epochs=2).share(1, 3)
    whole = list(part)
    shared = [list(part.part(first, 4)) for first in range(4)]
    assert_equal([shared[n % 4][n // 4] for n in range(len(whole))], whole)


@pytest.mark.parametrize("uneven", ["drop", "fill"])
def test_rows_of_all_ranks_are_listed_again(labels: Warehouse, uneven: str) -> None:
    feed = small_blocks(labels, {CONTACT: 2, LABELS: 1}, batch_size=100, epochs=2)
    shared = [list(feed.share(rank, 3, uneven)) for rank in range(3)]
    last = len(feed.share(0, 3, uneven)) + 1
    seen = json.loads(json.dumps(feed.share(2, 3, uneven).seen(shared[2][last])))
    listed = list(listed_rows(labels, seen))
    in_turn = [batch for step in zip(*shared, strict=True) for batch in step][: 3 * (last + 1)]
    assert len(listed) == len(in_turn)
    for found, batch in zip(listed, in_turn, strict=True):
        for number, name in enumerate(feed.versions):
            assert np.array_equal(found[name], batch.rows[batch.versions == number])


def test_impossible_ranks_are_refused(labels: Warehouse) -> None:
    feed = small_blocks(labels)
    for rank, ranks in ((2, 2), (-1, 2), (0, 0), (5, 1)):
        with pytest.raises(UsageError, match=f"expected a rank from 0 to ranks - 1, got rank {rank} of {ranks}$"):
            feed.share(rank, ranks)
    with pytest.raises(UsageError, match="expected uneven drop or fill, got stretch"):
        feed.share(0, 2, "stretch")
    large = labels.batches(CONTACT, batch_size=10_000)
    with pytest.raises(UsageError, match=r"a full batch for each of 2 ranks .* of 10000; try: uneven='fill'"):
        large.share(0, 2)
    assert [len(batch.rows) for batch in large.share(1, 2, "fill")] == [10_000]
    assert "rank 1 of 2" in repr(feed.share(1, 2))


def test_state_of_another_format_is_refused(labels: Warehouse) -> None:
    feed = labels.batches(CONTACT)
    state = feed.state_after(feed.batch(0, 0))
    old = {**state, "feed": {**state["feed"], "format": 1, "block_rows": 245_760, "pool_blocks": 4}}
    expected = "expected the state of a feed of format 2, got format 1, whose .*; try: begin an epoch without a state"
    with pytest.raises(UsageError, match=expected):
        labels.batches(CONTACT, state=old)


# notes about the rows


def test_versions_of_the_same_games_are_named(tmp_path: Path) -> None:
    """A note names versions whose rows are from the same games, because their positions repeat."""
    corpus = {"player": "network/some", "version": "1", "games": 20, "seed": 5}
    first = write_version(tmp_path, "selfplay_labels/one", labelled(50), recipe=corpus)
    second = write_version(tmp_path, "selfplay_labels/other", labelled(90), recipe={**corpus, "games": 90})
    sample = write_version(tmp_path, "position_sample/some", labelled(60), recipe={**corpus, "most": 60})
    labels = bgdata.open_warehouse(tmp_path)
    source = f"position_sample/some@{labels.open_reference(sample).manifest.digest}"
    third = write_version(tmp_path, LABELS, labelled(70), source=source)
    note = "are of the same games: games of network/some 1 with the seed 5"
    assert labels.batches("selfplay_labels").notes == (f"{first} and {second} {note}",)
    assert labels.batches({"selfplay_labels/one": 1, LABELS: 1}).notes == (f"{third} and {first} {note}",)
    write_version(tmp_path, "selfplay_labels/other", labelled(91), recipe={**corpus, "seed": 6})
    write_version(tmp_path, "selfplay_labels/again", labelled(92), recipe={**corpus, "player": "pubeval"})
    assert labels.batches("selfplay_labels").notes == ()


def test_labels_without_games_give_no_notes(labels: Warehouse) -> None:
    assert labels.batches({CONTACT: 1, LABELS: 1}).notes == ()
