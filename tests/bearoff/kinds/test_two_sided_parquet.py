"""Two-sided tables as Parquet parts, which contain the rows of the table; a stopped run resumes."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds import bearoff_two_sided
from bgdata.bearoff.kinds import bearoff_two_sided_compute as computation
from bgdata.bearoff.kinds.bearoff_two_sided import DATASET, TwoSidedParameters
from bgdata.bearoff.kinds.shared import two_sided_parquet
from bgdata.bearoff.kinds.shared.two_sided_parquet import parts_of, write_parts
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import DigestMismatchError, StorageError, TooLargeError, UsageError
from bgdata.store.dataset import Computed
from bgdata.store.parquet import without_dictionaries, write_parquet
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from tests.store.toy import Notes

SIZE = TwoSidedParameters(4, 5)
ROWS = layout_count(4, 5) ** 2


@pytest.fixture
def make(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., TwoSidedTable]:
    """Build a table of 4x5; `large` tables have codes and row hashes, and no Parquet of their own."""

    def build_table(*, large: bool) -> TwoSidedTable:
        warehouse = bgdata.open_warehouse(memory_path / f"large-{large}")
        with monkeypatch.context() as patch:
            if large:
                patch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 0)
                patch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
            return TwoSidedTable(warehouse.build("bearoff_two_sided", SIZE))

    return build_table


@pytest.fixture
def table(make: Callable[..., TwoSidedTable]) -> TwoSidedTable:
    return make(large=True)


@pytest.fixture
def folder(memory_path: Path) -> Path:
    return memory_path / "parts"


def files(folder: Path) -> dict[str, int]:
    """The files of a folder with their modification times."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.rglob("[!.]*") if path.is_file()
    }


def read(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """The result of a query on the table `parts` in plain DuckDB."""
    source = f"read_parquet('{folder}/*/*.parquet', hive_partitioning = true)"
    with duckdb.connect() as connection:
        return connection.sql(sql.replace("parts", source)).fetchall()


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (4, 5), (6, 9), (6, 15)])
def test_parts_partition_players_on_roll_by_checkers(size: tuple[int, int]) -> None:
    parts = parts_of(*size)
    assert [0, *(part.end for part in parts)] == [*(part.begin for part in parts), layout_count(*size)]
    checkers = all_layouts(*size).sum(axis=1)
    for part in parts:
        (on_roll_checkers,) = np.unique(checkers[part.begin : part.end])
        assert part.path.parent == Path(f"on_roll_checkers={on_roll_checkers}")
        assert (part.end - part.begin) * layout_count(*size) <= two_sided_parquet.PART_ROWS
    assert len({part.path for part in parts}) == len(parts)


@pytest.mark.parametrize("large", [False, True])
def test_parts_have_the_rows_of_the_table(make: Callable[..., TwoSidedTable], folder: Path, large: bool) -> None:
    """The parts together have exactly the rows of the table, and the version does not change."""
    table = make(large=large)
    files_before = {path.name: path.read_bytes() for path in table.table.folder.iterdir()}
    notes = Notes()
    assert write_parts(table, folder, notes) == 6
    assert notes.total == ROWS
    assert notes.done == ROWS
    assert sorted(files(folder)) == [f"on_roll_checkers={n}/part-0.parquet" for n in range(6)]
    written = pa.concat_tables([pq.ParquetFile(folder / part.path).read() for part in parts_of(4, 5)])
    expected = DATASET.computation.batches(Computed(SIZE, table.table.arrays()))
    assert written.equals(without_dictionaries(pa.Table.from_batches(expected)))
    assert {path.name: path.read_bytes() for path in table.table.folder.iterdir()} == files_before


