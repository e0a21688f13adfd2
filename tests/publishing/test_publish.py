"""`bgdata publish`: what is in a published folder, for readers who know nothing of bgdata."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.publishing import publish
from bgdata.publishing.contents import read_contents
from bgdata.publishing.shards import GROUP_BYTES, GROUP_ROWS, Source, write_splits
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.dataset import Column, TableShape
from bgdata.store.progress import Silence
from tests.command_line import error_of, output_of, run
from tests.publishing.conftest import KINDS


@pytest.mark.slow
def test_folder_has_every_table_or_a_reason(small_root: Path, tmp_path: Path) -> None:
    published = tmp_path / "out"
    publish(bgdata.open_warehouse(small_root), published)
    contents = read_contents(published)
    versions = {version.name for version in contents.versions}
    current = {table.name for table in bgdata.open_warehouse(small_root).current()}
    assert versions | set(contents.left_out) == current
    assert not versions & set(contents.left_out)
    assert len(versions) > 20


def test_published_rows_equal_those_of_the_warehouse(published: Path, small_root: Path) -> None:
    """The rows of all splits of a published table together are those of the table in the warehouse."""
    warehouse = bgdata.open_warehouse(small_root)
    for version in read_contents(published).versions:
        table = warehouse.open_reference(version.name)
        files = {shape.name: shape.file for shape in warehouse.kind(table.manifest.dataset).tables}
        for published_table in version.tables:
            expected = rows_of(table.check_files(files[published_table.table]))
            rows = rows_of(published / file.name for file in published_table.files)
            assert rows == expected, published_table.config
            assert published_table.rows == len(expected)


def rows_of(paths: Iterable[Path]) -> list[str]:
    """The rows of Parquet files as texts, in order of the texts."""
    return sorted(repr(row) for path in paths for row in pq.read_table(path).to_pylist())


def test_published_columns_have_common_types(published: Path) -> None:
    """Published files have types that every reader of Parquet knows: strings without dictionaries, boards as lists of a
    fixed length, no unsigned 64-bit integers and no 16-bit floats; and row groups that fit into memory."""
    for path in published.rglob("data/**/*.parquet"):
        schema = pq.read_schema(path)
        for field in schema:
            value = field.type.value_type if pa.types.is_nested(field.type) else field.type
            assert not pa.types.is_dictionary(field.type), (path, field)
            assert value not in (pa.uint64(), pa.float16()), (path, field)
            if field.name == "board":
                assert field.type == pa.list_(pa.int8(), 26), path
            assert field.metadata[b"meaning"]
        metadata = pq.read_metadata(path)
        for number in range(metadata.num_row_groups):
            assert metadata.row_group(number).total_byte_size < 100_000_000
    assert GROUP_BYTES < 100_000_000


def test_each_game_is_in_one_split(published: Path) -> None:
    """No game has rows in two splits of a published table."""
    checked_tables = 0
    for version in read_contents(published).versions:
        manifest = json.loads((published / version.folder / "manifest.json").read_text())
        for table in version.tables:
            has_games = "game" in pq.read_schema(published / table.files[0].name).names
            if len(table.splits) > 1 and has_games and "seed" in manifest["parameters"]:
                checked_tables += 1
                games_of_splits = [
                    {game for file in split.files for game in pq.read_table(published / file.name)["game"].to_pylist()}
                    for split in table.splits
                ]
                assert sum(map(len, games_of_splits)) == len(set.union(*games_of_splits)), table.config
    assert checked_tables


def test_splits_of_self_play_equal_those_of_its_labels(tmp_path: Path, small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    contents = publish(warehouse, tmp_path / "out", ["selfplay"])
    seed = next(warehouse.current("selfplay")).manifest.parameters["seed"]
    for table in contents.tables:
        for split in table.splits:
            for file in split.files:
                games = pq.read_table(tmp_path / "out" / file.name)["game"].to_numpy()
                expected = np.array(SPLITS)[splits_of_games(seed, games)]
                assert set(expected) == {split.name}


def test_sha256sums_lists_every_file(published: Path) -> None:
    command = ["sha256sum", "-c", "--quiet", "SHA256SUMS"]
    result = subprocess.run(command, cwd=published, capture_output=True, text=True, check=True)
    assert result.stdout == ""
    listed = {line.split("  ", 1)[1] for line in (published / "SHA256SUMS").read_text().splitlines()}
    files = {path.relative_to(published).as_posix() for path in published.rglob("*") if path.is_file()}
    assert files - listed == {"SHA256SUMS"}


def file_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of all files by name."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_second_run_writes_the_same_bytes(small_root: Path, tmp_path: Path, published: Path) -> None:
    """Publishing into another folder gives the same bytes; publishing into the same folder again writes no table."""
    publish(bgdata.open_warehouse(small_root), tmp_path / "again", KINDS)
    assert file_hashes(tmp_path / "again") == file_hashes(published)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "again" / "data").rglob("*.parquet")}
    publish(bgdata.open_warehouse(small_root), tmp_path / "again", KINDS)
    assert file_hashes(tmp_path / "again") == file_hashes(published)
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_fewer_tables_replace_more(small_root: Path, tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    folder = tmp_path / "out"
    publish(warehouse, folder, ["bearoff_gammon", "match_equity"])
    publish(warehouse, folder, ["match_equity"])
    publish(warehouse, tmp_path / "other", ["match_equity"])
    assert file_hashes(folder) == file_hashes(tmp_path / "other")


def test_folder_in_use_is_refused(small_root: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    error = error_of(run(small_root, "publish", tmp_path, "bearoff_gammon"), 2)
    assert "expected an empty folder" in error
    assert "notes.txt" in error
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    error = error_of(run(small_root, "publish", tmp_path / "notes.txt"), 2)
    assert "expected a folder to publish into" in error


@pytest.mark.parametrize("title", ["", " ", "two\nlines"])
def test_title_is_one_line(small_root: Path, tmp_path: Path, title: str) -> None:
    error = error_of(run(small_root, "publish", tmp_path / "out", "match_equity", "--title", title), 2)
    assert error == f"expected a title of one line, got {title!r}"
    assert not (tmp_path / "out").exists()


def test_unknown_kinds_and_variants_are_refused(small_root: Path, tmp_path: Path) -> None:
    assert "expected a kind" in error_of(run(small_root, "publish", tmp_path / "out", "bearof_gammon"), 2)
    assert "no bearoff_gammon/9x9" in error_of(run(small_root, "publish", tmp_path / "out", "bearoff_gammon/9x9"), 1)
    assert not (tmp_path / "out").exists()


def test_unlicensed_tables_are_left_out_with_a_reason(small_root: Path, tmp_path: Path) -> None:
    """A table whose licence does not allow publishing is left out, and README.md gives the reason; alone it is
    refused."""
    result = run(small_root, "publish", tmp_path / "out", "gnubg_training", "bearoff_gammon")
    assert result.exit_code == 0, result.output
    assert "left out gnubg_training/" in result.stderr
    assert "1 left out" in result.stderr
    card = (tmp_path / "out" / "README.md").read_text()
    assert "## Left out" in card
    assert "does not say that others may publish it: as published by the GNU Backgammon project" in card
    assert not list((tmp_path / "out").rglob("*gnubg_training*"))
    alone = run(small_root, "publish", tmp_path / "alone", "gnubg_training")
    assert alone.exit_code == 2
    assert "expected tables to publish, got none" in alone.stderr


def test_interrupted_call_resumes(small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted call leaves no list that marks the folder as complete, and the next call keeps the finished
    files."""
    warehouse = bgdata.open_warehouse(small_root)
    folder = tmp_path / "out"
    disk_full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    with monkeypatch.context() as patch:
        patch.setattr("bgdata.publishing.folder.describe", disk_full)
        with pytest.raises(OSError, match="No space left"):
            publish(warehouse, folder, ["bearoff_gammon", "match_equity"])
    assert not (folder / "published.json").exists()
    assert not (folder / "SHA256SUMS").exists()
    times = {path: path.stat().st_mtime_ns for path in (folder / "data").rglob("*.parquet")}
    assert times
    publish(warehouse, folder, ["bearoff_gammon", "match_equity"])
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert (folder / "published.json").exists()
    assert not (folder / ".publishing").exists()


