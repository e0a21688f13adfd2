"""Steps of importing: files become checked versions, and leaked positions are counted."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import CheckFailedError, CorruptFileError, MissingFileError, UsageError
from bgdata.imports.steps import Leak, check_version, import_files, import_parameters, leakage_counts
from bgdata.store.progress import Silence
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


SMALL_MATCH = " 1 point match\n Game 1\n a : 0      b : 0\n  1) 31: 8/5 6/5\n      Wins 1 point\n"


def test_folder_is_read_with_subfolders(empty: Warehouse, tmp_path: Path) -> None:
    """A folder is imported with its subfolders as one variant of the folder's name. Hidden files and files without
    matches are left out."""
    folder = tmp_path / "My Matches"
    for name in ("a.mat", "sub/a.mat", "sub/deeper/b.TXT", "c.sgf.gz", "notes.pdf", ".hidden.mat", ".git/x.mat"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = SMALL_MATCH.replace(" a :", f" {name.split('.')[0]} :").encode()  # the same match would be left out
        path.write_bytes(
            gzip.compress(text) if name.endswith(".gz") else b"%PDF-1.4" if name.endswith(".pdf") else text
        )
    notes = Notes()
    table = import_files(empty, "matches", [folder], notes)
    assert (table.manifest.variant, table.manifest.rows) == ("my-matches", 4)
    assert [file.name for file in table.manifest.raw_files] == ["My Matches:a.mat", "sub:a.mat", "b.TXT", "c.sgf.gz"]
    assert f"{folder}: left out 1 of 5 files: not files with matches" in notes.texts
    (folder / "d").mkdir()
    for kind, what in (("matches", "files with matches"), ("positions", "a file")):
        with pytest.raises(MissingFileError, match=rf"^expected {what} in .*/d, found none$"):
            import_files(empty, kind, [folder / "d"], Silence(), name="x")


def test_packed_copies_beside_their_files_are_left_out(empty: Warehouse, tmp_path: Path) -> None:
    folder = tmp_path / "lists"
    (folder / "more").mkdir(parents=True)
    for path in ("a", "a.gz", "b.gz", "more/b"):
        content = b"4HPwATDgc/ABMA\n"
        (folder / path).write_bytes(gzip.compress(content) if path.endswith(".gz") else content)
    notes = Notes()
    table = import_files(empty, "positions", [folder], notes)
    assert [file.name for file in table.manifest.raw_files] == ["a", "lists:b.gz", "more:b"]
    assert [text for text in notes.texts if "left out" in text] == [f"left out: {folder}/a.gz: a lies beside it"]
    with pytest.raises(UsageError, match=r"^expected files of different names, got .*a 2 times"):
        import_files(empty, "positions", [folder / "a", folder / "a.gz"], Silence())


def test_damaged_packed_lists_of_a_folder_are_left_out(empty: Warehouse, tmp_path: Path) -> None:
    """Damaged packed files in a folder are left out, each with a message; one that is named itself is refused."""
    folder = tmp_path / "lists"
    packed = gzip.compress(b"4HPwATDgc/ABMA\n")
    folder.mkdir()
    for name, content in (
        ("a.gz", packed),
        ("b.gz", packed[:-3]),
        ("c.zip", b"PK\x03\x04torn"),
        ("d.xz", b"\xfd7zXZ\0"),
    ):
        (folder / name).write_bytes(content)
    notes = Notes()
    table = import_files(empty, "positions", [folder], notes)
    assert [file.name for file in table.manifest.raw_files] == ["a.gz"]
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
    (folder / "list.txt").write_text("4HPwATDgc/ABMA\n")
    for name in ("one", "two"):
        table = import_files(empty, "positions", [folder], Silence(), name=name)
        assert [file.name for file in table.manifest.raw_files] == ["list.txt"]


def test_pipes_and_standard_input_are_imported(empty: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    for source, name in (("-", "in"), (None, "pipe")):
        end, start = os.pipe()
        os.write(start, b"4HPwATDgc/ABMA\n")
        os.close(start)
        monkeypatch.setattr("bgdata.imports.steps.STANDARD_INPUT", f"/dev/fd/{end}")
        table = import_files(empty, "positions", [Path(source or f"/dev/fd/{end}")], Silence(), name=name)
        assert table.manifest.rows == 1
        os.close(end)


def test_leakage_counts_match_the_view(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    found = leakage_counts(warehouse)
    with warehouse.connect() as connection:
        ((rows,),) = connection.sql("select count(*) from leakage").fetchall()
    assert sum(leak.rows for leak in found) == rows > 0
    assert all(isinstance(leak, Leak) and "/" in leak.labels and "/" in leak.benchmarks for leak in found)


def test_warehouse_without_benchmarks_has_no_leakage(small_root: Path, tmp_path: Path) -> None:
    shutil.copytree(small_root / "selfplay_labels", tmp_path / "warehouse" / "selfplay_labels")
    assert leakage_counts(bgdata.open_warehouse(tmp_path / "warehouse")) == []
