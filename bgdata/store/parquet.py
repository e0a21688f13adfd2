"""Tables as Parquet: sorted, in row groups that prune well, encoded for what the columns hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bgdata.errors import CorruptFileError
from bgdata.store.progress import Progress
from bgdata.store.storage import storage_errors


def encodings(schema: pa.Schema) -> dict[str, Any]:
    """Writer options by column type.

    Dictionaries double the size of 16-bit columns whose values are all different, so wide integers are stored as
    packed differences, lists of small ones too (twice as fast to write), and floats as byte streams; other small
    integers and texts keep the default dictionary.
    """
    dictionary, encoding = [], {}
    for column in schema:
        nested = pa.types.is_list(column.type)
        value = column.type.value_type if nested else column.type
        path = f"{column.name}.list.element" if nested else column.name
        if pa.types.is_floating(value):
            encoding[path] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_integer(value) and (nested or value.bit_width > 8):
            encoding[path] = "DELTA_BINARY_PACKED"
        else:
            dictionary.append(path)
    return {"use_dictionary": dictionary or False, "column_encoding": encoding or None}


def write_parquet(
    path: Path,
    batches: Iterator[pa.RecordBatch],
    key: tuple[str, ...],
    metadata: Mapping[str, str],
    progress: Progress,
) -> int:
    """Write one row group for each batch and return the number of rows; `metadata` goes into the footer."""
    rows = 0
    first = next(batches)
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), **metadata})
    sorting = [pq.SortingColumn(schema.get_field_index(name)) for name in key]
    with (
        storage_errors("write", path),
        pq.ParquetWriter(
            path, schema, compression="zstd", write_statistics=True, sorting_columns=sorting, **encodings(schema)
        ) as writer,
    ):
        batch: pa.RecordBatch | None = first
        while batch is not None:
            if len(batch):
                writer.write_batch(batch.replace_schema_metadata(schema.metadata), row_group_size=len(batch))
            rows += len(batch)
            progress.advance(len(batch))
            batch = next(batches, None)
    return rows


def first_difference(path: Path, batches: Iterator[pa.RecordBatch], progress: Progress) -> int | None:
    """Row number where the file first differs from what the arrays say it holds, or None when it is equal."""
    row = 0
    try:
        file = pq.ParquetFile(path)
        groups = iter(range(file.num_row_groups))
        for batch in batches:
            if not len(batch):  # an empty table has no row group
                continue
            group = next(groups, None)
            found = file.read_row_group(group) if group is not None else None
            expected = pa.Table.from_batches([batch])
            if found is None or not plain(found).equals(plain(expected)):
                return row
            row += len(batch)
            progress.advance(len(batch))
        return None if next(groups, None) is None else row
    except (pa.ArrowException, OSError) as error:
        raise CorruptFileError(f"expected a readable Parquet file in {path}, found: {error}") from error


def plain(table: pa.Table) -> pa.Table:
    """Without dictionaries: equal texts are equal whatever dictionary they are numbered in."""
    types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))
