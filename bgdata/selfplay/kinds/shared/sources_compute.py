"""The distinct positions of a source, with their games and splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.game.board_kernels import position_classes
from bgdata.game.position_hash import position_hashes
from bgdata.kinds.column_values import chosen_texts, class_column, position_columns
from bgdata.selfplay.kinds.position_sample_compute import board_hashes
from bgdata.selfplay.kinds.shared.games_compute import turn_places
from bgdata.selfplay.splits import SPLITS, splits_of_games, splits_of_hashes
from bgdata.store.arrays import Array
from bgdata.store.table import Table


class Places(NamedTuple):
    """Distinct positions, in the order of the source: the arrays of PLACE_ARRAYS and SPLITS_ARRAY."""

    rows: Array
    games: Array
    turns: Array
    boards: Array
    classes: Array
    splits: Array

    def chosen(self, which: Array) -> Places:
        """The chosen positions, in the given order."""
        return Places(*(values[which] for values in self))


def places_of(source: Table) -> Places:
    """The distinct positions of a table, each where it is first; finished games too, which have nothing to learn.

    Splits are those of the source where it has them, else by its games (of the seed that it names), else by the
    position.
    """
    has_turns = (source.folder / "turn_boards.npy").exists()
    boards = np.asarray(source.array("turn_boards" if has_turns else "boards"))
    _, first = np.unique(board_hashes(boards), return_index=True)
    rows = np.sort(first)
    chosen = np.ascontiguousarray(boards[rows])
    games, turns = games_of(source, rows, has_turns=has_turns)
    return Places(
        rows.astype(np.int32),
        games.astype(np.int32),
        turns.astype(np.int32),
        chosen,
        position_classes(chosen).astype(np.uint8),
        splits_of(source, rows, games, chosen),
    )


def games_of(source: Table, rows: Array, *, has_turns: bool) -> tuple[Array, Array]:
    """(game, number of the turn in it) of some rows; -1 where unknown."""
    if has_turns:
        games, turns = turn_places(np.asarray(source.array("first_turns")), slice(0, len(source.array("turn_boards"))))
        return games[rows], turns[rows]
    if (source.folder / "games.npy").exists() and (source.folder / "turns.npy").exists():
        return np.asarray(source.array("games"))[rows], np.asarray(source.array("turns"))[rows]
    return np.full(len(rows), -1), np.full(len(rows), -1)


def splits_of(source: Table, rows: Array, games: Array, boards: Array) -> Array:
    """uint8[n]: places in `splits.SPLITS` of some rows, their games and boards."""
    if (source.folder / "splits.npy").exists():
        return np.asarray(source.array("splits"))[rows]
    by_game = splits_of_games(int(source.manifest.parameters.get("seed", 0)), games)
    return np.where(games >= 0, by_game, splits_of_hashes(position_hashes(boards))).astype(np.uint8)


def place_columns(arrays: Mapping[str, Array]) -> dict[str, pa.Array]:
    """PLACE_COLUMNS of some rows of the arrays."""
    has_no_game = arrays["games"] < 0
    return {
        "row": arrays["rows"],
        "game": pa.array(arrays["games"], mask=has_no_game),
        "turn": pa.array(arrays["turns"], mask=has_no_game),
        **position_columns(arrays["boards"]),
        "class": class_column(arrays["classes"]),
    }


def split_column(splits: Array) -> pa.Array:
    """SPLIT_COLUMN of uint8[n] places in `splits.SPLITS`."""
    return chosen_texts(pa.array(SPLITS), splits.astype(np.int32))
