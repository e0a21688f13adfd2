"""Verifies a warehouse: files, values, Parquet, SQL checks, recomputed rows, and the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from types import TracebackType
from typing import Any

import duckdb
import numpy as np
from numpy.typing import DTypeLike

from bgdata.errors import (
    BgdataError,
    CheckFailedError,
    CheckSkippedError,
    CorruptFileError,
    DigestMismatchError,
    ManifestFormatError,
    MissingTableError,
    OlderTableError,
)
from bgdata.store.arrays import ROW_HASHES, Array, ArrayWriter, damaged_rows, values_digest
from bgdata.store.catalog import check_catalog
from bgdata.store.checks import check_columns, run_sql_checks
from bgdata.store.dataset import Build, Computed, Dataset, Recheck, sample_text
from bgdata.store.job import Job, Step, source_fingerprint
from bgdata.store.locked_sql import keep_to, open_memory
from bgdata.store.lockfile import is_more, read_lock
from bgdata.store.manifest import parts_digest
from bgdata.store.names import CURRENT
from bgdata.store.parameters import Parameters
from bgdata.store.parquet import first_difference
from bgdata.store.progress import Progress
from bgdata.store.storage import is_shortage, sha256_file
from bgdata.store.table import Table
from bgdata.store.versions import Versions

RECOMPUTED = "rows recomputed"
MAX_PARTS = 50  # most parts of a version in which rows are recomputed


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNCHECKED = "not checked"  # the check could not run, for example because memory was short


@dataclass(frozen=True)
class Finding:
    """The result of a check of a version, or of another file of the warehouse, such as its catalog."""

    subject: str  # `dataset/variant/version`, or the file
    check: str
    status: Status
    text: str = ""  # the error, the reason to skip it, or what was checked
    table: Table | None = None  # the version, which a repair would rebuild

    @property
    def problem(self) -> str:
        """The error message if the check failed, else empty."""
        return self.text if self.status is Status.FAILED else ""

    @property
    def is_last(self) -> bool:
        """Whether later checks of the same version are left out because of this result."""
        return self.status in (Status.FAILED, Status.UNCHECKED)


class Origin(StrEnum):
    """The code that made a version, as far as a check of the version can find out."""

    THIS_CODE = "made by this code"
    RECOMPUTED = "by other code, recomputed here"  # as a whole or in part: see the finding
    COPIED = "copied, hashes only"


def origin(warehouse: Versions, finding: Finding) -> Origin:
    """Find out which code made a version, from its manifest and from `finding`, the result of recomputing its rows."""
    assert finding.table
    manifest = finding.table.manifest
    if manifest.software.get("sources") == source_fingerprint(warehouse.kind(manifest.dataset)):
        return Origin.THIS_CODE
    return Origin.RECOMPUTED if finding.status is Status.PASSED else Origin.COPIED


Check = Callable[[], str | None]  # returns what was checked; raises the error, or CheckSkippedError


def finding_of(subject: str, name: str, check: Check, table: Table | None = None) -> Finding:
    """Run a check, and return its result. An error that the check raises becomes part of the result. `subject` is the
    name of what is checked, and `name` the name of the check."""
    try:
        return Finding(subject, name, Status.PASSED, check() or "", table)
    except CheckSkippedError as reason:
        return Finding(subject, name, Status.SKIPPED, str(reason), table)
    except Exception as error:
        if isinstance(error, BgdataError):
            return Finding(subject, name, Status.UNCHECKED if is_shortage(error) else Status.FAILED, str(error), table)
        message = f"{type(error).__name__}: {(str(error).splitlines() or ['nothing'])[0]}"
        if is_shortage(error) or isinstance(error, OSError | duckdb.OperationalError | duckdb.InternalError):
            text = f"expected to be able to check {subject}, found {message}; try again with more memory"
            return Finding(subject, name, Status.UNCHECKED, text, table)
        if isinstance(
            error, ArithmeticError | LookupError | ValueError | duckdb.Error
        ):  # raised by damaged values that were used without a check
            return Finding(
                subject, name, Status.FAILED, f"expected values that make sense in {subject}, found {message}", table
            )
        raise


def verify(
    warehouse: Versions, tables: list[Table], *, sample_rows: int | None = None, seed: int, progress: Progress
) -> Iterator[Finding]:
    """Run every check on every table, and yield the results in order. After a failure, the other checks of that version
    are left out. A table that takes only seconds is recomputed as a whole. Of any other table, `sample_rows` rows are
    recomputed, by default as many as its kind says, and `seed` chooses them. Meanwhile a second thread reads the files
    of later tables."""
    with ThreadPoolExecutor(1) as reader:
        read = {table.name: reader.submit(_findings_of, table, _checks_of_files(warehouse, table)) for table in tables}

        @cache
        def state_of(name: str) -> Status:
            """Whether the files of the version `name` are undamaged. For a version that is not among `tables`, only the
            hashes of its files are checked."""
            table = warehouse.open_reference(name)
            found = read[name].result() if name in read else _findings_of(table, _checks_of_hashes(table))
            return found[-1].status

        def recompute(table: Table) -> str:
            """Recompute rows of a version, and return a description of them. Raises CheckSkippedError if an input is
            missing or damaged, because the values would then differ."""
            for made_from in _inputs(warehouse, table) if sample_rows != 0 else ():
                flaws = {Status.FAILED: "is damaged", Status.UNCHECKED: "could not be checked"}
                if flaw := flaws.get(state_of(made_from.name)):
                    raise CheckSkippedError(f"it is made from {made_from.name}, which {flaw}")
            return check_recomputed(warehouse, table, sample_rows, seed, progress)

        try:
            for table in tables:
                found = read[table.name].result()
                yield from found
                if not found[-1].is_last:
                    checks = ((RECOMPUTED, partial(recompute, table)), ("lock", partial(_check_lock, warehouse, table)))
                    yield from _findings_of(table, checks)
        finally:
            for future in read.values():
                future.cancel()


def _read_lock(warehouse: Versions) -> str | None:
    read_lock(warehouse.lock)
    return None


def verify_files(warehouse: Versions) -> Iterator[Finding]:
    """Yield the results of checking the files that do not belong to a version: the catalog that other clients open, the
    files `current`, and the lock."""
    yield finding_of(warehouse.catalog.name, "as the manifests say", lambda: check_catalog(warehouse))
    for kind in sorted(warehouse.kinds):
        yield from verify_current(warehouse, kind)
    if warehouse.lock.is_symlink() or warehouse.lock.exists():
        found = finding_of(warehouse.lock.name, "a lock", lambda: _read_lock(warehouse))
        yield found
        if found.status is Status.PASSED:
            missing = finding_of(warehouse.lock.name, "built", lambda: _check_built(warehouse))
            if missing.status is not Status.PASSED:
                yield missing


def verify_current(warehouse: Versions, kind: str, variant: str = "") -> Iterator[Finding]:
    """Yield a failed check for each variant of a kind whose current version is missing or unknown; for one variant
    only, if `variant` is given."""
    for name, error in warehouse.lost(kind):
        if variant in ("", name):
            yield Finding(f"{kind}/{name}", CURRENT, Status.FAILED, str(error))


def _check_built(warehouse: Versions) -> None:
    """Raise CheckFailedError if a variant in the lock has no version, unless only `bgdata build --all` builds it."""
    missing = [
        f"{entry.dataset}/{entry.variant}"
        for entry in read_lock(warehouse.lock)
        if not any(warehouse.versions(entry.dataset, entry.variant)) and not is_more(warehouse, entry)
    ]
    if missing:
        raise CheckFailedError(f"expected {', '.join(missing)}, which it lists, found none; try: bgdata build")


def _findings_of(table: Table, checks: Iterable[tuple[str, Check]]) -> list[Finding]:
    """Run the checks of a version, by name, until a check fails, and return their results."""
    found: list[Finding] = []
    for name, check in checks:
        found.append(finding_of(table.name, name, check, table))
        if found[-1].is_last:
            break
    return found


def _checks_of_files(warehouse: Versions, table: Table) -> Iterator[tuple[str, Check]]:
    """Yield the name and the function of each check of a version's files, the fastest first."""
    yield "manifest", lambda: check_manifest(warehouse, table)
    kind = warehouse.kind(table.manifest.dataset)
    parameters = kind.recipe_of(table.manifest)
    yield from _checks_of_hashes(table)
    yield "values", lambda: check_values(table)
    yield "Parquet equals the arrays", lambda: _check_parquet(table, kind, parameters)

    def check_sql() -> None:
        _require_parquet(table, kind, parameters)
        files = {shape: table.check_files(shape.file) for shape in kind.tables_of(parameters)}
        run_sql_checks(warehouse.kinds.sql, kind, parameters, files)

    yield "SQL checks", check_sql