def test_parts_have_the_columns_of_a_small_table(make: Callable[..., TwoSidedTable], folder: Path) -> None:
    table = make(large=False)
    write_parts(table, folder, Silence())
    written = pq.read_schema(folder / "on_roll_checkers=3" / "part-0.parquet")
    assert written.equals(pq.read_schema(table.table.parquet), check_metadata=True)
    assert written.field("centered").metadata[b"unit"] == b"points per unit cube"
    assert written.metadata[b"bgdata.version"].decode() == table.table.folder.name


def test_duckdb_reads_parts_as_one_table(table: TwoSidedTable, folder: Path) -> None:
    write_parts(table, folder, Silence())
    checkers = all_layouts(4, 5).sum(axis=1)
    counts = read(folder, "select on_roll_checkers, count(*) from parts group by all order by all")
    assert counts == [(n, int((checkers == n).sum()) * len(checkers)) for n in range(6)]
    rows = np.array(read(folder, "select * from parts order by on_roll_index, opponent_index"))
    on_roll, opponent, equities, on_roll_checkers = rows[:, 0], rows[:, 1], rows[:, 2:6], rows[:, 6]
    assert (on_roll == np.repeat(np.arange(len(checkers)), len(checkers))).all()
    assert (opponent == np.tile(np.arange(len(checkers)), len(checkers))).all()
    assert (on_roll_checkers == checkers[on_roll.astype(int)]).all()
    assert equities == pytest.approx(table.decode(table.stored).reshape(-1, 4), abs=1e-6)


def test_filter_on_checkers_opens_one_folder(table: TwoSidedTable, folder: Path) -> None:
    write_parts(table, folder, Silence())
    ((_, plan),) = read(folder, "explain analyze select avg(owned) from parts where on_roll_checkers = 2")
    assert "Scanning Files: 1/6" in plan


