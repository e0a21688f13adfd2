"""Labels from Parquet: by the feed the same batches, and by other people's programs the same numbers without ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CorruptFileError
from bgdata.formats.gnubg_training import format_gnubg_training
from bgdata.formats.lines import write_bytes
from bgdata.store.parquet import RowReader
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.training.labels import sample_boards, sample_chances

CHANCES = ["win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon"]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A file of gnubg's, imported, in more than one row group."""
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
    """Chances that any position may have."""
    return sample_chances(len(boards)) * np.array([1, 0, 0, 0, 0], np.float32)


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    found = warehouse.open("gnubg_training", "contact-train-data")
    assert found.manifest.rows > 2000
    return found


def test_batches_from_parquet_are_those_of_the_mapped_arrays(warehouse: Warehouse) -> None:
    options: dict[str, Any] = {"seed": 1, "batch_size": 300, "features": "tesauro-196"}
    mapped, read = (warehouse.batches("gnubg_training", **options, from_parquet=on) for on in (False, True))
    for one, other in zip(mapped, read, strict=True):
        assert all(np.array_equal(getattr(one, name), values) for name, values in other._asdict().items())


def test_rows_are_read_from_the_groups_that_hold_them(table: Table) -> None:
    reader, boards, rows = RowReader(table.parquet), table.array("boards"), table.manifest.rows
    for begin, end in ((0, 700), (0, 1), (699, 701), (700, 1400), (5, 1999), (rows - 1, rows), (0, rows)):
        found = reader.read(("board", "line"), begin, end)
        assert found.column_names == ["board", "line"]
        assert found.column("board").to_pylist() == boards[begin:end].tolist()


def test_a_broken_file_is_named(table: Table, tmp_path: Path) -> None:
    broken = tmp_path / "table.parquet"
    whole = table.parquet.read_bytes()
    broken.write_bytes(whole[:1000])
    with pytest.raises(CorruptFileError, match=f"expected a readable Parquet file in {broken}"):
        RowReader(broken)
    broken.write_bytes(whole[:4] + bytes(2000) + whole[2004:])
    with pytest.raises(CorruptFileError, match=f"expected a readable Parquet file in {broken}"):
        RowReader(broken).read(("board", "line", "win"), 0, 10)


# as the README shows it


def test_pandas_reads_it(table: Table) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(table.parquet, columns=["board", *CHANCES])
    assert np.array_equal(np.stack(frame["board"].to_numpy()), table.array("boards"))
    assert np.array_equal(frame[CHANCES].to_numpy(), table.array("chances"))


def test_polars_reads_it(table: Table) -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.scan_parquet(table.parquet).filter(polars.col("win") > 0.5)
    frame = lazy.select(polars.col("board").list.to_array(26), *CHANCES).collect()
    chances = table.array("chances")
    is_ahead = chances[:, 0] > 0.5
    assert 0 < is_ahead.sum() < len(chances)
    assert np.array_equal(frame["board"].to_numpy(), table.array("boards")[is_ahead])
    assert np.array_equal(frame.select(CHANCES).to_numpy(), chances[is_ahead])


def test_hugging_face_datasets_reads_it(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
