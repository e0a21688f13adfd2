"""The position functions of SQL as vectorised ones: same names and results as the macros, many times faster.

They are registered on connections opened through bgdata, as temporary macros over Arrow functions, so that also the
catalog's own views and macros use them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from duckdb.func import ARROW, SPECIAL
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS

if TYPE_CHECKING:
    import duckdb

BOARD_SLOTS = 26
BINOMIAL = np.array([[comb(n, r) for r in range(MAX_POINTS + 2)] for n in range(MAX_POINTS + MAX_CHECKERS + 2)])


class Function(NamedTuple):
    """A vectorised function and its signature."""

    call: Callable[..., Any]
    parameters: tuple[tuple[str, str], ...]  # (name, SQL type)
    result: str


def register_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the position functions of this connection vectorised."""
    from bgdata.sql import positions

    board, position_id = ("board", "TINYINT[]"), ("position_id", "VARCHAR")
    roll = (position_id, ("die1", "INTEGER"), ("die2", "INTEGER"))
    functions = {
        "bearoff_index": Function(bearoff_index, (("points", "TINYINT[]"),), "INTEGER"),
        "pip_count": Function(pip_count, (board,), "INTEGER"),
        "board": Function(positions.board, (position_id,), "TINYINT[]"),
        "position_id": Function(positions.position_id, (board,), "VARCHAR"),
        "flip": Function(positions.flip, (board,), "TINYINT[]"),
        "position_class": Function(positions.position_class, (board,), "VARCHAR"),
        "next_positions": Function(positions.next_positions, roll, "VARCHAR[]"),
        "legal_plays": Function(positions.legal_plays, roll, "STRUCT(play VARCHAR, next_position_id VARCHAR)[]"),
    }
    for name, function in functions.items():
        types: list[Any] = [type_ for _, type_ in function.parameters]
        connection.create_function(
            f"fast_{name}", function.call, types, function.result, type=ARROW, null_handling=SPECIAL
        )
        arguments = ", ".join(f"{argument}::{type_}" for argument, type_ in function.parameters)
        parameters = ", ".join(argument for argument, _ in function.parameters)
        connection.execute(f"create temp macro {name}({parameters}) as fast_{name}({arguments})")


def bearoff_index(points: pa.Array) -> pa.Array:
    """Position index of each layout (a list of checkers, the ace point first)."""
    checkers, row, place, lengths, missing = flattened(points)
    above = reversed_sums(checkers, row, len(lengths))
    column = lengths[row] - place
    valid = (above >= 0) & (above <= MAX_CHECKERS) & (lengths[row] <= MAX_POINTS)
    terms = BINOMIAL[np.where(valid, above + column - 1, 0), np.where(valid, column, 1)]
    return sums_by_row(terms, row, len(lengths), missing, wrong=row[~valid])


def pip_count(points: pa.Array) -> pa.Array:
    """Pips to bear off each layout; of 26 integers, a board, those of the player on roll."""
    checkers, row, place, lengths, missing = flattened(points)
    is_board = lengths[row] == BOARD_SLOTS
    pips = np.where(is_board, np.maximum(checkers, 0) * place, checkers * (place + 1))
    return sums_by_row(pips, row, len(lengths), missing, wrong=row[:0])


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
