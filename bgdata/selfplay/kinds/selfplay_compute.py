"""Plays a player against itself, and records every turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import BgdataError, CheckSkippedError, InvalidParameterError
from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.player import MappedNetwork, find_network
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.players import PLAIN_PLAYERS
from bgdata.game.board_kernels import position_classes
from bgdata.game.move_kernels import checker_moves_of
from bgdata.game.plays import CheckerMove, Play, format_play
from bgdata.game.position import START
from bgdata.kinds.column_values import constant, text_arrays, text_column
from bgdata.kinds.rechecking import check_arrays, check_replayed
from bgdata.selfplay.corpus import Corpus, net_lucks, self_play
from bgdata.selfplay.kinds.selfplay import SESSION_GAMES, TABLES, SelfPlayParameters
from bgdata.selfplay.kinds.shared.games_compute import GameRows, TurnRows, save_games, slices, turn_places
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sampled
from bgdata.store.job import Settings, Work, compute_shards, ranges
from bgdata.store.table import Table
from bgdata.store.versions import Versions

SHARD_GAMES = {False: 1000, True: 50}  # by luck: some seconds of work on one core
MOST_REPLAYED = 50  # games that a verification plays again
GAME_PARTS = ("outcomes", "begins")  # arrays that shards hold
LUCK_PARTS = ("begins", "first_turns", "lucks")  # what net luck follows from
TURN_PARTS = ("turn_boards", "turn_classes", "turn_moves", "dice", "equities", "lucks")


class SelfPlayComputation(Computation[SelfPlayParameters]):
    """Computation of `selfplay`."""

    def compute(self, build: Build[SelfPlayParameters]) -> None:
        parameters, job = build.parameters, build.job
        seat = Seat.of(build)
        if parameters.player != "network" and parameters.version != seat.version:
            raise InvalidParameterError(
                f"expected version {seat.version} of {parameters.player}, as it plays here, "
                f"got {parameters.version or 'none'}"
            )
        parts = ranges(parameters.games, SHARD_GAMES[parameters.luck])
        work = Work(f"{__name__}:play_shard", seat.settings(parameters))
        shards = list(compute_shards(job, "games", work, parts))
        save_games(job, shards, (*GAME_PARTS, *TURN_PARTS))
        for name, values in text_arrays("players", [seat.title] * 2).items():
            job.save(name, values)

    def batches(self, computed: Computed[SelfPlayParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        luck_0 = net_lucks(*(np.asarray(arrays[name]) for name in LUCK_PARTS))
        name = text_column(arrays, "players")[0].as_py()
        for rows in slices(len(arrays["outcomes"]), self.kind.row_group_rows):
            outcomes, luck = np.asarray(arrays["outcomes"])[rows], luck_0[rows]
            n_turns = np.diff(arrays["first_turns"][rows.start : rows.stop + 1])
            names = constant(name, "VARCHAR", len(outcomes))
            games = GameRows(rows.start, game_records(outcomes, rows.start), n_turns, (names, names))
            more = {"luck_0": luck, "hedged_points": outcomes - luck}
            yield pa.record_batch(
                games.columns()
                | {"seed": np.full(len(outcomes), computed.parameters.seed, np.int64)}
                | {column: pa.array(values, from_pandas=True) for column, values in more.items()}
            )

    def side_batches(self, _name: str, computed: Computed[SelfPlayParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        for rows in slices(len(arrays["dice"]), self.kind.row_group_rows):
            games, turns = turn_places(arrays["first_turns"], rows)
            boards, classes, moves = (np.asarray(arrays[part][rows]) for part in TURN_PARTS[:3])
            records = turn_records(arrays, rows)
            found = TurnRows(games, turns, records, boards, classes, play_texts(moves)).columns()
            for column, part in (("cubeless_equity", "equities"), ("luck", "lucks")):
                found[column] = pa.array(np.asarray(arrays[part][rows]), from_pandas=True)
            yield pa.record_batch(found)

    def statistics(self, computed: Computed[SelfPlayParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        outcomes = np.asarray(arrays["outcomes"])
        sizes = {"single_share": 1, "gammon_share": 2, "backgammon_share": 3}
        found = {name: float((np.abs(outcomes) == points).mean()) for name, points in sizes.items()}
        found |= {"turns_per_game": len(arrays["dice"]) / len(outcomes)} | mean_and_error(outcomes, "")
        if computed.parameters.luck:
            found |= mean_and_error(outcomes - net_lucks(*(np.asarray(arrays[name]) for name in LUCK_PARTS)), "hedged_")
        return found

    def check_sample(self, recheck: Recheck[SelfPlayParameters]) -> str:
        """Play some games again, where the player is as it was."""
        table, parameters = recheck.table, recheck.parameters
        try:
            seat = Seat.of(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"no game can be played again: {error}") from error
        if parameters.player != "network" and parameters.version != seat.version:
            played_by = f"{parameters.player} {parameters.version}"
            raise CheckSkippedError(f"no game can be played again: {played_by} has played, {seat.title} is here")
        check_arrays(table, text_arrays("players", [seat.title] * 2))
        settings, first_turns = seat.settings(parameters), np.asarray(table.array("first_turns"))
        for game in recheck.generator.permutation(parameters.games)[: min(recheck.rows, MOST_REPLAYED)].tolist():
            expected = play_shard(settings, game, game + 1)
            turns = slice(*first_turns[game : game + 2].tolist())
            check_replayed(table, f"game {game}", slice(game, game + 1), {name: expected[name] for name in GAME_PARTS})
            check_replayed(table, f"game {game}", turns, {name: expected[name] for name in TURN_PARTS})
        return sampled(min(recheck.rows, MOST_REPLAYED, parameters.games), parameters.games, "games")


@dataclass(frozen=True)
class Seat:
    """A player, and the folders from which workers open it."""

    title: str  # name and version, for people
    version: str
    folders: Mapping[str, str]  # of the network and the tables that it plays by, by role

    @classmethod
    def of(cls, context: Context[SelfPlayParameters]) -> Seat:
        """The player that parameters name. Raises MissingTableError."""
        name = context.parameters.player
        tables = tables_of(name, context.warehouse) if name.startswith("network/") else context.inputs
        folders = {role: str(table.folder.resolve()) for role, table in tables.items()}
        label, version, _ = open_seat(name, folders)
        return cls(f"{label} {version}", version, folders)

    def settings(self, parameters: SelfPlayParameters) -> Settings:
        """What `play_shard` needs in a worker."""
        wanted: dict[str, str | int] = {
            "player": parameters.player,
            "seed": parameters.seed,
            "luck": int(parameters.luck),
        }
        return {**self.folders, **wanted}


def tables_of(name: str, warehouse: Versions) -> dict[str, Table]:
    """The network of this name and the best bearoff tables of its warehouse, by role. Raises MissingTableError."""
    found: dict[str, Table | None] = {"network": find_network(name, warehouse)}
    if warehouse.root.is_dir():
        bearoff = open_bearoff(warehouse)
        found |= {"two_sided": bearoff.two_sided, "one_sided": bearoff.one_sided, "gammon": bearoff.gammon}
    return {role: table for role, table in found.items() if table is not None}


def open_seat(name: str, folders: Mapping[str, str]) -> tuple[str, str, Chooser]:
    """(label, version, chooser) of a player. Raises CorruptFileError."""
    if name in PLAIN_PLAYERS:
        player: Any = open_named_player(name)
        return player.label, player.version, player.chooser
    tables = {role: Table(Path(folders[role])) for role in ("network", *TABLES) if role in folders}
    network = MappedNetwork(tables.pop("network"), BearoffEvaluator(**tables))
    return network.label, network.version, network.chooser


def play_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Games begin to end - 1 of a `Seat`, as a shard holds them."""
    folders = {role: str(value) for role, value in settings.items()}
    name, luck = str(settings["player"]), bool(settings["luck"])
    *_, chooser = open_seat(name, folders)
    judge = open_seat("network", folders)[-1] if luck and name in PLAIN_PLAYERS else chooser
    found: Corpus = self_play(chooser, end - begin, int(settings["seed"]), begin, with_luck=luck, estimator=judge)
    return {
        "outcomes": found.outcomes,
        "begins": found.begins,
        "n_turns": np.diff(found.offsets),
        "turn_boards": found.boards,
        "turn_classes": position_classes(found.boards).astype(np.uint8),
        "turn_moves": checker_moves_of(found.boards, found.dice, found.after_play),
        "dice": found.dice,
        "equities": found.equities,
        "lucks": found.lucks,
    }


