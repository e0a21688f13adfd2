"""Readers that know nothing of bgdata: they find the right rows and splits, in the folder and on a web server."""

from __future__ import annotations

import json
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

CONFIG = "selfplay_labels"


def row_counts(folder: Path) -> dict[str, dict[str, int]]:
    """Rows by config and split, from the files alone."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(folder.glob("data/*/*.parquet")):
        split = found.setdefault(path.parent.name, {})
        name = path.name.split("-")[0]
        split[name] = split.get(name, 0) + pq.read_metadata(path).num_rows
    return found


def split_config(folder: Path) -> str:
    """A config with several splits."""
    return next(name for name in row_counts(folder) if name.startswith(f"{CONFIG}-"))


def test_card_names_every_table_and_split(published: Path) -> None:
    """The YAML of README.md lists every configuration and split, with patterns that match its files."""
    yaml = pytest.importorskip("yaml")
    front = yaml.safe_load((published / "README.md").read_text().split("---\n")[1])
    assert front["license"] == "cc0-1.0"
    assert front["pretty_name"] == "Backgammon tables"
    assert 100_000 < sum(sum(splits.values()) for splits in row_counts(published).values()) < 1_000_000
    assert front["size_categories"] == ["100K<n<1M"]
    found = {
        entry["config_name"]: {
            each["split"]: sum(pq.read_metadata(path).num_rows for path in published.glob(each["path"]))
            for each in entry["data_files"]
        }
        for entry in front["configs"]
    }
    assert found == row_counts(published)


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
        streamed = datasets.load_dataset(str(published), config, streaming=True)
        assert {name: sum(1 for _ in rows) for name, rows in streamed.items()} == expected
    rows = datasets.load_dataset(str(published), split_config(published), split="train", cache_dir=str(tmp_path))
    assert len(rows[0]["board"]) == 26


def test_pandas_and_polars_read_splits(published: Path) -> None:
    """pandas and Polars read every split with all its rows, and boards as arrays of 26."""
    import pandas as pd
    import polars as pl

    config = split_config(published)
    for split, expected in row_counts(published)[config].items():
        files = sorted((published / "data" / config).glob(f"{split}-*.parquet"))
        frame = pd.concat([pd.read_parquet(path) for path in files])
        assert len(frame) == expected
        assert set(frame["split"]) == {split}
        rows = pl.read_parquet(published / "data" / config / f"{split}-*.parquet")
        assert rows.height == expected
        assert rows["board"].dtype == pl.Array(pl.Int8, 26)


def test_duckdb_reads_the_folder_and_a_web_server(published: Path, published_address: str) -> None:
    config = split_config(published)
    expected = row_counts(published)[config]["train"]
    query = "select count(*), count(distinct game) from read_parquet(?)"
    with duckdb.connect() as connection:
        local = connection.execute(query, [f"{published}/data/{config}/train-*.parquet"]).fetchall()
        assert local[0][0] == expected
        connection.register_filesystem(web_files())
        where = f"{published_address}/data/{config}/train-00000-of-00001.parquet"
        assert connection.execute(query, [where]).fetchall() == local


def web_files() -> Any:
    """Files of web servers for DuckDB, whose own extension needs to be downloaded."""
    pytest.importorskip("aiohttp")
    http = pytest.importorskip("fsspec.implementations.http")

    class Dated(http.HTTPFileSystem):  # type: ignore[name-defined,misc]
        """With the time that DuckDB asks for."""

        def modified(self, _: str) -> datetime:
            return datetime(2026, 1, 1, tzinfo=UTC)

    return Dated(skip_instance_cache=True)


def test_web_server_gives_parts_of_files(published_address: str) -> None:
    """The web server of these tests answers range requests, which readers of Parquet need for the end of a file."""
    whole = fetch(f"{published_address}/datapackage.json")
    package = json.loads(whole)
    resource = package["resources"][0]
    request = urllib.request.Request(f"{published_address}/{resource['path']}", headers={"Range": "bytes=-4"})
    with urllib.request.urlopen(request) as answer:
        assert (answer.status, answer.read()) == (206, b"PAR1")


def fetch(where: str) -> Any:
    """The bytes at an address."""
    with urllib.request.urlopen(where) as answer:
        return answer.read()
