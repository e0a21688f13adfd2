"""Tests of publishing versions that were written before some of their columns were declared."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from bgdata.publishing.folder import publish_folder
from bgdata.store.progress import Silence
from tests.store.test_derived_columns import MoreSquares
from tests.store.toy import Count, Squares, toy_warehouse


def publish_squares(root: Path, folder: Path, squares: Squares) -> Path:
    """Build squares/9 as `squares` declares it, and publish it with all columns; returns the only data file."""
    toy_warehouse(root, squares=squares).build("squares", Count(9))
    publish_folder(toy_warehouse(root, squares=MoreSquares()), folder, [], "Squares", "Numbers.", Silence())
    (path,) = folder.glob("data/*/*.parquet")
    return path


def test_derived_columns_are_published_for_older_files(memory_path: Path) -> None:
    older = publish_squares(memory_path / "older", memory_path / "a", Squares())
    newer = publish_squares(memory_path / "newer", memory_path / "b", MoreSquares())
    rows = pq.read_table(older).to_pylist()
    assert [row["half"] for row in rows] == [number // 2 for number in range(9)]
    assert {row["title"] for row in rows} == {"squares/9"}
    assert older.read_bytes() == newer.read_bytes()
