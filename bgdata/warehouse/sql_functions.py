"""Vectorised position functions for SQL, with the names and results of the macros, and many times faster.

They are registered on connections of bgdata as temporary macros over Arrow functions, so that the catalog's views and
macros use them too. They return NULL for invalid positions. Kernels are imported at the first call, so that connections
open quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from duckdb.func import ARROW, SPECIAL
from numpy.typing import NDArray

from bgdata.bearoff.index import BINOMIAL, MAX_CHECKERS, MAX_POINTS
from bgdata.errors import BgdataError
from bgdata.matches.aliases import VARIABLE
from bgdata.store.dataset import PARQUET
from bgdata.store.names import identifier, sql_text

if TYPE_CHECKING:
    import duckdb

    from bgdata.store.table import Table
    from bgdata.store.versions import Versions

BOARD_SLOTS = 26
TWO_SIDED = "bearoff_two_sided"
Column: TypeAlias = pa.Array | pa.ChunkedArray
BINOMIALS = np.array(BINOMIAL)


class Lists(NamedTuple):
    """A column of lists, flattened: all values, the row of each value, its index in the list, and the length of each
    row's list (0 for NULL)."""

    values: NDArray[np.int64]  # 0 for NULL
    is_null: NDArray[np.bool_]
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    lengths: NDArray[np.int64]