def _checks_of_hashes(table: Table) -> Iterator[tuple[str, Check]]:
    """Yield the name and the function of each check that compares a version's files with its manifest."""
    yield "file sizes", table.check_sizes
    yield "file hashes", lambda: check_hashes(table)


def check_manifest(warehouse: Versions, table: Table) -> None:
    """Check that the manifest of a version can be read, names a known kind, records the parameters of its variant, and
    lists the files that the kind declares. Raises ManifestFormatError, UnknownKindError or MissingTableError."""
    kind = warehouse.kind(table.manifest.dataset)
    parameters = kind.recipe_of(table.manifest)
    files = [shape.file for shape in kind.tables_of(parameters)]
    files += [f"{array.name}.npy" for array in kind.arrays_of(parameters)]
    declared = {name for file in files for name in table.files_of(file)}
    listed = {entry.name for entry in table.manifest.files}
    if listed != declared:
        wrong = ", ".join(sorted(listed ^ declared))
        raise ManifestFormatError(
            f"expected the files of {kind.name} in the manifest of {table.name}, differing: {wrong}"
        )


def check_hashes(table: Table) -> None:
    """Check that every file of a version has the SHA-256 in its manifest. Raises DigestMismatchError if a file has
    another hash."""
    for entry in table.manifest.files:
        found = sha256_file(table.folder / entry.name, inside=True)
        if found != entry.sha256:
            raise DigestMismatchError(
                f"expected SHA-256 {entry.sha256[:16]}... of {table.folder / entry.name}, found {found[:16]}...: "
                "the file was changed or damaged; try: bgdata verify --repair"
            )


