"""Rows as hubs expect them: Parquet in shards for each split, in the order of the version, with plain types.

Strings are plain, lists of one length are fixed, and there are no unsigned 64-bit or 16-bit floating-point numbers,
which many readers do not support.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bgdata.errors import CorruptFileError
from bgdata.publishing.contents import File, Split
from bgdata.store.dataset import TableShape
from bgdata.store.names import sql_text
from bgdata.store.parquet import encodings, parquet_errors, schema_with_meanings
from bgdata.store.progress import Progress
from bgdata.store.storage import sha256_file, storage_errors, sync

SHARD_BYTES = 300_000_000  # largest expected size of a shard
GROUP_ROWS = 122_880
GROUP_BYTES = 64_000_000  # largest expected size of a row group in memory
_DICTIONARY = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}  # encodings of dictionaries in Parquet
_PLAIN = {pa.uint64(): pa.int64(), pa.float16(): pa.float32(), pa.large_string(): pa.string()}


@dataclass(frozen=True)
class Source:
    """A table to publish: its Parquet files, one for each part of the version, and the split of each row."""

    shape: TableShape
    paths: Sequence[Path]
    splits: Sequence[str]  # names, in order
    codes: NDArray[np.uint8] | None = None  # uint8[rows]: indexes into `splits`; None for a single split
    variant: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)  # SQL of the derived columns that older files lack

    def fill(self, rows: pa.Table) -> pa.Table:
        """Add to rows, as they are in the files, the declared columns that older files lack."""
        if not self.missing:
            return rows
        with duckdb.connect() as connection:
            connection.register("stored", rows)
            columns = ", ".join(self.shape.select_list(self.missing))
            query = f"select {columns} from (select *, {sql_text(self.variant)} as variant from stored)"
            return connection.sql(query).arrow().read_all()

    def counts(self, rows: int) -> list[int]:
        """Return the number of rows in each split. `rows` is the number of rows in all splits."""
        return [rows] if self.codes is None else np.bincount(self.codes, minlength=len(self.splits)).tolist()


def row_counts(paths: Sequence[Path]) -> list[int]:
    """Return the number of rows in each of these Parquet files. Raises CorruptFileError if a file is damaged."""
    found = []
    for path in paths:
        with parquet_errors(path), pq.ParquetFile(path) as file:
            found.append(file.metadata.num_rows)
    return found


def row_groups(paths: Sequence[Path], columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yield the row groups of several Parquet files in order, with the named columns, or all if `columns` is None.
    Raises CorruptFileError if a file is damaged."""
    for path in paths:
        with parquet_errors(path), pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number, columns=None if columns is None else list(columns))


def missing_columns(derived: Mapping[str, str], shape: TableShape, paths: Sequence[Path]) -> dict[str, str]:
    """Return the SQL of those `derived` columns of a table that at least one of its Parquet files lacks, by name.
    Raises CorruptFileError if a file is damaged."""
    there = {column.name for column in shape.columns}
    for path in paths if derived else ():
        with parquet_errors(path):
            there &= {*pq.read_schema(path).names}
    declared = {column.name for column in shape.columns}
    return {name: sql for name, sql in derived.items() if name in declared - there}


def plain_schema(source: Source) -> pa.Schema:
    """Return the schema in which a table is published: without dictionary types and other types that few programs read.
    A list whose length is the same in every row becomes a fixed-size list. Raises CorruptFileError if a file is
    damaged."""
    paths = source.paths
    with parquet_errors(paths[0]):
        schema = source.fill(pq.read_schema(paths[0]).empty_table()).schema
    lists = [field.name for field in schema if pa.types.is_list(field.type)]
    lengths: dict[str, set[int | None]] = {name: set() for name in lists}
    for group in row_groups(paths, lists) if lists else ():
        for name in lists:
            lengths[name] |= set(pc.unique(pc.list_value_length(group[name])).to_pylist())
    return pa.schema([field.with_type(_plain_type(field.type, lengths.get(field.name, set()))) for field in schema])


def _plain_type(type_: pa.DataType, lengths: set[int | None]) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type, set())
    if pa.types.is_list(type_):
        value = _plain_type(type_.value_type, set())
        (length,) = lengths if len(lengths) == 1 else (None,)
        return pa.list_(value, length) if length else pa.list_(value)
    return _PLAIN.get(type_, type_)


@dataclass(frozen=True)
class Layout:
    """How columns are stored in Parquet files: which columns have a dictionary, and the largest number of rows in a row
    group."""

    dictionaries: frozenset[str] = frozenset()
    group_rows: int = GROUP_ROWS

    def options(self, schema: pa.Schema) -> dict[str, Any]:
        """Return the options with which PyArrow writes rows of this schema."""
        found = encodings(schema)
        coded = [*(found["use_dictionary"] or ()), *sorted(self.dictionaries)]
        others = {path: name for path, name in (found["column_encoding"] or {}).items() if path not in coded}
        return {"use_dictionary": coded or False, "column_encoding": others or None}


