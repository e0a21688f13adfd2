"""No position of a benchmark, nor its flip, is ever trained on."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.errors import (
    CheckFailedError,
    CorruptFileError,
    MissingTableError,
    UnknownInputSetError,
    UnknownKindError,
    UsageError,
)
from bgdata.formats.lines import write_bytes
from bgdata.formats.position_files import format_gnubg_training
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position import START, Position, format_key20
from bgdata.game.position_hash import position_hashes
from bgdata.imports.kinds.gnubg_benchmark import GnubgBenchmark
from bgdata.kinds import all_kinds
from bgdata.selfplay.splits import SPLITS, splits_of_hashes
from bgdata.store.arrays import save_array
from bgdata.store.dataset import Build, Column, Computed, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.store.parquet import RowReader
from bgdata.store.table import Table
from bgdata.training.feed import is_labelled
from bgdata.training.feed.counts import count_blocks
from bgdata.training.feed.feed import share_out
from bgdata.training.feed.rows import GUARDED, Guard, LabelledRows, benchmark_versions, splits_of
from bgdata.training.feed.stream import random_order
from bgdata.warehouse import Warehouse
from tests.reference.position_hash import shuffled
from tests.store.toy import Count, Toy
from tests.subtests import each
from tests.training.labels import (
    CONTACT,
    LABELS,
    label_boards,
    sample_boards,
    sample_chances,
    small_blocks,
    write_benchmark,
    write_labels,
)


@cache
def some_boards() -> Boards:
    return sample_boards(40)


def benchmark_boards() -> tuple[Boards, Boards]:
    """The boards of a benchmark's decisions and of its plays."""
    return some_boards()[::7], some_boards()[3::11]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse whose training data contain the positions of its benchmark and their flips."""
    write_labels(tmp_path, "gnubg_training/contact", np.concatenate([some_boards(), flip_boards(some_boards())]))
    write_benchmark(tmp_path, "contact", *benchmark_boards())
    return tmp_path


def positions(root: Path, **options: Any) -> list[bytes]:
    feed = bgdata.open_warehouse(root).batches("gnubg_training", **options)
    return [board.tobytes() for batch in feed for board in batch.boards]


@pytest.mark.parametrize("split", ["train", "validation"])
def test_planted_positions_never_appear(root: Path, split: str) -> None:
    """No position of a benchmark, nor its flip, is in the guarded feed, and no other row is left out."""
    both = np.concatenate(benchmark_boards())
    planted = {board.tobytes() for boards in (both, flip_boards(both)) for board in boards}
    without, found = positions(root, split=split, guard=False), positions(root, split=split)
    assert planted & set(without)
    assert not planted & set(found)
    assert sorted(found) == sorted(board for board in without if board not in planted)
    feed = bgdata.open_warehouse(root).batches("gnubg_training", split=split)
    assert feed.guarded == len(without) - len(found) > 0
    assert f"{feed.guarded:,} left out for benchmarks" in repr(feed)
    assert "no benchmark to guard" in repr(
        bgdata.open_warehouse(root).batches("gnubg_training", split=split, guard=False)
    )


def test_folder_of_a_killed_build_is_not_a_benchmark(root: Path) -> None:
    found = positions(root)
    (root / "rollout_decisions" / "contact-of-nothing").mkdir(parents=True)
    assert positions(root) == found
    assert "contact-of-nothing" not in bgdata.open_warehouse(root).variants("rollout_decisions")


def test_test_split_is_left_alone(root: Path) -> None:
    assert positions(root, split="test") == positions(root, split="test", guard=False)


def test_split_of_benchmark_positions_alone_is_empty(root: Path) -> None:
    write_benchmark(root, "race", some_boards(), some_boards())
    with pytest.raises(ValueError, match=r"found none; [0-9,]+ were left out for benchmarks"):
        positions(root)


def test_splits_do_not_move_with_the_guard(root: Path) -> None:
    guarded, plain = ([set(positions(root, split=name, guard=on)) for name in SPLITS] for on in (True, False))
    assert all(some <= more for some, more in zip(guarded, plain, strict=True))


@pytest.mark.parametrize("known", [0, 1, 2, 3, 1000])
def test_hashes_are_found_among_the_known_ones(tmp_path: Path, known: int) -> None:
    version = write_benchmark(tmp_path, "contact", some_boards()[:known], some_boards()[:0])
    kind, variant, name = version.split("/")
    guard = Guard([bgdata.open_warehouse(tmp_path).open(kind, variant, name)])
    hashes = position_hashes(some_boards())
    edges = np.array([0, 1, (1 << 64) - 1, 1 << 63], np.uint64)
    asked = np.concatenate([hashes, hashes + np.uint64(1), edges])
    assert len(guard.known) == len(set(hashes[:known].tolist()))
    assert guard.contains(asked).tolist() == [value in set(hashes[:known].tolist()) for value in asked.tolist()]


@each("key", [(0,), (0, 0), (1, 2, 3), ((1 << 63) - 1, 5)])
@each("count", [0, 1, 2, 3, 1000])
def test_shuffling_matches_the_reference(key: tuple[int, ...], count: int) -> None:
    assert random_order(key, count).tolist() == shuffled(key, count)


def test_every_random_order_is_equally_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(6000):
        order = tuple(random_order((seed,), 3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 1000) < 150 for count in counts.values())  # five standard deviations


@pytest.mark.parametrize(
    ("total", "weights", "expected"),
    [
        (4096, [2.0, 1.0], [2731, 1365]),
        (10, [1, 1, 1], [4, 3, 3]),
        (100, [0.1, 0.2, 0.7], [10, 20, 70]),
        (7, [3], [7]),
        (2, [1, 1, 1], [1, 1, 0]),
    ],
)
def test_total_is_shared_out_by_weight(total: int, weights: list[float], expected: list[int]) -> None:
    assert share_out(total, weights) == expected


LEAKAGE_QUERY = "select dataset, variant, key from leakage"


def import_benchmark(warehouse: Warehouse, folder: Path, boards: list[Any]) -> None:
    """Import a benchmark with these positions, every second one from the other side's point of view."""
    positions = [Position(board) for board in boards]
    seen = [position.flip() if n % 2 else position for n, position in enumerate(positions)]
    keys = map(format_key20, seen)
    path = folder / "race.bm"
    path.write_text("".join(f"e {key} 0.5 0 0 0 0\n" for key in keys))
    kind = GnubgBenchmark()
    warehouse.build(kind.name, kind.parameters_of([path]), files=[path])


