"""Arrays of versions from published rows. Most arrays have the values of columns, so that they need no file of their
own.

A recipe says how an array follows: from columns (`columns`), from the entries of lists (`entries`), or from their
number in each row (`ends`, `zeros`). `values` says how the numbers of the array follow from the values of the column:
they are equal, they have the `scale` and `offset` of a quantised number, or they are indexes into a list of `texts`. A
recipe is used only if it gives the same bytes.

    {"table": "bearoff_two_sided", "columns": ["cubeless", "owned"], "dtype": "<u2", "shape": [924, 924, 2],
     "values": [{"scale": 32767.5, "offset": 32767.5}, {"scale": 32767.5, "offset": 32767.5}]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bgdata.errors import CorruptFileError, ManifestFormatError, cite
from bgdata.publishing.contents import PublishedTable
from bgdata.publishing.shards import row_groups
from bgdata.store.arrays import Array

Recipe: TypeAlias = Mapping[str, Any]
MIN_BYTES = 4096  # smaller arrays are stored without looking for a recipe
_SAMPLE = 2000  # number of values that suffice to exclude most columns
_MAX_TEXTS = 64
_MANY_ROWS = 2_000_000  # rows of a version from which on few columns are in memory at a time


class Values(NamedTuple):
    """The values of a column: one value for each row, or the values of all rows' lists together with the length of each
    list. A string is an index into `texts`; a missing number is NaN."""

    flat: Array
    texts: list[str] | None
    counts: Array | None  # number of entries of each row; None for single values


class PublishedRows:
    """Reads columns of a published version's tables, in the order that the rows have in the version."""

    def __init__(
        self, folder: Path, tables: Sequence[PublishedTable], row_order: Callable[[str], NDArray[np.uint8]]
    ) -> None:
        self._folder, self._row_order = folder, row_order
        self.tables = {table.table: table for table in tables}
        rows = sum(table.rows for table in tables)
        self.column = lru_cache(16 if rows > _MANY_ROWS else 256)(self._column)

    def names(self, table: str) -> list[str]:
        """Return the names of a table's columns."""
        import pyarrow.parquet as pq

        return list(pq.read_schema(self._folder / self.tables[table].files[0].name).names)

    def rows(self, table: str, part: int) -> tuple[int, int]:
        """Return the first row of a part of the version, and the row after its last, in a table."""
        counts = self.tables[table].part_rows
        begin = sum(counts[:part])
        return begin, begin + counts[part]

    def part(self, table: str, name: str, part: int) -> Values | None:
        """Return the values of the column `name` in the rows of one part; None if no array could have values of its
        type."""
        found = self.column(table, name)
        if found is None or len(self.tables[table].part_rows) == 1:
            return found
        begin, end = self.rows(table, part)
        if found.counts is None:
            return found._replace(flat=found.flat[begin:end])
        ends = np.concatenate([[0], np.cumsum(found.counts)])
        return Values(found.flat[ends[begin] : ends[end]], found.texts, found.counts[begin:end])

    def _column(self, table: str, name: str) -> Values | None:
        published = self.tables[table]
        paths = [self._folder / file.name for file in published.files]
        chunks = [chunk for group in row_groups(paths, [name]) for chunk in group[name].chunks]
        if not chunks:
            return None
        values = pa.concat_arrays(chunks)
        if published.row_order:
            values = values.take(pa.array(row_places(self._row_order(published.row_order))))
        return _values(values)