def source_layout(paths: Sequence[Path], schema: pa.Schema) -> Layout:
    """Return the layout in which a table is published. A column of numbers has a dictionary if it has one in every row
    group of the original files. Row groups then have as many rows as in these files, because each has a dictionary of
    its own. Raises CorruptFileError if a file is damaged."""
    typed = set(encodings(schema)["column_encoding"] or ())
    dictionaries, most = typed, 0
    for path in paths:
        with parquet_errors(path):
            metadata = pq.read_metadata(path)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(place) for place in range(metadata.num_columns)]
            dictionaries &= {each.path_in_schema for each in columns if _DICTIONARY & {*each.encodings}}
            most = max(most, group.num_rows)
    return Layout(frozenset(dictionaries), most) if dictionaries and most else Layout()


def plain_batch(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Convert rows to the types and column order of `schema`, the result of `plain_schema`."""
    columns = [_cast(rows[field.name].combine_chunks(), field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(values: Any, type_: pa.DataType) -> Any:
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pa.types.is_fixed_size_list(type_):
        flat = values.flatten().cast(type_.value_type)
        return pa.FixedSizeListArray.from_arrays(flat, type=type_)
    return values.cast(type_)


def write_splits(
    source: Source, folder: Path, home: str, about: Mapping[str, str], progress: Progress
) -> tuple[Split, ...]:
    """Write the rows of a table, split by split, as Parquet files to a folder, and sync them. Returns the splits; the
    paths of their files begin with `home`. Raises CorruptFileError if the original files are damaged, and StorageError
    if a file cannot be written."""
    rows = sum(row_counts(source.paths))
    size = sum(path.stat().st_size for path in source.paths)
    schema = schema_with_meanings(plain_schema(source), source.shape, about)
    counts, layout = source.counts(rows), source_layout(source.paths, schema)
    writers = [
        ShardWriter(folder, name, count, -(-size * count // max(1, rows) // SHARD_BYTES), schema, source.shape, layout)
        for name, count in zip(source.splits, counts, strict=True)
    ]
    begin = 0
    for group in row_groups(source.paths):
        chosen = plain_batch(source.fill(group), schema)
        if source.codes is None:
            writers[0].append(chosen)
        else:
            codes = source.codes[begin : begin + len(chosen)]
            for code in np.unique(codes).tolist():
                writers[code].append(chosen.take(pa.array(np.flatnonzero(codes == code))))
        begin += len(chosen)
        progress.advance(len(chosen))
    found = []
    for writer in writers:
        writer.close()
        files = []
        for path, count in zip(writer.paths, writer.shard_rows, strict=True):
            sync(path)
            files.append(File(f"{home}/{path.name}", path.stat().st_size, sha256_file(path), count))
        found.append(Split(writer.split, tuple(files)))
    return tuple(found)


class ShardWriter:
    """Writes the rows of one split to Parquet files of about equal length."""

    def __init__(
        self, folder: Path, split: str, rows: int, shards: int, schema: pa.Schema, shape: TableShape, layout: Layout
    ) -> None:
        self.split, self.schema, self._shape, self._options = split, schema, shape, layout.options(schema)
        count = max(1, shards)
        self.paths = [folder / f"{split}-{number:05d}-of-{count:05d}.parquet" for number in range(count)]
        per_shard = -(-rows // count)
        self.shard_rows = [min(per_shard, max(0, rows - number * per_shard)) for number in range(count)]
        self._number, self._left = 0, self.shard_rows[0]  # number of the open shard, and rows that it still needs
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._group_rows = layout.group_rows

    def append(self, rows: pa.Table) -> None:
        """Append rows. They are written as soon as they fill a row group."""
        if rows.nbytes and len(rows):
            self._group_rows = min(self._group_rows, max(1, GROUP_BYTES * len(rows) // rows.nbytes))
        self._waiting.append(rows)
        while self._count and (self._count >= min(self._group_rows, self._left)):
            self._write_group()

    @property
    def _count(self) -> int:
        return sum(map(len, self._waiting))

    def _write_group(self) -> None:
        rows = pa.concat_tables(self._waiting)
        count = min(len(rows), self._group_rows, self._left)
        group = rows.slice(0, count).combine_chunks()
        self._waiting = [rows.slice(count)]
        path = self.paths[self._number]
        with storage_errors("write", path):
            self._open().write_table(group, row_group_size=max(1, count))
        self._left -= count
        if not self._left and self._number + 1 < len(self.paths):
            self._close_shard()
            self._number += 1
            self._left = self.shard_rows[self._number]

    def _open(self) -> pq.ParquetWriter:
        if self._writer is None:
            sorting = [pq.SortingColumn(self.schema.get_field_index(name)) for name in self._shape.key]
            self._writer = pq.ParquetWriter(
                self.paths[self._number], self.schema, compression="zstd", compression_level=9,
                sorting_columns=sorting, **self._options,
            )  # fmt: skip
        return self._writer

    def _close_shard(self) -> None:
        with storage_errors("write", self.paths[self._number]):
            self._open().close()
        self._writer = None

    def close(self) -> None:
        """Write the remaining rows, and close the last file. A split without rows has one empty file. Raises
        CorruptFileError if there were fewer rows than expected."""
        if self._count or self._left:
            raise CorruptFileError(f"expected {self._left} more rows of {self._shape.name}, found {self._count}")
        self._close_shard()