def check_values(table: Table) -> None:
    """Check that the arrays of a version give the digest in its manifest, and that rows with hashes match them. Raises
    DigestMismatchError if values have changed."""
    if parts := table.manifest.parts:
        shared = {name: table.array(name) for name in table.array_names if (table.folder / f"{name}.npy").exists()}
        for part in table.parts:
            _check_digest(part, {name: values for name, values in part.arrays().items() if name not in shared})
        found = parts_digest(parts, values_digest(shared))
        if found != table.manifest.digest:
            raise DigestMismatchError(
                f"expected the digest {table.manifest.digest} of the parts of {table.name}, found {found}"
            )
        return
    arrays = table.arrays()
    for name, values in arrays.items():
        if name + ROW_HASHES in arrays and (wrong := damaged_rows(values, arrays[name + ROW_HASHES])):
            rows = ", ".join(map(str, wrong[:5])) + (" ..." if len(wrong) > 5 else "")
            raise DigestMismatchError(
                f"expected the rows of {name} in {table.name} as their hashes say, found {len(wrong):,} damaged: "
                f"{rows}; try: bgdata verify --repair"
            )
    _check_digest(table, arrays)


def _check_digest(table: Table, arrays: Mapping[str, Array]) -> None:
    found = values_digest(arrays)
    if found != table.manifest.digest:
        raise DigestMismatchError(f"expected the value digest {table.manifest.digest} in {table.name}, found {found}")


