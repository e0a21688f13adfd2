"""Steps of importing: files become checked versions, and leaked positions are counted."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import CheckFailedError, CorruptFileError, MissingFileError, UsageError
from bgdata.imports.steps import check_version, import_files, import_parameters, leakage_counts
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.formats.samples import BENCHMARK_ROWS
from tests.store.toy import Notes


@pytest.fixture
def empty(tmp_path: Path) -> Warehouse:
    """An empty warehouse."""
    return bgdata.open_warehouse(tmp_path / "warehouse")


def test_imported_file_is_checked(empty: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "mine.bm").write_bytes(BENCHMARK_ROWS)
    table = import_files(empty, "gnubg_benchmark", [tmp_path / "mine.bm"], Silence())
    assert table.manifest.variant == "mine"
    lines = check_version(empty, table.name, Silence())
    assert len(lines) > 3
    assert {line.rpartition(": ")[2] for line in lines} <= {"passed", "skipped"}
    assert import_files(empty, "gnubg_benchmark", [tmp_path / "mine.bm"], Silence()).folder == table.folder


def test_damaged_version_is_named(empty: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "mine.bm").write_bytes(BENCHMARK_ROWS)
    table = import_files(empty, "gnubg_benchmark", [tmp_path / "mine.bm"], Silence())
    path = table.folder / "decisions_boards.npy"
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckFailedError, match=rf"^{table.name}: "):
        check_version(empty, table.name, Silence())


def test_wrong_kinds_and_files_are_refused(empty: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a kind that is imported from files, got network"):
        import_parameters(empty, "network", [tmp_path])
    with pytest.raises(MissingFileError, match=r"expected a file in .*nothing, found none"):
        import_parameters(empty, "positions", [tmp_path / "nothing"])


LIST = b"4HPwATDgc/ABMA\n"
SMALL_MATCH = " 1 point match\n Game 1\n a : 0      b : 0\n  1) 31: 8/5 6/5\n      Wins 1 point\n"


def write_folder(folder: Path, contents: dict[str, bytes]) -> Path:
    """Write files, by path, into a folder."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def match_of(player: str) -> bytes:
    """A match of this player; an import leaves out matches that it has already."""
    return SMALL_MATCH.replace(" a :", f" {player} :").encode()


def file_names(table: Table) -> list[str]:
    return [file.name for file in table.manifest.raw_files]


def test_folder_is_imported_with_subfolders_as_one_variant(empty: Warehouse, tmp_path: Path) -> None:
    """Hidden files and files without matches are left out."""
    matches = {"a.mat": match_of("ann"), "sub/a.mat": match_of("bob"), "sub/deeper/b.TXT": match_of("cy")}
    others = {"notes.pdf": b"%PDF-1.4", ".hidden.mat": match_of("di"), ".git/x.mat": match_of("ed")}
    packed = {"c.sgf.gz": gzip.compress(match_of("flo"))}
    folder = write_folder(tmp_path / "My Matches", matches | others | packed)
    notes = Notes()
    table = import_files(empty, "matches", [folder], notes)
    assert (table.manifest.variant, table.manifest.rows) == ("my-matches", 4)
    assert file_names(table) == ["My Matches:a.mat", "sub:a.mat", "b.TXT", "c.sgf.gz"]
    assert f"{folder}: left out 1 of 5 files: not files with matches" in notes.texts


@pytest.mark.parametrize(("kind", "files"), [("matches", "files with matches"), ("positions", "a file")])
def test_empty_folder_is_refused(empty: Warehouse, tmp_path: Path, kind: str, files: str) -> None:
    with pytest.raises(MissingFileError, match=rf"^expected {files} in {tmp_path}, found none$"):
        import_files(empty, kind, [tmp_path], Silence(), name="x")


def test_packed_copies_beside_their_files_are_left_out(empty: Warehouse, tmp_path: Path) -> None:
    contents = {"a": LIST, "a.gz": gzip.compress(LIST), "b.gz": gzip.compress(LIST), "more/b": LIST}
    folder = write_folder(tmp_path / "lists", contents)
    notes = Notes()
    table = import_files(empty, "positions", [folder], notes)
    assert file_names(table) == ["a", "lists:b.gz", "more:b"]
    assert [text for text in notes.texts if "left out" in text] == [f"left out: {folder}/a.gz: a lies beside it"]
    with pytest.raises(UsageError, match=r"^expected files of different names, got .*a 2 times"):
        import_files(empty, "positions", [folder / "a", folder / "a.gz"], Silence())


def test_damaged_packed_lists_of_a_folder_are_left_out(empty: Warehouse, tmp_path: Path) -> None:
    """A damaged file that is named itself is refused."""
    packed = gzip.compress(LIST)
    contents = {"a.gz": packed, "b.gz": packed[:-3], "c.zip": b"PK\x03\x04torn", "d.xz": b"\xfd7zXZ\0"}
    folder = write_folder(tmp_path / "lists", contents)
    notes = Notes()
    table = import_files(empty, "positions", [folder], notes)
    assert file_names(table) == ["a.gz"]
    assert [text for text in notes.texts if "left out" in text] == [
        f"left out: expected packed data in {folder}/b.gz, found: the file is truncated; fetch it again",
        f"left out: expected a whole zip archive in {folder}/c.zip, found: file is not a zip file",
        f"left out: expected text in {folder}/d.xz, plain or packed once with gzip or bzip2, found xz; unpack it first",
        f"{folder}: left out 3 of 4 files: not a file",
    ]
    with pytest.raises(CorruptFileError, match=f"^expected packed data in {folder}/b.gz, found: the file is truncated"):
        import_files(empty, "positions", [folder / "a.gz", folder / "b.gz"], Silence())


def test_warehouse_inside_the_folder_is_skipped(empty: Warehouse) -> None:
    folder = empty.root.parent
    (folder / "list.txt").write_bytes(LIST)
    for name in ("one", "two"):  # the second time the warehouse exists
        assert file_names(import_files(empty, "positions", [folder], Silence(), name=name)) == ["list.txt"]


@pytest.fixture
def pipe() -> Iterator[Path]:
    """A pipe with a list of one position."""
    reading, writing = os.pipe()
    os.write(writing, LIST)
    os.close(writing)
    yield Path(f"/dev/fd/{reading}")
    os.close(reading)


def test_pipe_is_imported(empty: Warehouse, pipe: Path) -> None:
    assert import_files(empty, "positions", [pipe], Silence(), name="pipe").manifest.rows == 1


def test_standard_input_is_imported(empty: Warehouse, pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bgdata.imports.steps.STANDARD_INPUT", str(pipe))
    assert import_files(empty, "positions", [Path("-")], Silence(), name="in").manifest.rows == 1


def test_leakage_counts_match_the_view(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    leaks = leakage_counts(warehouse)
    with warehouse.connect() as connection:
        ((rows,),) = connection.sql("select count(*) from leakage").fetchall()
    assert sum(leak.rows for leak in leaks) == rows > 0
    for leak in leaks:
        assert "/" in leak.labels
        assert "/" in leak.benchmarks


def test_warehouse_without_benchmarks_has_no_leakage(small_root: Path, tmp_path: Path) -> None:
    shutil.copytree(small_root / "selfplay_labels", tmp_path / "warehouse" / "selfplay_labels")
    assert leakage_counts(bgdata.open_warehouse(tmp_path / "warehouse")) == []
