"""Any changed byte is found and reported, and a repair restores equal values."""

from __future__ import annotations

import dataclasses
import errno
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import Mock

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bgdata.errors import (
    CheckFailedError,
    CorruptFileError,
    DigestMismatchError,
    InvalidParameterError,
    ManifestFormatError,
    MissingTableError,
    StorageError,
)
from bgdata.store.arrays import save_array
from bgdata.store.dataset import Build, Recheck, drawn_sample_text, sample_text
from bgdata.store.linked import move_aside
from bgdata.store.lockfile import save_lock
from bgdata.store.manifest import FileEntry
from bgdata.store.parquet import first_difference
from bgdata.store.progress import Silence
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.store.verify import Comparison, Finding, Status, finding_of, verify, verify_files
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands import verify as cli_verify
from bgdata.warehouse.commands.verify import in_order_of_repair, repair_version, verify_warehouse
from tests.kept import own
from tests.store.toy import Count, Squares, overwrite, toy_warehouse, whole_versions
from tests.subtests import each

TEN = Count(10)
CHECKS = [
    "manifest", "file sizes", "file hashes", "values", "Parquet equals the arrays", "SQL checks", "rows recomputed",
    "lock",
]  # fmt: skip


def findings(warehouse: Warehouse, rows: int | None = 7, seed: int = 0) -> list[Finding]:
    tables = list(warehouse.versions())
    return list(verify(warehouse, tables, sample_rows=rows, seed=seed, progress=Silence()))


def only_problem(warehouse: Warehouse) -> Finding:
    """The only failed check."""
    failed = [finding for finding in findings(warehouse) if finding.problem]
    assert len(failed) == 1
    return failed[0]