def leaked_rows(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """The dataset, the variant and the key of every row of the view that lists training positions in benchmarks, in
    order."""
    return sorted((*row[:2], tuple(json.loads(row[2]).values())) for row in connection.sql(LEAKAGE_QUERY).fetchall())


@pytest.mark.catalog
def test_leakage_is_the_rows_that_the_feed_leaves_out(warehouse: Warehouse, tmp_path: Path) -> None:
    """The view `leakage` lists exactly the rows whose positions are in benchmarks, which the feed leaves out."""
    kinds = [kind for kind in warehouse.kinds.values() if is_labelled(kind)]
    tables = [table for kind in kinds for table in warehouse.current(kind.name)]
    import_benchmark(
        warehouse, tmp_path, [board for table in tables for board in table.array("boards")[[0, -1]].tolist()]
    )
    guard = Guard(map(warehouse.open_reference, benchmark_versions(warehouse)))
    expected = []
    for table in tables:
        rows = LabelledRows(table, splits_of(warehouse, table), from_parquet=False)
        block = rows.read(0, len(rows))
        left_out = int(count_blocks(rows, guard, 1000)[..., GUARDED].sum())
        is_known = guard.contains(position_hashes(block.boards))
        keys = pq.read_table(table.parquet, columns=list(warehouse.kind(table.manifest.dataset).key)).to_pylist()
        found = [tuple(key.values()) for key, known in zip(keys, is_known, strict=True) if known]
        assert len(found) == left_out >= 1
        expected += [(table.manifest.dataset, table.manifest.variant, key) for key in found]
    with warehouse.connect() as connection:
        assert leaked_rows(connection) == sorted(expected)
        boards = np.array(connection.sql("select board from benchmark_boards").fetchall(), np.int8)[:, 0]
    assert set(position_hashes(boards).tolist()) == set(guard.known.tolist())
    with duckdb.connect(str(warehouse.catalog), read_only=True) as plain:
        assert leaked_rows(plain) == sorted(expected)


class LabelledBatches(Toy):
    """A kind with labels that is not part of bgdata."""

    name = "lessons"
    summary = "Lessons."
    columns = (
        Column("number", "INTEGER", "", "Number"),
        Column("position_id", "VARCHAR", "", "Position"),
        Column("board", "TINYINT[]", "checkers", "Position"),
    )
    arrays = (
        FlatArray("boards", "int8", "number", "Positions"),
        FlatArray("chances", "float32", "number", "Chances"),
        FlatArray("classes", "uint8", "number", "Classes"),
    )

    def compute(self, build: Build[Count]) -> None:
        parameters, job = build.parameters, build.job
        job.save("boards", np.array([START.board] * parameters.count, np.int8))
        job.save("chances", np.zeros((parameters.count, 5), np.float32))
        job.save("classes", np.zeros(parameters.count, np.uint8))

    def batches(self, computed: Computed[Parameters]) -> Iterator[pa.RecordBatch]:
        boards = computed.arrays["boards"].tolist()
        numbers = np.arange(len(boards), dtype=np.int32)
        ids = [START.id] * len(boards)
        yield pa.record_batch({"number": numbers, "position_id": ids, "board": pa.array(boards, pa.list_(pa.int8()))})


def test_new_kind_with_labels_is_not_forgotten(memory_path: Path, tmp_path: Path) -> None:
    warehouse = Warehouse(memory_path, all_kinds() | {"lessons": LabelledBatches()})
    warehouse.build("lessons", Count(3))
    with warehouse.connect() as connection:
        assert leaked_rows(connection) == []
    import_benchmark(warehouse, tmp_path, [list(START.board)])
    with warehouse.connect() as connection:
        assert leaked_rows(connection) == [("lessons", "3", (number,)) for number in range(3)]


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
    """Missing kinds, variants and features, and wrong weights, give errors that name them."""
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


def test_empty_split_is_refused(tmp_path: Path) -> None:
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
        read_all(tmp_path)


@each(("slot", "count"), {f"{slot} {count}": (slot, count) for slot in (0, 6, 25) for count in (-128, -16, 16, 127)})
def test_boards_of_impossible_counts_are_refused(tmp_path: Path, slot: int, count: int) -> None:
    """Boards with impossible numbers of checkers, as in a damaged file, are refused: kernels would read beyond their
    arrays and return plausible numbers."""
    boards = label_boards().copy()
    version = write_labels(tmp_path, CONTACT, boards)
    boards[712, slot] = count
    path = tmp_path / version / "boards.npy"
    path.unlink()
    save_array(path, boards)
    with pytest.raises(CheckFailedError, match=rf"expected .* in row 712 of {version}, found \[.*; try: bgdata verify"):
        read_all(tmp_path)


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
    with pytest.raises(CheckFailedError, match=rf"expected .* {version}.*, found .*; try: bgdata verify"):
        read_all(tmp_path)


def read_all(root: Path) -> None:
    """Read the rows of every split."""
    for split in SPLITS:
        for _ in small_blocks(bgdata.open_warehouse(root), split=split):
            pass


def test_reading_batches_writes_no_files(labels: Warehouse, labels_root: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in labels_root.rglob("*")}
    assert len(before) > 8
    list(labels.batches({CONTACT: 1, LABELS: 1}, features="race"))
    save_array(labels_root / "other.npy", np.zeros(3))
    after = {path: path.stat().st_mtime_ns for path in labels_root.rglob("*")}
    assert {path for path in after if before.get(path) != after[path]} == {labels_root / "other.npy"}


CHANCES = ["win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon"]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with an imported training file of gnubg, in more than one row group."""
    folder = tmp_path_factory.mktemp("labels")
    boards = sample_boards(45)
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    kind = warehouse.kind("gnubg_training")
    path = folder / "contact-train-data"
    write_bytes(path, format_gnubg_training(boards, no_gammons(boards)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "row_group_rows", 700)
        warehouse.build(kind.name, kind.smallest, files=[path])
    return warehouse


def no_gammons(boards: np.ndarray) -> np.ndarray:
    """Chances without gammons, which are valid for any position."""
    return sample_chances(len(boards)) * np.array([1, 0, 0, 0, 0], np.float32)


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    found = warehouse.open("gnubg_training", "contact-train-data")
    assert found.manifest.rows > 2000
    return found


def test_batches_from_parquet_equal_those_of_mapped_arrays(warehouse: Warehouse) -> None:
    options: dict[str, Any] = {"seed": 1, "batch_size": 300, "features": "tesauro-196"}
    mapped, read = (warehouse.batches("gnubg_training", **options, from_parquet=on) for on in (False, True))
    for one, other in zip(mapped, read, strict=True):
        assert all(np.array_equal(getattr(one, name), values) for name, values in other._asdict().items())


def test_rows_are_read_from_the_groups_that_hold_them(table: Table) -> None:
    reader = RowReader(table.parquet)
    boards = table.array("boards")
    rows = table.manifest.rows
    for begin, end in ((0, 700), (0, 1), (699, 701), (700, 1400), (5, 1999), (rows - 1, rows), (0, rows)):
        found = reader.read(("board", "line"), begin, end)
        assert found.column_names == ["board", "line"]
        assert found.column("board").to_pylist() == boards[begin:end].tolist()


def test_broken_file_is_named(table: Table, tmp_path: Path) -> None:
    broken = tmp_path / "table.parquet"
    whole = table.parquet.read_bytes()
    broken.write_bytes(whole[:1000])
    with pytest.raises(CorruptFileError, match=f"expected a readable Parquet file in {broken}"):
        RowReader(broken)
    broken.write_bytes(whole[:4] + bytes(2000) + whole[2004:])
    with pytest.raises(CorruptFileError, match=f"expected a readable Parquet file in {broken}"):
        RowReader(broken).read(("board", "line", "win"), 0, 10)


# as the README shows it


def test_pandas_reads_the_parquet_file(table: Table) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(table.parquet, columns=["board", *CHANCES])
    assert np.array_equal(np.stack(frame["board"].to_numpy()), table.array("boards"))
    assert np.array_equal(frame[CHANCES].to_numpy(), table.array("chances"))


def test_polars_reads_the_parquet_file(table: Table) -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.scan_parquet(table.parquet).filter(polars.col("win") > 0.5)
    frame = lazy.select(polars.col("board").list.to_array(26), *CHANCES).collect()
    chances = table.array("chances")
    is_ahead = chances[:, 0] > 0.5
    assert 0 < is_ahead.sum() < len(chances)
    assert np.array_equal(frame["board"].to_numpy(), table.array("boards")[is_ahead])
    assert np.array_equal(frame.select(CHANCES).to_numpy(), chances[is_ahead])


def test_hugging_face_datasets_reads_it(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library `datasets` of Hugging Face reads the Parquet file, in memory and as a stream."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    files = str(table.parquet)
    rows = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path))
    numpy_rows = rows.select_columns(["board", *CHANCES]).with_format("numpy")
    assert len(numpy_rows) == table.manifest.rows
    found = numpy_rows[100:164]
    assert np.array_equal(found["board"], table.array("boards")[100:164])
    assert np.array_equal(np.stack([found[name] for name in CHANCES], axis=1), table.array("chances")[100:164])
    streamed = datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)
    first = next(iter(streamed))
    assert first["board"] == table.array("boards")[0].tolist()
    assert first["position_id"].isascii()
