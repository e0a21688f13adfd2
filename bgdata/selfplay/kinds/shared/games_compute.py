"""Rows of games and turns, from the arrays of any kind that has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.kinds.column_values import class_column, null_columns, position_columns
from bgdata.selfplay.kinds.shared.games import ACTIONS, GAMES, TURNS
from bgdata.store.arrays import Array
from bgdata.store.job import Job

OWNERS = ("centered", "on_roll", "opponent")
# null unless the kind says otherwise: records of others do not say them
MAY_BE_UNKNOWN = {"seed", "luck_0", "hedged_points", "cubeless_equity", "luck"}


class GameRows(NamedTuple):
    """Some rows of `games`: the values that all kinds store."""

    first: int  # number of the first of them
    records: Array  # [games, 8] as in GAME_ARRAYS
    n_turns: Array  # [games]
    names: tuple[pa.Array, pa.Array]  # of player 0 and of player 1

    def columns(self) -> dict[str, pa.Array]:
        """The columns of these rows."""
        match, number, length, score_0, score_1, crawford, winner, points = self.records.T
        return {
            "game": np.arange(self.first, self.first + len(match), dtype=np.int32),
            "match": np.ascontiguousarray(match, np.int32),
            "game_number": number.astype(np.int16),
            "player_0": self.names[0],
            "player_1": self.names[1],
            "match_length": length.astype(np.int16),
            "score_0": score_0.astype(np.int16),
            "score_1": score_1.astype(np.int16),
            "is_crawford": pa.array(crawford == 1, mask=crawford < 0),
            "winner": pa.array(winner.astype(np.int8), mask=winner < 0),
            "points_won": pa.array(points.astype(np.int16), mask=points < 0),
            "n_turns": self.n_turns.astype(np.int32),
            **null_columns(GAMES.columns, MAY_BE_UNKNOWN, len(match)),
        }


class TurnRows(NamedTuple):
    """Some rows of `turns`: the values that all kinds store."""

    games: Array  # [turns] number of the game
    turns: Array  # [turns] number of the turn in its game
    records: Array  # [turns, 7] as in TURN_ARRAYS
    boards: Array
    classes: Array
    plays: pa.Array  # texts

    def columns(self) -> dict[str, pa.Array]:
        """The columns of these rows."""
        player, action, on_roll, die1, die2, cube, owner = self.records.T
        return {
            "game": self.games.astype(np.int32),
            "turn": self.turns.astype(np.int32),
            "player": player.astype(np.int8),
            "action": pa.DictionaryArray.from_arrays(pa.array(action.astype(np.int32)), pa.array(ACTIONS)),
            **position_columns(self.boards),
            "class": class_column(self.classes),
            "on_roll": on_roll.astype(np.int8),
            "die1": pa.array(die1.astype(np.int8), mask=die1 == 0),
            "die2": pa.array(die2.astype(np.int8), mask=die2 == 0),
            "play": self.plays,
            "cube_value": cube.astype(np.int32),
            "cube_owner": pa.DictionaryArray.from_arrays(pa.array(owner.astype(np.int32)), pa.array(OWNERS)),
            **null_columns(TURNS.columns, MAY_BE_UNKNOWN, len(player)),
        }


def turn_places(first_turns: Array, rows: slice) -> tuple[Array, Array]:
    """(game, number of the turn in its game) of some turns."""
    places = np.arange(rows.start, rows.stop)
    games = np.searchsorted(first_turns, places, side="right") - 1
    return games, places - first_turns[games]


def slices(count: int, size: int) -> Iterator[slice]:
    """All rows, `size` at a time; one empty slice of none."""
    for start in range(0, max(count, 1), size):
        yield slice(start, min(count, start + size))


def save_games(job: Job, shards: Sequence[Mapping[str, Array]], names: Sequence[str]) -> Array:
    """Save arrays of games and turns that shards hold, and `first_turns` from their `n_turns`; returns the latter."""
    for name in names:
        job.save(name, np.concatenate([shard[name] for shard in shards]))
    n_turns = np.concatenate([np.zeros(1, np.int64), *(shard["n_turns"] for shard in shards)])
    first_turns: Array = np.cumsum(n_turns)
    job.save("first_turns", first_turns)
    return first_turns
