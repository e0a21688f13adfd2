"""Readers that know nothing of bgdata: they find the right rows and splits, in the folder and on a web server."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest


def row_counts(folder: Path) -> dict[str, dict[str, int]]:
    """Numbers of rows by config and split, from the files alone."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(folder.glob("data/*/*.parquet")):
        split, _, _ = path.name.partition("-")
        counts[path.parent.name][split] += pq.read_metadata(path).num_rows
    return {config: dict(splits) for config, splits in counts.items()}


def labels_config(folder: Path) -> str:
    """The config of self-play labels, which has several splits."""
    return next(name for name in row_counts(folder) if name.startswith("selfplay_labels-"))


def test_card_names_every_table_and_split(published: Path) -> None:
    """The YAML of README.md lists every configuration and split, with patterns that match its files."""
    yaml = pytest.importorskip("yaml")
    counts = row_counts(published)
    card = yaml.safe_load((published / "README.md").read_text().split("---\n")[1])
    assert card["license"] == "cc0-1.0"
    assert card["pretty_name"] == "Backgammon tables"
    assert 100_000 < sum(sum(splits.values()) for splits in counts.values()) < 1_000_000
    assert card["size_categories"] == ["100K<n<1M"]
    assert {config["config_name"] for config in card["configs"]} == counts.keys()
    for config in card["configs"]:
        expected = counts[config["config_name"]]
        assert {entry["split"] for entry in config["data_files"]} == expected.keys()
        for entry in config["data_files"]:
            paths = published.glob(entry["path"])
            assert sum(pq.read_metadata(path).num_rows for path in paths) == expected[entry["split"]]


@pytest.mark.slow
def test_datasets_loads_every_config(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package `datasets` loads and streams every configuration of a published folder without a network."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    assert set(datasets.get_dataset_config_names(str(published))) == set(row_counts(published))
    for config, expected in row_counts(published).items():
        loaded = datasets.load_dataset(str(published), config, cache_dir=str(tmp_path))
        assert {name: len(rows) for name, rows in loaded.items()} == expected
        for name, rows in datasets.load_dataset(str(published), config, streaming=True).items():
            batches = rows.with_format("arrow").iter(batch_size=10_000)
            assert sum(len(batch) for batch in batches) == expected[name]
    rows = datasets.load_dataset(str(published), labels_config(published), split="train", cache_dir=str(tmp_path))
    assert len(rows[0]["board"]) == 26


def test_pandas_and_polars_read_splits(published: Path) -> None:
    """pandas and Polars read every split with all its rows, and boards as arrays of 26."""
    import pandas as pd
    import polars as pl

    config = labels_config(published)
    for split, expected in row_counts(published)[config].items():
        files = sorted((published / "data" / config).glob(f"{split}-*.parquet"))
        frame = pd.concat([pd.read_parquet(path) for path in files])
        assert len(frame) == expected
        assert set(frame["split"]) == {split}
        rows = pl.read_parquet(published / "data" / config / f"{split}-*.parquet")
        assert rows.height == expected
        assert rows["board"].dtype == pl.Array(pl.Int8, 26)


def test_duckdb_reads_the_folder_and_a_web_server(published: Path, published_address: str) -> None:
    config = labels_config(published)
    expected = row_counts(published)[config]["train"]
    query = "select count(*), count(distinct game) from read_parquet(?)"
    address = f"{published_address}/data/{config}/train-00000-of-00001.parquet"
    with duckdb.connect() as connection:
        (counts,) = connection.execute(query, [f"{published}/data/{config}/train-*.parquet"]).fetchall()
        assert counts[0] == expected
        connection.register_filesystem(web_files())
        assert connection.execute(query, [address]).fetchall() == [counts]


def web_files() -> Any:
    """Files of web servers for DuckDB, whose own extension needs to be downloaded."""
    pytest.importorskip("aiohttp")
    http = pytest.importorskip("fsspec.implementations.http")

    class DatedFileSystem(http.HTTPFileSystem):  # type: ignore[name-defined,misc]
        """With the time that DuckDB asks for."""

        def modified(self, _: str) -> datetime:
            return datetime(2026, 1, 1, tzinfo=UTC)

    return DatedFileSystem(skip_instance_cache=True)