def flip_bit(path: Path, generator: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    overwrite(path, bytes(data))


def test_columns_may_have_another_order(toys: Warehouse) -> None:
    """`verify` accepts Parquet files whose columns have another order, as older ones have, but not missing or
    additional columns."""
    table = toys.build("squares", TEN)
    whole = pq.read_table(table.parquet)
    for names, is_equal in (["square", "number"], True), (["number"], False), (["number", "square", "more"], False):
        table.parquet.chmod(0o644)
        pq.write_table(whole.append_column("more", whole["square"]).select(names), table.parquet, row_group_size=8)
        update_manifest(table)
        found = {finding.check: finding for finding in findings(toys) if finding.problem}
        assert ("Parquet equals the arrays" not in found) == is_equal


def test_undamaged_warehouse_passes(toys: Warehouse) -> None:
    toys.build("square_sums", TEN)
    assert [finding.check for finding in findings(toys)] == CHECKS * 2
    assert [finding.problem for finding in findings(toys)] == [""] * 16
    skipped = [finding for finding in findings(toys) if finding.status is Status.SKIPPED]
    assert [(finding.check, finding.text) for finding in skipped] == [
        ("rows recomputed", f"nothing that {skipped[0].subject} could be recomputed from is kept")
    ]


def test_small_warehouse_passes(small_root: Path, warehouse: Warehouse) -> None:
    assert small_root.is_dir()
    assert {finding.problem for finding in findings(warehouse, rows=20)} == {""}


@pytest.mark.parametrize("name", ["square.npy", "table.parquet", "manifest.json"])
def test_any_flipped_bit_is_found(toys: Warehouse, name: str) -> None:
    """A single flipped bit in any file of a version is found, and the error names the file."""
    toys.build("squares", Count(20))
    table = toys.build("squares", TEN)
    whole = (table.folder / name).read_bytes()
    generator = random.Random(len(whole))
    for _ in range(20):
        flip_bit(table.folder / name, generator)
        found = only_problem(toys)
        assert found.table is not None
        assert (found.table.name, found.check) == (table.name, "manifest" if "json" in name else "file hashes")
        assert str(table.folder / name) in found.problem
        overwrite(table.folder / name, whole)
    assert {finding.problem for finding in findings(toys)} == {""}


def test_any_flipped_bit_of_smallest_tables_is_found(warehouse: Warehouse) -> None:
    generator = random.Random(3)
    for table in warehouse.versions():
        for path in sorted(table.folder.iterdir()):
            whole = own(path).read_bytes()
            flip_bit(path, generator)
            found = list(verify(warehouse, [Table(table.folder)], sample_rows=0, seed=0, progress=Silence()))
            assert str(path) in found[-1].problem
            overwrite(path, whole)


@pytest.mark.parametrize("name", ["square.npy", "table.parquet", "manifest.json"])
@pytest.mark.parametrize("how", ["missing", "truncated", "longer"])
def test_incomplete_files_are_found(toys: Warehouse, name: str, how: str) -> None:
    table = toys.build("squares", TEN)
    path = table.folder / name
    if how == "missing":
        path.unlink()
    else:
        overwrite(path, path.read_bytes() + b"x" if how == "longer" else path.read_bytes()[:-1])
    found = only_problem(toys)
    assert found.check == ("manifest" if "json" in name else "file sizes")
    assert str(table.folder) in found.problem


def update_manifest(table: Table) -> Table:
    """A version whose manifest matches its files again, as after a careful forgery."""
    files = [
        FileEntry(entry.name, (table.folder / entry.name).stat().st_size, sha256_file(table.folder / entry.name))
        for entry in table.manifest.files
    ]
    dataclasses.replace(table.manifest, files=files).save(table.folder)
    return Table(table.folder)


def test_forged_values_are_found(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    values = table.array("square").copy()
    values[3] += 1
    (table.folder / "square.npy").unlink()
    save_array(table.folder / "square.npy", values)
    update_manifest(table)
    found = only_problem(toys)
    assert found.check == "values"
    assert f"expected the value digest {table.manifest.digest} in {table.name}, found" in found.problem


def test_forged_parquet_is_found(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    other = toys.build("squares", Count(20))
    overwrite(table.parquet, other.parquet.read_bytes())
    update_manifest(table)
    found = only_problem(toys)
    assert found.check == "Parquet equals the arrays"
    assert f"expected {table.parquet} to equal the arrays, found a difference after row 8" in found.problem
    overwrite(table.parquet, b"no Parquet at all")
    update_manifest(table)
    assert "expected a readable Parquet file" in only_problem(toys).problem


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": "cubes"}, "found that of cubes/10/"),
        ({"dataset": "square_sums"}, "found that of square_sums/10/"),
        ({"parameters": {"count": 11}}, "in its manifest, found those of '11'"),
        ({"parameters": {"size": 11}}, r"expected the parameters count, found {'size': 11}"),
        ({"revision": 2}, "found that of squares/10/r2-"),
        ({"digest": "0" * 64}, "found that of squares/10/r1-00000000"),
        ({"parameters": {"count": 10.0}}, "expected count of type int, found 10.0"),
        ({"parameters": {"count": "10"}}, "expected count of type int, found '10'"),
    ],
)
def test_manifests_of_another_table_are_refused(toys: Warehouse, changes: dict[str, object], message: str) -> None:
    table = toys.build("squares", TEN)
    manifest = dataclasses.replace(table.manifest, **changes)  # type: ignore[arg-type]
    (table.folder / "manifest.json").unlink()
    manifest.save(table.folder)
    assert only_problem(toys).check == "manifest"
    assert message in only_problem(toys).problem


def test_sample_finds_wrong_values(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version with a wrong value whose files and hashes all agree is found by recomputing rows, and by nothing
    else."""
    monkeypatch.setattr("tests.store.toy.np.zeros", lambda count, _: WrongArray(count))
    table = toys.build("squares", TEN)
    monkeypatch.undo()
    assert table.array("square")[4] == 17
    assert {finding.problem for finding in findings(toys, rows=0)} == {""}
    failed = [finding for finding in findings(toys, rows=100) if finding.problem]
    assert [(finding.check, finding.problem) for finding in failed] == [
        ("rows recomputed", "expected 16 at 4, found 17")
    ]


class Whole(Squares):
    """Quick enough to recompute as a whole."""

    whole_rows = 10


def test_small_tables_are_recomputed_as_a_whole(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small table is recomputed as a whole, without writing anything; of a larger one only a sample."""
    warehouse = toy_warehouse(toys.root, squares=Whole())
    monkeypatch.setattr("tests.store.toy.np.zeros", lambda count, _: WrongArray(count))
    table = warehouse.build("squares", TEN)
    monkeypatch.undo()
    before = sorted(path for path in toys.root.rglob("*"))
    found = {f.check: f for f in findings(warehouse, rows=None) if f.subject == table.name}["rows recomputed"]
    assert found.problem == f"expected square 16 at [4] in {table.name}, as it is computed again, found 17"
    assert sorted(path for path in toys.root.rglob("*")) == before
    table = warehouse.build("squares", TEN, force=True)
    texts = {f.subject: f.text for f in findings(warehouse, rows=None) if f.check == "rows recomputed"}
    assert texts[table.name] == "all 10 rows"
    table = warehouse.build("squares", Count(11))
    monkeypatch.setattr(Whole, "sample_rows", 5)
    texts = {f.subject: f.text for f in findings(warehouse, rows=None) if f.check == "rows recomputed"}
    assert texts[table.name] == "5 of 11 rows: finds 1 bad one in 1 with 99%"


def test_rows_are_compared_when_written(toys: Warehouse) -> None:
    """While a version is recomputed, the first value that differs from the stored one is named, as is another dtype."""
    table = toys.build("square_sums", TEN)
    kind = toys.kind("square_sums")
    inputs = {"terms": toys.open("squares", "10")}
    kind.computation.compute(Build(TEN, inputs, toys, Comparison(table, Silence())))
    wrong = table.array("total").copy()
    wrong[6] += 1
    table._arrays["total"] = wrong
    with pytest.raises(CheckFailedError, match=rf"expected total 91 at \[6\] in {table.name}, .* found 92"):
        kind.computation.compute(Build(TEN, inputs, toys, Comparison(table, Silence())))
    table._arrays["total"] = wrong.astype(np.int32)
    with pytest.raises(CheckFailedError, match="expected total of"):
        kind.computation.compute(Build(TEN, inputs, toys, Comparison(table, Silence())))


@each(
    ("text_of", "count", "total", "text"),
    [
        (sample_text, 10, 10, "all 10 rows"),
        (sample_text, 1000, 10_000, "1,000 of 10,000 rows: finds 1 bad one in 217 with 99%"),
        # 300 bad ones in 100 million are 1 in 333,333
        (sample_text, 1_540_000, 10**8, "1,540,000 of 100,000,000 rows: finds 1 bad one in 334,407 with 99%"),
        (drawn_sample_text, 1000, 10_000, "1,000 rows drawn of 10,000: finds 1 bad one in 217 with 99%"),
        # drawn rows may repeat
        (drawn_sample_text, 10_000, 10_000, "10,000 rows drawn of 10,000: finds 1 bad one in 2,171 with 99%"),
        (drawn_sample_text, 100_000, 10_000, "100,000 rows drawn of 10,000: finds 1 bad one in 10,000 with 99%"),
        (drawn_sample_text, 0, 10_000, "0 rows drawn of 10,000: finds 1 bad one in 0 with 99%"),
    ],
)
def test_sample_text_says_what_is_found(text_of: Callable[[int, int], str], count: int, total: int, text: str) -> None:
    assert text_of(count, total) == text


class WrongArray(np.ndarray):
    """Adds one at index 4."""

    def __new__(cls, count: int) -> WrongArray:
        return np.empty(count, np.int64).view(cls)

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(key, value + (key == 4))  # type: ignore[operator, call-overload]


def test_seed_chooses_the_sample(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    toys.build("squares", TEN)
    seen = []
    monkeypatch.setattr(
        type(toys.kind("squares")), "check_sample", lambda _, again: seen.append(again.generator.integers(0, 10**6))
    )
    for seed in (1, 1, 2):
        findings(toys, seed=seed)
    assert seen[0] == seen[1] != seen[2]


def test_missing_input_skips_recomputing(toys: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    """A version whose input is not in the warehouse, as after pulling only some versions, is not recomputed, and that
    is no failure."""
    sums = toys.build("square_sums", TEN)
    digest = toys.open("squares", "10").manifest.digest
    shutil.rmtree(toys.root / "squares")
    (skipped,) = (finding for finding in findings(toys) if finding.status is not Status.PASSED)
    assert (skipped.subject, skipped.check, skipped.status) == (sums.name, "rows recomputed", Status.SKIPPED)
    assert skipped.text == f"it was computed from squares/10@{digest[:8]}, which is not in {toys.root}"
    assert verify_warehouse(toys, "square_sums", None, 0, repair=False)
    shown = capsys.readouterr()
    assert "1 skipped, 0 failed" in shown.out
    assert f"ok     {sums.name}: recomputing skipped: {skipped.text}" in shown.err


def test_missing_current_version_of_an_input_fails(toys: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    """If the current version of an input is missing, verification fails for the input, and the version made from it is
    not recomputed."""
    sums = toys.build("square_sums", TEN)
    shutil.rmtree(toys.open("squares", "10").folder)
    assert not verify_warehouse(toys, None, None, 0, repair=False)
    shown = capsys.readouterr().err
    assert "FAILED squares/10: current: no current version squares/10/" in shown
    assert f"ok     {sums.name}: recomputing skipped: it was computed from squares/10@" in shown


def test_digest_must_match_the_lock(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    save_lock(toys.lock, [table.manifest, dataclasses.replace(table.manifest, recipe_key="0" * 64, digest="1" * 64)])
    assert {finding.problem for finding in findings(toys)} == {""}
    save_lock(toys.lock, [dataclasses.replace(table.manifest, digest="ab" * 32)])
    found = only_problem(toys)
    assert found.check == "lock"
    assert f"expected the digest abababababababab... of {table.name}" in found.problem


def test_unreadable_lock_leaves_versions_alone(toys: Warehouse) -> None:
    """A damaged lock is reported once, as a failure of the lock. The versions are not failures, and a repair does not
    rebuild them."""
    table = toys.build("squares", TEN)
    toys.lock.write_text("<<<<<<< HEAD")
    (skipped,) = (finding for finding in findings(toys) if finding.status is not Status.PASSED)
    assert (skipped.check, skipped.status) == ("lock", Status.SKIPPED)
    assert skipped.text.startswith("the lock cannot be read: expected a lock file")
    assert [finding.status for finding in verify_files(toys) if finding.check == "a lock"] == [Status.FAILED]
    created = table.folder.stat().st_ino
    assert not verify_warehouse(toys, None, None, 0, repair=True)
    assert not list(toys.staging.glob("damaged-*"))
    assert table.folder.stat().st_ino == created


@pytest.mark.parametrize("name", ["square.npy", "table.parquet", "manifest.json"])
def test_repair_restores_a_version(toys: Warehouse, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A repair builds a damaged version again with the same digest, and keeps the damaged files aside, the first and
    every other time."""
    table = toys.build("squares", TEN)
    digest = table.manifest.digest
    for number in (1, 2):
        overwrite(table.folder / name, b"junk %d" % number)
        repair_version(toys, Table(table.folder))
        assert whole_versions(toys) == [table.name]
        assert toys.open("squares", "10").manifest.digest == digest
        aside = toys.staging / f"damaged-squares-10-{table.folder.name}"
        assert (aside / name).read_bytes() == b"junk %d" % number
        assert f"repaired {table.name}; the damaged files are in {aside}" in capsys.readouterr().err


def test_damaged_input_skips_recomputing(toys: Warehouse) -> None:
    """A version is not recomputed from a damaged input. A repair rebuilds the input alone."""
    sums = toys.build("square_sums", TEN)
    squares = toys.open("squares", "10")
    values = np.load(squares.folder / "square.npy")
    flip_bit(squares.folder / "square.npy", random.Random(1))
    assert only_problem(toys).subject == squares.name
    (skipped,) = (each for each in findings(toys, None) if each.status is Status.SKIPPED)
    assert (skipped.subject, skipped.text) == (sums.name, f"it is made from {squares.name}, which is damaged")
    found = list(verify(toys, [sums], sample_rows=None, seed=0, progress=Silence()))  # verify a single kind
    assert [each.text for each in found if each.status is Status.SKIPPED] == [skipped.text]
    assert verify_warehouse(toys, None, None, 0, repair=True)
    assert whole_versions(toys) == [sums.name, squares.name]
    assert np.array_equal(Table(squares.folder).array("square"), values)
    assert not list(toys.staging.glob("damaged-square_sums*"))


@pytest.mark.parametrize("name", ["total.npy", "manifest.json"])
def test_version_and_its_input_are_repaired(toys: Warehouse, name: str) -> None:
    """If a version and its input are both damaged, the input is repaired first."""
    sums = toys.build("square_sums", TEN)
    names = [sums.name, toys.open("squares", "10").name]
    for path in (sums.folder / name, toys.open("squares", "10").folder / "square.npy"):
        flip_bit(path, random.Random(1))
    assert verify_warehouse(toys, None, None, 0, repair=True)
    assert whole_versions(toys) == names
    assert Table(sums.folder).array("total")[-1] == 285


def test_nothing_is_repaired_from_damaged_versions(toys: Warehouse) -> None:
    """A version is not rebuilt from a damaged input, even if only the kind of the version is to be repaired."""
    sums = toys.build("square_sums", TEN)
    squares = toys.open("squares", "10")
    for path in (sums.folder / "total.npy", squares.folder / "square.npy"):
        flip_bit(path, random.Random(1))
    with pytest.raises(DigestMismatchError, match=f"of {squares.folder / 'square.npy'}, found"):
        verify_warehouse(toys, "square_sums", None, 0, repair=True)
    assert [table.name for table in toys.versions("square_sums")] == [sums.name]


@pytest.mark.parametrize("whole", [0, 10])
def test_older_revision_is_skipped(toys: Warehouse, whole: int) -> None:
    """A version of an older revision that recomputes differently is skipped, not failed; but a flipped bit in its files
    is found."""

    class Later(Squares):
        revision = 2
        whole_rows = whole

        def compute(self, build: Build[Count]) -> None:
            build.job.save("square", np.arange(build.parameters.count, dtype=np.int64) ** 2 + 1)

        def check_sample(self, recheck: Recheck[Count]) -> str:
            raise CheckFailedError(f"expected 1 at 0, found {recheck.table.array('square')[0]}")

    toys.build("squares", TEN)
    later = toy_warehouse(toys.root, squares=Later())
    (skipped,) = (finding for finding in findings(later, None) if finding.status is not Status.PASSED)
    assert (skipped.check, skipped.status) == ("rows recomputed", Status.SKIPPED)
    assert skipped.text.startswith("it is of revision 1, and revision 2 gives other values: expected ")
    flip_bit(next(later.versions()).folder / "square.npy", random.Random(1))
    assert [finding.check for finding in findings(later, None) if finding.problem] == ["file hashes"]


def test_repair_uses_the_recorded_inputs(toys: Warehouse) -> None:
    """A repair rebuilds an older version from the input that its manifest records, not from the current one."""

    class Later(Squares):
        revision = 2

        def compute(self, build: Build[Count]) -> None:
            build.job.save("square", np.arange(build.parameters.count, dtype=np.int64) ** 2 + 1)

    older = toys.build("square_sums", TEN)
    later = toy_warehouse(toys.root, squares=Later())
    newer = later.build("square_sums", TEN)
    assert older.name != newer.name
    flip_bit(older.folder / "total.npy", random.Random(1))
    repair_version(later, Table(older.folder))
    assert {table.name for table in later.versions("square_sums")} == {older.name, newer.name}
    assert Table(older.folder).array("total")[-1] == 285
    assert later.open("square_sums", "10").name == newer.name


def test_mutually_named_versions_are_repaired_in_order(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions whose names form a cycle, as of networks that were retrained from each other, are repaired in the order
    in which they are listed."""
    tables = {table.name: table for table in (toys.build("square_sums", TEN), toys.open("squares", "10"))}
    titles = {"square_sums": "squares/10", "squares": "square_sums/10"}
    monkeypatch.setattr(cli_verify, "_inputs_of", lambda _, table: [titles[table.folder.parts[-3]]])
    assert in_order_of_repair(toys, tables) == list(tables.values())
    monkeypatch.setattr(cli_verify, "_inputs_of", lambda _, table: ["/".join(table.folder.parts[-3:-1])])
    assert in_order_of_repair(toys, tables) == list(tables.values())


def test_refused_repair_moves_nothing(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    flip_bit(table.folder / "square.npy", random.Random(1))

    class Choosy(Squares):
        def check_parameters(self, parameters: Count) -> None:
            raise InvalidParameterError(f"expected other numbers, got {parameters.count}")

    with pytest.raises(InvalidParameterError, match="expected other numbers, got 10"):
        repair_version(toy_warehouse(toys.root, squares=Choosy()), Table(table.folder))
    assert (table.folder / "square.npy").exists()


def test_missing_input_matters_only_for_computing(toys: Warehouse) -> None:
    sums = toys.build("square_sums", TEN)
    shutil.rmtree(toys.root / "squares")
    found = {each.check: each.status for each in verify(toys, [sums], sample_rows=0, seed=0, progress=Silence())}
    assert found["rows recomputed"] is Status.SKIPPED


def test_version_with_unknown_parameters_is_not_repaired(toys: Warehouse) -> None:
    """A version without a readable manifest can only be repaired if it is a default variant, whose parameters follow
    from its name."""
    table = toys.build("squares", Count(11))
    overwrite(table.folder / "manifest.json", b"{}")
    with pytest.raises(
        ManifestFormatError, match=rf"expected the parameters of {table.name} in its manifest, which is"
    ):
        repair_version(toys, Table(table.folder))
    assert (table.folder / "manifest.json").read_bytes() == b"{}"


def test_damaged_arrays_are_not_reported_as_parquet(toys: Warehouse) -> None:
    """While Parquet rows are compared with arrays, a damaged array is reported as such, not as a damaged Parquet
    file."""

    def rows() -> Iterator[pa.RecordBatch]:
        raise CorruptFileError("expected a whole .npy array")
        yield  # a generator

    table = toys.build("squares", TEN)
    with pytest.raises(CorruptFileError, match=r"^expected a whole \.npy array$"):
        first_difference(table.parquet, rows())


SHORTAGES = [
    MemoryError("of 3 GB"),
    pa.ArrowMemoryError("malloc of size 3000000000 failed"),
    duckdb.OutOfMemoryException("failed to allocate data of size 1.0 MiB"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    PermissionError(errno.EACCES, "Permission denied"),
    OSError(errno.EIO, "Input/output error"),
    RuntimeError("can't start new thread"),
]


# a version may come from another user: such values are a finding, and do not end the verification
FLAWS = [IndexError("index 9"), ValueError("no number"), ZeroDivisionError("by zero")]


@each("error", {str(error): error for error in SHORTAGES})
def test_check_that_lacks_memory_or_access_is_unchecked(error: Exception) -> None:
    found = finding_of("a/b/r1-00000000", "values", Mock(side_effect=error))
    assert found.status == Status.UNCHECKED
    assert found.problem == ""


@each("error", {str(error): error for error in FLAWS})
def test_check_that_meets_invalid_values_fails(error: Exception) -> None:
    found = finding_of("a/b/r1-00000000", "values", Mock(side_effect=error))
    problem = f"{type(error).__name__}: {error}"
    assert found.status == Status.FAILED
    assert found.text == f"expected values that make sense in a/b/r1-00000000, found {problem}"


def test_unchecked_version_is_not_moved(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """If memory runs out during any check, the run fails, but a repair does not move the version."""
    table = toys.build("squares", TEN)

    def fails(*_: Any, **__: Any) -> NoReturn:
        raise MemoryError

    for place in ("sha256_file", "values_digest", "first_difference", "run_sql_checks", "check_recomputed"):
        with monkeypatch.context() as patch:
            patch.setattr(f"bgdata.store.verify.{place}", fails)
            assert not verify_warehouse(toys, "squares", None, 0, repair=True), place
        assert list(toys.staging.iterdir()) == []
    assert whole_versions(toys) == [table.name]
    assert verify_warehouse(toys, "squares", None, 0, repair=True)


def test_lack_of_memory_is_not_damage(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the system refuses to map or read a file for lack of memory, a version is unchecked, not damaged."""
    table = toys.build("squares", TEN)

    def fails(*_: Any, **__: Any) -> NoReturn:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    for place in ("arrays.map_bytes", "storage.os.open", "parquet.pq.ParquetFile"):
        with monkeypatch.context() as patch:
            patch.setattr(f"bgdata.store.{place}", fails)
            (found,) = (each for each in findings(toys) if each.status is not Status.PASSED)
            assert found.status == Status.UNCHECKED, (place, found.text)
            assert "memory" in found.text, (place, found.text)
    with monkeypatch.context() as patch:
        patch.setattr("bgdata.store.storage.os.open", fails)
        with pytest.raises(StorageError, match="cannot allocate memory"):
            toys.find(toys.kind("squares"), TEN)  # otherwise it would be built again
    assert table.manifest


@each("how", ["raises", "is killed"])
def test_version_set_aside_is_put_back(memory_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A version that a repair has moved aside is put back if the repair fails, at once or by the next repair."""
    toys = toy_warehouse(memory_path / "warehouse")
    table = toys.build("squares", TEN)
    flip_bit(table.parquet, random.Random(1))
    damaged = table.parquet.read_bytes()
    if how == "raises":
        with monkeypatch.context() as patch:
            patch.setattr(type(toys.kind("squares")), "compute", lambda *_: (_ for _ in ()).throw(MemoryError("no")))
            with pytest.raises(MemoryError):
                repair_version(toys, Table(table.folder))
        assert table.parquet.read_bytes() == damaged
        assert not list(toys.staging.glob("damaged-*"))
    else:
        move_aside(toys, table.folder, f"damaged-squares-10-{table.folder.name}")
        with pytest.raises(CorruptFileError, match="no current version squares/10/"):
            toys.open("squares", "10")
    assert verify_warehouse(toys, None, None, 0, repair=True)
    assert whole_versions(toys) == [table.name]
    (aside,) = toys.staging.glob("damaged-*")
    assert (aside / "table.parquet").read_bytes() == damaged


def test_verify_fails_without_the_current_version(toys: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    """Verification fails if the current version of a variant in its scope is missing, and a repair rebuilds it."""
    table = toys.build("squares", Count(20))
    other = toys.build("squares", TEN)
    shutil.rmtree(table.folder)
    for scope in (None, "squares", "squares/20"):
        assert not verify_warehouse(toys, scope, 0, 0, repair=False)
        assert "FAILED squares/20: current: no current version squares/20/" in capsys.readouterr().err
    assert verify_warehouse(toys, "squares/10", 0, 0, repair=False)
    assert verify_warehouse(toys, "squares", 0, 0, repair=True)
    assert f"repaired squares/20: {table.folder.name} is current now" in capsys.readouterr().err
    assert whole_versions(toys) == [other.name, table.name]


def test_damaged_pointer_is_repaired(toys: Warehouse) -> None:
    table = toys.build("squares", Count(7))  # not a default
    (table.folder.parent / "current").write_text("x")
    assert not verify_warehouse(toys, "squares", 0, 0, repair=False)
    assert verify_warehouse(toys, "squares", 0, 0, repair=True)
    assert toys.open("squares", "7").name == table.name
    shutil.rmtree(table.folder)
    with pytest.raises(
        MissingTableError, match=r"expected a version of squares/7 to make current, found none; restore"
    ):
        verify_warehouse(toys, "squares", 0, 0, repair=True)


def test_missing_disk_is_not_repaired(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    disk = toys.root.with_name("disk")
    shutil.move(table.folder.parent, disk)
    table.folder.parent.symlink_to(disk)
    disk.rename(disk.with_name("unmounted"))
    assert not verify_warehouse(toys, None, 0, 0, repair=False)
    with pytest.raises(StorageError, match="is its disk mounted"):
        verify_warehouse(toys, None, 0, 0, repair=True)
    assert table.folder.parent.is_symlink()


def test_missing_locked_variant_fails(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    save_lock(toys.lock, [table.manifest])
    assert verify_warehouse(toys, None, 0, 0, repair=False)
    toys.build("squares", Count(20))
    shutil.rmtree(table.folder.parent)
    (found,) = (each for each in verify_files(toys) if each.problem)
    assert found.text == "expected squares/10, which it lists, found none; try: bgdata build"
