"""`bgdata verify DIR` proves a published folder, and `bgdata pull DIR` makes a warehouse of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.publishing.contents import read_contents
from bgdata.publishing.proof import verify_published
from bgdata.store.progress import Silence
from bgdata.store.storage import sha256_file
from bgdata.store.verify import Status
from tests.command_line import error_of, output_of, run


@pytest.fixture
def copied(published: Path, tmp_path: Path) -> Path:
    """A copy of the published folder, to be damaged."""
    return Path(shutil.copytree(published, tmp_path / "copied"))


def failures(folder: Path) -> list[str]:
    """The errors that `verify` finds."""
    findings = verify_published(folder, bgdata.all_kinds(), Silence())
    return [finding.text for finding in findings if finding.status is Status.FAILED]


def list_again(folder: Path, name: str) -> None:
    """Put the hash and size of a changed file into both lists, as a forger would."""
    listing = json.loads((folder / "published.json").read_text())
    for version in listing["versions"]:
        for table in version["tables"]:
            for split in table["splits"]:
                for file in split["files"]:
                    if file["name"] == name:
                        file |= {"sha256": sha256_file(folder / name), "bytes": (folder / name).stat().st_size}
    write_listing(folder, listing)


def write_listing(folder: Path, listing: Any) -> None:
    """Write a changed list, and the hashes of all files."""
    (folder / "published.json").write_text(json.dumps(listing))
    names = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    lines = [f"{sha256_file(folder / name)}  {name}\n" for name in names if (folder / name).exists()]
    (folder / "SHA256SUMS").write_text("".join(lines))


def test_published_folder_is_verified_without_a_warehouse(published: Path, tmp_path: Path) -> None:
    output = output_of(tmp_path / "none", "verify", published)
    versions = read_contents(published).versions
    assert output.count("all rows equal the arrays") == len(versions)
    assert "0 failed" in output
    rows = json.loads(output_of(tmp_path / "none", "verify", published, "--format", "json"))
    assert {row["status"] for row in rows} == {"passed", "skipped"}
    assert {row["check"] for row in rows if row["status"] == "skipped"} == {"splits"}


def test_damaged_and_missing_files_are_found(copied: Path) -> None:
    shard = next(copied.glob("data/selfplay_labels-*/*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"X")
    assert "expected SHA-256" in failures(copied)[0]
    shard.unlink()
    assert "is missing" in failures(copied)[0]
    (copied / "SHA256SUMS").unlink()
    assert "found no such file" in failures(copied)[0]


def test_file_that_is_not_listed_is_found(copied: Path) -> None:
    (copied / "data" / "more.parquet").write_bytes(b"")
    assert "more.parquet is not listed" in failures(copied)[0]


def test_changed_value_with_right_hashes_is_found(copied: Path) -> None:
    """By the digest of the version."""
    shard = next(copied.glob("data/selfplay_labels-*/train-*.parquet"))
    rows = pq.read_table(shard)
    column = rows.schema.get_field_index("win")
    wins = rows["win"].to_numpy().copy()
    wins[0] = np.float32(1) - wins[0]
    pq.write_table(rows.set_column(column, rows.schema.field(column), [wins]), shard)
    list_again(copied, shard.relative_to(copied).as_posix())
    assert any("expected the digest" in text for text in failures(copied))


def test_swapped_splits_are_found(copied: Path) -> None:
    """A game that has rows in both train and test is found, even if the hashes of the files were made to fit."""
    train = next(copied.glob("data/selfplay_turns-*/train-*.parquet"))
    test = next(copied.glob("data/selfplay_turns-*/test-*.parquet"))
    rows = pq.read_table(test)
    pq.write_table(pq.read_table(train).slice(0, len(rows)), test)
    list_again(copied, test.relative_to(copied).as_posix())
    assert any("in one split" in text or "rows in" in text for text in failures(copied))


def test_missing_split_is_found(copied: Path) -> None:
    listing = json.loads((copied / "published.json").read_text())
    version = next(version for version in listing["versions"] if version["name"].startswith("selfplay_labels/"))
    removed = version["tables"][0]["splits"].pop()
    for file in removed["files"]:
        (copied / file["name"]).unlink()
    write_listing(copied, listing)
    assert any("rows of selfplay_labels" in text for text in failures(copied))


def test_lists_with_wrong_paths_are_refused(copied: Path, tmp_path: Path) -> None:
    text = (copied / "published.json").read_text()
    (copied / "published.json").write_text(text.replace('"data/', '"data/../../', 1))
    assert "expected the list of a published folder" in error_of(run(tmp_path / "none", "verify", copied), 1)
    (copied / "published.json").write_text(text.replace('"format": 1', '"format": 2'))
    assert "upgrade bgdata" in error_of(run(tmp_path / "none", "verify", copied), 1)
    (copied / "published.json").unlink()
    assert "expected a published folder" in error_of(run(tmp_path / "none", "verify", copied), 1)
    assert "no --sample" in error_of(run(tmp_path / "none", "verify", copied, "--sample", "3"), 2)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    error = error_of(run(tmp_path, "verify", tmp_path / "none"), 1)
    assert f"expected a published folder with published.json, got {tmp_path}" in error


def test_pull_makes_a_warehouse_with_the_same_digests(published: Path, small_root: Path, tmp_path: Path) -> None:
    """Pulling a published folder makes a warehouse whose versions have the same digests and arrays as the original."""
    output_of(tmp_path / "mine", "pull", published)
    mine = bgdata.open_warehouse(tmp_path / "mine")
    original = bgdata.open_warehouse(small_root)
    names = {version.name for version in read_contents(published).versions}
    assert {table.name for table in mine.versions()} == names
    for name in names:
        pulled = mine.open_reference(name)
        expected = original.open_reference(name)
        assert pulled.manifest.digest == expected.manifest.digest
        for array, values in expected.arrays().items():
            np.testing.assert_array_equal(np.asarray(pulled.array(array)), np.asarray(values))
        assert mine.open_reference(name.rpartition("/")[0]).name == name, "it is the current version"
    assert "0 failed" in output_of(tmp_path / "mine", "verify", "bearoff_two_sided")
    assert "0 versions, 0 files" in output_of(tmp_path / "mine", "pull", published)


def test_folder_is_pulled_from_a_web_server(published_address: str, published: Path, tmp_path: Path) -> None:
    command = ("pull", published_address, "selfplay_labels", "bearoff_two_sided")
    assert "would pull" in output_of(tmp_path / "mine", *command, "--dry-run")
    output_of(tmp_path / "mine", *command)
    mine = bgdata.open_warehouse(tmp_path / "mine")
    names = {version.name for version in read_contents(published).versions}
    expected = {name for name in names if name.startswith(("selfplay_labels/", "bearoff_two_sided/"))}
    assert {table.name for table in mine.versions()} == expected
    with mine.connect() as connection:
        assert connection.sql("select count(*) from selfplay_labels").fetchall()[0][0] > 0
    assert "no hypergammon" in error_of(run(tmp_path / "mine", "pull", published_address, "hypergammon"), 1)


def test_damaged_files_are_not_pulled(copied: Path, tmp_path: Path) -> None:
    shard = next(copied.glob("data/bearoff_two_sided-3x3/*.parquet"))
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    assert "expected SHA-256" in error_of(run(tmp_path / "mine", "pull", copied, "bearoff_two_sided/3x3"), 1)
    assert not list(bgdata.open_warehouse(tmp_path / "mine").versions())
