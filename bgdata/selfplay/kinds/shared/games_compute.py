"""Rows of games, turns and positions, from the arrays of any kind that has them, and the positions of a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from bgdata.evaluation.chances import cubeless_equities
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.position_hash import position_hashes
from bgdata.game.random import mix_bits
from bgdata.kinds.column_values import (
    chance_columns,
    class_column,
    constant,
    null_columns,
    pip_columns,
    position_columns,
    select_texts,
)
from bgdata.selfplay.kinds.shared.corpora import corpus_name
from bgdata.selfplay.kinds.shared.games import ACTIONS, GAMES, TURNS
from bgdata.selfplay.splits import SPLITS, splits_of_games, splits_of_hashes
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Dataset
from bgdata.store.job import Job
from bgdata.store.parameters import Parameters
from bgdata.store.shards import compute_shards, opened_once, ranges, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

P = TypeVar("P", bound=Parameters)
TEXTS = ("network", "engine")  # arrays that contain one text for all rows
SAMPLED_AT_ONCE = 1 << 20  # rows of a shard
OWNERS = ("centered", "on_roll", "opponent")
# columns that are null unless a kind fills them, because records of games lack them
MAY_BE_UNKNOWN = {"seed", "luck_0", "hedged_points", "cubeless_equity", "luck"}


def game_columns(first: int, records: Array, n_turns: Array, names: tuple[pa.Array, pa.Array]) -> dict[str, pa.Array]:
    """Return the columns of `games` that all kinds store, without `corpus`. `first` is the number of the first game,
    records[games, 8] have the columns of GAME_ARRAYS, and `names` are the names of player 0 and player 1 in each
    game."""
    match, number, length, score_0, score_1, crawford, winner, points = records.T
    return {
        "game": np.arange(first, first + len(match), dtype=np.int32),
        "match": np.ascontiguousarray(match, np.int32),
        "game_number": number.astype(np.int16),
        "player_0": names[0],
        "player_1": names[1],
        "match_length": length.astype(np.int16),
        "score_0": score_0.astype(np.int16),
        "score_1": score_1.astype(np.int16),
        "is_crawford": pa.array(crawford == 1, mask=crawford < 0),
        "winner": pa.array(winner.astype(np.int8), mask=winner < 0),
        "points_won": pa.array(points.astype(np.int16), mask=points < 0),
        "n_turns": n_turns.astype(np.int32),
        **null_columns(GAMES.columns, MAY_BE_UNKNOWN, len(match)),
    }


def turn_columns(
    games: Array, turns: Array, records: Array, boards: Array, classes: Array, plays: pa.Array
) -> dict[str, pa.Array]:
    """Return the columns of `turns` that all kinds store, without `corpus`. `games` and `turns` number the game of each
    row and the turn in it, records[turns, 7] have the columns of TURN_ARRAYS, and `plays` are strings."""
    player, action, on_roll, die1, die2, cube, owner = records.T
    return {
        "game": games.astype(np.int32),
        "turn": turns.astype(np.int32),
        "player": player.astype(np.int8),
        "action": select_texts(pa.array(ACTIONS), action),
        **position_columns(boards),
        "class": class_column(classes),
        **pip_columns(boards),
        "on_roll": on_roll.astype(np.int8),
        "die1": pa.array(die1.astype(np.int8), mask=die1 == 0),
        "die2": pa.array(die2.astype(np.int8), mask=die2 == 0),
        "play": plays,
        "cube_value": cube.astype(np.int32),
        "cube_owner": select_texts(pa.array(OWNERS), owner),
        **null_columns(TURNS.columns, MAY_BE_UNKNOWN, len(player)),
    }


def corpus_column(kind: Dataset[P], parameters: P, count: int) -> dict[str, pa.Array]:
    """Return the column `corpus` for `count` rows of a variant; null if the rows are not from games."""
    corpus = corpus_name(kind, parameters)
    return {"corpus": constant(corpus, "VARCHAR", count) if corpus else pa.nulls(count, pa.string())}


def turn_places(first_turns: Array, rows: slice) -> tuple[Array, Array]:
    """Return the number of the game that each turn row in `rows` belongs to, and the number of the turn within that
    game."""
    places = np.arange(rows.start, rows.stop)
    games = np.searchsorted(first_turns, places, side="right") - 1
    return games, places - first_turns[games]


def slices(count: int, size: int) -> Iterator[slice]:
    """Yield slices that cover `count` rows, `size` rows each; one empty slice if there are no rows."""
    for start in range(0, max(count, 1), size):
        yield slice(start, min(count, start + size))


def save_games(job: Job, shards: Sequence[Mapping[str, Array]], names: Sequence[str]) -> Array:
    """Join the arrays of games and turns of all shards and save them, with `first_turns` from their `n_turns`. Returns
    `first_turns`, the first turn row of each game."""
    for name in names:
        job.save(name, np.concatenate([shard[name] for shard in shards]))
    n_turns = np.concatenate([np.zeros(1, np.int64), *(shard["n_turns"] for shard in shards)])
    first_turns: Array = np.cumsum(n_turns)
    job.save("first_turns", first_turns)
    return first_turns


class Places(NamedTuple):
    """Distinct positions in the order of the source. Each has the row, game and turn of its first occurrence."""

    rows: Array
    games: Array
    turns: Array
    boards: Array
    classes: Array
    splits: Array

    def chosen(self, which: Array) -> Places:
        """Return the positions that the index or mask `which` selects, in its order."""
        return Places(*(values[which] for values in self))


def distinct_places(source: Table, part: range) -> Places:
    """Return the distinct positions of the rows `part` of a table, each at its first row. Positions of finished games
    are included, although networks learn nothing from them. Splits come from the source if it has them, else from its
    games and seed, else from the position."""

    def array(name: str) -> Array | None:
        return np.asarray(source.array(name)[part.start : part.stop]) if source.has_array(name) else None

    turn_boards, splits, (games, turns) = array("turn_boards"), array("splits"), (array("games"), array("turns"))
    boards = array("boards") if turn_boards is None else turn_boards
    assert boards is not None
    _, first = np.unique(board_hashes(boards), return_index=True)
    rows = np.sort(first)
    chosen = np.ascontiguousarray(boards[rows])
    if turn_boards is not None:
        games, turns = turn_places(np.asarray(source.array("first_turns")), slice(part.start, part.stop))
    elif games is None or turns is None:
        games = turns = np.full(len(boards), -1)
    games, turns = games[rows], turns[rows]
    if splits is None:
        by_game = splits_of_games(int(source.manifest.parameters.get("seed", 0)), games)
        found = np.where(games >= 0, by_game, splits_of_hashes(position_hashes(chosen))).astype(np.uint8)
    else:
        found = splits[rows]
    numbers: list[Array] = [values.astype(np.int32) for values in (part.start + rows, games, turns)]
    return Places(numbers[0], numbers[1], numbers[2], chosen, position_classes(chosen).astype(np.uint8), found)


class RowsComputation(Computation[P]):
    """Base of computations with one row for each of their `boards`. An array that several kinds have becomes the same
    columns in all of them; a kind adds its own columns."""

    def batches(self, computed: Computed[P]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        texts = {name: np.asarray(arrays[name]).tobytes().decode() for name in TEXTS if name in arrays}
        declared = {column.name for column in self.kind.columns}
        for rows in slices(len(arrays["boards"]), self.kind.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in arrays.items() if name not in texts}
            whole = slice(computed.first_row + rows.start, computed.first_row + rows.stop)
            columns = shared_columns(found, whole) | self.own_columns(found, computed)
            columns |= {name: constant(text, "VARCHAR", len(found["boards"])) for name, text in texts.items()}
            if "corpus" in declared:
                columns |= corpus_column(self.kind, computed.parameters, len(found["boards"]))
            if "pips" in declared:
                columns |= pip_columns(found["boards"])
            yield pa.record_batch(columns)

    def own_columns(self, _found: Mapping[str, Array], _computed: Computed[P]) -> dict[str, Any]:
        """Return the columns that only this kind has, for the rows of `_found`, a slice of its arrays."""
        return {}


def shared_columns(arrays: Mapping[str, Array], rows: slice) -> dict[str, Any]:
    """Return the columns for `rows` that are made from arrays which several kinds have."""
    columns: dict[str, Any] = {
        "row": arrays.get("rows", np.arange(rows.start, rows.stop, dtype=np.int32)),
        **position_columns(arrays["boards"]),
        "class": class_column(arrays["classes"]),
    }
    if "games" in arrays:
        has_no_game = arrays["games"] < 0
        columns |= {name[:-1]: pa.array(arrays[name], mask=has_no_game) for name in ("games", "turns")}
    if "chances" in arrays:
        columns |= {**chance_columns(arrays["chances"]), "cubeless_equity": cubeless_equities(arrays["chances"])}
    if "splits" in arrays:
        columns["split"] = select_texts(pa.array(SPLITS), arrays["splits"].astype(np.int32))
    return columns


def counts_of(codes: Array, names: Sequence[str]) -> dict[str, float]:
    """Return the number of rows of each name, for statistics. `codes` are indexes into `names`."""
    counts = np.bincount(codes, minlength=len(names))
    return {name: float(count) for name, count in zip(names, counts, strict=True)}


def file_classes(classes: Array) -> Array:
    """Return the numbers by which files store the classes of positions. All bearoffs are stored as races."""
    table = np.zeros(max(PositionClass) + 1, np.uint8)
    for entry in PositionClass:
        table[entry] = entry.file_class
    return table[classes]


def sample_rows(build: Build[Any], most: int) -> Array:
    """Return ascending turn rows of the corpus that a sample is made from, as int64[n]. Each is the first row with its
    position. There are at most `most` rows of each class: those with the lowest hashes. So the sample of a larger
    corpus contains the rows of a smaller one, or rows with lower hashes. Each shard reads a range of rows."""
    games = {"games": build.inputs["games"]}
    work = work_of(build, f"{__name__}:sample_shard", games, most=most)
    parts = ranges(len(games["games"].array("turn_boards")), SAMPLED_AT_ONCE)
    return lowest_of(compute_shards(build.job, "turns", work, parts), most)


def sample_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Return the rows of `hashed_rows` with the lowest hashes of each class, among the turn rows from `begin` to before
    `end` of a corpus."""
    games = opened_once(open_games, settings)
    boards, classes = (np.asarray(games.array(name)[begin:end]) for name in ("turn_boards", "turn_classes"))
    return _lowest(hashed_rows(boards, classes, begin), int(settings["most"]))


