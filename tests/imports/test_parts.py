"""Imports in parts: the same rows as in one, whatever lies on a boundary, and no more in memory than some blocks."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bgdata.errors import CheckFailedError, NoRowsError, StorageError
from bgdata.formats import text_files, unpacking
from bgdata.game.position import START
from bgdata.imports.kinds import positions_compute
from bgdata.imports.kinds.shared.imports import PositionImport
from bgdata.store.dataset import Build, Computed
from bgdata.store.job import Job
from bgdata.store.progress import Silence
from bgdata.store.shards import ranges
from bgdata.store.table import Table
from bgdata.store.verify import Status, verify
from bgdata.warehouse.commands.export import write_text
from tests.formats.test_position_files import FORMATS
from tests.imports.importing import IMPORTED, Imports
from tests.store.toy import Notes, whole_versions
from tests.subtests import each

KINDS = [name for name, kind in IMPORTED.items() if isinstance(kind, PositionImport)]
each_kind = each("kind", KINDS)
DIGESTS = {  # digests of the files in one part
    "gnubg_training": "2b62103247c35ab35ee098426b7e2cb34bcb7697b79e3cb380fa454e35cdbc4d",
    "wildbg_training": "0b7ae96d13013908e3fe05bca10fc58dc0c09bd30a808c7e433a9b954d52ace3",
    "bgsage_rollouts": "64b60eb2a36c52ba072a595af254665c179ee9c719abe74d18b45123e610afbc",
    "positions": "bc6e625ab8ca68d0fdebc8eb4f12dfb1dcfdd5cb19fe6cffc4b379cb1374f5be",
}
FORMAT_OF = {
    "gnubg_training": "training",
    "wildbg_training": "wildbg",
    "bgsage_rollouts": "bgsage",
    "positions": "list",
}
HEADINGS = {
    "wildbg_training": b"position_id,win,win_g,win_bg,lose_g,lose_bg\r\n",
    "positions": b"position_id,equity\n",
}


def in_parts(patch: pytest.MonkeyPatch, lines: int, *, block: int = 100) -> None:
    """Split imports into parts of so many lines, read in small blocks from files that memory does not hold."""
    patch.setattr(PositionImport, "part_items", lines)
    patch.setattr(text_files, "BLOCK_BYTES", block)
    patch.setattr(text_files, "MARK_BYTES", 2 * block)
    patch.setattr(text_files, "HELD_BYTES", 1)
    patch.setattr(unpacking, "CHUNK_BYTES", block)


def sample_contents(kind: str) -> dict[str, bytes]:
    """Contents of files with comments, blank lines, carriage returns, bad lines and headings; one is empty, one has no
    end of its last line."""
    row = FORMATS[FORMAT_OF[kind]].row.rstrip(b"\r\n")
    heading = HEADINGS.get(kind, b"")
    first = b"\xef\xbb\xbf# one\n\n" + heading + b"\n".join([row, b"bad 1", row, b"# two", b"# three", row, b"bad 2"])
    second = b"\r\n".join([row, b"# four", b"", row, b"nonsense", b"", row, b"# five", b"bad", row])
    third = heading + b"bad\n" + row + b"\n" + heading + row
    return {"a": first + b"\n", "b": b"", "c": second, "d": third, "e.jsonl": b"\n \n"}


def write_files(imports: Imports, kind: str, ending: str = "") -> list[Path]:
    """Write the sample files, packed if the ending says so."""
    packs: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
    return [imports.file(f"{name}{ending}", packs[ending](content)) for name, content in sample_contents(kind).items()]


def all_rows(imports: Imports, table: Table) -> list[list[tuple[Any, ...]]]:
    """The rows of all tables of a version, in the order of their files."""
    found = []
    for shape in IMPORTED[table.manifest.dataset].tables:
        files = ", ".join(f"'{path}'" for path in table.check_files(shape.file))
        columns = ", ".join(f"columns.{column.name}" for column in shape.columns)
        with imports.warehouse.connect(allow_files=True) as connection:
            query = f"select {columns} from read_parquet([{files}], hive_partitioning = false) as columns"
            found.append(connection.sql(query).fetchall())
    return found


def check_verified(imports: Imports, table: Table) -> None:
    """A version has no fault."""
    findings = list(verify(imports.warehouse, [table], seed=1, progress=Silence()))
    assert [finding.text for finding in findings if finding.status is Status.FAILED] == []


@each_kind
def test_digest_of_an_import_in_one_part_is_unchanged(memory_path: Path, kind: str) -> None:
    imports = Imports(memory_path)
    table = imports.build(kind, write_files(imports, kind), name="one")
    assert table.manifest.digest == DIGESTS[kind]
    assert table.manifest.parts == []


class TableRows(NamedTuple):
    """The rows of both tables of a kind."""

    rows: list[dict[str, Any]]
    quarantine: list[dict[str, Any]]


def compute_rows(imports: Imports, kind: str, files: list[Path], lines: int) -> TableRows:
    """Compute the rows in parts of so many lines, without a warehouse."""
    declared = IMPORTED[kind]
    result = TableRows([], [])
    folder = imports.folder / f"parts-of-{lines}"
    folder.mkdir(exist_ok=True)
    with declared.computation.read_files(files, folder) as sources:
        for items in ranges(sum(source.items for source in sources), lines):
            job = Job(folder, Silence(), sources)
            declared.computation.compute(Build(declared.smallest, {}, imports.warehouse, job, part=items))
            computed = Computed(declared.smallest, job.map_saved(array.name for array in declared.arrays), items.start)
            for rows, shape in zip(result, declared.tables, strict=True):
                for batch in declared.computation.table_batches(shape, computed):
                    rows += batch.to_pylist()
    return result


@each_kind
def test_rows_do_not_depend_on_where_parts_end(memory_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows do not depend on the blocks in which lines are read, nor on how files are packed, either."""
    imports = Imports(memory_path)
    expected = compute_rows(imports, kind, write_files(imports, kind), lines=1000)
    assert len(expected.rows) == 9
    assert len(expected.quarantine) == (6 if kind in HEADINGS else 5)  # a second heading is a bad line
    for bad in expected.quarantine:
        lines_of_file = sample_contents(kind)[bad["source"]].splitlines()
        assert bad["text"] == lines_of_file[bad["line"] - 1].decode()
    for lines, ending in [(1, ""), (2, ".gz"), (3, ".bz2"), (5, ""), (11, ".gz"), (1000, ".bz2")]:
        in_parts(monkeypatch, lines, block=20 + 7 * lines)
        rows = compute_rows(imports, kind, write_files(imports, kind, ending), lines)
        assert repr(rows) == repr(expected), lines  # NaN equals NaN as text


