"""Any changed byte is found and reported, and a repair restores equal values."""

from __future__ import annotations

import dataclasses
import errno
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
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
from bgdata.store.parquet import first_difference
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import Comparison, Finding, Status, finding_of, verify, verify_files
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands import verify as cli_verify
from bgdata.warehouse.commands.verify import in_order_of_repair, repair_version, verify_warehouse
from tests.store.toy import Count, Squares, overwrite, toy_warehouse, update_manifest, whole_versions

TEN = Count(10)
SUM_OF_SQUARES = 285  # of 0 to 9
CHECKS = [
    "manifest", "file sizes", "file hashes", "values", "Parquet equals the arrays", "SQL checks", "rows recomputed",
    "lock",
]  # fmt: skip


def findings(warehouse: Warehouse, rows: int | None = 7, seed: int = 0) -> list[Finding]:
    """The results of all checks of all versions, with this many rows recomputed (None: as many as usual)."""
    tables = list(warehouse.versions())
    return list(verify(warehouse, tables, sample_rows=rows, seed=seed, progress=Silence()))


def failures(warehouse: Warehouse, rows: int | None = 7) -> list[Finding]:
    return [finding for finding in findings(warehouse, rows) if finding.status is Status.FAILED]


def only_failure(warehouse: Warehouse) -> Finding:
    (failure,) = failures(warehouse)
    return failure


def only_skipped(warehouse: Warehouse, rows: int | None = 7) -> Finding:
    """The only check that was skipped; all others must have passed."""
    (finding,) = (finding for finding in findings(warehouse, rows) if finding.status is not Status.PASSED)
    assert finding.status is Status.SKIPPED
    return finding


def verify_all(warehouse: Warehouse, scope: str | None = None, *, repair: bool = False) -> bool:
    """Verify as `bgdata verify` does."""
    return verify_warehouse(warehouse, scope, None, 0, repair=repair)


def flip_bit(path: Path, seed: int = 1) -> None:
    """Flip a random bit of a file."""
    generator = random.Random(seed)
    data = bytearray(path.read_bytes())
    data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    overwrite(path, bytes(data))


def test_undamaged_warehouse_passes(toys: Warehouse) -> None:
    toys.build("square_sums", TEN)
    results = findings(toys)
    assert [finding.check for finding in results] == CHECKS * 2  # of squares and square_sums
    assert [finding.problem for finding in results] == [""] * len(results)
    (skipped,) = (finding for finding in results if finding.status is Status.SKIPPED)
    assert skipped.check == "rows recomputed"
    assert skipped.text == f"nothing that {skipped.subject} could be recomputed from is kept"


@pytest.mark.parametrize(
    ("columns", "is_accepted"),
    [
        (["square", "number"], True),  # as in older files
        (["number"], False),
        (["number", "square", "more"], False),
    ],
)
def test_columns_may_have_another_order(toys: Warehouse, columns: list[str], is_accepted: bool) -> None:
    table = toys.build("squares", TEN)
    rows = pq.read_table(table.parquet)
    table.parquet.chmod(0o644)
    pq.write_table(rows.append_column("more", rows["square"]).select(columns), table.parquet, row_group_size=8)
    update_manifest(table)
    failed_checks = [finding.check for finding in failures(toys)]
    assert ("Parquet equals the arrays" not in failed_checks) == is_accepted


@pytest.mark.parametrize("name", ["square.npy", "table.parquet", "manifest.json"])
def test_any_flipped_bit_is_found(toys: Warehouse, name: str) -> None:
    """A single flipped bit in any file of a version is found, and the error names the file."""
    toys.build("squares", Count(20))
    table = toys.build("squares", TEN)
    path = table.folder / name
    undamaged = path.read_bytes()
    for seed in range(20):
        flip_bit(path, seed)
        failure = only_failure(toys)
        assert failure.subject == table.name
        assert failure.check == ("manifest" if name == "manifest.json" else "file hashes")
        assert str(path) in failure.problem
        overwrite(path, undamaged)
    assert failures(toys) == []