def row_places(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return for each row of a version its index among the published rows, which are sorted by split, as int64[rows].
    `codes` contains the split of each row."""
    places = np.empty(len(codes), np.int64)
    places[np.argsort(codes, kind="stable")] = np.arange(len(codes))
    return places


def _values(values: Any) -> Values | None:
    """Return the values of an Arrow array; None if no array of a version could have values of its type."""
    counts = None
    if pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
        if values.null_count:
            return None
        counts = pc.list_value_length(values).to_numpy(zero_copy_only=False)
        values = values.flatten()
    if pa.types.is_string(values.type):
        found = values.fill_null("").dictionary_encode()
        return Values(found.indices.to_numpy(), found.dictionary.to_pylist(), counts)
    if values.null_count and not pa.types.is_floating(values.type):
        return None
    return Values(values.to_numpy(zero_copy_only=False), None, counts)


def find_recipe(values: Array, rows: PublishedRows, part: int) -> Recipe | None:
    """Find a recipe by which an array can be restored from the columns of published rows of a part. Returns None if
    there is no recipe, or if the array is so small that it is simply stored."""
    if values.nbytes < MIN_BYTES:
        return None
    kind = {"dtype": values.dtype.newbyteorder("<").str, "shape": list(values.shape)}
    for table in rows.tables:
        for found in _candidates(values, table, rows, part):
            recipe = {"table": table, **found, **kind}
            if same_bytes(restore(recipe, rows, part), values):
                return recipe
    return None


def same_bytes(first: Array, second: Array) -> bool:
    """Return whether two arrays have equal dtypes, shapes and bytes. NaN then equals NaN, and 0 does not equal -0."""
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    ours, theirs = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (first, second))
    return np.array_equal(ours, theirs)


def _candidates(values: Array, table: str, rows: PublishedRows, part: int) -> Iterator[dict[str, Any]]:
    """Yield recipes that might restore an array from the columns of a table. The caller has to try them."""
    begin, end = rows.rows(table, part)
    count, flat = end - begin, values.reshape(-1)
    if not count:
        return
    names = rows.names(table)
    if values.size % count == 0 and values.size // count < 64:
        by_row = flat.reshape(count, -1)
        found = [_column_of(by_row[:, place], table, names, rows, part) for place in range(by_row.shape[1])]
        chosen = [each for each in found if each is not None]
        if len(chosen) == len(found):
            yield {"columns": [name for name, _ in chosen], "values": [rule for _, rule in chosen]}
    for name in names:
        column = rows.part(table, name, part)
        if column is None or column.counts is None or column.texts is not None:
            continue
        is_integer, filled = values.dtype.kind in "iu", int(np.count_nonzero(column.flat))
        for nonzero, length in ((False, len(column.flat)), (True, filled)):
            if length == len(flat):
                entries = column.flat[column.flat != 0] if nonzero else column.flat
                rule = _rule(flat, column._replace(flat=entries))
                if rule is not None:
                    yield {"entries": name, "nonzero": nonzero, "values": [rule]}
            if is_integer and len(flat) == count + 1 and flat[-1] == length:
                yield {"ends": name, "nonzero": nonzero}
        if is_integer and len(flat) == count and int(flat.sum()) == len(column.flat) - filled:
            yield {"zeros": name}


def _column_of(
    values: Array, table: str, names: Sequence[str], rows: PublishedRows, part: int
) -> tuple[str, dict[str, Any]] | None:
    """Find the first column of a table from which the values can be computed. Returns its name and the rule for
    computing them; None if there is no such column."""
    for name in names:
        column = rows.part(table, name, part)
        if column is not None and column.counts is None:
            rule = _rule(values, column)
            if rule is not None:
                return name, rule
    return None


def _rule(values: Array, column: Values) -> dict[str, Any] | None:
    """Find a rule that computes the values from a column. Returns None if there is no such rule."""
    sample = np.unique(np.linspace(0, len(values) - 1, _SAMPLE).astype(np.int64))
    for rule in _rules(values, column):
        if all(same_bytes(_apply(rule, column._replace(flat=column.flat[at]), values.dtype), np.asarray(values[at]))
               for at in (sample, slice(None))):  # fmt: skip
            return rule
    return None


def _rules(values: Array, column: Values) -> Iterator[dict[str, Any]]:
    """Yield rules that might compute the values from a column: equal values, a number for each string, or a scale and
    an offset."""
    if column.texts is not None:
        if len(column.texts) <= _MAX_TEXTS and values.dtype.kind in "iu":
            first = {int(code): int(at) for code, at in zip(*np.unique(column.flat, return_index=True), strict=True)}
            yield {"texts": {column.texts[code]: int(values[at]) for code, at in sorted(first.items())}}
        return
    yield {}
    if values.dtype.kind in "iu" and column.flat.dtype.kind == "f" and np.isfinite(column.flat).all():
        low, high = int(column.flat.argmin()), int(column.flat.argmax())
        width = float(column.flat[high]) - float(column.flat[low])
        if width:
            scale = (float(values[high]) - float(values[low])) / width
            yield {"scale": scale, "offset": float(values[low]) - float(column.flat[low]) * scale}


def _apply(rule: Mapping[str, Any], column: Values, dtype: np.dtype[Any]) -> Array:
    """Compute the values of an array from a column by a rule."""
    if "texts" in rule:
        places = np.array([rule["texts"].get(text, 0) for text in column.texts or ()], dtype)
        chosen: Array = places[column.flat]
        return chosen
    if "scale" in rule:
        scaled: Array = np.rint(column.flat.astype(np.float64) * rule["scale"] + rule["offset"])
        return scaled.astype(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        return column.flat.astype(dtype)


def restore(recipe: Recipe, rows: PublishedRows, part: int) -> Array:
    """Restore an array from the columns of published rows of a part. Raises ManifestFormatError if the recipe is
    invalid, and CorruptFileError if the rows cannot be read."""
    try:
        dtype, shape, table = np.dtype(recipe["dtype"]), tuple(map(int, recipe["shape"])), recipe["table"]
        if dtype.kind not in "biuf":
            raise ValueError(f"values of type {dtype}")
        return _restore_array(recipe, rows, table, part, dtype).reshape(shape)
    except CorruptFileError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, pa.ArrowException) as error:
        raise ManifestFormatError(f"expected a recipe for an array from rows, found: {cite(str(error))}") from error


def _restore_array(recipe: Recipe, rows: PublishedRows, table: str, part: int, dtype: np.dtype[Any]) -> Array:
    def column(name: str) -> Values:
        found = rows.part(table, name, part)
        if found is None:
            raise ValueError(f"the column {name}")
        return found

    if "columns" in recipe:
        rules = recipe["values"]
        each = [_apply(rule, column(name), dtype) for name, rule in zip(recipe["columns"], rules, strict=True)]
        return each[0] if len(each) == 1 else np.stack(each, axis=1)
    if "entries" in recipe:
        found = column(recipe["entries"])
        entries = found.flat[found.flat != 0] if recipe["nonzero"] else found.flat
        return _apply(recipe["values"][0], found._replace(flat=entries), dtype)
    found = column(recipe["ends"] if "ends" in recipe else recipe["zeros"])
    assert found.counts is not None
    ends = np.concatenate([[0], np.cumsum(found.counts)])
    if "ends" in recipe and not recipe["nonzero"]:
        return ends.astype(dtype)
    filled = np.concatenate([[0], np.cumsum(found.flat != 0)])[ends]
    counts: Array = filled if "ends" in recipe else found.counts - np.diff(filled)
    return counts.astype(dtype)