def open_games(settings: Settings) -> Table:
    """Open the version whose turns `sample_shard` reads. `settings` contain its folder."""
    return Table(Path(str(settings["games"])))


def hashed_rows(boards: Array, classes: Array, first: int) -> dict[str, Array]:
    """Return the hashes of int8[n, 26] boards as uint64[n], their row numbers from `first` on as int64[n], and their
    classes in files as uint8[n]."""
    return {
        "hashes": board_hashes(boards), "rows": np.arange(first, first + len(boards)), "classes": file_classes(classes)
    }  # fmt: skip


def lowest_of(shards: Iterable[Mapping[str, Array]], most: int) -> Array:
    """Return the ascending row numbers with the `most` lowest hashes of each class, as int64[n], from shards of
    `hashed_rows`. Of equal positions, the first row is taken."""
    found: Mapping[str, Array] = {}
    for shard in shards:
        found = _lowest({name: np.concatenate([found.get(name, shard[name][:0]), shard[name]]) for name in shard}, most)
    return np.sort(found["rows"]) if found else np.zeros(0, np.int64)


def _lowest(found: Mapping[str, Array], most: int) -> dict[str, Array]:
    _, first = np.unique(found["hashes"], return_index=True)
    classes = found["classes"][first]
    kept = np.concatenate([first[:0], *(first[classes == number][:most] for number in np.unique(classes))])
    return {name: values[kept] for name, values in found.items()}


def board_hashes(boards: Array) -> Array:
    """Return pseudorandom hashes of int8[n, 26] boards, as uint64[n]. Among a million positions, two have the same hash
    with a chance of 1 in 40 million; then one of the two is not sampled."""
    padded = np.zeros((len(boards), 32), np.int8)
    padded[:, : boards.shape[1]] = boards
    hashes = np.zeros(len(boards), np.uint64)
    for word in padded.view("<u8").T:
        with np.errstate(over="ignore"):
            hashes = mix_bits(hashes + word.astype(np.uint64))
    return hashes
