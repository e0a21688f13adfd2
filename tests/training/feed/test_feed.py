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
from bgdata.evaluation.networks.contact_inputs import UNIT
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
    GNUBG_LABELS,
    ROLLOUT_LABELS,
    assert_equal_batches,
    label_arrays,
    label_boards,
    row_numbers,
    sample_boards,
    sample_chances,
    small_block_feed,
    split_arrays,
    write_benchmark,
    write_labels,
    write_version,
)

BOTH_LABELS = {GNUBG_LABELS: 2.0, ROLLOUT_LABELS: 1.0}  # with their weights
GOLDEN_ROWS = {
    1: [252, 467, 4749, 4775, 263, 860, 4761, 970],
    2: [2946, 2049, 4525, 3283, 2959, 166, 3265, 369],
}  # by format


def through_json(record: Any) -> Any:
    """A record as a program reads it that has stored it as JSON with sorted keys."""
    return json.loads(json.dumps(record, sort_keys=True))


def version_rows(batches: Iterable[Batch]) -> list[tuple[int, int]]:
    """The version and the row number of every row of the batches, in order."""
    return [
        (version, row)
        for batch in batches
        for version, row in zip(batch.versions.tolist(), batch.rows.tolist(), strict=True)
    ]


# batches of one process


@pytest.mark.parametrize("split", SPLITS)
def test_epoch_has_each_row_of_the_split_once(label_warehouse: Warehouse, split: str) -> None:
    feed = small_block_feed(label_warehouse, split=split, epochs=2)
    splits = splits_of_hashes(position_hashes(label_boards()))
    expected = np.flatnonzero(splits == SPLITS.index(split)).tolist()
    batches = list(feed)
    for epoch in (0, 1):
        rows = row_numbers(batch for batch in batches if batch.epoch == epoch)
        assert sorted(rows) == expected
        assert rows != expected  # they are shuffled
    for batch in batches[: len(feed) - 1]:
        assert len(batch.rows) == feed.recipe.batch_size
    assert feed.row_count == len(expected)


def test_batches_hold_the_values_of_their_rows(label_warehouse: Warehouse) -> None:
    feed = small_block_feed(label_warehouse, BOTH_LABELS, features="tesauro-196")
    tables = [label_warehouse.open_reference(version) for version in feed.versions]
    assert len(tables) == 2
    for batch in feed:
        for n, (version, row) in enumerate(version_rows([batch])):
            assert np.array_equal(batch.boards[n], tables[version].array("boards")[row])
            assert np.array_equal(batch.targets[n], tables[version].array("chances")[row])
            assert batch.classes[n] == tables[version].array("classes")[row]
        assert batch.features is not None
        assert np.array_equal(batch.features * UNIT, encode(InputSet.TESAURO_196, batch.boards))


def test_arrays_of_a_batch_can_become_tensors_without_a_copy(label_warehouse: Warehouse) -> None:
    batch = small_block_feed(label_warehouse, features="tesauro-196").batch(0, 0)
    assert batch.features is not None
    for array in (batch.boards, batch.features, batch.targets, batch.classes):
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert batch.features.dtype == np.float32
    assert batch.targets.dtype == np.float32


def test_batches_follow_from_the_seed_and_the_epoch(label_warehouse: Warehouse) -> None:
    feed = small_block_feed(label_warehouse, seed=3, epochs=2)
    batches = list(feed)
    with threads(1):
        assert_equal_batches(small_block_feed(label_warehouse, seed=3, epochs=2), batches)
    assert row_numbers(batches) != row_numbers(small_block_feed(label_warehouse, seed=4, epochs=2))
    first_epoch, second_epoch = batches[: len(feed)], batches[len(feed) :]
    assert row_numbers(first_epoch) != row_numbers(second_epoch)
    assert_equal_batches([feed.batch(1, 2), feed.batch(0, 1)], [second_epoch[2], first_epoch[1]])  # in any order