def mean_and_error(points: Array, prefix: str) -> dict[str, float]:
    """Mean of the games' points, and its standard error (0 of a single game)."""
    spread = float(points.std(ddof=1)) if len(points) > 1 else 0.0
    mean = float(points.mean(dtype=np.float64))
    return {f"{prefix}points_per_game": mean, f"{prefix}standard_error": spread / len(points) ** 0.5}


def game_records(outcomes: Array, first: int) -> Array:
    """int32[n, 8]: money games from 0-0 in sessions of SESSION_GAMES, as `GAME_ARRAYS` describes them."""
    numbers = np.arange(first, first + len(outcomes))
    records = np.zeros((len(outcomes), 8), np.int32)
    records[:, 0], records[:, 1] = numbers // SESSION_GAMES, numbers % SESSION_GAMES + 1
    records[:, 6], records[:, 7] = outcomes < 0, np.abs(outcomes)
    return records


def turn_records(arrays: Mapping[str, Array], rows: slice) -> Array:
    """int32[n, 7]: some turns, all of them plays with the cube centered at 1, as `TURN_ARRAYS` describes them."""
    games, turns = turn_places(arrays["first_turns"], rows)
    records = np.zeros((len(games), 7), np.int32)
    records[:, 0] = records[:, 2] = (np.asarray(arrays["begins"])[games] + turns) % 2
    records[:, 3:5] = arrays["dice"][rows]
    records[:, 5] = 1
    return records


def play_texts(moves: Array) -> pa.Array:
    """The usual notation of int8[n, 4, 3] checker moves as a dictionary column: only different plays are formatted."""
    flat = moves.reshape(len(moves), 12).astype(np.int64) + 1
    keys = flat @ (1 << np.arange(0, 60, 5))  # each below 32
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    texts = []
    for play in moves[first].tolist():
        steps = tuple(CheckerMove(start, end, bool(hits)) for start, end, hits in play if start >= 0)
        texts.append(format_play(Play(steps, START)))
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(texts, pa.string()))


def match_arrays(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """A corpus as the arrays of imported matches, from which other programs' files are written."""
    count = len(arrays["outcomes"])
    records = game_records(np.asarray(arrays["outcomes"]), 0)
    names = text_column(arrays, "players").to_pylist()
    return {
        "games": records,
        "first_turns": arrays["first_turns"],
        "turns": turn_records(arrays, slice(0, len(arrays["dice"]))),
        "turn_moves": arrays["turn_moves"],
        **text_arrays("players", names * count),
        **text_arrays("infos", ["[]"] * int(records[-1, 0] + 1)),
    }


COMPUTATION = SelfPlayComputation