def register_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the vectorised SQL functions on positions to a connection."""
    of_board, of_id = {"board": "INTEGER[]"}, {"position_id": "VARCHAR"}
    of_roll = of_id | {"die1": "INTEGER", "die2": "INTEGER"}
    functions: list[tuple[Callable[..., Any], dict[str, Any], str]] = [  # (function, parameters, type of the result)
        (bearoff_index, {"points": "INTEGER[]"}, "INTEGER"),
        (pip_count, of_board, "INTEGER"),
        (board, of_id, "TINYINT[]"),
        (position_id, of_board, "VARCHAR"),
        (flip, of_board, "TINYINT[]"),
        (position_class, of_board, "VARCHAR"),
        (theme, of_board, "VARCHAR"),
        (next_positions, of_roll, "VARCHAR[]"),
        (legal_plays, of_roll, "STRUCT(play VARCHAR, next_position_id VARCHAR)[]"),
    ]
    for call, parameters, result in functions:
        name, types = call.__name__, list(parameters.values())
        connection.create_function(f"fast_{name}", call, types, result, type=ARROW, null_handling=SPECIAL)
        arguments = ", ".join(f"{argument}::{type_}" for argument, type_ in parameters.items())
        connection.execute(f"create temp macro {name}({', '.join(parameters)}) as fast_{name}({arguments})")


def define_flat_tables(connection: duckdb.DuckDBPyConnection, warehouse: Versions) -> None:
    """Create a view for each two-sided table that is too large for a Parquet file. Its values come from a function that
    reads only the pairs of layouts in the result, so that a query with conditions on indexes is fast."""
    for table in warehouse.versions(TWO_SIDED) if TWO_SIDED in warehouse.kinds else ():
        with suppress(BgdataError):  # a damaged version is reported when it is opened
            if table.has_file(PARQUET):  # most versions have a Parquet file
                continue
            kind = warehouse.kinds[TWO_SIDED]
            variant = table.manifest.variant
            if kind.tables_of(kind.recipe_of(table.manifest)) or warehouse.open(kind.name, variant).name != table.name:
                continue
            _define_flat_table(connection, table, kind.tables[0].name)


def _define_flat_table(connection: duckdb.DuckDBPyConnection, table: Table, name: str) -> None:
    """Create the view `name` of a large two-sided table, and the function that reads its values."""
    from bgdata.bearoff.remote import open_pairs
    from bgdata.bearoff.tables import Equities

    opened = open_pairs(table)
    count, variant = isqrt(len(opened)), table.manifest.variant
    struct = pa.struct([(column, pa.float32()) for column in Equities._fields])

    def probe(on_roll: Column, opponent: Column) -> pa.Array:
        indexes = [single_array(side).to_numpy(zero_copy_only=False) for side in (on_roll, opponent)]
        found = opened.probe_many(*indexes)
        columns = [pa.array(np.ascontiguousarray(found[:, n])) for n in range(len(Equities._fields))]
        return pa.StructArray.from_arrays(columns, fields=list(struct))

    fields = ", ".join(f"{column} FLOAT" for column in Equities._fields)
    arguments: list[Any] = ["INTEGER", "INTEGER"]
    result: Any = f"STRUCT({fields})"
    connection.create_function(f"probe_{name}_{variant}", probe, arguments, result, type=ARROW)
    columns = ", ".join(f"equities.{column}" for column in Equities._fields)
    connection.execute(
        f"create temp view {identifier(f'{name}_{variant}')} as "
        f"select variant, on_roll_index, opponent_index, {columns} from (select {sql_text(variant)} as variant, "
        "on_roll_index, opponent_index, "
        f"{identifier(f'probe_{name}_{variant}')}(on_roll_index, opponent_index) as equities "
        f"from (select range::integer as on_roll_index from range({count})), "
        f"(select range::integer as opponent_index from range({count})))"
    )


def bearoff_index(points: pa.Array) -> pa.Array:
    """Return the bearoff index of each layout, a list of the checkers on each point, ace point first; NULL for an
    invalid list."""
    lists = flatten(points)
    totals = np.bincount(lists.row, weights=lists.values, minlength=len(lists.lengths)).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(totals)])[lists.row]
    above = totals[lists.row] - (
        np.cumsum(lists.values) - lists.values - before
    )  # the sum of the values from each value to the end of its row
    lengths = lists.lengths[lists.row]
    column = lengths - lists.place
    valid = ~lists.is_null & (lists.values >= 0) & (lengths <= MAX_POINTS) & (above >= 0) & (above <= MAX_CHECKERS)
    terms = BINOMIALS[np.where(valid, above + column - 1, 0), np.where(valid, column, 1)]
    is_none = lists.lengths == 0
    is_none[lists.row[~valid]] = True
    return sums_by_row(terms, lists, is_none)


def pip_count(points: pa.Array) -> pa.Array:
    """Return the pip count of each layout, or of the player on roll for a list of 26, which is a board; NULL for an
    invalid list."""
    lists = flatten(points)
    is_none = np.bincount(lists.row, weights=~lists.is_null, minlength=len(lists.lengths)) == 0
    is_board = lists.lengths[lists.row] == BOARD_SLOTS
    pips = np.where(is_board, np.maximum(lists.values, 0) * lists.place, lists.values * (lists.place + 1))
    return sums_by_row(pips, lists, is_none)


def flatten(points: pa.Array) -> Lists:
    """Flatten a column of lists."""
    points = single_array(points)
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


def sums_by_row(terms: NDArray[np.int64], lists: Lists, is_none: NDArray[np.bool_]) -> pa.Array:
    """Add up the terms of each row, one term for each value of `lists`; NULL for rows where `is_none` is true."""
    sums = np.bincount(lists.row, weights=terms, minlength=len(lists.lengths))
    return pa.array(sums.astype(np.int32), mask=is_none)


def single_array(column: Column) -> pa.Array:
    """Return the column as a single array. A column may come in several chunks."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def boards_of(column: Column) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Convert a column of lists to boards, int8[n, 26], and say whether each is legal, bool[n]. An illegal board
    becomes zeros."""
    from bgdata.game.codec import board_flaws

    lists = single_array(column)
    is_board = (lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False) == BOARD_SLOTS).astype(np.bool_)
    found = lists.filter(pa.array(is_board)).flatten()
    boards = np.zeros((len(lists), BOARD_SLOTS), np.int8)
    values = found.fill_null(-128).to_numpy(zero_copy_only=False).reshape(-1, BOARD_SLOTS)
    boards[is_board] = np.clip(values, -128, 127)
    is_legal = is_board & (board_flaws(boards) == 0)
    boards[~is_legal] = 0
    return boards, is_legal


def boards_of_ids(column: Column) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Convert a column of Position IDs to boards, int8[n, 26], and say whether each is legal, bool[n]."""
    from bgdata.game.codec import parse_position_ids

    texts = [(text or "").encode() for text in single_array(column).to_pylist()]
    fitting = np.array([len(text) == 14 for text in texts], np.bool_)
    boards, flaws = parse_position_ids(np.array([text[:14] for text in texts], "S14"))
    is_legal = fitting & (flaws == 0)
    boards[~is_legal] = 0
    return boards, is_legal


def lists(values: NDArray[np.int8], is_valid: NDArray[np.bool_]) -> pa.Array:
    """Return a column with each row of `values` as a list; NULL where `is_valid` is false."""
    lengths = np.where(is_valid, values.shape[1], 0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = pa.array(np.ascontiguousarray(values[is_valid]).ravel())
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=pa.array(~is_valid))