@pytest.mark.parametrize("order_format", GOLDEN_ROWS)
def test_order_of_rows_has_not_changed(label_warehouse: Warehouse, order_format: int) -> None:
    """If you change the order on purpose, increase the format of recipes."""
    assert max(GOLDEN_ROWS) == FORMAT
    recipe = replace(small_block_feed(label_warehouse, BOTH_LABELS, seed=3).recipe, format=order_format)
    batch = Feed(label_warehouse, recipe).batch(1, 2)
    assert batch.rows[:8].tolist() == GOLDEN_ROWS[order_format]
    assert FeedRecipe.from_record(recipe.record()).format == order_format


def test_order_of_names_changes_no_batches(label_warehouse: Warehouse, label_root: Path) -> None:
    """Names may be given, or stored in a state, in any order."""
    write_labels(label_root, "rollout_labels/some-more", label_boards()[::3])
    feed = label_warehouse.batches(
        {GNUBG_LABELS: 2, "rollout_labels": 1}, strata={"race": 1, "contact": 2}, batch_size=90
    )
    first, second, *rest = feed
    resumed = label_warehouse.batches(
        {"rollout_labels": 1, GNUBG_LABELS: 2},
        strata={"contact": 2, "race": 1},
        batch_size=90,
        state=through_json(feed.state_after(second)),
    )
    assert_equal_batches(resumed, rest)
    (listed,) = listed_rows(label_warehouse, through_json(feed.seen(first)))
    for number, name in enumerate(feed.versions):
        assert len(listed[name]) == (first.versions == number).sum()


def test_feed_can_be_sent_to_another_process(label_warehouse: Warehouse) -> None:
    feed = small_block_feed(label_warehouse, BOTH_LABELS, epochs=2)
    feed.batch(0, 0)  # reads a pool
    sent = pickle.dumps(feed)
    assert len(sent) < 20_000  # neither arrays nor pools
    assert_equal_batches(pickle.loads(sent), feed)


