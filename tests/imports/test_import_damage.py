"""Imports of missing or empty files, killed imports, and what `verify` finds later."""

from __future__ import annotations

import bz2
import gzip
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.errors import MissingTableError, NoRowsError, StorageError, UsageError
from bgdata.game.position import START
from bgdata.measures.kinds.shared import benchmarks_compute as _benchmarks
from bgdata.store.progress import Silence
from bgdata.store.verify import verify
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, run
from tests.formats import samples
from tests.imports.importing import IMPORTED, Imports, rows
from tests.store import processes
from tests.store.toy import whole_versions
from tests.subtests import Subtests, each

each_kind = each("kind", list(IMPORTED))


WITHOUT_ROWS = {  # by content: what the error says was found
    b"": "nothing at all",
    gzip.compress(b""): "nothing at all",
    bz2.compress(b""): "nothing at all",
    b"\n": "none in 1 lines: 1 of comment or blank, 0 quarantined",
    b"\xef\xbb\xbf": "none in 1 lines: 1 of comment or blank, 0 quarantined",
    b"# only\n": "none in 1 lines: 1 of comment or blank, 0 quarantined",
    b"nonsense": r"none in 1 lines: 0 of comment or blank, 1 quarantined \(contact, line 1: expected .*\)",
    bytes(range(256)) * 40: r"none in 4\d lines: 0 of comment or blank, 4\d quarantined \(contact, line 1: .*\)",
}


@each_kind
def test_files_without_rows_are_refused(memory_path: Path, kind: str) -> None:
    """The error counts lines, and the version that is there stays."""
    imports = Imports(memory_path)
    version = imports.sample(kind, name="contact")
    files_before = sorted(imports.warehouse.root.rglob("*"))
    with Subtests() as subtests:
        for content, found in WITHOUT_ROWS.items():
            with subtests.test(content):
                path = imports.file("contact", content)
                error = error_of(run(imports.warehouse.root, "import", kind, path), 1)
                assert re.fullmatch(f"expected a row in contact, found {found}; nothing was imported", error), error
                assert imports.warehouse.open(kind, "contact").folder == version.folder
                assert sorted(imports.warehouse.root.rglob("*")) == files_before


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("gnubg_benchmark", "s version 1.93 weights 1.00\nr 17\n# x\n", "none in 3 lines: 2 without a table"),
        ("matches", " 3 point match\n\n", "none in 2 lines: 1 without a table"),
    ],
)
def test_files_of_settings_only_are_refused(imports: Imports, kind: str, text: str, found: str) -> None:
    with pytest.raises(NoRowsError, match=f"found {found} of their own, 1 of comment or blank, 0 quarantined; "):
        imports.text(kind, text)
    assert list(imports.warehouse.versions()) == []


def test_error_quotes_first_reasons(imports: Imports) -> None:
    files = [imports.file(name, f"{'x' * 50}\n" * 3) for name in ("b", "a")]
    reason = "expected a position in one of the notations in the first column, got " + repr("x" * 40)
    with pytest.raises(NoRowsError) as caught:
        imports.build("positions", files)
    assert str(caught.value) == (
        "expected a row in 2 files, found none in 6 lines: 0 of comment or blank, 6 quarantined "
        f"(a, line 1: {reason}; a, line 2: {reason}; a, line 3: {reason}); nothing was imported"
    )


def verify_problems(warehouse: Warehouse) -> list[str]:
    """The problems that `bgdata verify` finds."""
    tables = list(warehouse.versions())
    return [f.problem for f in verify(warehouse, tables, sample_rows=5, seed=0, progress=Silence()) if f.problem]