def board(position_ids: Column) -> pa.Array:
    """Convert Position IDs to boards."""
    return lists(*boards_of_ids(position_ids))


def flip(boards: Column) -> pa.Array:
    """Return the boards from the other side's point of view."""
    from bgdata.game.codec import flip_boards

    values, is_legal = boards_of(boards)
    return lists(flip_boards(values), is_legal)


def position_id(boards: Column) -> pa.Array:
    """Convert boards to Position IDs."""
    from bgdata.game.codec import format_position_ids

    values, is_legal = boards_of(boards)
    return texts(format_position_ids(values), is_legal)


def position_class(boards: Column) -> pa.Array:
    """Return the class of each board: over, bearoff, race, crashed or contact."""
    from bgdata.game.board_kernels import position_classes
    from bgdata.game.classes import PositionClass

    values, is_legal = boards_of(boards)
    names = np.array([""] * (max(PositionClass) + 1), dtype=object)
    for entry in PositionClass:
        names[entry] = entry.name.lower().partition("_")[0]
    return pa.array(names[position_classes(values)], pa.string(), mask=~is_legal)


def theme(boards: Column) -> pa.Array:
    """Return the theme of each board; NULL if it has none, such as a finished game."""
    from bgdata.game.themes import NO_THEME, Theme, position_themes

    values, is_legal = boards_of(boards)
    found = position_themes(values)
    names = np.array([each.label for each in Theme], dtype=object)
    return pa.array(names[found], pa.string(), mask=~is_legal | (found == NO_THEME))


def texts(letters: NDArray[np.bytes_], is_valid: NDArray[np.bool_]) -> pa.Array:
    """Return a column with each row of `letters` as a string; NULL where `is_valid` is false."""
    return pa.array(letters.astype(str).astype(object), pa.string(), mask=~is_valid)


def rolls_of(die1: Column, die2: Column) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Convert two columns to dice, int8[n, 2], and say whether each pair is valid, bool[n]. An invalid pair becomes 1
    and 1."""
    dice = np.column_stack([single_array(die).fill_null(0).to_numpy(zero_copy_only=False) for die in (die1, die2)])
    is_roll = np.asarray(((dice >= 1) & (dice <= 6)).all(axis=1))
    return np.where(is_roll[:, None], dice, 1).astype(np.int8), is_roll


def next_positions(position_ids: Column, die1: Column, die2: Column) -> pa.Array:
    """Return, for each position and roll, the list of the Position IDs after each legal play, with the opponent on
    roll."""
    from bgdata.game.codec import flip_boards, format_position_ids
    from bgdata.game.play_kernels import batch_plays

    boards, is_legal = boards_of_ids(position_ids)
    dice, is_roll = rolls_of(die1, die2)
    offsets, after_play = batch_plays(boards, dice)
    ids = texts(format_position_ids(flip_boards(after_play)), np.ones(len(after_play), np.bool_))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), ids, mask=pa.array(~(is_legal & is_roll)))


def legal_plays(position_ids: Column, die1: Column, die2: Column) -> pa.Array:
    """Return, for each position and roll, the list of legal plays as strings, each with the Position ID after it, with
    the opponent on roll."""
    from bgdata.game.plays import legal_plays as plays_of
    from bgdata.game.position import Position

    boards, is_legal = boards_of_ids(position_ids)
    dice, is_roll = rolls_of(die1, die2)
    found: list[list[dict[str, str]] | None] = []
    for row, roll, is_good in zip(boards.tolist(), dice.tolist(), (is_legal & is_roll).tolist(), strict=True):
        plays = plays_of(Position(row), roll) if is_good else []
        texts = [{"play": str(play), "next_position_id": play.next_position.id} for play in plays]
        found.append(texts if is_good else None)
    kind = pa.list_(pa.struct([("play", pa.string()), ("next_position_id", pa.string())]))
    return pa.array(found, kind)


def define_aliases(connection: duckdb.DuckDBPyConnection, aliases: Mapping[str, str]) -> None:
    """Tell the macro `player_named` which names belong to the same player: `aliases` contains the name to show for each
    other name."""
    entries = [list(aliases), list(aliases.values())]
    connection.execute(f"set variable {VARIABLE} = map($1::varchar[], $2::varchar[])", entries)
