"""Imports of files that are none, empty or damaged; killed imports; and what verify finds later."""

from __future__ import annotations

import bz2
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.datasets import _benchmarks
from bgdata.errors import CorruptFileError, MissingTableError, StorageError, UsageError
from bgdata.game.position import START
from bgdata.store.progress import Silence
from bgdata.store.verify import verify
from bgdata.store.warehouse import Warehouse
from tests.commands.command_line import error_of, run
from tests.datasets.importing import IMPORTED, Imports, counts, rows
from tests.formats import samples
from tests.store import processes
from tests.store.toy import whole_versions

GAMMON = bgdata.all_kinds()["bearoff_gammon"]
each_kind = pytest.mark.parametrize("kind", IMPORTED)
POSITION_TEXT = f"{START.id}\n{START.id[:13]}\n# x\n\nnonsense\n"


@each_kind
@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "# only\n", "nonsense"], ids=repr)
def test_files_without_rows(imports: Imports, kind: str, text: str) -> None:
    table = imports.text(kind, text)
    assert rows(table) == []
    assert table.manifest.rows == 0
    assert counts(table)[3] == (text == "nonsense")
    assert problems(imports.warehouse) == []
    with imports.warehouse.connect() as connection:
        for shape in IMPORTED[kind].tables[:-1]:
            expected = text.startswith("#") and shape.name == "benchmark_texts"
            assert connection.sql(f"select count(*) from {shape.name}").fetchall() == [(expected,)]


def problems(warehouse: Warehouse) -> list[str]:
    """What `bgdata verify` finds wrong."""
    tables = list(warehouse.versions())
    return [f.problem for f in verify(warehouse, tables, sample_rows=5, seed=0, progress=Silence()) if f.problem]


@each_kind
def test_verify(imports: Imports, kind: str) -> None:
    (path,) = IMPORTED[kind].write_sample(imports.folder)
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    table = imports.build(kind, [path])
    assert problems(imports.warehouse) == []
    for file in ("quarantine.parquet", "table.parquet", "sources.npy"):
        damaged = table.folder / file
        whole = bytearray(damaged.read_bytes())
        spoiled = bytearray(whole)
        spoiled[len(whole) // 2] ^= 1
        damaged.chmod(0o644)
        damaged.write_bytes(spoiled)
        (problem,) = problems(imports.warehouse)
        assert f"of {damaged}, found" in problem
        damaged.write_bytes(whole)
    assert problems(imports.warehouse) == []


def test_verify_of_comments_that_repeat(imports: Imports) -> None:
    """Parquet numbers its texts in its own way."""
    row = samples.TRAINING_ROW.decode()
    table = imports.text("gnubg_training", f"# a\n# b\n# b\n{row}# a\n{row}# c\n{row}")
    assert [row["comment"] for row in rows(table)] == ["# b", "# a", "# c"]
    assert problems(imports.warehouse) == []


@pytest.mark.parametrize("kind", ["gnubg_training", "gnubg_benchmark"])
def test_tables_of_several_row_groups(imports: Imports, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(IMPORTED[kind]), "row_group_rows", 3)
    monkeypatch.setattr(_benchmarks, "ROW_GROUP_ROWS", 3)
    names = ["contact-b", "contact-a"] if kind == "gnubg_training" else ["contact"]
    line = samples.TRAINING_ROW if kind == "gnubg_training" else samples.BENCHMARK_ROWS.splitlines(keepends=True)[0]
    table = imports.build(kind, [imports.file(name, b"# c\n" + 5 * line) for name in names])
    assert pq.ParquetFile(table.parquet).num_row_groups == (4 if len(names) == 2 else 2)
    assert [row["line"] for row in rows(table)] == [2, 3, 4, 5, 6] * len(names)
    assert problems(imports.warehouse) == []


def test_no_file_there(imports: Imports) -> None:
    for path, reason in ((imports.folder / "no", "No such file"), (imports.folder, "Is a directory")):
        with pytest.raises(StorageError, match=f"cannot read {path}: {reason}"):
            imports.build("positions", [path])
        for arguments in (["import", "positions", path], ["import", "gnubg_benchmark", "--class", "race", path]):
            found = error_of(run(imports.warehouse.root, *arguments), 1)
            assert found == f"expected a file in {path}, found none"
    with pytest.raises(UsageError, match=r"expected files to import; try: bgdata import positions FILE\.\.\."):
        imports.build("positions", [imports.file("x", "")][:0], name="x")
    with pytest.raises(UsageError, match="expected no files for bearoff_gammon, which is computed, got x"):
        imports.warehouse.build("bearoff_gammon", GAMMON.smallest, files=[Path("x")])
    assert list(imports.warehouse.versions()) == []


@each_kind
def test_packed_files_that_are_not_whole(imports: Imports, kind: str) -> None:
    (path,) = IMPORTED[kind].write_sample(imports.folder)
    packed = bz2.compress(path.read_bytes())
    for content in (packed[:-1], packed + b"x", packed[:20] + b"x" + packed[21:]):
        with pytest.raises(
            CorruptFileError, match=r"expected packed data in .*contact\.bz2, found: .*; fetch it again"
        ):
            imports.build(kind, [imports.file("contact.bz2", content)])
    assert list(imports.warehouse.versions()) == []


def import_and_die(folder: Path, kill_at: int) -> None:
    """In another process: import, and die at that change to a file."""
    imports = Imports(folder)
    processes.die_at_change(imports.warehouse.root, kill_at)
    imports.text("positions", POSITION_TEXT, "x")


def test_killed_imports_go_on(memory_path: Path) -> None:
    expected = Imports(memory_path / "whole").text("positions", POSITION_TEXT, "x").name
    killed = 0
    for kill_at in (4, 17, 30):
        imports = Imports(memory_path / str(kill_at))
        killed += processes.run(import_and_die, imports.folder, kill_at) != 0
        assert whole_versions(imports.warehouse) in ([], [expected])
        assert imports.text("positions", POSITION_TEXT, "x").name == expected
        assert [path.name for path in imports.warehouse.staging.iterdir()] == []
        assert problems(imports.warehouse) == []
    assert killed == 3


def test_repair_of_an_import_asks_for_the_files(imports: Imports) -> None:
    table = imports.sample("positions")
    table.parquet.unlink()
    with pytest.raises(UsageError, match=r"expected files to import; try: bgdata import positions FILE\.\.\."):
        imports.warehouse.build("positions", IMPORTED["positions"].smallest)
    assert imports.sample("positions").folder == table.folder
    assert problems(imports.warehouse) == []
    with pytest.raises(MissingTableError, match=r"no positions/other in .* \(have: sample\)"):
        imports.warehouse.open("positions", "other")