@pytest.mark.parametrize("name", ["square.npy", "table.parquet", "manifest.json"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "longer"])
def test_incomplete_files_are_found(toys: Warehouse, name: str, damage: str) -> None:
    table = toys.build("squares", TEN)
    path = table.folder / name
    if damage == "missing":
        path.unlink()
    else:
        overwrite(path, path.read_bytes() + b"x" if damage == "longer" else path.read_bytes()[:-1])
    failure = only_failure(toys)
    assert failure.check == ("manifest" if name == "manifest.json" else "file sizes")
    assert str(table.folder) in failure.problem


def test_forged_values_are_found(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    values = table.array("square").copy()
    values[3] += 1
    (table.folder / "square.npy").unlink()
    save_array(table.folder / "square.npy", values)
    update_manifest(table)
    failure = only_failure(toys)
    assert failure.check == "values"
    assert f"expected the value digest {table.manifest.digest} in {table.name}, found" in failure.problem


def test_forged_parquet_is_found(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    other = toys.build("squares", Count(20))
    overwrite(table.parquet, other.parquet.read_bytes())
    update_manifest(table)
    failure = only_failure(toys)
    assert failure.check == "Parquet equals the arrays"
    assert f"expected {table.parquet} to equal the arrays, found a difference after row 8" in failure.problem


def test_file_that_is_no_parquet_is_found(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    overwrite(table.parquet, b"no Parquet at all")
    update_manifest(table)
    assert "expected a readable Parquet file" in only_failure(toys).problem


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
    failure = only_failure(toys)
    assert failure.check == "manifest"
    assert message in failure.problem


class WrongArray(np.ndarray):
    """Adds one at index 4."""

    def __new__(cls, count: int) -> WrongArray:
        return np.empty(count, np.int64).view(cls)

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(key, value + (key == 4))  # type: ignore[operator, call-overload]


def build_with_17_as_square_of_4(warehouse: Warehouse) -> Table:
    """Build a version with a wrong value, whose files and hashes all agree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.store.toy.np.zeros", lambda count, _: WrongArray(count))
        table = warehouse.build("squares", TEN)
    assert table.array("square")[4] == 17
    return table


def test_wrong_values_are_found_only_by_recomputing(toys: Warehouse) -> None:
    build_with_17_as_square_of_4(toys)
    assert failures(toys, rows=0) == []
    (failure,) = failures(toys, rows=100)
    assert failure.check == "rows recomputed"
    assert failure.problem == "expected 16 at 4, found 17"


class SmallSquares(Squares):
    """Tables of up to ten rows are recomputed as a whole, of others five rows."""

    whole_rows = 10
    sample_rows = 5


def test_wrong_value_is_found_by_recomputing_a_small_table(toys: Warehouse) -> None:
    """Nothing is written while a table is recomputed."""
    warehouse = toy_warehouse(toys.root, squares=SmallSquares())
    table = build_with_17_as_square_of_4(warehouse)
    paths = sorted(toys.root.rglob("*"))
    (failure,) = failures(warehouse, rows=None)
    assert failure.check == "rows recomputed"
    assert failure.problem == f"expected square 16 at [4] in {table.name}, as it is computed again, found 17"
    assert sorted(toys.root.rglob("*")) == paths


@pytest.mark.parametrize(("count", "text"), [(10, "all 10 rows"), (11, "5 of 11 rows: finds 1 bad one in 1 with 99%")])
def test_only_small_tables_are_recomputed_as_a_whole(toys: Warehouse, count: int, text: str) -> None:
    warehouse = toy_warehouse(toys.root, squares=SmallSquares())
    warehouse.build("squares", Count(count))
    (recomputed,) = (finding for finding in findings(warehouse, rows=None) if finding.check == "rows recomputed")
    assert recomputed.text == text


def test_rows_are_compared_when_written(toys: Warehouse) -> None:
    """While a version is recomputed, the first value that differs from the stored one is named, as is another dtype."""
    table = toys.build("square_sums", TEN)
    kind = toys.kind("square_sums")
    build = Build(TEN, {"terms": toys.open("squares", "10")}, toys, Comparison(table, Silence()))
    kind.computation.compute(build)
    wrong_totals = table.array("total").copy()
    wrong_totals[6] += 1
    table._arrays["total"] = wrong_totals
    with pytest.raises(CheckFailedError, match=rf"expected total 91 at \[6\] in {table.name}, .* found 92"):
        kind.computation.compute(build)
    table._arrays["total"] = wrong_totals.astype(np.int32)
    with pytest.raises(CheckFailedError, match="expected total of"):
        kind.computation.compute(build)


@pytest.mark.parametrize(
    ("rows", "total", "text"),
    [
        (10, 10, "all 10 rows"),
        (1000, 10_000, "1,000 of 10,000 rows: finds 1 bad one in 217 with 99%"),
        # 300 bad ones in 100 million are 1 in 333,333
        (1_540_000, 10**8, "1,540,000 of 100,000,000 rows: finds 1 bad one in 334,407 with 99%"),
    ],
)
def test_sample_text(rows: int, total: int, text: str) -> None:
    assert sample_text(rows, total) == text


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (1000, "1,000 rows drawn of 10,000: finds 1 bad one in 217 with 99%"),
        (10_000, "10,000 rows drawn of 10,000: finds 1 bad one in 2,171 with 99%"),  # drawn rows may repeat
        (100_000, "100,000 rows drawn of 10,000: finds 1 bad one in 10,000 with 99%"),
        (0, "0 rows drawn of 10,000: finds 1 bad one in 0 with 99%"),
    ],
)
def test_drawn_sample_text(rows: int, text: str) -> None:
    assert drawn_sample_text(rows, 10_000) == text


def test_seed_chooses_the_sample(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    toys.build("squares", TEN)
    drawn = []
    monkeypatch.setattr(Squares, "check_sample", lambda _, recheck: drawn.append(recheck.generator.integers(0, 10**6)))
    for seed in (1, 1, 2):
        findings(toys, seed=seed)
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


@pytest.mark.parametrize("rows", [0, 7])
def test_missing_input_skips_recomputing(toys: Warehouse, rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A version whose input is not in the warehouse, as after pulling only some versions, is not recomputed, and that
    is no failure."""
    sums = toys.build("square_sums", TEN)
    digest = toys.open("squares", "10").manifest.digest
    shutil.rmtree(toys.root / "squares")
    skipped = only_skipped(toys, rows)
    assert skipped.subject == sums.name
    assert skipped.check == "rows recomputed"
    assert verify_warehouse(toys, "square_sums", rows, 0, repair=False)
    output = capsys.readouterr()
    assert "1 skipped, 0 failed" in output.out
    assert f"ok     {sums.name}: recomputing skipped: {skipped.text}" in output.err
    if rows:
        assert skipped.text == f"it was computed from squares/10@{digest[:8]}, which is not in {toys.root}"


def test_missing_current_version_of_an_input_fails(toys: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    """If the current version of an input is missing, verification fails for the input, and the version made from it is
    not recomputed."""
    sums = toys.build("square_sums", TEN)
    shutil.rmtree(toys.open("squares", "10").folder)
    assert not verify_all(toys)
    messages = capsys.readouterr().err
    assert "FAILED squares/10: current: no current version squares/10/" in messages
    assert f"ok     {sums.name}: recomputing skipped: it was computed from squares/10@" in messages


def test_digest_must_match_the_lock(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    another_recipe = dataclasses.replace(table.manifest, recipe_key="0" * 64, digest="1" * 64)
    save_lock(toys.lock, [table.manifest, another_recipe])
    assert failures(toys) == []
    save_lock(toys.lock, [dataclasses.replace(table.manifest, digest="ab" * 32)])
    failure = only_failure(toys)
    assert failure.check == "lock"
    assert f"expected the digest abababababababab... of {table.name}" in failure.problem


def test_unreadable_lock_leaves_versions_alone(toys: Warehouse) -> None:
    """A damaged lock is reported once, as a failure of the lock. The versions are not failures, and a repair does not
    rebuild them."""
    table = toys.build("squares", TEN)
    inode = table.folder.stat().st_ino
    toys.lock.write_text("<<<<<<< HEAD")
    skipped = only_skipped(toys)
    assert skipped.check == "lock"
    assert skipped.text.startswith("the lock cannot be read: expected a lock file")
    assert [finding.status for finding in verify_files(toys) if finding.check == "a lock"] == [Status.FAILED]
    assert not verify_all(toys, repair=True)
    assert not list(toys.staging.glob("damaged-*"))
    assert table.folder.stat().st_ino == inode


@pytest.mark.parametrize("name", ["square.npy", "table.parquet", "manifest.json"])
def test_repair_restores_a_version(toys: Warehouse, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A repair builds a damaged version again with the same digest, and keeps the damaged files aside. A second repair
    does the same."""
    table = toys.build("squares", TEN)
    digest = table.manifest.digest
    kept_folder = toys.staging / f"damaged-squares-10-{table.folder.name}"
    for junk in (b"junk 1", b"junk 2"):
        overwrite(table.folder / name, junk)
        repair_version(toys, Table(table.folder))
        assert whole_versions(toys) == [table.name]
        assert toys.open("squares", "10").manifest.digest == digest
        assert (kept_folder / name).read_bytes() == junk
        assert f"repaired {table.name}; the damaged files are in {kept_folder}" in capsys.readouterr().err


def test_damaged_input_skips_recomputing(toys: Warehouse) -> None:
    sums = toys.build("square_sums", TEN)
    squares = toys.open("squares", "10")
    flip_bit(squares.folder / "square.npy")
    assert only_failure(toys).subject == squares.name
    for tables in ([sums, squares], [sums]):  # the whole warehouse, or a single kind
        results = verify(toys, tables, sample_rows=None, seed=0, progress=Silence())
        (skipped,) = (finding for finding in results if finding.status is Status.SKIPPED)
        assert skipped.subject == sums.name
        assert skipped.text == f"it is made from {squares.name}, which is damaged"


def test_damaged_input_is_repaired_alone(toys: Warehouse) -> None:
    sums = toys.build("square_sums", TEN)
    squares = toys.open("squares", "10")
    flip_bit(squares.folder / "square.npy")
    assert verify_all(toys, repair=True)
    assert whole_versions(toys) == [sums.name, squares.name]
    assert Table(squares.folder).array("square")[9] == 81
    assert not list(toys.staging.glob("damaged-square_sums*"))


@pytest.mark.parametrize("name", ["total.npy", "manifest.json"])
def test_version_and_its_input_are_repaired(toys: Warehouse, name: str) -> None:
    """If a version and its input are both damaged, the input is repaired first."""
    sums = toys.build("square_sums", TEN)
    squares = toys.open("squares", "10")
    flip_bit(sums.folder / name)
    flip_bit(squares.folder / "square.npy")
    assert verify_all(toys, repair=True)
    assert whole_versions(toys) == [sums.name, squares.name]
    assert Table(sums.folder).array("total")[-1] == SUM_OF_SQUARES


def test_nothing_is_repaired_from_damaged_versions(toys: Warehouse) -> None:
    """A version is not rebuilt from a damaged input, even if only the kind of the version is to be repaired."""
    sums = toys.build("square_sums", TEN)
    squares = toys.open("squares", "10")
    flip_bit(sums.folder / "total.npy")
    flip_bit(squares.folder / "square.npy")
    with pytest.raises(DigestMismatchError, match=f"of {squares.folder / 'square.npy'}, found"):
        verify_all(toys, "square_sums", repair=True)
    assert [table.name for table in toys.versions("square_sums")] == [sums.name]


class NewerSquares(Squares):
    """A later revision, whose values are larger by one."""

    revision = 2

    def compute(self, build: Build[Count]) -> None:
        build.job.save("square", np.arange(build.parameters.count, dtype=np.int64) ** 2 + 1)

    def check_sample(self, recheck: Recheck[Count]) -> str:
        raise CheckFailedError(f"expected 1 at 0, found {recheck.table.array('square')[0]}")


@pytest.mark.parametrize("whole_rows", [0, 10])  # limit below which all rows are recomputed
def test_older_revision_is_not_recomputed(toys: Warehouse, monkeypatch: pytest.MonkeyPatch, whole_rows: int) -> None:
    """A version of an older revision that recomputes differently is skipped, not failed; but a flipped bit in its files
    is found."""
    table = toys.build("squares", TEN)
    monkeypatch.setattr(NewerSquares, "whole_rows", whole_rows)
    newer = toy_warehouse(toys.root, squares=NewerSquares())
    skipped = only_skipped(newer, rows=None)
    assert skipped.check == "rows recomputed"
    assert skipped.text.startswith("it is of revision 1, and revision 2 gives other values: expected ")
    flip_bit(table.folder / "square.npy")
    assert [finding.check for finding in failures(newer, rows=None)] == ["file hashes"]


def test_repair_uses_the_recorded_inputs(toys: Warehouse) -> None:
    """A repair rebuilds an older version from the input that its manifest records, not from the current one."""
    old_sums = toys.build("square_sums", TEN)
    newer = toy_warehouse(toys.root, squares=NewerSquares())
    new_sums = newer.build("square_sums", TEN)
    assert old_sums.name != new_sums.name
    flip_bit(old_sums.folder / "total.npy")
    repair_version(newer, Table(old_sums.folder))
    assert {table.name for table in newer.versions("square_sums")} == {old_sums.name, new_sums.name}
    assert Table(old_sums.folder).array("total")[-1] == SUM_OF_SQUARES
    assert newer.open("square_sums", "10").name == new_sums.name


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
    flip_bit(table.folder / "square.npy")

    class RefusingSquares(Squares):
        def check_parameters(self, parameters: Count) -> None:
            raise InvalidParameterError(f"expected other numbers, got {parameters.count}")

    with pytest.raises(InvalidParameterError, match="expected other numbers, got 10"):
        repair_version(toy_warehouse(toys.root, squares=RefusingSquares()), Table(table.folder))
    assert (table.folder / "square.npy").exists()


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


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("of 3 GB"),
        pa.ArrowMemoryError("malloc of size 3000000000 failed"),
        duckdb.OutOfMemoryException("failed to allocate data of size 1.0 MiB"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        PermissionError(errno.EACCES, "Permission denied"),
        OSError(errno.EIO, "Input/output error"),
        RuntimeError("can't start new thread"),
    ],
    ids=str,
)
def test_check_that_lacks_memory_or_access_is_unchecked(error: Exception) -> None:
    finding = finding_of("a/b/r1-00000000", "values", Mock(side_effect=error))
    assert finding.status == Status.UNCHECKED
    assert finding.problem == ""


@pytest.mark.parametrize(
    "error", [IndexError("index 9"), ValueError("no number"), ZeroDivisionError("by zero")], ids=str
)
def test_check_that_meets_invalid_values_fails(error: Exception) -> None:
    """Invalid values of a version, which may come from another user, do not end the verification."""
    finding = finding_of("a/b/r1-00000000", "values", Mock(side_effect=error))
    problem = f"{type(error).__name__}: {error}"
    assert finding.status == Status.FAILED
    assert finding.text == f"expected values that make sense in a/b/r1-00000000, found {problem}"


@pytest.mark.parametrize(
    "function", ["sha256_file", "values_digest", "first_difference", "run_sql_checks", "check_recomputed"]
)
def test_unchecked_version_is_not_moved(toys: Warehouse, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """If memory runs out during any check, the run fails, but a repair does not move the version."""
    table = toys.build("squares", TEN)
    with monkeypatch.context() as patch:
        patch.setattr(f"bgdata.store.verify.{function}", Mock(side_effect=MemoryError))
        assert not verify_all(toys, "squares", repair=True)
    assert list(toys.staging.iterdir()) == []
    assert whole_versions(toys) == [table.name]
    assert verify_all(toys, "squares", repair=True)


NO_MEMORY = Mock(side_effect=OSError(errno.ENOMEM, "Cannot allocate memory"))


@pytest.mark.parametrize("function", ["arrays.map_bytes", "storage.os.open", "parquet.pq.ParquetFile"])
def test_lack_of_memory_is_not_damage(toys: Warehouse, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """If the system refuses to map or read a file for lack of memory, a version is unchecked, not damaged."""
    toys.build("squares", TEN)
    with monkeypatch.context() as patch:
        patch.setattr(f"bgdata.store.{function}", NO_MEMORY)
        (finding,) = (finding for finding in findings(toys) if finding.status is not Status.PASSED)
    assert finding.status == Status.UNCHECKED
    assert "memory" in finding.text


def test_version_that_lack_of_memory_hides_is_not_missing(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would be built again."""
    toys.build("squares", TEN)
    with monkeypatch.context() as patch:
        patch.setattr("bgdata.store.storage.os.open", NO_MEMORY)
        with pytest.raises(StorageError, match="cannot allocate memory"):
            toys.find(toys.kind("squares"), TEN)


def check_repair_keeps_damaged_file(toys: Warehouse, table: Table, damaged: bytes) -> None:
    """Repair the version, and find the damaged Parquet file in the staging folder."""
    assert verify_all(toys, repair=True)
    assert whole_versions(toys) == [table.name]
    (kept_folder,) = toys.staging.glob("damaged-*")
    assert (kept_folder / "table.parquet").read_bytes() == damaged


def test_failed_repair_puts_the_version_back(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table = toys.build("squares", TEN)
    flip_bit(table.parquet)
    damaged = table.parquet.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Squares, "compute", Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError):
            repair_version(toys, Table(table.folder))
    assert table.parquet.read_bytes() == damaged
    assert not list(toys.staging.glob("damaged-*"))
    check_repair_keeps_damaged_file(toys, table, damaged)


def test_next_repair_finishes_a_killed_one(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    flip_bit(table.parquet)
    damaged = table.parquet.read_bytes()
    move_aside(toys, table.folder, f"damaged-squares-10-{table.folder.name}")
    with pytest.raises(CorruptFileError, match="no current version squares/10/"):
        toys.open("squares", "10")
    check_repair_keeps_damaged_file(toys, table, damaged)


@pytest.mark.parametrize("scope", [None, "squares", "squares/20"])
def test_missing_current_version_is_found_and_repaired(
    toys: Warehouse, capsys: pytest.CaptureFixture[str], scope: str | None
) -> None:
    table = toys.build("squares", Count(20))
    other = toys.build("squares", TEN)
    shutil.rmtree(table.folder)
    assert not verify_all(toys, scope)
    assert "FAILED squares/20: current: no current version squares/20/" in capsys.readouterr().err
    assert verify_all(toys, "squares/10"), "outside this scope"
    assert verify_all(toys, scope, repair=True)
    assert f"repaired squares/20: {table.folder.name} is current now" in capsys.readouterr().err
    assert whole_versions(toys) == [other.name, table.name]


def test_damaged_pointer_is_repaired(toys: Warehouse) -> None:
    table = toys.build("squares", Count(7))  # not a default
    (table.folder.parent / "current").write_text("x")
    assert not verify_all(toys, "squares")
    assert verify_all(toys, "squares", repair=True)
    assert toys.open("squares", "7").name == table.name


def test_missing_version_of_unknown_parameters_is_not_repaired(toys: Warehouse) -> None:
    table = toys.build("squares", Count(7))  # not a default
    shutil.rmtree(table.folder)
    with pytest.raises(
        MissingTableError, match=r"expected a version of squares/7 to make current, found none; restore"
    ):
        verify_all(toys, "squares", repair=True)


def test_missing_disk_is_not_repaired(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    disk = toys.root.with_name("disk")
    shutil.move(table.folder.parent, disk)
    table.folder.parent.symlink_to(disk)
    disk.rename(disk.with_name("unmounted"))
    assert not verify_all(toys)
    with pytest.raises(StorageError, match="is its disk mounted"):
        verify_all(toys, repair=True)
    assert table.folder.parent.is_symlink()


def test_missing_locked_variant_fails(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    save_lock(toys.lock, [table.manifest])
    assert verify_all(toys)
    toys.build("squares", Count(20))
    shutil.rmtree(table.folder.parent)
    (failure,) = (finding for finding in verify_files(toys) if finding.problem)
    assert failure.text == "expected squares/10, which it lists, found none; try: bgdata build"