def _require_parquet(table: Table, kind: Dataset[Any], parameters: Parameters) -> None:
    """Raise CheckSkippedError if a version is too large for Parquet, or if an older bgdata wrote its Parquet files with
    other columns."""
    if not kind.tables_of(parameters):
        raise CheckSkippedError(f"{table.name} is too large for Parquet: it has flat arrays alone")
    if table.manifest.revision >= kind.revision:
        return
    with open_memory() as connection:
        keep_to(connection, [path.resolve() for shape in kind.tables for path in table.check_files(shape.file)])
        try:
            for shape in kind.tables:
                check_columns(connection, kind, shape, table)
        except OlderTableError as error:
            raise CheckSkippedError(str(error)) from error
        except duckdb.Error as error:
            raise CorruptFileError(f"expected readable Parquet files in {table.folder}, found: {error}") from error


def _check_parquet(table: Table, kind: Dataset[Any], parameters: Parameters) -> None:
    """Check that the Parquet files of a version contain exactly the rows that its arrays give. Raises
    DigestMismatchError if a row differs."""
    _require_parquet(table, kind, parameters)
    for part in table.parts:
        for shape in kind.tables:
            path = table.folder / part.files_of(shape.file)[0]
            computed = Computed(parameters, part.arrays(), part.items.start if part.items else 0, part.first_row)
            batches = kind.computation.table_batches(shape, computed)
            row = first_difference(path, batches, kind.derived_columns(parameters))
            if row is not None:
                raise DigestMismatchError(f"expected {path} to equal the arrays, found a difference after row {row:,}")


def _inputs(warehouse: Versions, table: Table) -> list[Table]:
    """The inputs of a version. Raises CheckSkippedError if one is not in the warehouse, for example because only a part
    of another warehouse was copied."""
    try:
        return list(warehouse.made_from(table).values())
    except MissingTableError as error:
        names = [name.partition("@") for name in table.manifest.inputs.values()]
        missing = [
            f"{title}@{digest[:8]}"
            for title, _, digest in names
            if not any(each.folder.name.endswith(digest[:8]) for each in warehouse.versions(*title.split("/")))
        ]
        is_are = "is" if len(missing) == 1 else "are"
        reason = f"it was computed from {', '.join(missing)}, which {is_are} not in {warehouse.root}"
        raise CheckSkippedError(reason) from error


