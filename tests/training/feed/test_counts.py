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
from bgdata.game.position_hash import position_hashes
from bgdata.selfplay.splits import SPLITS, splits_of_hashes
from bgdata.store.arrays import PartedArray, save_array
from bgdata.store.table import Table
from bgdata.training.feed import counts
from bgdata.training.feed.counts import block_counts, count_blocks, counts_file
from bgdata.training.feed.feed import Feed
from bgdata.training.feed.rows import COUNTED, GUARDED, Guard, LabelledRows, splits_of
from bgdata.training.feed.stream import Stream
from bgdata.warehouse import Warehouse
from tests.training.labels import (
    CONTACT,
    LABELS,
    label_boards,
    labelled,
    rows_of,
    small_blocks,
    split_by,
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
    found: list[tuple[int, int]] = []
    read = LabelledRows.read

    def noted(self: LabelledRows, begin: int, end: int, guard: Guard | None = None) -> Any:
        found.append((begin, end))
        return read(self, begin, end, guard)

    monkeypatch.setattr(LabelledRows, "read", noted)
    return found


def kept_files(root: Path) -> list[Path]:
    """The files with counts that a test has kept."""
    return sorted((root / "cache" / "feed").glob("*"))


def labelled_rows(warehouse: Warehouse, name: str = CONTACT) -> LabelledRows:
    table = warehouse.open(*name.split("/"))
    return LabelledRows(table, splits_of(warehouse, table), from_parquet=False)


@pytest.mark.parametrize("has_games", [False, True])
@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize("block_rows", [1, 100, 100_000])
def test_blocks_are_counted(tmp_path: Path, has_games: bool, is_guarded: bool, block_rows: int) -> None:
    """Counts by block, split and class equal those of plain NumPy, with and without games and guarded rows."""
    boards = label_boards()
    games = np.arange(len(label_boards()), dtype=np.int32) // 20
    write_labels(tmp_path, CONTACT, boards, games=games if has_games else None)
    version = write_benchmark(tmp_path, "some", boards[::7], boards[3::11])
    warehouse = bgdata.open_warehouse(tmp_path)
    guard = Guard([warehouse.open_reference(version)]) if is_guarded else None
    found = count_blocks(labelled_rows(warehouse), guard, block_rows)
    splits = split_by(games)["splits"] if has_games else splits_of_hashes(position_hashes(boards))
    classes = np.array([bgdata.game.classes.PositionClass(n).file_class for n in position_classes(boards).tolist()])
    left_out = guard.contains(position_hashes(boards)) if guard else np.zeros(len(boards), np.bool_)
    expected = np.zeros((-(-len(boards) // block_rows), len(SPLITS), GUARDED + 1), np.int64)
    blocks = np.arange(len(boards)) // block_rows
    for split in range(len(SPLITS)):
        for place, wanted in enumerate(COUNTED):
            rows = (splits == split) & (classes == wanted) & ~left_out
            expected[:, split, place] = np.bincount(blocks[rows], minlength=len(expected))
        expected[:, split, GUARDED] = np.bincount(blocks[(splits == split) & left_out], minlength=len(expected))
    assert found.tolist() == expected.tolist()


def test_rows_are_counted_once(tmp_path: Path, read_ranges: list[tuple[int, int]]) -> None:
    """A feed that is opened again, with any split, reads the kept counts instead of the rows."""
    write_labels(tmp_path, CONTACT, label_boards())
    first = small_blocks(bgdata.open_warehouse(tmp_path))
    assert read_ranges
    assert len(kept_files(tmp_path)) == 2  # one for the blocks of `batches`, one for the small blocks
    read_ranges.clear()
    again = small_blocks(bgdata.open_warehouse(tmp_path))
    validation = small_blocks(bgdata.open_warehouse(tmp_path), split="validation")
    assert read_ranges == []
    assert (again.row_count, again.class_counts.tolist()) == (first.row_count, first.class_counts.tolist())
    assert rows_of(again) == rows_of(first)
    assert (
        sorted(rows_of(validation)) == np.flatnonzero(splits_of_hashes(position_hashes(label_boards())) == 1).tolist()
    )


def test_another_process_does_not_count_again(tmp_path: Path, read_ranges: list[tuple[int, int]]) -> None:
    write_labels(tmp_path, CONTACT, label_boards())
    write_benchmark(tmp_path, "some", label_boards()[:300], label_boards()[:0])
    feed = small_blocks(bgdata.open_warehouse(tmp_path), epochs=2)
    for path in kept_files(tmp_path):
        path.unlink()
    read_ranges.clear()
    sent = pickle.loads(pickle.dumps(feed))
    assert read_ranges == []
    assert rows_of(sent) == rows_of(feed)
    assert (sent.guarded, sent.row_count) == (feed.guarded, feed.row_count)


def test_counts_depend_on_the_guard_the_splits_and_the_blocks(
    tmp_path: Path, read_ranges: list[tuple[int, int]]
) -> None:
    """Other guards, splits and sizes of blocks have files of counts of their own; no row is read for that."""
    boards = label_boards()
    version = write_labels(tmp_path, CONTACT, boards)
    warehouse = bgdata.open_warehouse(tmp_path)
    rows = labelled_rows(warehouse)
    guards = [
        Guard([warehouse.open_reference(write_benchmark(tmp_path, name, boards[:count], boards[:0]))])
        for name, count in (("one", 10), ("other", 20))
    ]
    split = write_version(tmp_path, "position_sample/some", labelled(boards) | split_by(np.arange(len(boards))))
    other = LabelledRows(rows.table, warehouse.open_reference(split), from_parquet=False)
    files = {
        counts_file(rows, None, 100), counts_file(rows, None, 101), counts_file(other, None, 100),
        *(counts_file(rows, guard, 100) for guard in guards),
    }  # fmt: skip
    assert len(files) == 5
    assert counts_file(labelled_rows(bgdata.open_warehouse(tmp_path)), None, 100) in files
    assert read_ranges == []
    assert version


@pytest.mark.parametrize("damage", ["first", "last", "cut", "empty"])
def test_damaged_counts_are_not_used(tmp_path: Path, read_ranges: list[tuple[int, int]], damage: str) -> None:
    """A damaged file of counts is not used; rows are counted again and the file is written anew."""
    write_labels(tmp_path, CONTACT, label_boards())
    rows = labelled_rows(bgdata.open_warehouse(tmp_path))
    expected = block_counts(rows, None, 100)
    (path,) = kept_files(tmp_path)
    data = bytearray(path.read_bytes())
    if damage in ("first", "last"):
        data[0 if damage == "first" else -1] ^= 1
    path.write_bytes({"cut": bytes(data[:-60]), "empty": b""}.get(damage, bytes(data)))
    read_ranges.clear()
    assert block_counts(rows, None, 100).tolist() == expected.tolist()
    assert read_ranges
    read_ranges.clear()
    assert block_counts(rows, None, 100).tolist() == expected.tolist()  # they were written anew
    assert read_ranges == []


def test_counts_that_cannot_be_kept_are_counted_again(
    tmp_path: Path, read_ranges: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_labels(tmp_path, CONTACT, label_boards())
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
    version = write_labels(tmp_path, CONTACT, label_boards())
    feed = small_blocks(bgdata.open_warehouse(tmp_path))
    boards = label_boards().copy()
    splits = splits_of_hashes(position_hashes(boards))
    gone, other = int(np.flatnonzero(splits == 0)[7]), int(np.flatnonzero(splits == 1)[0])
    boards[gone] = boards[other]
    path = tmp_path / version / "boards.npy"
    path.unlink()
    save_array(path, boards)
    again = Feed(bgdata.open_warehouse(tmp_path), feed.recipe)  # by the counts that are kept
    expected = (
        rf"expected \d+ rows of the split from row {gone // 100 * 100} of {version} on, .*found \d+; try: bgdata verify"
    )
    with pytest.raises(CheckFailedError, match=expected):
        list(again)


@pytest.mark.usefixtures("read_ranges")
def test_counts_of_another_guard_give_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts made with another guard give an error, never a guarded row, because a pool asks the guard again."""
    write_labels(tmp_path, CONTACT, label_boards())
    without = block_counts(labelled_rows(bgdata.open_warehouse(tmp_path)), None, 100)
    write_benchmark(tmp_path, "some", label_boards()[:500], label_boards()[:0])
    feed = small_blocks(bgdata.open_warehouse(tmp_path))
    known = set(position_hashes(label_boards()[:500]).tolist())
    found = np.concatenate([position_hashes(batch.boards) for batch in feed])
    assert not known & set(found.tolist())
    monkeypatch.setattr("bgdata.training.feed.feed.block_counts", lambda *_: without)
    with pytest.raises(CheckFailedError, match="rows of the split from row"):
        list(Feed(bgdata.open_warehouse(tmp_path), feed.recipe))


def test_pages_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mapped pages of every version are released while pools are filled."""
    write_labels(tmp_path, CONTACT, label_boards())
    write_labels(tmp_path, LABELS, label_boards()[::2])
    calls: list[int] = []
    monkeypatch.setattr(LabelledRows, "release", lambda self: calls.append(len(self)))
    recipe = bgdata.open_warehouse(tmp_path).batches({CONTACT: 1, LABELS: 1}).recipe
    feed = Feed(bgdata.open_warehouse(tmp_path), replace(recipe, block_rows=20, pool_blocks=1000))
    calls.clear()
    feed.batch(0, 0)
    assert set(calls) == {len(label_boards()), len(label_boards()[::2])}
    blocks = sum(len(stream._blocks) for stream in feed._streams)
    assert len(calls) >= blocks // 32
    assert isinstance(feed._streams[0], Stream)


def test_arrays_in_parts_give_the_same_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions whose arrays are stored in parts give the same batches, and no array is read as a whole."""
    games = np.arange(len(label_boards()), dtype=np.int32) // 20
    write_labels(tmp_path, CONTACT, label_boards(), games=games)
    write_labels(tmp_path, LABELS, label_boards()[::2])
    expected = [batch._asdict() for batch in small_blocks(bgdata.open_warehouse(tmp_path), {CONTACT: 2, LABELS: 1})]
    array = Table.array

    def parted(self: Table, name: str, *, scattered: bool = False) -> Any:
        values = array(self, name, scattered=scattered)
        return PartedArray([values[:1], values[1:777], values[777:]])

    monkeypatch.setattr(Table, "array", parted)
    monkeypatch.setattr(PartedArray, "__array__", None)  # no array is read as a whole
    found = list(small_blocks(bgdata.open_warehouse(tmp_path), {CONTACT: 2, LABELS: 1}))
    assert len(found) == len(expected)
    for batch, other in zip(found, expected, strict=True):
        assert all(np.array_equal(getattr(batch, name), values) for name, values in other.items())
