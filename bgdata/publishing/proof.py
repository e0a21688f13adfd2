"""Proof of a published folder for a stranger: checks of hashes, rows, schemas and splits, and of the values by their
digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bgdata.errors import CheckFailedError, CheckSkippedError, CorruptFileError, DigestMismatchError
from bgdata.publishing.contents import (
    LISTING,
    SUMS,
    Contents,
    PublishedTable,
    PublishedVersion,
    read_contents,
    visible_files,
)
from bgdata.publishing.published_arrays import PublishedArrays, RowStream
from bgdata.publishing.shards import plain_batch, row_groups
from bgdata.store.dataset import Computed, Dataset
from bgdata.store.manifest import Manifest, load_manifest, read_whole
from bgdata.store.parquet import parquet_errors
from bgdata.store.progress import Progress
from bgdata.store.registry import Kinds
from bgdata.store.storage import parse_checksums, sha256_file
from bgdata.store.verify import Check, Finding, finding_of


def verify_published(folder: Path, kinds: Kinds, progress: Progress) -> Iterator[Finding]:
    """Check a published folder and each of its versions, and yield the results. After a failure, the other checks of
    the folder or of that version are left out. Raises MissingFileError if the folder has no `published.json`, and
    ManifestFormatError if the file is damaged."""
    contents = read_contents(folder)
    name = str(folder)
    hashes = finding_of(name, "hashes", partial(check_file_hashes, folder, contents))
    yield hashes
    if hashes.is_last:
        return
    for version in contents.versions:
        progress.start(f"{version.name}: verifying", sum(table.rows for table in version.tables), "rows")
        for check, run in _checks(folder, version, kinds, progress):
            found = finding_of(version.name, check, run)
            yield found
            if found.is_last:
                break


def check_file_hashes(folder: Path, contents: Contents) -> str:
    """Compare every file in the folder with its hash in SHA256SUMS; returns the number of files as text. Raises
    CorruptFileError if a file or a hash is missing, and DigestMismatchError if a hash differs."""
    try:
        lines = parse_checksums(read_whole(folder / SUMS))
    except FileNotFoundError as error:
        raise CorruptFileError(f"expected {SUMS} in {folder}, found no such file") from error
    except ValueError as error:
        raise CorruptFileError(f"expected a hash and a name in each line of {folder / SUMS}, found others") from error
    listed = dict(lines)
    if len(listed) != len(lines):
        raise CorruptFileError(f"expected each name once in {folder / SUMS}, found one twice")
    there = set(visible_files(folder)) - {SUMS}
    if wrong := sorted(there ^ set(listed)):
        what = "is not listed in it" if wrong[0] in there else "is missing"
        raise CorruptFileError(f"expected the files of {folder / SUMS}, found that {wrong[0]} {what}")
    for name, expected in listed.items():
        check_hash(folder / name, expected)
    for file in contents.files:
        if listed.get(file.name) != file.sha256:
            raise DigestMismatchError(f"expected the same hash of {file.name} in {SUMS} and {LISTING}, found two")
    listing = hashlib.sha256((folder / LISTING).read_bytes()).hexdigest()
    return f"{len(listed):,} files are as listed, list {listing[:16]}"


def check_hash(path: Path, expected: str) -> None:
    """Raise DigestMismatchError if the SHA-256 of a file is not `expected`."""
    if (found := sha256_file(path, inside=True)) != expected:
        raise DigestMismatchError(f"expected SHA-256 {expected[:16]}... of {path}, found {found[:16]}...")


def _checks(folder: Path, version: PublishedVersion, kinds: Kinds, progress: Progress) -> Iterator[tuple[str, Check]]:
    """Yield the name and the function of each check of a published version, in order."""
    manifest: list[Manifest] = []

    def check_manifest() -> str:
        manifest.append(load_manifest(folder / version.folder))
        found = f"{manifest[0].dataset}/{manifest[0].variant}/{manifest[0].version}"
        if found != version.name:
            raise CorruptFileError(f"expected the manifest of {version.name}, found that of {found}")
        return "manifest as it was written"

    yield "manifest", check_manifest
    yield "rows and schemas", lambda: check_tables(folder, version, manifest[0], kinds)
    yield "splits", lambda: check_splits(folder, version)
    yield "values", lambda: PublishedArrays(folder, version, manifest[0]).check_digest()
    yield "rows equal the arrays", lambda: check_rows(folder, version, manifest[0], kinds, progress)


def check_tables(folder: Path, version: PublishedVersion, manifest: Manifest, kinds: Kinds) -> str:
    """Check that every Parquet file has the number of rows in `published.json`, and that all files of a table have the
    declared columns; returns a description. Raises CheckFailedError if a file does not."""
    kind = kinds.get(manifest.dataset)
    declared = {shape.name: [column.name for column in shape.columns] for shape in kind.tables} if kind else {}
    is_known = kind is not None and kind.revision == manifest.revision
    for table in version.tables:
        schemas = []
        for file in table.files:
            with parquet_errors(folder / file.name):
                metadata = pq.read_metadata(folder / file.name)
            if metadata.num_rows != file.rows:
                raise CheckFailedError(f"expected {file.rows:,} rows in {file.name}, found {metadata.num_rows:,}")
            schemas.append(metadata.schema.to_arrow_schema())
        if not all(schema.equals(schemas[0]) for schema in schemas):
            raise CheckFailedError(f"expected the same columns in all files of {table.config}, found others")
        if is_known and schemas[0].names != declared[table.table]:
            raise CheckFailedError(f"expected the columns of {table.table} in {table.config}, found others")
        if sum(table.part_rows) != table.rows:
            raise CheckFailedError(f"expected {sum(table.part_rows):,} rows of {table.config}, found {table.rows:,}")
    rows = sum(table.rows for table in version.tables)
    return f"{rows:,} rows of the listed schemas"


def check_splits(folder: Path, version: PublishedVersion) -> str:
    """Check that no game has rows in two splits of a table. In a table without games, check that no position is in two
    splits. Returns a description of what was compared. Raises CheckFailedError if a game or position is in two splits,
    and CheckSkippedError if no table has several splits."""
    compared = []
    for table in version.tables:
        column = table.once
        if len(table.splits) < 2 or not column:
            continue
        values = [
            pc.unique(
                pa.chunked_array([chunk for group in row_groups(paths, [column]) for chunk in group[column].chunks])
            )
            for split in table.splits
            if (paths := [folder / file.name for file in split.files])
        ]
        total = pa.chunked_array(values)
        distinct = pc.count_distinct(total).as_py()
        if len(total) != distinct:
            raise CheckFailedError(
                f"expected each {column} of {table.config} in one split, found {len(total) - distinct:,} in two"
            )
        compared.append(f"{distinct:,} {column}s, each in one split")
    if not compared:
        raise CheckSkippedError("one split")
    return compared[0]


def check_rows(folder: Path, version: PublishedVersion, manifest: Manifest, kinds: Kinds, progress: Progress) -> str:
    """Make all rows of a version from its arrays again, and compare them with the published rows. Returns the number of
    rows as text. Raises CheckFailedError if they differ, and CheckSkippedError if this bgdata does not know the
    kind."""
    kind = kinds.get(manifest.dataset)
    if kind is None or kind.revision != manifest.revision:
        raise CheckSkippedError(f"this bgdata does not know revision {manifest.revision} of {manifest.dataset}")
    arrays, count = PublishedArrays(folder, version, manifest), 0
    shapes = {shape.name: shape for shape in kind.tables}
    streams = {table.config: _Split(folder, table, arrays) for table in version.tables}
    for computed in computed_parts(kind, arrays, manifest):
        for table in version.tables:
            for batch in kind.computation.table_batches(shapes[table.table], computed):
                if len(batch):
                    streams[table.config].compare(pa.Table.from_batches([batch]))
                    count += len(batch)
                    progress.advance(len(batch))
    if count != sum(table.rows for table in version.tables):
        raise CheckFailedError(f"expected {count:,} rows of {version.name}, as its arrays give, found others")
    return "all rows equal the arrays"


def computed_parts(kind: Dataset[Any], arrays: PublishedArrays, manifest: Manifest) -> Iterator[Computed[Any]]:
    """Yield the arrays of a published version, part by part, in the form from which its kind makes rows."""
    parameters = kind.recipe_of(manifest)
    common = arrays.common()
    if not manifest.parts:
        yield Computed(parameters, common)
        return
    first_row = 0
    for number, part in enumerate(manifest.parts):
        yield Computed(parameters, {**common, **arrays.part(number)}, part.begin, first_row)
        first_row += part.rows


class _Split:
    """The published rows of a table, put back into the order that they have in the version."""

    def __init__(self, folder: Path, table: PublishedTable, arrays: PublishedArrays) -> None:
        self._table, self._codes = table, arrays.codes(table)
        self._schema = pq.read_schema(folder / table.files[0].name)
        self._streams = [RowStream([folder / file.name for file in split.files]) for split in table.splits]
        self._begin = 0

    def compare(self, rows: pa.Table) -> None:
        """Compare the next published rows with `rows`. Raises CheckFailedError if they differ."""
        expected = plain_batch(rows, self._schema)
        end = self._begin + len(expected)
        codes = np.zeros(len(expected), np.uint8) if self._codes is None else self._codes[self._begin : end]
        if len(codes) != len(expected):
            raise CheckFailedError(f"expected {end:,} rows or more of {self._table.config}, found fewer")
        for code, stream in enumerate(self._streams):
            places = np.flatnonzero(codes == code)
            chosen = expected if len(places) == len(expected) else expected.take(pa.array(places))
            if len(places) and not stream.take(len(places)).equals(chosen):
                raise CheckFailedError(
                    f"expected the rows of {self._table.config} that its arrays give, found others from row "
                    f"{self._begin:,} on"
                )
        self._begin = end