def check_recomputed(warehouse: Versions, table: Table, rows: int | None, seed: int, progress: Progress) -> str:
    """Recompute all rows of a version, or `rows` random ones, and compare them with the stored rows. Returns a
    description of the rows. Raises CheckFailedError if values differ. Raises CheckSkippedError if the version is of an
    older revision of its kind, whose values may have been different."""
    if rows == 0:
        raise CheckSkippedError("no rows were asked for")
    kind, inputs = warehouse.kind(table.manifest.dataset), warehouse.made_from(table)
    parameters = kind.recipe_of(table.manifest)
    try:
        if rows is None and table.manifest.rows <= kind.whole_rows:
            kind.computation.compute(Build(parameters, inputs, warehouse, Comparison(table, progress)))
            return sample_text(table.manifest.rows, table.manifest.rows)
        count, generator = kind.sample_rows if rows is None else rows, np.random.default_rng(seed)
        text = ""
        parts = table.parts
        if len(parts) > 1:
            parts = [parts[n] for n in np.sort(generator.permutation(len(parts))[:MAX_PARTS])]
        for part in parts:
            recheck = Recheck(parameters, inputs, warehouse, part, -(-count // len(parts)), generator, part=part.items)
            text = kind.computation.check_sample(recheck)
        if len(parts) == 1:
            return text
        return f"{text.partition(':')[0]} in each of {len(parts)} of {len(table.parts)} parts"
    except CheckFailedError as error:
        if table.manifest.revision >= kind.revision:
            raise
        raise CheckSkippedError(
            f"it is of revision {table.manifest.revision}, and revision {kind.revision} gives other values: {error}"
        ) from error


class Comparison(Job):
    """A job that compares the arrays of a computation with those of an existing version, and saves nothing. Raises
    CheckFailedError, which names the first value that differs."""

    keeps = False

    def __init__(self, table: Table, progress: Progress) -> None:
        super().__init__(table.folder, progress, title=table.name)
        self.table = table

    def save(self, name: str, values: Array) -> None:
        """Compare a whole array with the stored one."""
        self.compare(name, 0, np.ascontiguousarray(values), self.table.array(name))

    def create(self, name: str, dtype: DTypeLike, shape: tuple[int, ...], *, keep: bool = False) -> ArrayWriter:  # noqa: ARG002
        """Open a stored array, to compare it row by row."""
        found = self.table.array(name)
        if (found.shape, found.dtype) != (shape, np.dtype(dtype)):
            raise CheckFailedError(f"expected {name} of {shape} {dtype} in {self.table.name}, found {found.shape}")
        return ComparingWriter(self, name)

    def steps(
        self, unit: str, steps: Sequence[Step], sizes: Sequence[int], _state: Mapping[str, Array]
    ) -> Iterator[Step]:
        """Yield all steps, without checkpoints."""
        self.progress.start(self.title, sum(sizes), unit)
        for step, size in zip(steps, sizes, strict=True):
            yield step
            self.progress.advance(size)

    def compare(self, name: str, row: int, expected: Array, found: Array) -> None:
        """Raise CheckFailedError unless the computed values `expected` and the stored values `found` have the same
        bytes. They are rows of the array `name`, from row number `row` on."""
        if (expected.shape, expected.dtype) != (found.shape, found.dtype):
            raise CheckFailedError(
                f"expected {name} of {expected.shape} {expected.dtype} in {self.table.name}, found {found.shape} "
                f"{found.dtype}"
            )
        ours, theirs = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (expected, found))
        if not np.array_equal(ours, theirs):
            item = int((ours != theirs).argmax()) // expected.dtype.itemsize
            place = np.unravel_index(item, expected.shape)
            raise CheckFailedError(
                f"expected {name} {expected[place]} at {[row + int(place[0]), *map(int, place[1:])]} in "
                f"{self.table.name}, as it is computed again, found {found[place]}"
            )


class ComparingWriter(ArrayWriter):
    """Compares rows with the stored array, instead of writing them."""

    def __init__(self, comparison: Comparison, name: str) -> None:
        self._comparison, self._name = comparison, name
        self._found = comparison.table.array(name)

    def write(self, row: int, values: Array) -> None:
        """Compare one or more rows with the stored rows from number `row` on."""
        rows = np.ascontiguousarray(values, self._found.dtype).reshape(-1, *self._found.shape[1:])
        self._comparison.compare(self._name, row, rows, self._found[row : row + len(rows)])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing, since no file is open."""


def _check_lock(warehouse: Versions, table: Table) -> None:
    """Raise CheckFailedError if the lock lists the recipe of a version with another digest."""
    if not warehouse.lock.exists():
        return
    try:
        entries = read_lock(warehouse.lock)
    except BgdataError as error:  # `verify_files` reports the error once
        raise CheckSkippedError(f"the lock cannot be read: {error}") from error
    for entry in entries:
        if entry.recipe_key == table.manifest.recipe_key and entry.digest != table.manifest.digest:
            raise CheckFailedError(
                f"expected the digest {entry.digest[:16]}... of {table.name} as in {warehouse.lock}, "
                f"found {table.manifest.digest[:16]}...: the same recipe gave other values"
            )