def test_reading_takes_less_memory_than_a_quarter_of_the_rows(tmp_path: Path) -> None:
    boards = np.tile(label_boards(), (200_000 // len(label_boards()), 1))
    write_labels(tmp_path, GNUBG_LABELS, boards)
    warehouse = bgdata.open_warehouse(tmp_path)
    recipe = replace(warehouse.batches(GNUBG_LABELS).recipe, block_rows=2000, pool_blocks=4)
    Feed(warehouse, recipe).batch(0, 0)  # compiles the kernels
    tracemalloc.start()
    rows_read = sum(len(batch.rows) for batch in Feed(warehouse, recipe))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    bytes_per_row = 26 + 5 * 4  # board and chances
    assert rows_read > 150_000
    assert peak_bytes < len(boards) * bytes_per_row / 4


def test_endless_feed_goes_on_after_an_epoch(label_warehouse: Warehouse) -> None:
    feed = label_warehouse.batches(ROLLOUT_LABELS, batch_size=10_000, epochs=None)
    epochs = [batch.epoch for batch, _ in zip(feed, range(5), strict=False)]
    assert epochs == [0, 1, 2, 3, 4]


# sources, weights and strata


def test_all_variants_of_a_kind_are_one_source(label_warehouse: Warehouse, label_root: Path) -> None:
    write_labels(label_root, "gnubg_training/race", sample_boards(5, seed=9))
    feed = label_warehouse.batches("gnubg_training")
    assert [name.rpartition("/")[0] for name in feed.versions] == [GNUBG_LABELS, "gnubg_training/race"]
    rows = version_rows(feed)
    assert len(rows) == len(set(rows)) == feed.row_count
    assert {version for version, _ in rows} == {0, 1}


def test_version_can_be_named(label_warehouse: Warehouse, label_root: Path) -> None:
    (old,) = label_warehouse.batches(GNUBG_LABELS).versions
    new = write_labels(label_root, GNUBG_LABELS, label_boards()[::2])
    assert label_warehouse.batches(GNUBG_LABELS).versions == (new,)
    assert label_warehouse.batches(old).versions == (old,)


def test_batches_have_rows_of_the_sources_by_weight(label_warehouse: Warehouse) -> None:
    """All rows of a source come before any comes again."""
    feed = small_block_feed(label_warehouse, BOTH_LABELS, batch_size=90)
    batches = list(feed)
    for batch in batches:
        assert np.bincount(batch.versions).tolist() == [60, 30]
    rows_of_second_source = np.flatnonzero(batches[0].versions)
    assert np.ptp(rows_of_second_source) > 60  # mixed with those of the first
    for number, name in enumerate(feed.versions):
        rows = np.concatenate([batch.rows[batch.versions == number] for batch in batches])
        rows_alone = row_numbers(small_block_feed(label_warehouse, name))
        assert set(rows.tolist()) == set(rows_alone)
        full_passes = len(rows) // len(rows_alone)
        assert full_passes >= 1
        assert set(np.bincount(rows).tolist()) <= {0, full_passes, full_passes + 1}  # 0: of other splits


def class_counts(batch: Batch) -> dict[str, int]:
    """The number of rows by class of gnubg's files."""
    names = [PositionClass(number).file_class.name.lower() for number in batch.classes.tolist()]
    return {name: names.count(name) for name in set(names)}


def test_batches_have_rows_of_the_strata_by_weight(label_warehouse: Warehouse) -> None:
    feed = small_block_feed(
        label_warehouse, {GNUBG_LABELS: 1, ROLLOUT_LABELS: 1}, strata=("contact", "crashed", "race"), batch_size=60
    )
    for batch, _ in zip(feed, range(6), strict=False):
        assert class_counts(batch) == {"contact": 20, "crashed": 20, "race": 20}
        assert np.bincount(batch.versions).tolist() == [30, 30]
    weighted = small_block_feed(label_warehouse, strata={"contact": 1, "race": 3}, batch_size=40)
    assert class_counts(weighted.batch(0, 0)) == {"contact": 10, "race": 30}


def test_source_without_a_class_leaves_its_share_to_the_others(tmp_path: Path) -> None:
    races = position_classes(label_boards()) == PositionClass.RACE
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    write_labels(tmp_path, ROLLOUT_LABELS, label_boards()[races])
    feed = bgdata.open_warehouse(tmp_path).batches(
        {GNUBG_LABELS: 1, ROLLOUT_LABELS: 1}, strata=("contact", "race"), batch_size=80, guard=False
    )
    # 40 rows of contact from the first source, and 20 races from each
    assert np.bincount(feed.batch(0, 0).versions).tolist() == [60, 20]


def test_rows_of_a_game_are_in_one_split(tmp_path: Path) -> None:
    """Splits are those of the labels, or else those of the positions that they label."""
    boards = label_boards()
    games = np.arange(len(boards), dtype=np.int32) // 20  # 20 positions each
    write_labels(tmp_path, GNUBG_LABELS, boards, games=games)
    sample = write_version(tmp_path, "position_sample/some", label_arrays(boards) | split_arrays(games))
    warehouse = bgdata.open_warehouse(tmp_path)
    digest = warehouse.open_reference(sample).manifest.digest
    write_labels(tmp_path, ROLLOUT_LABELS, boards, source=f"position_sample/some@{digest}")
    splits = splits_of_games(5, games)
    for labels in (GNUBG_LABELS, ROLLOUT_LABELS):
        for number, split in enumerate(SPLITS):
            rows = row_numbers(warehouse.batches(labels, split=split))
            assert sorted(rows) == np.flatnonzero(splits == number).tolist()
    (tmp_path / sample).rename(tmp_path / "away")
    with pytest.raises(MissingTableError, match=r"whose games split rollout_labels/some/r1-.*, found no such version"):
        warehouse.batches(ROLLOUT_LABELS)


def test_notes_name_versions_of_the_same_games(tmp_path: Path) -> None:
    """Their positions come more than once in an epoch."""
    corpus = {"player": "network/some", "version": "1", "games": 20, "seed": 5}
    boards = label_boards()

    def write_corpus(name: str, rows: int, **changes: Any) -> str:
        return write_version(tmp_path, name, label_arrays(boards[:rows]), recipe={**corpus, **changes})

    first = write_corpus("selfplay_labels/one", 50)
    second = write_corpus("selfplay_labels/other", 90, games=90)
    sample = write_corpus("position_sample/some", 60, most=60)
    warehouse = bgdata.open_warehouse(tmp_path)
    digest = warehouse.open_reference(sample).manifest.digest
    third = write_labels(tmp_path, ROLLOUT_LABELS, boards[:70], source=f"position_sample/some@{digest}")
    note = "are of the same games: games of network/some 1 with the seed 5"
    assert warehouse.batches("selfplay_labels").notes == (f"{first} and {second} {note}",)
    assert warehouse.batches({"selfplay_labels/one": 1, ROLLOUT_LABELS: 1}).notes == (f"{third} and {first} {note}",)
    write_corpus("selfplay_labels/other", 91, seed=6)
    write_corpus("selfplay_labels/again", 92, player="pubeval")
    assert warehouse.batches("selfplay_labels").notes == ()


def test_labels_without_games_give_no_notes(label_warehouse: Warehouse) -> None:
    assert label_warehouse.batches(BOTH_LABELS).notes == ()


# states


@pytest.mark.parametrize("source", [GNUBG_LABELS, BOTH_LABELS], ids=["one source", "two sources"])
@pytest.mark.parametrize("stop", ["after a batch", "within an epoch", "after an epoch"])
def test_resumed_batches_equal_an_uninterrupted_run(label_warehouse: Warehouse, source: Any, stop: str) -> None:
    options: dict[str, Any] = {"seed": 1, "batch_size": 200, "features": "race", "epochs": 2}
    feed = label_warehouse.batches(source, **options)
    batches = list(feed)
    seen = {"after a batch": 1, "within an epoch": 4, "after an epoch": len(feed)}[stop]
    state = feed.state_after(batches[seen - 1])
    assert len(json.dumps(state)) < 4096
    resumed = label_warehouse.batches(source, **options, state=through_json(state))
    assert_equal_batches(resumed, batches[seen:])


@pytest.fixture
def state(label_warehouse: Warehouse) -> dict[str, Any]:
    """The state after the first batch of GNUBG_LABELS with the seed 1."""
    feed = label_warehouse.batches(GNUBG_LABELS, seed=1)
    return feed.state_after(feed.batch(0, 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 2}, "expected the state of a feed with seed 2, got one with 1"),
        ({"features": "contact"}, r"with features contact@1, got one with $"),
    ],
)
def test_state_of_a_feed_with_other_options_is_refused(
    label_warehouse: Warehouse, state: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        label_warehouse.batches(GNUBG_LABELS, **{"seed": 1, **options}, state=state)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feed": 3}, "expected the record of a feed in the state"),
        ({"batch": 10**6}, "expected a batch below"),
        ({"epoch": -1, "batch": 1}, "expected the numbers of an epoch and a batch, got -1 and 1"),
    ],
)
def test_damaged_state_is_refused(
    label_warehouse: Warehouse, state: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        label_warehouse.batches(GNUBG_LABELS, seed=1, state={**state, **changes})


def test_empty_state_is_refused(label_warehouse: Warehouse) -> None:
    with pytest.raises(UsageError, match="expected a state with feed, epoch and batch, got none"):
        label_warehouse.batches(GNUBG_LABELS, state={})


def test_state_is_refused_after_the_labels_changed(
    label_warehouse: Warehouse, label_root: Path, state: dict[str, Any]
) -> None:
    write_labels(label_root, GNUBG_LABELS, label_boards()[:-1])
    with pytest.raises(UsageError, match=r"expected the state of a feed with sources .*r1-"):
        label_warehouse.batches(GNUBG_LABELS, seed=1, state=state)


def test_state_is_refused_after_a_benchmark_was_added(
    label_warehouse: Warehouse, label_root: Path, state: dict[str, Any]
) -> None:
    write_benchmark(label_root, "contact", label_boards()[:3], label_boards()[3:5])
    with pytest.raises(UsageError, match="expected the state of a feed with benchmarks"):
        label_warehouse.batches(GNUBG_LABELS, seed=1, state=state)


def test_state_of_another_format_is_refused(label_warehouse: Warehouse, state: dict[str, Any]) -> None:
    state["feed"] |= {"format": 1, "block_rows": 245_760, "pool_blocks": 4}
    expected = "expected the state of a feed of format 2, got format 1, whose .*; try: begin an epoch without a state"
    with pytest.raises(UsageError, match=expected):
        label_warehouse.batches(GNUBG_LABELS, seed=1, state=state)


# records of the rows that were read


@pytest.mark.parametrize(
    ("ranks", "uneven"), [(1, "drop"), (3, "drop"), (3, "fill")], ids=["one process", "3 ranks, drop", "3 ranks, fill"]
)
def test_record_lists_the_rows_that_were_read(
    label_warehouse: Warehouse, label_root: Path, ranks: int, uneven: str
) -> None:
    """The versions that were read need not be current any more."""
    feed = label_warehouse.batches(BOTH_LABELS, batch_size=100, features="race", seed=8, epochs=2)
    shares = [feed.share(rank, ranks, uneven) for rank in range(ranks)]
    steps = len(shares[0]) + 3  # into the second epoch
    batches = in_turn([list(share)[:steps] for share in shares])
    record = through_json(shares[-1].seen(batches[-1]))
    write_labels(label_root, GNUBG_LABELS, label_boards()[::2])
    write_benchmark(label_root, "contact", label_boards()[:100], label_boards()[:0])
    for rows, batch in zip(listed_rows(label_warehouse, record), batches, strict=True):
        assert sum(map(len, rows.values())) == len(batch.rows)
        for number, name in enumerate(feed.versions):
            assert np.array_equal(rows[name], batch.rows[batch.versions == number])


@pytest.fixture
def record(label_warehouse: Warehouse) -> dict[str, Any]:
    """What a run has seen that read the first batch of GNUBG_LABELS."""
    feed = label_warehouse.batches(GNUBG_LABELS)
    return through_json(feed.seen(feed.batch(0, 0)))


def test_invalid_record_of_rows_is_refused(label_warehouse: Warehouse, record: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected a record with feed, begin and end"):
        list(listed_rows(label_warehouse, {}))
    with pytest.raises(UsageError, match="expected the record of a feed"):
        list(listed_rows(label_warehouse, {**record, "feed": {}}))
    with pytest.raises(UsageError, match="expected a feed of format 1 or 2, got format 3"):
        list(listed_rows(label_warehouse, {**record, "feed": {**record["feed"], "format": 3}}))


def test_record_of_changed_or_missing_labels_is_refused(
    label_warehouse: Warehouse, label_root: Path, record: dict[str, Any]
) -> None:
    digests = record["feed"]["sources"][GNUBG_LABELS]["versions"]
    (version,) = digests
    digests[version] = "0" * 64
    with pytest.raises(UsageError, match=f"expected {version} with the digest 0000"):
        list(listed_rows(label_warehouse, record))
    (label_root / version).rename(label_root / "away")
    with pytest.raises(MissingTableError, match=f"no {version} in"):
        list(listed_rows(label_warehouse, record))


# evenness of batches

GAME_ROWS = 50


@pytest.fixture(scope="module")
def uneven_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Versions of unequal size, two of them with 8 % and 2 % of all rows. Classes come one after another in each, in
    games of GAME_ROWS rows with nearly the same chances."""
    root = tmp_path_factory.mktemp("mixed")
    boards = np.tile(label_boards(), (20, 1))
    classes = position_classes(boards)
    for name, count in (("large", 45_000), ("medium", 45_000), ("some", 8_000), ("small", 2_000)):
        rows = np.random.default_rng(count).choice(len(boards), count)
        rows = rows[np.argsort(classes[rows], kind="stable")]
        game_chances = np.random.default_rng(1).permutation(sample_chances(count // GAME_ROWS))
        write_labels(root, f"gnubg_training/{name}", boards[rows], np.repeat(game_chances, GAME_ROWS, axis=0))
    return bgdata.open_warehouse(root)


def pooled_feed(warehouse: Warehouse, order_format: int = FORMAT) -> Feed:
    """A feed of all versions that keeps a tenth of the rows in memory at a time."""
    recipe = warehouse.batches("gnubg_training", batch_size=512).recipe
    block_rows, pool_blocks = {1: (2000, 4), 2: (10, 800)}[order_format]
    return Feed(warehouse, replace(recipe, block_rows=block_rows, pool_blocks=pool_blocks, format=order_format))


def share_deviation(feed: Feed, column: str) -> float:
    """How far the shares of `column` in batches deviate from those in batches drawn from all rows: the standardised
    chi-squared of all full batches, which is about 0 with a spread of 1 for the latter."""
    batches = list(feed)[:-1]
    values = np.unique(np.concatenate([getattr(batch, column) for batch in batches]))
    counts = np.array([[(getattr(batch, column) == value).sum() for value in values] for batch in batches])
    expected = counts.sum(axis=0) / len(batches)
    without_replacement = 1 - feed.recipe.batch_size / feed.row_count
    chi_squared = ((counts - expected) ** 2 / expected).sum() / without_replacement
    freedom = (len(batches) - 1) * (len(values) - 1)
    return float((chi_squared - freedom) / (2 * freedom) ** 0.5)


@pytest.mark.parametrize("column", ["versions", "classes"])
def test_shares_in_batches_equal_draws_from_all_rows(uneven_warehouse: Warehouse, column: str) -> None:
    assert abs(share_deviation(pooled_feed(uneven_warehouse), column)) < 4
    whole_blocks = pooled_feed(uneven_warehouse, order_format=1)
    assert share_deviation(whole_blocks, column) > 100


def test_neighbours_in_a_batch_are_from_different_games(uneven_warehouse: Warehouse) -> None:
    in_same_game = []
    for batch in pooled_feed(uneven_warehouse):
        games = batch.rows // GAME_ROWS
        in_same_game.append((games[1:] == games[:-1]) & (batch.versions[1:] == batch.versions[:-1]))
    assert np.concatenate(in_same_game).mean() < 0.01


@pytest.mark.parametrize("column", ["versions", "classes", "targets"])
def test_neighbours_in_a_batch_are_uncorrelated(uneven_warehouse: Warehouse, column: str) -> None:
    batches = list(pooled_feed(uneven_warehouse))
    values = [getattr(batch, column).reshape(len(batch.rows), -1)[:, 0].astype(float) for batch in batches]
    rows = np.concatenate([batch_values[:-1] for batch_values in values])
    next_rows = np.concatenate([batch_values[1:] for batch_values in values])
    assert abs(np.corrcoef(rows, next_rows)[0, 1]) < 0.01


def test_every_pool_has_its_share_of_each_version(uneven_warehouse: Warehouse) -> None:
    feed = pooled_feed(uneven_warehouse)
    (stream,) = feed._streams
    stream.read(0, 0, 1)
    pools = [[part for lane in stream._lanes for part in lane.parts(number)] for number in range(len(stream._ends))]
    assert len(pools) == 10
    for number in range(len(feed.versions)):
        rows_by_pool = [sum(part.taken for part in parts if part.version == number) for parts in pools]
        assert max(rows_by_pool) - min(rows_by_pool) <= 1
    assert sum(part.taken for parts in pools for part in parts) == feed.row_count


@pytest.mark.parametrize(("count", "pools"), [(100, 10), (7, 3), (5, 1), (3, 8), (0, 2), (103, 10)])
def test_each_part_of_an_order_has_one_of_every_window(count: int, pools: int) -> None:
    order = spread_order((1, 2), count, pools)
    assert sorted(order.tolist()) == list(range(count))
    windows = order // pools
    begin = 0
    for pool in range(pools):
        size = len(range(pool, count, pools))
        assert windows[begin : begin + size].tolist() == list(range(size))
        begin += size


# several processes that learn together


def in_turn(shares: list[list[Batch]]) -> list[Batch]:
    """The batches of all ranks in the order of the feed."""
    return [batch for step in zip(*shares, strict=True) for batch in step]


@pytest.mark.parametrize("source", [GNUBG_LABELS, BOTH_LABELS], ids=["one source", "two sources"])
@pytest.mark.parametrize("uneven", ["drop", "fill"])
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_every_rank_has_as_many_batches_of_full_size(
    label_warehouse: Warehouse, source: Any, uneven: str, ranks: int
) -> None:
    feed = small_block_feed(label_warehouse, source, batch_size=100, epochs=2)
    steps = len(feed) // ranks if uneven == "drop" else -(-len(feed) // ranks)
    shares = [feed.share(rank, ranks, uneven) for rank in range(ranks)]
    batches_of_ranks = [list(share) for share in shares]
    for share, batches in zip(shares, batches_of_ranks, strict=True):
        assert len(share) == steps
        assert len(batches) == 2 * steps
        for batch in batches:
            assert len(batch.rows) == 100
    all_batches = list(feed)
    for epoch in (0, 1):
        shared = [batch for batch in in_turn(batches_of_ranks) if batch.epoch == epoch]
        full = [batch for batch in all_batches if batch.epoch == epoch and len(batch.rows) == 100]
        common = min(len(shared), len(full))
        assert version_rows(shared[:common]) == version_rows(full[:common])
        if uneven == "fill":
            assert set(version_rows(shared)) == set(version_rows(all_batches))
        else:
            assert len(shared) == common


@pytest.mark.parametrize("uneven", ["drop", "fill"])
@pytest.mark.parametrize("saved_by", [0, 1, 2])
def test_state_of_any_rank_is_one_of_all_ranks(label_warehouse: Warehouse, uneven: str, saved_by: int) -> None:
    """The state is also one of the feed that is not shared."""
    feed = small_block_feed(label_warehouse, batch_size=100, epochs=2)
    shares = [feed.share(rank, 3, uneven) for rank in range(3)]
    batches_of_ranks = [list(share) for share in shares]
    end_of_epoch = len(shares[0]) - 1
    last_but_one = len(batches_of_ranks[0]) - 2
    for step in (0, 3, end_of_epoch, last_but_one):
        batch = batches_of_ranks[saved_by][step]
        state = through_json(feed.state_after(batch))
        assert state == shares[saved_by].state_after(batch)
        resumed = Feed(label_warehouse, feed.recipe, begin=parse_place(feed.recipe, state), epochs=2)
        for rank, batches in enumerate(batches_of_ranks):
            assert_equal_batches(resumed.share(rank, 3, uneven), batches[step + 1 :])


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_state_of_two_ranks_resumes_with_another_number(label_warehouse: Warehouse, ranks: int) -> None:
    """The ranks get all batches that were not seen, except those that are dropped."""
    feed = small_block_feed(label_warehouse, batch_size=100)
    fifth_of_second_rank = list(feed.share(1, 2))[4]
    state = feed.state_after(fifth_of_second_rank)
    assert (state["epoch"], state["batch"]) == (0, 10)
    resumed = Feed(label_warehouse, feed.recipe, begin=parse_place(feed.recipe, state))
    shared = in_turn([list(resumed.share(rank, ranks)) for rank in range(ranks)])
    unseen = list(feed)[10:]
    assert version_rows(shared) == version_rows(unseen[: len(shared)])
    assert len(shared) > len(unseen) - 1 - ranks


@pytest.mark.parametrize("ranks", [1, 3])
def test_workers_of_a_rank_share_its_batches_out(label_warehouse: Warehouse, ranks: int) -> None:
    share = small_block_feed(label_warehouse, epochs=2).share(ranks - 1, ranks)
    batches_of_workers = [list(share.part(first, 4)) for first in range(4)]
    for number, batch in enumerate(share):
        assert_equal_batches([batches_of_workers[number % 4][number // 4]], [batch])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 2), "expected a rank from 0 to ranks - 1, got rank 2 of 2$"),
        ((-1, 2), "expected a rank from 0 to ranks - 1, got rank -1 of 2$"),
        ((0, 0), "expected a rank from 0 to ranks - 1, got rank 0 of 0$"),
        ((5, 1), "expected a rank from 0 to ranks - 1, got rank 5 of 1$"),
        ((0, 2, "stretch"), "expected uneven drop or fill, got stretch"),
    ],
)
def test_impossible_share_is_refused(label_warehouse: Warehouse, arguments: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        small_block_feed(label_warehouse).share(*arguments)


def test_feed_with_fewer_full_batches_than_ranks_must_fill(label_warehouse: Warehouse) -> None:
    feed = label_warehouse.batches(GNUBG_LABELS, batch_size=10_000)
    with pytest.raises(UsageError, match=r"a full batch for each of 2 ranks .* of 10000; try: uneven='fill'"):
        feed.share(0, 2)
    (batch,) = feed.share(1, 2, "fill")
    assert len(batch.rows) == 10_000
    assert "rank 1 of 2" in repr(feed.share(1, 2, "fill"))
