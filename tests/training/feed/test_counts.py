"""Opening a feed: rows are counted once, the counts are kept with a hash, and rows that have changed since are
noticed."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.position_hash import position_hashes
from bgdata.selfplay.splits import SPLITS, splits_of_hashes
from bgdata.store.arrays import PartedArray
from bgdata.store.table import Table
from bgdata.training.feed import counts
from bgdata.training.feed.counts import block_counts, count_blocks, counts_file
from bgdata.training.feed.feed import Feed
from bgdata.training.feed.rows import COUNTED, GUARDED, Guard, LabelledRows, splits_of
from bgdata.training.feed.stream import RELEASED
from bgdata.warehouse import Warehouse
from tests.training.labels import (
    GNUBG_LABELS,
    ROLLOUT_LABELS,
    assert_equal_batches,
    label_arrays,
    label_boards,
    replace_array,
    row_numbers,
    small_block_feed,
    split_arrays,
    write_benchmark,
    write_labels,
    write_version,
)


@pytest.fixture
def read_ranges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[int, int]]:
    """The ranges of rows that the test reads, filled as it runs. Counts are kept in a folder of the test, whatever the
    size of a version."""
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(counts, "KEPT_ROWS", 1)
    ranges: list[tuple[int, int]] = []
    read = LabelledRows.read

    def record_range(self: LabelledRows, begin: int, end: int, guard: Guard | None = None) -> Any:
        ranges.append((begin, end))
        return read(self, begin, end, guard)

    monkeypatch.setattr(LabelledRows, "read", record_range)
    return ranges


def kept_files(root: Path) -> list[Path]:
    """The files with counts that a test has kept."""
    return sorted((root / "cache" / "feed").glob("*"))


def labelled_rows(warehouse: Warehouse, name: str = GNUBG_LABELS) -> LabelledRows:
    table = warehouse.open(*name.split("/"))
    return LabelledRows(table, splits_of(warehouse, table), from_parquet=False)


@pytest.mark.parametrize("has_games", [False, True], ids=["split by position", "split by game"])
@pytest.mark.parametrize("is_guarded", [False, True], ids=["without guard", "with guard"])
@pytest.mark.parametrize("block_rows", [1, 100, 100_000])
def test_counts_equal_those_of_numpy(tmp_path: Path, has_games: bool, is_guarded: bool, block_rows: int) -> None:
    boards = label_boards()
    games = np.arange(len(boards), dtype=np.int32) // 20  # 20 positions each
    write_labels(tmp_path, GNUBG_LABELS, boards, games=games if has_games else None)
    benchmark = write_benchmark(tmp_path, "some", boards[::7], boards[3::11])
    warehouse = bgdata.open_warehouse(tmp_path)
    guard = Guard([warehouse.open_reference(benchmark)]) if is_guarded else None
    counts = count_blocks(labelled_rows(warehouse), guard, block_rows)

    splits = split_arrays(games)["splits"] if has_games else splits_of_hashes(position_hashes(boards))
    classes = np.array([PositionClass(number).file_class for number in position_classes(boards).tolist()])
    left_out = guard.contains(position_hashes(boards)) if guard else np.zeros(len(boards), np.bool_)
    blocks = np.arange(len(boards)) // block_rows
    for split in range(len(SPLITS)):
        in_split = splits == split
        for column, position_class in enumerate(COUNTED):
            expected = np.bincount(blocks[in_split & (classes == position_class) & ~left_out], minlength=len(counts))
            assert counts[:, split, column].tolist() == expected.tolist()
        expected = np.bincount(blocks[in_split & left_out], minlength=len(counts))
        assert counts[:, split, GUARDED].tolist() == expected.tolist()


def test_rows_are_counted_once(tmp_path: Path, read_ranges: list[tuple[int, int]]) -> None:
    """A feed that is opened again, with any split, reads the kept counts instead of the rows."""
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    feed = small_block_feed(bgdata.open_warehouse(tmp_path))
    assert read_ranges
    assert len(kept_files(tmp_path)) == 2  # one for the blocks of `batches`, one for the small blocks
    read_ranges.clear()
    reopened = small_block_feed(bgdata.open_warehouse(tmp_path))
    validation = small_block_feed(bgdata.open_warehouse(tmp_path), split="validation")
    assert read_ranges == []
    assert reopened.row_count == feed.row_count
    assert reopened.class_counts.tolist() == feed.class_counts.tolist()
    assert row_numbers(reopened) == row_numbers(feed)
    splits = splits_of_hashes(position_hashes(label_boards()))
    assert sorted(row_numbers(validation)) == np.flatnonzero(splits == SPLITS.index("validation")).tolist()


def test_another_process_does_not_count_again(tmp_path: Path, read_ranges: list[tuple[int, int]]) -> None:
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    write_benchmark(tmp_path, "some", label_boards()[:300], label_boards()[:0])
    feed = small_block_feed(bgdata.open_warehouse(tmp_path), epochs=2)
    for path in kept_files(tmp_path):
        path.unlink()
    read_ranges.clear()
    sent = pickle.loads(pickle.dumps(feed))
    assert read_ranges == []
    assert row_numbers(sent) == row_numbers(feed)
    assert sent.guarded == feed.guarded
    assert sent.row_count == feed.row_count


def test_file_of_counts_depends_on_the_guard_the_splits_and_the_blocks(
    tmp_path: Path, read_ranges: list[tuple[int, int]]
) -> None:
    """No row is read to find the file."""
    boards = label_boards()
    write_labels(tmp_path, GNUBG_LABELS, boards)
    warehouse = bgdata.open_warehouse(tmp_path)
    rows = labelled_rows(warehouse)
    one_benchmark = write_benchmark(tmp_path, "one", boards[:10], boards[:0])
    other_benchmark = write_benchmark(tmp_path, "other", boards[:20], boards[:0])
    sample = write_version(
        tmp_path, "position_sample/some", label_arrays(boards) | split_arrays(np.arange(len(boards)))
    )
    rows_split_by_sample = LabelledRows(rows.table, warehouse.open_reference(sample), from_parquet=False)
    files = [
        counts_file(rows, None, 100),
        counts_file(rows, None, 101),
        counts_file(rows_split_by_sample, None, 100),
        counts_file(rows, Guard([warehouse.open_reference(one_benchmark)]), 100),
        counts_file(rows, Guard([warehouse.open_reference(other_benchmark)]), 100),
    ]
    assert len(set(files)) == len(files)
    assert counts_file(labelled_rows(bgdata.open_warehouse(tmp_path)), None, 100) == files[0]
    assert read_ranges == []


@pytest.mark.parametrize("damage", ["first byte", "last byte", "cut", "empty"])
def test_damaged_counts_are_written_anew(tmp_path: Path, read_ranges: list[tuple[int, int]], damage: str) -> None:
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    rows = labelled_rows(bgdata.open_warehouse(tmp_path))
    expected = block_counts(rows, None, 100)
    (path,) = kept_files(tmp_path)
    content = path.read_bytes()
    damaged = {
        "first byte": bytes([content[0] ^ 1]) + content[1:],
        "last byte": content[:-1] + bytes([content[-1] ^ 1]),
        "cut": content[:-60],
        "empty": b"",
    }
    path.write_bytes(damaged[damage])
    read_ranges.clear()
    assert block_counts(rows, None, 100).tolist() == expected.tolist()
    assert read_ranges
    read_ranges.clear()
    assert block_counts(rows, None, 100).tolist() == expected.tolist()
    assert read_ranges == []  # the counts were written


def test_counts_that_cannot_be_kept_are_counted_again(
    tmp_path: Path, read_ranges: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "file"))
    rows = labelled_rows(bgdata.open_warehouse(tmp_path))
    first = block_counts(rows, None, 100)
    read_ranges.clear()
    assert block_counts(rows, None, 100).tolist() == first.tolist()
    assert read_ranges


@pytest.mark.usefixtures("read_ranges")
def test_rows_that_changed_since_they_were_counted_are_named(tmp_path: Path) -> None:
    """Rows that have changed since they were counted are named, even if they are legal: a pool would miss rows, or
    contain a row of another split."""
    version = write_labels(tmp_path, GNUBG_LABELS, label_boards())
    feed = small_block_feed(bgdata.open_warehouse(tmp_path))
    boards = label_boards().copy()
    splits = splits_of_hashes(position_hashes(boards))
    changed_row = int(np.flatnonzero(splits == SPLITS.index("train"))[7])
    boards[changed_row] = boards[splits == SPLITS.index("validation")][0]
    replace_array(tmp_path, version, "boards", boards)
    reopened = Feed(bgdata.open_warehouse(tmp_path), feed.recipe)  # by the counts that are kept
    block_begin = changed_row // 100 * 100
    expected = (
        rf"expected \d+ rows of the split from row {block_begin} of {version} on, .*found \d+; try: bgdata verify"
    )
    with pytest.raises(CheckFailedError, match=expected):
        list(reopened)


@pytest.mark.usefixtures("read_ranges")
def test_counts_of_another_guard_give_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guarded row is never read, because a pool asks the guard again."""
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    unguarded = block_counts(labelled_rows(bgdata.open_warehouse(tmp_path)), None, 100)
    write_benchmark(tmp_path, "some", label_boards()[:500], label_boards()[:0])
    feed = small_block_feed(bgdata.open_warehouse(tmp_path))
    monkeypatch.setattr("bgdata.training.feed.feed.block_counts", lambda *_: unguarded)
    with pytest.raises(CheckFailedError, match="rows of the split from row"):
        list(Feed(bgdata.open_warehouse(tmp_path), feed.recipe))