@each_kind
def test_verify_finds_damaged_files(memory_path: Path, kind: str) -> None:
    imports = Imports(memory_path)
    (path,) = IMPORTED[kind].computation.write_sample(imports.folder)
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    table = imports.build(kind, [path])
    assert verify_problems(imports.warehouse) == []
    for name in ("quarantine.parquet", "table.parquet", "sources.npy"):
        path = table.folder / name
        original = path.read_bytes()
        damaged = bytearray(original)
        damaged[len(damaged) // 2] ^= 1
        path.chmod(0o644)
        path.write_bytes(damaged)
        (problem,) = verify_problems(imports.warehouse)
        assert f"of {path}, found" in problem
        path.write_bytes(original)
    assert verify_problems(imports.warehouse) == []


def test_verify_accepts_repeated_comments(imports: Imports) -> None:
    """A version whose rows repeat a comment passes `verify`, although Parquet numbers strings in another order than the
    arrays."""
    row = samples.TRAINING_ROW.decode()
    table = imports.text("gnubg_training", f"# a\n# b\n# b\n{row}# a\n{row}# c\n{row}")
    assert [row["comment"] for row in rows(table)] == ["# b", "# a", "# c"]
    assert verify_problems(imports.warehouse) == []


@pytest.mark.parametrize("kind", ["gnubg_training", "gnubg_benchmark"])
def test_verify_checks_all_row_groups(imports: Imports, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(IMPORTED[kind]), "row_group_rows", 3)
    monkeypatch.setattr(_benchmarks, "ROW_GROUP_ROWS", 3)
    names = ["contact-b", "contact-a"] if kind == "gnubg_training" else ["contact"]
    line = samples.TRAINING_ROW if kind == "gnubg_training" else samples.BENCHMARK_ROWS.splitlines(keepends=True)[0]
    table = imports.build(kind, [imports.file(name, b"# c\n" + 5 * line) for name in names])
    assert pq.ParquetFile(table.parquet).num_row_groups == (4 if len(names) == 2 else 2)
    assert [row["line"] for row in rows(table)] == [2, 3, 4, 5, 6] * len(names)
    assert verify_problems(imports.warehouse) == []


def test_missing_files_are_refused(imports: Imports) -> None:
    for path, reason in ((imports.folder / "no", "no such file"), (imports.folder, "is a directory")):
        with pytest.raises(StorageError, match=f"expected a file at {path}, found: {reason}.*; check the path"):
            imports.build("positions", [path], name="x")
        error = error_of(run(imports.warehouse.root, "import", "positions", path), 1)
        assert error == f"expected a file in {path}, found none"
    with pytest.raises(UsageError, match=r"expected files to import; try: bgdata import positions FILE\.\.\."):
        imports.build("positions", [], name="x")
    with pytest.raises(UsageError, match="expected no files for bearoff_gammon, which is computed, got x"):
        imports.warehouse.build("bearoff_gammon", RaceParameters(3), files=[Path("x")])
    assert list(imports.warehouse.versions()) == []


POSITION_TEXT = f"{START.id}\nnonsense\n"


def import_and_die(folder: Path, kill_at: int) -> None:
    """Import in another process, and die at this change of a file."""
    imports = Imports(folder)
    processes.die_at_change(imports.warehouse.root, kill_at)
    imports.text("positions", POSITION_TEXT, "x")


@pytest.mark.parametrize("kill_at", [4, 17, 30])
def test_killed_import_is_resumed(memory_path: Path, kill_at: int) -> None:
    expected = Imports(memory_path / "undisturbed").text("positions", POSITION_TEXT, "x").name
    imports = Imports(memory_path / "killed")
    assert processes.run(import_and_die, imports.folder, kill_at) != 0
    assert whole_versions(imports.warehouse) in ([], [expected])
    assert imports.text("positions", POSITION_TEXT, "x").name == expected
    assert list(imports.warehouse.staging.iterdir()) == []
    assert verify_problems(imports.warehouse) == []


def test_repair_of_an_import_asks_for_its_files(imports: Imports) -> None:
    table = imports.sample("positions")
    table.parquet.unlink()
    with pytest.raises(UsageError, match=r"expected files to import; try: bgdata import positions FILE\.\.\."):
        imports.warehouse.build("positions", IMPORTED["positions"].smallest)
    assert imports.sample("positions").folder == table.folder
    assert verify_problems(imports.warehouse) == []
    with pytest.raises(MissingTableError, match=r"no positions/other in .* \(have: sample\)"):
        imports.warehouse.open("positions", "other")
