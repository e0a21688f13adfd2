"""Conversion of arrays into columns that many kinds share: strings, boards, chances, classes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CorruptFileError
from bgdata.game.classes import PositionClass
from bgdata.game.codec import format_position_ids, pip_counts
from bgdata.store.arrays import Array
from bgdata.store.dataset import Column

ALIASES = {"DOUBLE": "float64", "FLOAT": "float32", "BIGINT": "int64", "INTEGER": "int32", "VARCHAR": "string"}
CHANCES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")


def text_arrays(name: str, texts: Sequence[str]) -> dict[str, Array]:
    """Store strings as two arrays: `name`, the UTF-8 bytes of all strings joined, uint8; and `name_ends`, where each of
    the n strings ends, int64[n]."""
    encoded = [text.encode() for text in texts]
    letters = np.frombuffer(b"".join(encoded), np.uint8)
    return {name: letters, f"{name}_ends": np.cumsum([len(text) for text in encoded], dtype=np.int64)}


def text_column(arrays: Mapping[str, Array], name: str, rows: slice = slice(None)) -> pa.Array:
    """A column of strings from the arrays that `text_arrays` made; only the rows in `rows`. Raises CorruptFileError if
    the arrays are invalid, because they may come from a stranger."""
    letters, ends = arrays[name], arrays[f"{name}_ends"]
    chosen = range(len(ends))[rows]
    if len(chosen) < len(ends):
        begin = int(ends[chosen.start - 1]) if chosen.start else 0
        ends = ends[rows] - begin
        letters = letters[begin : begin + int(ends[-1])] if chosen else letters[:0]
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(letters))]
    try:
        texts = pa.LargeStringArray.from_buffers(len(ends), buffers[1], buffers[2])
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptFileError(f"expected texts in {name}.npy, one up to each of {name}_ends, found: {error}") from None
    return texts.cast(pa.string())


def select_texts(texts: pa.Array, index: Array) -> pa.Array:
    """The strings `texts[index]` as a dictionary column; null where the index is -1."""
    places = pa.array(np.maximum(index, 0).astype(np.int32), mask=index < 0)
    return pa.DictionaryArray.from_arrays(places, texts)


def position_columns(boards: Array) -> dict[str, pa.Array]:
    """The columns `position_id` and `board` of positions, from int8[n, 26] boards of the player on roll."""
    letters = np.ascontiguousarray(format_position_ids(boards))
    offsets = np.arange(0, 14 * len(boards) + 1, 14, dtype=np.int32)
    ids = pa.StringArray.from_buffers(len(boards), pa.py_buffer(offsets), pa.py_buffer(letters))
    return {"position_id": ids, "board": fixed_lists(boards)}


def pip_columns(boards: Array) -> dict[str, Array]:
    """The columns that `columns.PIP_COLUMNS` declares, the pip counts of both sides, from int8[n, 26] boards."""
    pips = pip_counts(boards)
    return {"pips": np.ascontiguousarray(pips[:, 0]), "opponent_pips": np.ascontiguousarray(pips[:, 1])}


def class_column(classes: Array) -> pa.Array:
    """The column `class` of positions, from the numbers of their `PositionClass`, uint8[n]. The names are those in
    gnubg's files."""
    names = [""] * (max(PositionClass) + 1)
    for entry in PositionClass:
        names[entry] = entry.file_class.name.lower()
    unique = sorted(set(names))
    places = np.array([unique.index(name) for name in names], np.int8)
    return pa.DictionaryArray.from_arrays(pa.array(places[classes]), pa.array(unique))


def chance_columns(chances: Array) -> dict[str, pa.Array]:
    """The five columns of chances, from float32[n, 5] chances, in which a win includes gammons and a gammon
    backgammons."""
    return {name: pa.array(np.ascontiguousarray(chances[:, n])) for n, name in enumerate(CHANCES)}


def null_columns(columns: Sequence[Column], names: Container[str], count: int) -> dict[str, pa.Array]:
    """Columns of `count` nulls for those of the declared `columns` that are in `names`, because a record does not have
    these fields."""
    return {each.name: pa.nulls(count, pa.type_for_alias(ALIASES[each.type])) for each in columns if each.name in names}


def numbers_or_null(values: Array) -> pa.Array:
    """A column of numbers in which NaN has become null."""
    return pa.array(np.ascontiguousarray(values), mask=np.isnan(values))


def dictionary_column(codes: Array, values: Array) -> pa.Array:
    """The values `values[codes]` as a dictionary column, of which Parquet stores each different value once in a row
    group."""
    return pa.DictionaryArray.from_arrays(pa.array(np.ascontiguousarray(codes)), pa.array(values))


def constant(value: Any, type_: str, count: int) -> pa.Array:
    """A dictionary column that has the same value, of the SQL type `type_`, in each of `count` rows."""
    return dictionary_column(np.zeros(count, np.int8), pa.array([value], pa.type_for_alias(ALIASES[type_])))


def fixed_lists(values: Array) -> pa.Array:
    """A column in which each row of a two-dimensional array is a list."""
    rows, width = values.shape
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(values).ravel()))
