"""Tables as Parquet: sorted, in row groups that allow pruning, with encodings for each column type."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bgdata.errors import BgdataError, CorruptFileError
from bgdata.store.dataset import TableShape
from bgdata.store.progress import Progress
from bgdata.store.storage import is_shortage, storage_errors


def encodings(schema: pa.Schema) -> dict[str, Any]:
    """Writer options by column type. A dictionary would double the size of 16-bit columns with distinct values. So wide
    integers are stored as packed differences, lists of small integers too (twice as fast to write), and floats as byte
    streams. Other small integers and strings keep the default dictionary, as do numbers given as dictionaries."""
    dictionary, encoding = [], {}
    for column in schema:
        nested = pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type)
        value = column.type.value_type if nested else column.type
        path = f"{column.name}.list.element" if nested else column.name
        if pa.types.is_dictionary(value):
            dictionary.append(path)
        elif pa.types.is_floating(value):
            encoding[path] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_integer(value) and (nested or value.bit_width > 8):
            encoding[path] = "DELTA_BINARY_PACKED"
        else:
            dictionary.append(path)
    return {"use_dictionary": dictionary or False, "column_encoding": encoding or None}


def described_schema(schema: pa.Schema, shape: TableShape, about: Mapping[str, str]) -> pa.Schema:
    """The schema of a file, with `unit` and `meaning` for each column and `about` for the file, under names with the
    prefix `bgdata.`. Numbers given as dictionaries are plain numbers in it."""
    fields = []
    for column in shape.columns:
        field = schema.field(column.name)
        metadata = {"unit": column.unit, "meaning": column.meaning}
        fields.append(field.with_type(stored_type(field.type)).with_metadata(metadata))
    return pa.schema(fields, {f"bgdata.{name}": text for name, text in about.items()})


def stored_type(type_: pa.DataType) -> pa.DataType:
    """The type that readers get: strings stay dictionaries, which readers treat as categories."""
    is_number = pa.types.is_dictionary(type_) and not pa.types.is_string(type_.value_type)
    return type_.value_type if is_number else type_


def write_parquet(
    path: Path, batches: Iterator[pa.RecordBatch], shape: TableShape, about: Mapping[str, str], progress: Progress
) -> int:
    """Write one row group for each batch and return the number of rows. The metadata contain `about`, and the meaning
    of each column."""
    rows = 0
    first = next(batches)
    schema = described_schema(first.schema, shape, about)
    sorting = [pq.SortingColumn(schema.get_field_index(name)) for name in shape.key]
    options = encodings(first.schema)
    with (
        storage_errors("write", path),
        pq.ParquetWriter(
            path, schema, compression="zstd", write_statistics=True, sorting_columns=sorting, **options
        ) as writer,
    ):
        batch: pa.RecordBatch | None = first
        while batch is not None:
            if len(batch):
                writer.write_batch(batch.cast(schema), row_group_size=len(batch))
            rows += len(batch)
            progress.advance(len(batch))
            batch = next(batches, None)
    return rows


class RowReader:
    """Reads columns for a range of rows at a time, and only the row groups that contain it, from one file or from
    consecutive files. The last row group stays in memory."""

    def __init__(self, *paths: Path) -> None:
        """Open the files. Raises CorruptFileError if one is not a Parquet file."""
        self._groups: list[tuple[Path, pq.ParquetFile, int]] = []
        rows = []
        for path in paths:
            with parquet_errors(path):
                file = pq.ParquetFile(path)
                numbers = range(file.num_row_groups)
                self._groups += [(path, file, number) for number in numbers]
                rows += [file.metadata.row_group(number).num_rows for number in numbers]
        self._ends = list(accumulate(rows))
        self._kept: tuple[int, Sequence[str]] | None = None  # number and columns of the group in memory
        self._group = pa.table({})

    def read(self, columns: Sequence[str], begin: int, end: int) -> pa.Table:
        """The columns of the rows from `begin` to before `end`, at least one row."""
        first, last = bisect_right(self._ends, begin), bisect_left(self._ends, end)
        found = pa.concat_tables([self._read_group(number, columns) for number in range(first, last + 1)])
        return found.slice(begin - (self._ends[first - 1] if first else 0), end - begin)

    def _read_group(self, number: int, columns: Sequence[str]) -> pa.Table:
        if self._kept != (number, columns):
            path, file, place = self._groups[number]
            with parquet_errors(path):
                self._group = file.read_row_group(place, columns=list(columns))
            self._kept = (number, columns)
        return self._group


def first_difference(path: Path, batches: Iterator[pa.RecordBatch], derived: Container[str] = ()) -> int | None:
    """The number of the first row that differs from the arrays, or None if the file equals them. It may lack `derived`
    columns."""
    row = 0
    with parquet_errors(path):
        file = pq.ParquetFile(path)
        groups = iter(range(file.num_row_groups))
        for batch in batches:
            if not len(batch):  # an empty table has no row group
                continue
            group = next(groups, None)
            found = file.read_row_group(group) if group is not None else None
            expected = pa.Table.from_batches([batch])
            if found is None:
                return row
            there = set(found.column_names)
            names = [name for name in expected.column_names if name in there or name not in derived]
            if there != set(names):  # older files may have them in another order
                return row
            if not plain(found.select(names)).equals(plain(expected.select(names))):
                return row
            row += len(batch)
        return None if next(groups, None) is None else row


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn any error of PyArrow inside the `with` block into CorruptFileError, or, if the file cannot be read at
    present, into StorageError or MemoryError."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, BgdataError | MemoryError):  # from the compared rows
            raise
        if is_shortage(error):
            with storage_errors("read", path):
                raise
        raise CorruptFileError(f"expected a readable Parquet file in {path}, found: {error}") from error


def plain(table: pa.Table) -> pa.Table:
    """A table in which dictionary columns are plain, so that equal strings compare equal."""
    types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


def middle_rows(path: Path, count: int) -> list[dict[str, Any]]:
    """Up to `count` rows from the middle of a Parquet file, from one row group, because rows at the ends are less
    typical. Raises CorruptFileError if the file is damaged, and StorageError if it cannot be read."""
    with parquet_errors(path), pq.ParquetFile(path) as file:
        groups = file.num_row_groups
        if not groups:
            return []
        group = file.read_row_group(groups // 2, use_threads=False)
        found: list[dict[str, Any]] = group.slice(max(0, (group.num_rows - count) // 2), count).to_pylist()
        return found