def test_partition_may_have_several_parts(table: TwoSidedTable, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_sided_parquet, "PART_ROWS", 10 * len(table.stored) + 5)
    monkeypatch.setattr(computation, "ROUNDED_GROUP_ROWS", 3 * len(table.stored))
    assert write_parts(table, folder, Silence()) == 1 + 1 + 1 + 2 + 4 + 6
    assert read(folder, "select count(*), count(distinct (on_roll_index, opponent_index)) from parts") == [(ROWS, ROWS)]
    part = pq.ParquetFile(folder / "on_roll_checkers=5" / "part-1.parquet").metadata
    assert [part.row_group(n).num_rows // len(table.stored) for n in range(part.num_row_groups)] == [3, 3, 3, 1]


def stop_after(monkeypatch: pytest.MonkeyPatch, count: int, error: BaseException) -> None:
    """Make writing raise after `count` batches."""
    write_batch = pq.ParquetWriter.write_batch
    n_batches = 0

    def write_until_stopped(self: Any, *arguments: Any, **options: Any) -> None:
        nonlocal n_batches
        n_batches += 1
        if n_batches > count:
            raise error
        write_batch(self, *arguments, **options)

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", write_until_stopped)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_stopped_run_resumes_after_written_parts(
    table: TwoSidedTable, folder: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A run that was stopped leaves whole parts, and the next run writes only the missing ones."""
    with monkeypatch.context() as patch:
        stop_after(patch, count, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            write_parts(table, folder, Silence())
    whole_parts = files(folder)
    assert len(whole_parts) == count
    remains_of_a_kill = folder / "on_roll_checkers=5" / ".part-0.parquet.partial"
    remains_of_a_kill.parent.mkdir(exist_ok=True)
    remains_of_a_kill.write_bytes(b"half")
    notes = Notes()
    assert write_parts(table, folder, notes) == 6 - count
    assert whole_parts.items() <= files(folder).items(), "written once"
    written_rows = sum(part.end - part.begin for part in parts_of(4, 5)[:count]) * len(table.stored)
    assert notes.done == notes.total == ROWS - written_rows
    assert len(files(folder)) == 6
    assert read(folder, "select count(*) from parts") == [(ROWS,)]
    assert write_parts(table, folder, Silence()) == 0


def test_full_disk_is_reported(table: TwoSidedTable, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(monkeypatch, 3, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(StorageError, match=r"cannot write .*on_roll_checkers=3.*: the disk is full; .* parts are kept"):
        write_parts(table, folder, Silence())
    assert len(files(folder)) == 3


def test_too_little_disk_space_is_refused(table: TwoSidedTable, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parts(table, folder, Silence())
    (folder / "on_roll_checkers=5" / "part-0.parquet").unlink()
    n_rows = (layout_count(4, 5) - layout_count(4, 4)) * layout_count(4, 5)
    needed_bytes = 10 * n_rows
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed_bytes - 100))
    with pytest.raises(TooLargeError, match=f"kB of free disk space for the Parquet of .* in {folder}; choose"):
        write_parts(table, folder, Silence())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed_bytes + 100))
    assert write_parts(table, folder, Silence()) == 1


def test_estimate_bounds_the_size_of_a_row_group(folder: Path) -> None:
    """The estimate is at least the size of a row group of random codes, which do not compress."""
    stored = np.random.default_rng(1).integers(0, 1 << 16, (701, 701, 4)).astype(np.uint16)
    bare: Any = SimpleNamespace(manifest=SimpleNamespace(files=[]))
    worst: Any = SimpleNamespace(stored=stored, checkers=15, is_rounded=True, table=bare)
    folder.mkdir()
    batches = two_sided_parquet.checked_batches(worst, 0, len(stored))
    rows = write_parquet(folder / "worst.parquet", batches, DATASET.tables[0], {}, Silence())
    assert pq.read_metadata(folder / "worst.parquet").num_row_groups == 1
    assert 9 * rows < (folder / "worst.parquet").stat().st_size < two_sided_parquet.ROW_BYTES[2] * rows


def truncate(folder: Path) -> Path:
    path = folder / "on_roll_checkers=3" / "part-0.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    return path


def add_a_part(folder: Path) -> Path:
    path = folder / "on_roll_checkers=3" / "part-0.parquet"
    return Path(shutil.copyfile(path, path.with_name("part-1.parquet")))


def add_a_file(folder: Path) -> Path:
    return Path(shutil.copyfile(folder / "on_roll_checkers=3" / "part-0.parquet", folder / "all.parquet"))


def replace_by_another_part(folder: Path) -> Path:
    path = folder / "on_roll_checkers=3" / "part-0.parquet"
    return Path(shutil.copyfile(folder / "on_roll_checkers=2" / "part-0.parquet", path))


@pytest.mark.parametrize("change", [truncate, add_a_part, add_a_file, replace_by_another_part])
def test_foreign_parquet_files_are_refused(table: TwoSidedTable, folder: Path, change: Callable[[Path], Path]) -> None:
    write_parts(table, folder, Silence())
    foreign = change(folder)
    files_before = files(folder)
    message = f"expected no Parquet but that of {table.table.name} in .*: .*{foreign.name}; delete it"
    with pytest.raises(UsageError, match=message):
        write_parts(table, folder, Silence())
    assert files(folder) == files_before


def test_parts_of_another_version_are_refused(make: Callable[..., TwoSidedTable], folder: Path) -> None:
    write_parts(make(large=False), folder, Silence())
    with pytest.raises(UsageError, match=r"found another file: on_roll_checkers=0/part-0\.parquet"):
        write_parts(make(large=True), folder, Silence())


def test_damaged_row_is_not_written(table: TwoSidedTable, folder: Path) -> None:
    path = table.table.folder / "equities.npy"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.unlink()
    path.write_bytes(data)
    last = len(table.stored) - 1
    with pytest.raises(DigestMismatchError, match=f"expected row {last} of .* found it damaged; try: bgdata verify"):
        write_parts(TwoSidedTable(Table(table.table.folder)), folder, Silence())
    assert "on_roll_checkers=5/part-0.parquet" not in files(folder)