@each_kind
def test_rows_of_parts_equal_those_of_one_part(memory_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    one_part = imports.build(kind, write_files(imports, kind), name="one")
    in_parts(monkeypatch, 1000)
    small_blocks = imports.build(kind, write_files(imports, kind, ".bz2"), name="blocks")
    in_parts(monkeypatch, 9)
    table = imports.build(kind, write_files(imports, kind, ".gz"), name="parts")
    assert small_blocks.manifest.digest == one_part.manifest.digest
    assert len(table.parts) == 3
    assert repr(all_rows(imports, table)) == repr(all_rows(imports, one_part))
    assert table.manifest.statistics == one_part.manifest.statistics
    check_verified(imports, table)
    view = imports.warehouse.rows(f"select variant, count(*) as n from {kind} group by all order by all")
    assert {row["variant"]: row["n"] for row in view} == {"blocks": 9, "one": 9, "parts": 9}


class StoppedError(Exception):
    """Ends a build."""


class Stopping(Notes):
    """Progress that ends the build when so many parts have begun, and knows how many lines were read."""

    def __init__(self, begun: int = 0) -> None:
        super().__init__()
        self.left = begun
        self.read = 0
        self.is_reading = False

    def start(self, label: str, total: int, unit: str) -> None:
        super().start(label, total, unit)
        self.is_reading = unit == "lines"
        self.left -= self.is_reading
        if self.is_reading and self.left == 0:
            raise StoppedError

    def advance(self, count: int) -> None:
        super().advance(count)
        self.read += count * self.is_reading


@each("ending", ["", ".gz", ".bz2"])
def test_stopped_import_goes_on_from_finished_parts(
    memory_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a stop, the same import does not read the finished parts again and ends with the same digest."""
    undisturbed = Imports(memory_path)
    in_parts(monkeypatch, 6)
    expected = undisturbed.build("gnubg_training", write_files(undisturbed, "gnubg_training", ending))
    assert len(expected.parts) == 4
    imports = Imports(memory_path / "stopped")
    files = write_files(imports, "gnubg_training", ending)
    with pytest.raises(StoppedError):
        imports.build("gnubg_training", files, progress=Stopping(begun=3))
    progress = Stopping()
    table = imports.build("gnubg_training", files, progress=progress)
    assert table.manifest.digest == expected.manifest.digest
    lines_of_finished_parts = 2 * 6
    assert progress.read == expected.manifest.statistics["lines_read"] - lines_of_finished_parts
    assert not [path for path in imports.warehouse.staging.iterdir() if path.is_dir()]


def test_strict_import_in_parts_names_line_and_file(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    in_parts(monkeypatch, 3)
    path = imports.file("x.csv", f"{START.id}\n" * 4 + "bad\n" + f"{START.id}\n" * 7)
    message = r"expected no line that breaks a rule, found 1, first in x\.csv, line 5: expected a position"
    with pytest.raises(CheckFailedError, match=message):
        imports.build("positions", [path], strict=True)
    with pytest.raises(StoppedError):
        imports.build("positions", [path], progress=Stopping(3))
    with pytest.raises(CheckFailedError, match=message):  # in a part that is finished
        imports.build("positions", [path], strict=True)
    assert whole_versions(imports.warehouse) == []
    table = imports.build("positions", [path])
    with pytest.raises(CheckFailedError, match=message):
        imports.build("positions", [path], strict=True)
    assert whole_versions(imports.warehouse) == [table.name]


def test_files_without_rows_are_refused_after_all_parts(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a file that has rows, a file without any is only mentioned."""
    imports = Imports(memory_path)
    in_parts(monkeypatch, 2)
    path = imports.file("x.csv", "bad\n" * 3 + "# c\n" + "worse\n" * 3)
    reason = "expected a position in one of the notations in the first column"
    with pytest.raises(
        NoRowsError,
        match=rf"expected a row in x.csv, found none in 7 lines: 1 of comment or blank, 6 quarantined "
        rf"\(x.csv, line 1: {reason}, got 'bad'; x.csv, line 2: {reason}, got 'bad'; x.csv, line 3: [^;]*'bad'\); ",
    ):
        imports.build("positions", [path])
    assert not [path for path in imports.warehouse.staging.iterdir() if path.is_dir()]
    notes = Notes()
    files = [path, imports.file("y.csv", f"{START.id}\n")]
    assert imports.build("positions", files, progress=notes).manifest.rows == 1
    assert "positions/x-and-y: no row in x.csv" in notes.texts


def test_unknown_heading_refuses_the_rows_of_all_parts(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    in_parts(monkeypatch, 2)
    row = FORMATS["wildbg"].row.decode()
    files = [imports.file("a.csv", f"# c\n\nposition_id,win\n{row * 5}"), imports.file("b.csv", row * 2)]
    table = imports.build("wildbg_training", files)
    assert table.manifest.rows == 2
    (reason,) = (name for name in table.manifest.statistics if name.startswith("quarantined: "))
    assert reason.startswith("quarantined: expected the heading position_id,win,win_g")
    assert table.manifest.statistics[reason] == 6


def test_rare_reasons_are_counted_together(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    row = FORMATS["training"].row.decode()
    # 53 reasons, two lines each: "expected 6 fields (key and five chances), got 7" to "got 59"
    text = "".join(f"{'1 ' * fields}\n" * 2 for fields in range(7, 60)) + row
    path = imports.file("x", text)
    in_one_part = imports.build("gnubg_training", [path]).manifest.statistics
    in_parts(monkeypatch, 30)
    statistics = imports.build("gnubg_training", [path], name="parts").manifest.statistics
    assert statistics == in_one_part
    reasons = {name for name in statistics if name.startswith("quarantined: ")}
    assert len(reasons) == 21
    assert statistics["quarantined: other reasons"] == 2 * (53 - 20)


@each("kind", ["gnubg_training", "wildbg_training"])
def test_exported_parts_equal_the_lines_read(memory_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    row, comment = FORMATS[FORMAT_OF[kind]].row, b"# %d\n" if kind == "gnubg_training" else b""
    heading = HEADINGS.get(kind, b"").replace(b"\r", b"")
    text = heading + b"".join(row + (comment % n if comment and n % 4 == 1 else b"") for n in range(11))
    for size in (2, 3, 100):
        in_parts(monkeypatch, size)
        table = imports.build(kind, [imports.file("x", text)], name=f"of-{size}")
        write_text(table, "gnubg-training" if comment else "wildbg-csv", imports.folder / "out")
        assert (imports.folder / "out").read_bytes() == text, size


LIST_WITH_A_BAD_LINE = f"position_id\n{START.id}\nbad\n" + f"{START.id}\n" * 5


@each("content", [LIST_WITH_A_BAD_LINE.encode("utf-16"), LIST_WITH_A_BAD_LINE.replace("\n", "\r").encode()])
def test_utf_16_and_old_mac_lists_are_split_into_parts(
    memory_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = Imports(memory_path)
    expected = all_rows(imports, imports.text("positions", content, name="one"))
    in_parts(monkeypatch, 3)
    table = imports.text("positions", content, name="parts")
    assert len(table.parts) == 3
    assert all_rows(imports, table) == expected


def test_memory_does_not_grow_with_the_file(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = positions_compute.READERS["positions"]
    append = positions_compute.GrowingArrays.append
    block_bytes: list[int] = []
    array_bytes: list[int] = []
    waiting_blocks: list[int] = []  # after each change: blocks that were parsed and not yet appended

    def counting_parse(file: Any, piece: Any) -> Any:
        block_bytes.append(len(piece.block.data))
        waiting_blocks.append(len(block_bytes) - len(array_bytes))
        return reader.parse(file, piece)

    def counting_append(self: Any, arrays: Any) -> None:
        append(self, arrays)
        array_bytes.append(max(values.nbytes for values in arrays.values()))

    monkeypatch.setitem(positions_compute.READERS, "positions", reader._replace(parse=counting_parse))
    monkeypatch.setattr(positions_compute.GrowingArrays, "append", counting_append)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    imports = Imports(memory_path)
    path = imports.file("x.csv", f"{START.id}\n" * 20_000)
    block, line = 1500, len(START.id) + 1
    for part in (20_000, 5_000):
        in_parts(monkeypatch, part, block=block)
        imports.build("positions", [path], name=f"of-{part}")
    assert max(block_bytes) <= block + line
    assert max(array_bytes) <= 26 * (block // line + 1)  # boards of 26 bytes
    assert max(waiting_blocks) <= 2 * 2 + 2


def test_file_that_changes_meanwhile_is_refused(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    in_parts(monkeypatch, 3)
    path = imports.file("x.csv", f"{START.id}\n" * 9)

    class Changing(Stopping):
        def start(self, label: str, total: int, unit: str) -> None:
            super().start(label, total, unit)
            if self.left == -2:
                path.write_text(f"{START.id}\n" * 10)

    with pytest.raises(StorageError, match=r"x\.csv as it was when the import began, found it changed; try again"):
        imports.build("positions", [path], progress=Changing())
    assert whole_versions(imports.warehouse) == []
    assert imports.build("positions", [path]).manifest.rows == 10


def test_parts_share_the_names_of_files(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    in_parts(monkeypatch, 4)
    table = imports.build("positions", write_files(imports, "positions"))
    for part in table.parts:
        assert bytes(part.array("sources")) == b"abcde.jsonl"
    assert (table.folder / "sources.npy").exists()
