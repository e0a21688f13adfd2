"""Proving a warehouse: files, values, Parquet, SQL checks, recomputed rows, and the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from bgdata.errors import BgdataError, CheckFailedError, CheckSkippedError, DigestMismatchError, MissingTableError
from bgdata.store.arrays import values_digest
from bgdata.store.checks import run_sql_checks
from bgdata.store.dataset import Dataset, Parameters
from bgdata.store.lockfile import read_lock
from bgdata.store.parquet import first_difference
from bgdata.store.progress import Progress
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse


class Status(StrEnum):
    """What a check can come out with."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check of a version, or of a file of the warehouse such as its catalog."""

    subject: str  # `dataset/variant/version`, or the file
    check: str
    status: Status
    text: str = ""  # what is wrong, why it was skipped, or what was looked at
    table: Table | None = None  # the version, which a repair builds anew

    @property
    def problem(self) -> str:
        """What is wrong; empty unless the check failed."""
        return self.text if self.status is Status.FAILED else ""


Check = Callable[[], str | None]  # returns what was looked at; raises what is wrong, or CheckSkippedError


def finding_of(subject: str, name: str, check: Check, table: Table | None = None) -> Finding:
    """Make a check: what it raises is what it found."""
    try:
        return Finding(subject, name, Status.PASSED, check() or "", table)
    except CheckSkippedError as reason:
        return Finding(subject, name, Status.SKIPPED, str(reason), table)
    except BgdataError as error:
        return Finding(subject, name, Status.FAILED, str(error), table)


def verify(
    warehouse: Warehouse, tables: list[Table], *, sample_rows: int, seed: int, progress: Progress
) -> Iterator[Finding]:
    """Run every check on every table, yielding findings as they come; a version's later checks stop at a broken one.

    `sample_rows` rows of each table are recomputed from their successors, chosen by `seed`.
    """
    for table in tables:
        for name, check in checks_of(warehouse, table, sample_rows, seed, progress):
            finding = finding_of(table.name, name, check, table)
            yield finding
            if finding.status is Status.FAILED:
                break


def checks_of(
    warehouse: Warehouse, table: Table, sample_rows: int, seed: int, progress: Progress
) -> Iterator[tuple[str, Check]]:
    """The checks of one version in order, cheap ones first."""
    yield "manifest", lambda: check_manifest(warehouse, table)
    kind = warehouse.kind(table.manifest.dataset)
    parameters = kind.parameters.from_manifest(table.manifest.parameters)
    yield "file sizes", table.check_sizes
    yield "file hashes", lambda: check_hashes(table)
    yield "values", lambda: check_values(table)
    yield "Parquet equals the arrays", lambda: check_parquet(table, kind, parameters, progress)
    yield "SQL checks", lambda: run_sql_checks(kind, parameters, table.folder)
    yield f"{sample_rows} rows recomputed", lambda: check_sample(warehouse, table, kind, sample_rows, seed)
    yield "lock", lambda: check_lock(warehouse, table)


def check_manifest(warehouse: Warehouse, table: Table) -> None:
    """The manifest is readable, describes a known kind, and the folder bears its kind, parameters and digest."""
    manifest = table.manifest
    kind = warehouse.kind(manifest.dataset)
    name = f"{kind.name}/{kind.slug(kind.parameters.from_manifest(manifest.parameters))}/{manifest.version}"
    if name != table.name:
        raise DigestMismatchError(f"expected the folder {name}, found {table.folder}")


def check_hashes(table: Table) -> None:
    """Every file has the SHA-256 of the manifest."""
    for entry in table.manifest.files:
        found = sha256_file(table.folder / entry.name)
        if found != entry.sha256:
            raise DigestMismatchError(
                f"expected SHA-256 {entry.sha256[:16]}... of {table.folder / entry.name}, found {found[:16]}...: "
                "the file was changed or damaged; try: bgdata verify --repair"
            )


def check_values(table: Table) -> None:
    """The arrays have the digest that names the version."""
    found = values_digest(table.arrays())
    if found != table.manifest.digest:
        raise DigestMismatchError(f"expected the value digest {table.manifest.digest} in {table.name}, found {found}")


def check_parquet(table: Table, kind: Dataset[Any], parameters: Parameters, progress: Progress) -> None:
    """The Parquet files hold exactly the rows that the arrays say."""
    progress.start(f"{table.name}: comparing Parquet", table.manifest.rows, "rows")
    for shape in kind.tables:
        path = table.folder / shape.file
        row = first_difference(path, kind.table_batches(shape.name, parameters, table.arrays()), progress)
        if row is not None:
            raise DigestMismatchError(f"expected {path} to equal the arrays, found a difference after row {row:,}")


def check_sample(warehouse: Warehouse, table: Table, kind: Dataset[Any], rows: int, seed: int) -> None:
    """Random rows follow from their successors."""
    inputs = {}
    for role, name in table.manifest.inputs.items():
        title, _, digest = name.partition("@")
        dataset, _, variant = title.partition("/")
        candidates = [t for t in warehouse.versions(dataset, variant) if t.folder.name.endswith(digest[:8])]
        if not candidates:
            raise MissingTableError(f"expected {name} in {warehouse.root}, which {table.name} was computed from")
        inputs[role] = candidates[0]
    if rows:
        kind.check_sample(table, inputs, rows, np.random.default_rng(seed))


def check_lock(warehouse: Warehouse, table: Table) -> None:
    """A version whose recipe the lock knows has the digest that it states."""
    if not warehouse.lock.exists():
        return
    entries, _ = read_lock(warehouse.lock)
    for entry in entries:
        if entry.recipe_key == table.manifest.recipe_key and entry.digest != table.manifest.digest:
            raise CheckFailedError(
                f"expected the digest {entry.digest[:16]}... of {table.name} as in {warehouse.lock}, "
                f"found {table.manifest.digest[:16]}...: the same recipe gave other values"
            )
