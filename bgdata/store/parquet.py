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
    """The options with which PyArrow writes each column, by its type. Integers of more than 8 bits and lists of
    integers are stored as packed differences, because a dictionary would double the size of 16-bit columns with many
    distinct values. Floats are stored as byte streams. Small integers, strings, and columns that are dictionaries in
    the schema are stored with a dictionary."""
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


def schema_with_meanings(schema: pa.Schema, shape: TableShape, about: Mapping[str, str]) -> pa.Schema:
    """The schema of a Parquet file with metadata: the unit and meaning of each column, and the entries of `about` for
    the file, whose names get the prefix `bgdata.`. Dictionaries of numbers become plain number types."""
    fields = []
    for column in shape.columns:
        field = schema.field(column.name)
        metadata = {"unit": column.unit, "meaning": column.meaning}
        fields.append(field.with_type(stored_type(field.type)).with_metadata(metadata))
    return pa.schema(fields, {f"bgdata.{name}": text for name, text in about.items()})


def stored_type(type_: pa.DataType) -> pa.DataType:
    """The type of a column in the file: a dictionary of numbers becomes the number type, but a dictionary of strings
    stays, because readers treat it as categories."""
    is_number = pa.types.is_dictionary(type_) and not pa.types.is_string(type_.value_type)
    return type_.value_type if is_number else type_


def write_parquet(
    path: Path, batches: Iterator[pa.RecordBatch], shape: TableShape, about: Mapping[str, str], progress: Progress
) -> int:
    """Write a Parquet file with one row group for each batch, and return the number of rows. The metadata contain the
    entries of `about`, and the unit and meaning of each column."""
    rows = 0
    first = next(batches)
    schema = schema_with_meanings(first.schema, shape, about)
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
    """Reads ranges of rows from one Parquet file, or from several files whose rows follow each other. A range reads
    only the row groups that contain it, and the last row group that was read stays in memory."""

    def __init__(self, *paths: Path) -> None:
        """Open the files. Raises CorruptFileError if a file is not a Parquet file."""
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
        """Read these columns of the rows `begin` to before `end`, which must be at least one row."""
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
    """The number of the first row of a Parquet file that differs from the rows of `batches`, or None if all are equal.
    The file may lack the `derived` columns."""
    row = 0
    with parquet_errors(path):
        file = pq.ParquetFile(path)
        groups = iter(range(file.num_row_groups))
        for batch in batches:
            if not len(batch):  # an empty batch has no row group
                continue
            group = next(groups, None)
            found = file.read_row_group(group) if group is not None else None
            expected = pa.Table.from_batches([batch])
            if found is None:
                return row
            there = set(found.column_names)
            names = [name for name in expected.column_names if name in there or name not in derived]
            if there != set(names):  # older files may have columns in another order
                return row
            if not without_dictionaries(found.select(names)).equals(without_dictionaries(expected.select(names))):
                return row
            row += len(batch)
        return None if next(groups, None) is None else row


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Inside the `with` block, turn any error of PyArrow into CorruptFileError, or into StorageError or MemoryError if
    the file cannot be read at present."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, BgdataError | MemoryError):  # raised by the rows to compare
            raise
        if is_shortage(error):
            with storage_errors("read", path):
                raise
        raise CorruptFileError(f"expected a readable Parquet file in {path}, found: {error}") from error


def without_dictionaries(table: pa.Table) -> pa.Table:
    """Convert each dictionary column of a table to a plain column, so that tables are equal if their values are."""
    types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


def middle_rows(path: Path, count: int) -> list[dict[str, Any]]:
    """Return up to `count` rows of a single row group in the middle of a Parquet file, where rows are more typical than
    at the ends. Raises CorruptFileError if the file is damaged, and StorageError if it cannot be read."""
    with parquet_errors(path), pq.ParquetFile(path) as file:
        groups = file.num_row_groups
        if not groups:
            return []
        group = file.read_row_group(groups // 2, use_threads=False)
        found: list[dict[str, Any]] = group.slice(max(0, (group.num_rows - count) // 2), count).to_pylist()
        return found
