"""The position functions of SQL as vectorised ones: same names and results as the macros, many times faster.

They are registered on connections opened through bgdata, as temporary macros over Arrow functions, so that also the
catalog's own views and macros use them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from duckdb.func import ARROW
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS

if TYPE_CHECKING:
    import duckdb

BINOMIAL = np.array([[comb(n, r) for r in range(MAX_POINTS + 2)] for n in range(MAX_POINTS + MAX_CHECKERS + 2)])


def register_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make `bearoff_index` and `pip_count` of this connection vectorised."""
    functions: dict[str, Callable[..., Any]] = {"bearoff_index": bearoff_index, "pip_count": pip_count}
    for name, function in functions.items():
        connection.create_function(f"fast_{name}", function, ["TINYINT[]"], "INTEGER", type=ARROW)
        connection.execute(f"create temp macro {name}(points) as fast_{name}(points::tinyint[])")


def bearoff_index(points: pa.Array) -> pa.Array:
    """Position index of each layout (a list of checkers, the ace point first)."""
    checkers, row, place, lengths, missing = flattened(points)
    above = reversed_sums(checkers, row, len(lengths))
    column = lengths[row] - place
    valid = (above >= 0) & (above <= MAX_CHECKERS) & (lengths[row] <= MAX_POINTS)
    terms = BINOMIAL[np.where(valid, above + column - 1, 0), np.where(valid, column, 1)]
    return sums_by_row(terms, row, len(lengths), missing, wrong=row[~valid])


def pip_count(points: pa.Array) -> pa.Array:
    """Pips to bear off each layout."""
    checkers, row, place, lengths, missing = flattened(points)
    return sums_by_row(checkers * (place + 1), row, len(lengths), missing, wrong=row[:0])


def flattened(
    points: pa.Array,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """(checkers, row, place in the row, lengths, missing): the values of a list column with where they stand."""
    if isinstance(points, pa.ChunkedArray):
        points = points.combine_chunks()
    lengths = points.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    row = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    checkers = points.flatten().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return checkers, row, place, lengths, points.is_null().to_numpy(zero_copy_only=False)


def reversed_sums(values: NDArray[np.int64], row: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """For each value the sum of it and all later ones of its row."""
    totals = np.bincount(row, weights=values, minlength=rows).astype(np.int64)
    until = np.cumsum(values)
    before = np.concatenate([[0], np.cumsum(totals)])[row]
    later: NDArray[np.int64] = totals[row] - (until - values - before)
    return later


def sums_by_row(
    terms: NDArray[np.int64], row: NDArray[np.int64], rows: int, missing: NDArray[np.bool_], wrong: NDArray[np.int64]
) -> pa.Array:
    """The sum of each row's terms; NULL where the list is, and for wrong rows."""
    null = missing.copy()
    null[wrong] = True
    return pa.array(np.bincount(row, weights=terms, minlength=rows).astype(np.int32), mask=null)
