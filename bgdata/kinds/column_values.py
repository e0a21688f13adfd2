"""Converts arrays to columns that many kinds have: strings, boards, chances, classes."""

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
    """Convert strings to two arrays: `name` contains the UTF-8 bytes of all strings, joined, as uint8; `name_ends`
    contains the end of each of the n strings, as int64[n]."""
    encoded = [text.encode() for text in texts]
    letters = np.frombuffer(b"".join(encoded), np.uint8)
    return {name: letters, f"{name}_ends": np.cumsum([len(text) for text in encoded], dtype=np.int64)}


def text_column(arrays: Mapping[str, Array], name: str, rows: slice = slice(None)) -> pa.Array:
    """Make a column of strings from arrays of `text_arrays`, with the rows `rows`. Raises CorruptFileError if the
    arrays are invalid, because they may come from other people."""
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
    """Make a dictionary column of the strings `texts[index]`, null where the index is -1."""
    places = pa.array(np.maximum(index, 0).astype(np.int32), mask=index < 0)
    return pa.DictionaryArray.from_arrays(places, texts)


def position_columns(boards: Array) -> dict[str, pa.Array]:
    """Make the columns `position_id` and `board` of positions, from int8[n, 26] boards of the player on roll."""
    letters = np.ascontiguousarray(format_position_ids(boards))
    offsets = np.arange(0, 14 * len(boards) + 1, 14, dtype=np.int32)
    ids = pa.StringArray.from_buffers(len(boards), pa.py_buffer(offsets), pa.py_buffer(letters))
    return {"position_id": ids, "board": fixed_lists(boards)}


def pip_columns(boards: Array) -> dict[str, Array]:
    """Make the columns of `columns.PIP_COLUMNS`, the pip counts of both sides, from int8[n, 26] boards."""
    pips = pip_counts(boards)
    return {"pips": np.ascontiguousarray(pips[:, 0]), "opponent_pips": np.ascontiguousarray(pips[:, 1])}


def class_column(classes: Array) -> pa.Array:
    """Make the column `class` of positions from their `PositionClass` numbers, uint8[n]. It contains the names of
    gnubg's files."""
    names = [""] * (max(PositionClass) + 1)
    for entry in PositionClass:
        names[entry] = entry.file_class.name.lower()
    unique = sorted(set(names))
    places = np.array([unique.index(name) for name in names], np.int8)
    return pa.DictionaryArray.from_arrays(pa.array(places[classes]), pa.array(unique))


def chance_columns(chances: Array) -> dict[str, pa.Array]:
    """Make the five columns of chances from float32[n, 5] chances. Wins include gammons, and gammons include
    backgammons."""
    return {name: pa.array(np.ascontiguousarray(chances[:, n])) for n, name in enumerate(CHANCES)}


def null_columns(columns: Sequence[Column], names: Container[str], count: int) -> dict[str, pa.Array]:
    """Make columns of `count` nulls for those `columns` whose names are in `names`, because the records lack these
    fields."""
    return {each.name: pa.nulls(count, pa.type_for_alias(ALIASES[each.type])) for each in columns if each.name in names}


def numbers_or_null(values: Array) -> pa.Array:
    """Make a column of numbers in which NaN becomes null."""
    return pa.array(np.ascontiguousarray(values), mask=np.isnan(values))


def dictionary_column(codes: Array, values: Array) -> pa.Array:
    """Make a dictionary column of `values[codes]`. Parquet stores each distinct value of such a column once in a row
    group."""
    return pa.DictionaryArray.from_arrays(pa.array(np.ascontiguousarray(codes)), pa.array(values))


def constant(value: Any, type_: str, count: int) -> pa.Array:
    """Make a dictionary column that has the same value, of the SQL type `type_`, in each of `count` rows."""
    return dictionary_column(np.zeros(count, np.int8), pa.array([value], pa.type_for_alias(ALIASES[type_])))


def fixed_lists(values: Array) -> pa.Array:
    """Make a column of lists from the rows of a two-dimensional array."""
    rows, width = values.shape
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(values).ravel()))
