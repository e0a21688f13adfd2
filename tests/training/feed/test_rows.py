"""No position of a benchmark, nor its flip, is ever trained on."""

import json
from collections import Counter
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
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position import START, Position, format_key20
from bgdata.game.position_hash import position_hashes
from bgdata.imports.kinds.gnubg_benchmark import GnubgBenchmark
from bgdata.kinds import all_kinds
from bgdata.selfplay.splits import SPLITS, splits_of_hashes
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
from tests.training.labels import (
    GNUBG_LABELS,
    ROLLOUT_LABELS,
    assert_equal_batches,
    label_arrays,
    label_boards,
    replace_array,
    sample_boards,
    sample_chances,
    small_block_feed,
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
def guarded_warehouse(tmp_path: Path) -> Warehouse:
    """A warehouse whose training data contain the positions of its benchmark and their flips."""
    write_labels(tmp_path, GNUBG_LABELS, np.concatenate([some_boards(), flip_boards(some_boards())]))
    write_benchmark(tmp_path, "contact", *benchmark_boards())
    return bgdata.open_warehouse(tmp_path)


def fed_positions(warehouse: Warehouse, **options: Any) -> list[bytes]:
    """The positions of all batches, in order."""
    feed = warehouse.batches(GNUBG_LABELS, **options)
    return [board.tobytes() for batch in feed for board in batch.boards]


@pytest.mark.parametrize("split", ["train", "validation"])
def test_positions_of_benchmarks_and_their_flips_are_left_out(guarded_warehouse: Warehouse, split: str) -> None:
    """All other positions are in the feed."""
    in_benchmark = np.concatenate(benchmark_boards())
    forbidden = {board.tobytes() for boards in (in_benchmark, flip_boards(in_benchmark)) for board in boards}
    unguarded = fed_positions(guarded_warehouse, split=split, guard=False)
    expected = [board for board in unguarded if board not in forbidden]
    assert len(expected) < len(unguarded)
    assert sorted(fed_positions(guarded_warehouse, split=split)) == sorted(expected)
    feed = guarded_warehouse.batches(GNUBG_LABELS, split=split)
    assert feed.guarded == len(unguarded) - len(expected)
    assert f"{feed.guarded:,} left out for benchmarks" in repr(feed)


def test_test_split_contains_positions_of_benchmarks(guarded_warehouse: Warehouse) -> None:
    unguarded = fed_positions(guarded_warehouse, split="test", guard=False)
    assert fed_positions(guarded_warehouse, split="test") == unguarded


def test_feed_without_a_guard_says_so(guarded_warehouse: Warehouse) -> None:
    assert "no benchmark to guard" in repr(guarded_warehouse.batches(GNUBG_LABELS, guard=False))


def test_folder_of_a_killed_build_is_not_a_benchmark(guarded_warehouse: Warehouse) -> None:
    expected = fed_positions(guarded_warehouse)
    (guarded_warehouse.root / "rollout_decisions" / "contact-of-nothing").mkdir(parents=True)
    assert fed_positions(guarded_warehouse) == expected
    assert "contact-of-nothing" not in guarded_warehouse.variants("rollout_decisions")


def test_split_of_benchmark_positions_alone_is_empty(guarded_warehouse: Warehouse) -> None:
    write_benchmark(guarded_warehouse.root, "race", some_boards(), some_boards())
    with pytest.raises(ValueError, match=r"found none; [0-9,]+ were left out for benchmarks"):
        guarded_warehouse.batches(GNUBG_LABELS)


@pytest.mark.parametrize("known_count", [0, 1, 2, 3, 1000])
def test_hashes_are_found_among_the_known_ones(tmp_path: Path, known_count: int) -> None:
    version = write_benchmark(tmp_path, "contact", some_boards()[:known_count], some_boards()[:0])
    guard = Guard([bgdata.open_warehouse(tmp_path).open_reference(version)])
    hashes = position_hashes(some_boards())
    known = set(hashes[:known_count].tolist())
    assert len(guard.known) == len(known)
    edges = np.array([0, 1, (1 << 64) - 1, 1 << 63], np.uint64)
    queries = np.concatenate([hashes, hashes + np.uint64(1), edges])
    assert guard.contains(queries).tolist() == [value in known for value in queries.tolist()]


@pytest.mark.parametrize("key", [(0,), (0, 0), (1, 2, 3), ((1 << 63) - 1, 5)])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_shuffling_matches_the_reference(key: tuple[int, ...], count: int) -> None:
    assert random_order(key, count).tolist() == shuffled(key, count)


def test_every_random_order_is_equally_likely() -> None:
    counts = Counter(tuple(random_order((seed,), 3).tolist()) for seed in range(6000))
    assert len(counts) == 6
    standard_deviation = (6000 * 1 / 6 * 5 / 6) ** 0.5
    for count in counts.values():
        assert count == pytest.approx(1000, abs=5 * standard_deviation)


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


def import_benchmark(warehouse: Warehouse, folder: Path, boards: list[list[int]]) -> None:
    """Import a benchmark with these positions, every second one from the other side's point of view."""
    path = folder / "race.bm"
    with path.open("w") as file:
        for number, board in enumerate(boards):
            position = Position(board).flip() if number % 2 else Position(board)
            file.write(f"e {format_key20(position)} 0.5 0 0 0 0\n")
    kind = GnubgBenchmark()
    warehouse.build(kind.name, kind.parameters_of([path]), files=[path])


def leaked_rows(connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """The dataset, the variant and the key of every row of the view `leakage`, in order."""
    rows = connection.sql("select dataset, variant, key from leakage").fetchall()
    return sorted((dataset, variant, tuple(json.loads(key).values())) for dataset, variant, key in rows)


@pytest.mark.catalog
def test_leakage_is_the_rows_that_the_feed_leaves_out(warehouse: Warehouse, tmp_path: Path) -> None:
    """The view `leakage` lists exactly the rows whose positions are in benchmarks."""
    kinds = [kind for kind in warehouse.kinds.values() if is_labelled(kind)]
    tables = [table for kind in kinds for table in warehouse.current(kind.name)]
    first_and_last = [board for table in tables for board in table.array("boards")[[0, -1]].tolist()]
    import_benchmark(warehouse, tmp_path, first_and_last)
    guard = Guard(map(warehouse.open_reference, benchmark_versions(warehouse)))
    expected = []
    for table in tables:
        dataset, variant = table.manifest.dataset, table.manifest.variant
        keys = pq.read_table(table.parquet, columns=list(warehouse.kind(dataset).key)).to_pylist()
        is_known = guard.contains(position_hashes(np.ascontiguousarray(table.array("boards"))))
        leaked = [(dataset, variant, tuple(key.values())) for key, known in zip(keys, is_known, strict=True) if known]
        rows = LabelledRows(table, splits_of(warehouse, table), from_parquet=False)
        assert len(leaked) == count_blocks(rows, guard, 1000)[..., GUARDED].sum()
        assert leaked
        expected += leaked
    with warehouse.connect() as connection:
        assert leaked_rows(connection) == sorted(expected)
        boards = np.array(connection.sql("select board from benchmark_boards").fetchall(), np.int8)[:, 0]
    assert set(position_hashes(boards).tolist()) == set(guard.known.tolist())
    with duckdb.connect(str(warehouse.catalog), read_only=True) as catalog:
        assert leaked_rows(catalog) == sorted(expected)


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


def test_leakage_lists_rows_of_a_kind_outside_bgdata(memory_path: Path, tmp_path: Path) -> None:
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
def test_invalid_options_are_refused(label_warehouse: Warehouse, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        label_warehouse.batches(GNUBG_LABELS, **options)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("position_sample", UsageError, r"has positions with chances: .*gnubg_training.*, got position_sample"),
        ("nothing", UnknownKindError, "got 'nothing'"),
        ("wildbg_training", MissingTableError, "wildbg_training"),
        ("gnubg_training/race", MissingTableError, "gnubg_training/race"),
        ({GNUBG_LABELS: float("nan")}, UsageError, "expected a weight above 0 for gnubg_training/contact, got nan"),
        ({}, UsageError, "expected a kind to read, got none"),
    ],
)
def test_invalid_source_is_refused(
    label_warehouse: Warehouse, source: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        label_warehouse.batches(source)


def test_unknown_features_are_refused(label_warehouse: Warehouse) -> None:
    with pytest.raises(UnknownInputSetError, match="got pixels"):
        label_warehouse.batches(GNUBG_LABELS, features="pixels")


def test_empty_split_is_refused(tmp_path: Path) -> None:
    boards = label_boards()[splits_of_hashes(position_hashes(label_boards())) == SPLITS.index("train")]
    write_labels(tmp_path, GNUBG_LABELS, boards)
    write_labels(tmp_path, ROLLOUT_LABELS, boards[:0])
    warehouse = bgdata.open_warehouse(tmp_path)
    with pytest.raises(UsageError, match=r"expected rows in the split test of gnubg_training/contact, found none$"):
        warehouse.batches(GNUBG_LABELS, split="test")
    for source in (ROLLOUT_LABELS, {GNUBG_LABELS: 1, ROLLOUT_LABELS: 1}):
        with pytest.raises(UsageError, match="expected rows in the split train of rollout_labels/some, found none"):
            warehouse.batches(source)


def test_missing_class_is_refused(tmp_path: Path) -> None:
    races = [number for number in PositionClass if number.file_class is PositionClass.RACE]
    is_race = np.isin(position_classes(label_boards()), races)
    write_labels(tmp_path, GNUBG_LABELS, label_boards()[~is_race])
    with pytest.raises(UsageError, match="expected rows of the class race in the split train"):
        bgdata.open_warehouse(tmp_path).batches(GNUBG_LABELS, strata=("race",))


DAMAGED_ROW = 712  # any row of label_boards()


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
    chances[DAMAGED_ROW] = wrong
    version = write_labels(tmp_path, GNUBG_LABELS, label_boards(), chances)
    with pytest.raises(CheckFailedError, match=f"in row {DAMAGED_ROW} of {version}, found .*; try: bgdata verify"):
        read_all(tmp_path)


@pytest.mark.parametrize("slot", [0, 6, 25])
@pytest.mark.parametrize("checkers", [-128, -16, 16, 127])
def test_boards_of_impossible_counts_are_refused(tmp_path: Path, slot: int, checkers: int) -> None:
    """Kernels would read beyond their arrays and return plausible numbers."""
    boards = label_boards().copy()
    version = write_labels(tmp_path, GNUBG_LABELS, boards)
    boards[DAMAGED_ROW, slot] = checkers
    replace_array(tmp_path, version, "boards", boards)
    expected = rf"expected .* in row {DAMAGED_ROW} of {version}, found \[.*; try: bgdata verify"
    with pytest.raises(CheckFailedError, match=expected):
        read_all(tmp_path)


def test_boards_of_benchmarks_are_checked_too(tmp_path: Path) -> None:
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    plays = label_boards()[:9].copy()
    plays[7, 3] = 16
    write_benchmark(tmp_path, "some", label_boards()[:9], plays)
    with pytest.raises(CheckFailedError, match=r"in row 7 of gnubg_benchmark/some/r"):
        small_block_feed(bgdata.open_warehouse(tmp_path))


@pytest.mark.parametrize("number", [99, 255])
def test_invalid_class_is_refused(tmp_path: Path, number: int) -> None:
    version = write_labels(tmp_path, GNUBG_LABELS, label_boards())
    classes = position_classes(label_boards()).astype(np.uint8)
    classes[DAMAGED_ROW] = number
    replace_array(tmp_path, version, "classes", classes)
    with pytest.raises(CheckFailedError, match=rf"expected .* {version}.*, found .*; try: bgdata verify"):
        read_all(tmp_path)


@pytest.mark.parametrize("name", ["classes", "boards"])
def test_arrays_that_are_too_short_are_refused(tmp_path: Path, name: str) -> None:
    version = write_labels(tmp_path, GNUBG_LABELS, label_boards())
    replace_array(tmp_path, version, name, label_arrays(label_boards())[name][:-1])
    with pytest.raises(CheckFailedError, match=rf"expected .* {version}.*, found .*; try: bgdata verify"):
        read_all(tmp_path)


def read_all(root: Path) -> None:
    """Read the rows of every split."""
    for split in SPLITS:
        list(small_block_feed(bgdata.open_warehouse(root), split=split))


def test_reading_batches_writes_no_files(label_warehouse: Warehouse, label_root: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in label_root.rglob("*")}
    assert len(before) > 8  # two versions of four files
    list(label_warehouse.batches({GNUBG_LABELS: 1, ROLLOUT_LABELS: 1}, features="race"))
    assert {path: path.stat().st_mtime_ns for path in label_root.rglob("*")} == before


# the Parquet file of a version

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
    table = warehouse.open("gnubg_training", "contact-train-data")
    assert table.manifest.rows > 2000  # more than two row groups
    return table


def test_batches_from_parquet_equal_those_of_mapped_arrays(warehouse: Warehouse) -> None:
    options: dict[str, Any] = {"seed": 1, "batch_size": 300, "features": "tesauro-196"}
    mapped = warehouse.batches("gnubg_training", **options)
    assert_equal_batches(warehouse.batches("gnubg_training", **options, from_parquet=True), mapped)


@pytest.mark.parametrize(
    ("begin", "end"),
    [(0, 700), (0, 1), (699, 701), (700, 1400), (5, 1999), (-1, None), (0, None)],
    ids=["group", "row", "border", "second group", "three groups", "last row", "file"],
)
def test_rows_are_read_from_the_row_groups_of_a_file(table: Table, begin: int, end: int | None) -> None:
    rows = range(table.manifest.rows)[begin:end]
    columns = RowReader(table.parquet).read(("board", "line"), rows.start, rows.stop)
    assert columns.column_names == ["board", "line"]
    assert columns.column("board").to_pylist() == table.array("boards")[begin:end].tolist()


def test_broken_file_is_named(table: Table, tmp_path: Path) -> None:
    broken = tmp_path / "table.parquet"
    content = table.parquet.read_bytes()
    broken.write_bytes(content[:1000])
    with pytest.raises(CorruptFileError, match=f"expected a readable Parquet file in {broken}"):
        RowReader(broken)
    broken.write_bytes(content[:4] + bytes(2000) + content[2004:])
    with pytest.raises(CorruptFileError, match=f"expected a readable Parquet file in {broken}"):
        RowReader(broken).read(("board", "line", "win"), 0, 10)


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
    batch = numpy_rows[100:164]
    assert np.array_equal(batch["board"], table.array("boards")[100:164])
    assert np.array_equal(np.stack([batch[name] for name in CHANCES], axis=1), table.array("chances")[100:164])
    streamed = datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)
    first = next(iter(streamed))
    assert first["board"] == table.array("boards")[0].tolist()
    assert first["position_id"].isascii()