def test_command_prints_tables(small_root: Path, tmp_path: Path) -> None:
    rows = json.loads(output_of(small_root, "publish", tmp_path / "out", "bearoff_gammon", "--format", "json"))
    assert [row["config"] for row in rows] == ["bearoff_gammon-3x15", "bearoff_gammon-6x15"]
    shutil.rmtree(tmp_path / "out")
    assert "bearoff_gammon-3x15" in output_of(small_root, "publish", tmp_path / "out", "bearoff_gammon")


def test_dictionaries_and_long_row_groups_of_the_source_are_kept(tmp_path: Path) -> None:
    """A column of numbers that has a dictionary in the original file keeps it, together with the long row groups;
    without any dictionary, row groups are shorter."""
    count = 2 * GROUP_ROWS
    columns = (
        Column("number", "INTEGER", "", "Number."),
        Column("equity", "FLOAT", "points", "Equity."),
        Column("luck", "FLOAT", "points", "Luck."),
    )
    shape = TableShape("pairs", "table.parquet", "Pairs.", columns, ("number",))
    few_values = np.arange(count, dtype=np.float32) % 512 / 512
    many_values = np.random.default_rng(1).random(count, dtype=np.float32)
    rows = pa.table({"number": np.arange(count, dtype=np.int32), "equity": few_values, "luck": many_values})
    source = tmp_path / "table.parquet"

    def publish_rows() -> Path:
        (split,) = write_splits(Source(shape, [source], ["train"]), tmp_path, "data", {}, Silence())
        return tmp_path / Path(split.files[0].name).name

    pq.write_table(rows, source, row_group_size=count, use_dictionary=["equity"])
    published = publish_rows()
    metadata = pq.read_metadata(published)
    number, equity, luck = (metadata.row_group(0).column(index).encodings for index in range(3))
    assert metadata.num_row_groups == 1
    assert "RLE_DICTIONARY" not in number
    assert "RLE_DICTIONARY" in equity
    assert "RLE_DICTIONARY" not in luck
    assert "BYTE_STREAM_SPLIT" in luck
    assert pq.read_table(published).equals(rows)

    pq.write_table(rows, source, row_group_size=count, use_dictionary=False)
    metadata = pq.read_metadata(publish_rows())
    assert metadata.num_row_groups == 2
    for index in range(3):
        assert "RLE_DICTIONARY" not in metadata.row_group(0).column(index).encodings


def test_explorer_has_pages_of_published_tables(small_root: Path, tmp_path: Path) -> None:
    """The explorer in a published folder has pages and links only for what was published."""
    output_of(small_root, "publish", tmp_path / "out", "match_equity/published-12", "--explorer")
    pages = {path.name for path in (tmp_path / "out" / "explorer").glob("*.html")}
    assert {"index.html", "match-equity-published-12.html"} <= pages
    assert not any(name.startswith("openings") for name in pages)
    assert "openings.html" not in (tmp_path / "out" / "explorer" / "index.html").read_text()
    assert "explorer/index.html\n" in (tmp_path / "out" / "SHA256SUMS").read_text()
    output_of(tmp_path / "none", "verify", tmp_path / "out")