def test_pages_of_every_version_are_released_while_a_pool_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    write_labels(tmp_path, ROLLOUT_LABELS, label_boards()[::2])
    warehouse = bgdata.open_warehouse(tmp_path)
    recipe = warehouse.batches({GNUBG_LABELS: 1, ROLLOUT_LABELS: 1}).recipe
    feed = Feed(warehouse, replace(recipe, block_rows=20, pool_blocks=1000))
    released_rows: list[int] = []
    monkeypatch.setattr(LabelledRows, "release", lambda self: released_rows.append(len(self)))
    feed.batch(0, 0)
    assert set(released_rows) == {len(label_boards()), len(label_boards()[::2])}
    blocks = sum(len(stream._blocks) for stream in feed._streams)
    assert len(released_rows) >= blocks // RELEASED


def test_arrays_in_parts_give_the_same_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are never read as a whole."""
    games = np.arange(len(label_boards()), dtype=np.int32) // 20
    write_labels(tmp_path, GNUBG_LABELS, label_boards(), games=games)
    write_labels(tmp_path, ROLLOUT_LABELS, label_boards()[::2])
    sources = {GNUBG_LABELS: 2, ROLLOUT_LABELS: 1}
    expected = list(small_block_feed(bgdata.open_warehouse(tmp_path), sources))
    array = Table.array

    def array_in_parts(self: Table, name: str, *, scattered: bool = False) -> Any:
        values = array(self, name, scattered=scattered)
        return PartedArray([values[:1], values[1:777], values[777:]])

    monkeypatch.setattr(Table, "array", array_in_parts)
    monkeypatch.setattr(PartedArray, "__array__", None)
    assert_equal_batches(small_block_feed(bgdata.open_warehouse(tmp_path), sources), expected)
