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


class Lists(NamedTuple):
    """A list column, flat: the values, the row of each and its place there, and the length of each row (0 for NULL)."""

    values: NDArray[np.int64]  # 0 for NULL
    is_null: NDArray[np.bool_]
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    lengths: NDArray[np.int64]


def register_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the position functions of this connection vectorised."""
    from bgdata.sql import positions

    board, position_id = ("board", "INTEGER[]"), ("position_id", "VARCHAR")
    roll = (position_id, ("die1", "INTEGER"), ("die2", "INTEGER"))
    functions = {
        "bearoff_index": Function(bearoff_index, (("points", "INTEGER[]"),), "INTEGER"),
        "pip_count": Function(pip_count, (("board", "INTEGER[]"),), "INTEGER"),
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
    """Position index of each layout (a list of checkers, the ace point first); NULL for a list that is none."""
    lists = flattened(points)
    above = reversed_sums(lists)
    lengths = lists.lengths[lists.row]
    column = lengths - lists.place
    valid = ~lists.is_null & (lists.values >= 0) & (lengths <= MAX_POINTS) & (above >= 0) & (above <= MAX_CHECKERS)
    terms = BINOMIAL[np.where(valid, above + column - 1, 0), np.where(valid, column, 1)]
    is_none = lists.lengths == 0
    is_none[lists.row[~valid]] = True
    return sums_by_row(terms, lists, is_none)


def pip_count(points: pa.Array) -> pa.Array:
    """Pips to bear off each layout, or of the player on roll of a board of 26; NULL for a list without numbers."""
    lists = flattened(points)
    is_none = np.bincount(lists.row, weights=~lists.is_null, minlength=len(lists.lengths)) == 0
    is_board = lists.lengths[lists.row] == BOARD_SLOTS
    pips = np.where(is_board, np.maximum(lists.values, 0) * lists.place, lists.values * (lists.place + 1))
    return sums_by_row(pips, lists, is_none)


def flattened(points: pa.Array) -> Lists:
    """The values of a list column with where they stand."""
    if isinstance(points, pa.ChunkedArray):
        points = points.combine_chunks()
    lengths = points.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    row = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = points.flatten()
    return Lists(
        values=values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64),
        is_null=values.is_null().to_numpy(zero_copy_only=False),
        row=row,
        place=place,
        lengths=lengths,
    )


def reversed_sums(lists: Lists) -> NDArray[np.int64]:
    """For each value the sum of it and all later ones of its row."""
    totals = np.bincount(lists.row, weights=lists.values, minlength=len(lists.lengths)).astype(np.int64)
    until = np.cumsum(lists.values)
    before = np.concatenate([[0], np.cumsum(totals)])[lists.row]
    later: NDArray[np.int64] = totals[lists.row] - (until - lists.values - before)
    return later


def sums_by_row(terms: NDArray[np.int64], lists: Lists, is_none: NDArray[np.bool_]) -> pa.Array:
    """The sum of each row's terms; NULL where it is none."""
    sums = np.bincount(lists.row, weights=terms, minlength=len(lists.lengths))
    return pa.array(sums.astype(np.int32), mask=is_none)
