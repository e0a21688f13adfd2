"""Plays cubeless games, and money games and matches with the cube, and records every turn and cube action."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgdata.errors import BgdataError, CheckFailedError, CheckSkippedError, InvalidParameterError
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.networks.player import find_network
from bgdata.evaluation.players import PLAIN_PLAYERS
from bgdata.formats.matches import JACOBY
from bgdata.game.board_kernels import position_classes
from bgdata.game.play_kernels import checker_moves_of
from bgdata.game.plays import CheckerMove, Play, format_play
from bgdata.game.position import START
from bgdata.kinds.column_values import constant, text_arrays, text_column
from bgdata.kinds.rechecking import check_arrays, check_replayed
from bgdata.selfplay.games import Corpus, net_lucks, self_play
from bgdata.selfplay.kinds.cubeful_selfplay import CubefulParameters, sides_of
from bgdata.selfplay.kinds.selfplay import SESSION_GAMES, SelfPlayParameters
from bgdata.selfplay.kinds.shared.games import ACTIONS
from bgdata.selfplay.kinds.shared.games_compute import (
    corpus_column,
    game_columns,
    save_games,
    slices,
    turn_columns,
    turn_places,
)
from bgdata.selfplay.kinds.shared.rollouts_compute import (
    network_folders,
    network_versions,
    open_labelled_player,
    open_network_and_rules,
)
from bgdata.selfplay.series import cubeful_self_play
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import Work, compute_shards, ranges
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings, worker_inputs

P = TypeVar("P", SelfPlayParameters, CubefulParameters)
ShardOf: TypeAlias = Callable[[Settings, int, int], dict[str, Array]]
SHARD_GAMES = {False: 1000, True: 50}  # without and with luck: some seconds of work on one core
SHARD_CUBEFUL_GAMES = 2000  # money games; matches are fewer
LUCK_PARTS = ("begins", "first_turns", "lucks")  # the arguments of `net_lucks`
TURN_PARTS = ("turn_boards", "turn_classes", "turn_moves")
_ACTIONS = tuple(ACTIONS.index(name) for name in ("play", "double", "take", "pass"))  # in the order of kernels


class PlayedGamesComputation(Computation[P]):
    """Base of computations that play games in shards and write them as `games` and `turns`. To verify a version, some
    of its games are played again."""

    unit: ClassVar[tuple[str, str]]  # name of an item of a shard, singular and plural
    most_replayed: ClassVar[int]  # items that a verification plays again
    game_parts: ClassVar[tuple[str, ...]]  # arrays of shards with a row for each game
    turn_parts: ClassVar[tuple[str, ...]]  # arrays of shards with a row for each turn

    def play(self, build: Build[P], work: Work, parts: Sequence[range]) -> Array:
        """Play all shards, and save their arrays and `first_turns`. Returns `first_turns`, the first turn row of each
        game."""
        shards = list(compute_shards(build.job, "games", work, parts))
        return save_games(build.job, shards, (*self.game_parts, *self.turn_parts))

    def play_again(self, recheck: Recheck[P], play: ShardOf, settings: Settings, first_games: Array) -> str:
        """Play a random sample of games or matches again. Games from first_games[number] to before first_games[number +
        1] belong to match `number`. Raises CheckFailedError if a replayed game differs from the stored one."""
        table, first_turns = recheck.table, np.asarray(recheck.table.array("first_turns"))
        count, total = min(recheck.rows, self.most_replayed, len(first_games) - 1), len(first_games) - 1
        items = recheck.items(total)
        for number in recheck.generator.permutation(total)[:count].tolist():
            what, expected = f"{self.unit[0]} {items[number]}", play(settings, items[number], items[number] + 1)
            games = slice(*first_games[number : number + 2].tolist())
            turns = slice(int(first_turns[games.start]), int(first_turns[games.stop]))
            if not np.array_equal(np.diff(first_turns[games.start : games.stop + 1]), expected["n_turns"]):
                raise CheckFailedError(
                    f"expected games of {expected['n_turns'].tolist()} turns in {what} of {table.name} as it is "
                    "played again, found others"
                )
            check_replayed(table, what, games, {name: expected[name] for name in self.game_parts})
            check_replayed(table, what, turns, {name: expected[name] for name in self.turn_parts})
        return sample_text(count, total, self.unit[1])

    def batches(self, computed: Computed[P]) -> Iterator[pa.RecordBatch]:
        arrays, seed = computed.arrays, computed.parameters.seed
        names, records = (
            text_column(arrays, "players").slice(0, 2).to_pylist(),
            game_records(arrays, computed.first_row),
        )
        luck = net_lucks(*(np.asarray(arrays[name]) for name in LUCK_PARTS)) if "lucks" in arrays else None
        for rows in slices(len(records), self.kind.row_group_rows):
            n = rows.stop - rows.start
            n_turns = np.diff(arrays["first_turns"][rows.start : rows.stop + 1])
            players = constant(names[0], "VARCHAR", n), constant(names[1], "VARCHAR", n)
            found = game_columns(computed.first_row + rows.start, records[rows], n_turns, players) | {
                **corpus_column(self.kind, computed.parameters, n),
                "seed": np.full(n, seed, np.int64),
            }
            if luck is not None:
                hedged = np.asarray(arrays["outcomes"])[rows] - luck[rows]
                found |= {"luck_0": pa.array(luck[rows], from_pandas=True)}
                found |= {"hedged_points": pa.array(hedged, from_pandas=True)}
            yield pa.record_batch(found)

    def side_batches(self, _name: str, computed: Computed[P]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        for rows in slices(len(arrays["turn_boards"]), self.kind.row_group_rows):
            games, turns = turn_places(arrays["first_turns"], rows)
            boards, classes, moves = (np.asarray(arrays[part][rows]) for part in TURN_PARTS)
            records, plays = turn_records(arrays, rows), play_texts(moves)
            if "turns" in arrays:  # turns include cube actions
                plays = pc.if_else(pa.array(records[:, 1] == ACTIONS.index("play")), plays.cast(pa.string()), "")
            found = turn_columns(computed.first_row + games, turns, records, boards, classes, plays)
            found |= corpus_column(self.kind, computed.parameters, len(boards))
            for column, part in (("cubeless_equity", "equities"), ("luck", "lucks")):
                if part in arrays:
                    found[column] = pa.array(np.asarray(arrays[part][rows]), from_pandas=True)
            yield pa.record_batch(found)


class SelfPlayComputation(PlayedGamesComputation[SelfPlayParameters]):
    """Computes `selfplay`: plays cubeless games of a player against itself."""

    unit = "game", "games"
    most_replayed = 50
    game_parts = ("outcomes", "begins")
    turn_parts = (*TURN_PARTS, "dice", "equities", "lucks")

    def compute(self, build: Build[SelfPlayParameters]) -> None:
        parameters, (title, version, settings) = build.parameters, player_and_settings(build)
        if parameters.player != "network" and parameters.version != version:
            raise InvalidParameterError(
                f"expected version {version} of {parameters.player}, as it plays here, "
                f"got {parameters.version or 'none'}"
            )
        work = Work(f"{__name__}:play_shard", settings, inputs=worker_inputs(player_versions(build)))
        self.play(build, work, ranges(build.items(parameters.games), SHARD_GAMES[parameters.luck]))
        for name, values in text_arrays("players", [title] * 2).items():
            build.job.save(name, values)

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
        """Play a random sample of games again and compare them, if the player still has the version that is
        recorded."""
        parameters = recheck.parameters
        try:
            title, version, settings = player_and_settings(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"no game can be played again: {error}") from error
        if parameters.player != "network" and parameters.version != version:
            played_by = f"{parameters.player} {parameters.version}"
            raise CheckSkippedError(f"no game can be played again: {played_by} has played, {title} is here")
        check_arrays(recheck.table, text_arrays("players", [title] * 2))
        return self.play_again(recheck, play_shard, settings, np.arange(len(recheck.items(parameters.games)) + 1))


class CubefulSelfPlayComputation(PlayedGamesComputation[CubefulParameters]):
    """Computes `cubeful_selfplay`: plays games with the cube of a network against itself."""

    unit = "match", "matches"
    most_replayed = 20
    game_parts = ("games",)
    turn_parts = (*TURN_PARTS, "turns", "equities")

    def compute(self, build: Build[CubefulParameters]) -> None:
        parameters, settings = build.parameters, cubeful_settings(build)
        items = build.items(parameters.games)
        shards = ranges(items, max(1, SHARD_CUBEFUL_GAMES // max(1, parameters.length)))
        work = Work(f"{__name__}:play_cubeful_shard", settings, inputs=worker_inputs(network_versions(build)))
        first_turns = self.play(build, work, shards)
        matches = len(items) if parameters.length else -(-len(items) // SESSION_GAMES)
        for name, values in match_texts(settings, len(first_turns) - 1, matches).items():
            build.job.save(name, values)

    def statistics(self, computed: Computed[CubefulParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        games, turns, last = np.asarray(arrays["games"]), np.asarray(arrays["turns"]), arrays["first_turns"][1:] - 1
        cubes = turns[last, 5]  # a take is never the last turn
        won, name = np.where(games[:, 6] == 0, games[:, 7], -games[:, 7]), "points_per_game"
        if computed.parameters.length:  # the winner of the last game wins the match
            last_games = match_places(computed.parameters, games)[1:] - 1
            won, name = (games[last_games, 6] == 0).astype(np.float64), "matches_won_share"
        return {
            "passed_share": float((turns[last, 1] == ACTIONS.index("pass")).mean()),
            "mean_cube_value": float(cubes.mean()),
            "turns_per_game": len(turns) / len(games),
            name: float(won.mean()),
            "standard_error": float(won.std(ddof=1) / len(won) ** 0.5) if len(won) > 1 else 0.0,
        }

    def check_sample(self, recheck: Recheck[CubefulParameters]) -> str:
        """Play a random sample of matches again and compare them, if the network still exists."""
        try:
            settings = cubeful_settings(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"no match can be played again: {error}") from error
        games = np.asarray(recheck.table.array("games"))
        check_arrays(recheck.table, match_texts(settings, len(games), 1 + int(games[-1, 0] - games[0, 0])))
        return self.play_again(recheck, play_cubeful_shard, settings, match_places(recheck.parameters, games))


def player_versions(context: Context[SelfPlayParameters]) -> dict[str, Table]:
    """Return the versions of the network and the bearoff tables by which the player plays, by role. A network given by
    name plays with the best bearoff tables of the warehouse. Raises MissingTableError if one is missing."""
    if not context.parameters.player.startswith("network/"):
        return dict(context.inputs)
    tables = {"network": find_network(context.parameters.player, context.warehouse)}
    if context.warehouse.root.is_dir():
        bearoff = open_bearoff(context.warehouse)
        found = {"two_sided": bearoff.two_sided, "one_sided": bearoff.one_sided, "gammon": bearoff.gammon}
        tables |= {role: table for role, table in found.items() if table is not None}
    return tables


def player_and_settings(context: Context[SelfPlayParameters]) -> tuple[str, str, Settings]:
    """Return the player that the parameters name, as its label with version, its version, and the settings that
    `play_shard` needs. Raises MissingTableError if a version is missing."""
    parameters = context.parameters
    settings: Settings = {
        **{role: str(table.folder.resolve()) for role, table in player_versions(context).items()},
        "player": parameters.player,
        "seed": parameters.seed,
        "luck": int(parameters.luck),
    }
    label, version, _ = open_labelled_player(parameters.player, settings)
    return f"{label} {version}", version, settings


def play_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Play the games from `begin` to before `end`, and return the arrays of this shard. `settings` are those of
    `player_and_settings`."""
    name, luck = str(settings["player"]), bool(settings["luck"])
    *_, chooser = open_labelled_player(name, settings)
    judge = open_labelled_player("network", settings)[-1] if luck and name in PLAIN_PLAYERS else chooser
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
    """Return the mean of the games' points and its standard error (0 for a single game), as statistics whose names
    begin with `prefix`."""
    spread = float(points.std(ddof=1)) if len(points) > 1 else 0.0
    mean = float(points.mean(dtype=np.float64))
    return {f"{prefix}points_per_game": mean, f"{prefix}standard_error": spread / len(points) ** 0.5}


def game_records(arrays: Mapping[str, Array], first: int = 0) -> Array:
    """Return the records of the games as int32[games, 8], with the columns of GAME_ARRAYS. Games are numbered from
    `first`. Cubeless games are recorded as money games from 0-0 in sessions of SESSION_GAMES."""
    if "games" in arrays:
        return np.asarray(arrays["games"])
    outcomes = np.asarray(arrays["outcomes"])
    numbers, records = first + np.arange(len(outcomes)), np.zeros((len(outcomes), 8), np.int32)
    records[:, 0], records[:, 1] = numbers // SESSION_GAMES, numbers % SESSION_GAMES + 1
    records[:, 6], records[:, 7] = outcomes < 0, np.abs(outcomes)
    return records


def turn_records(arrays: Mapping[str, Array], rows: slice) -> Array:
    """Return the records of the turns in `rows` as int32[n, 7], with the columns of TURN_ARRAYS. In cubeless games all
    turns are plays with a centered cube at 1."""
    if "turns" in arrays:
        return np.asarray(arrays["turns"][rows])
    games, turns = turn_places(arrays["first_turns"], rows)
    records = np.zeros((len(games), 7), np.int32)
    records[:, 0] = records[:, 2] = (np.asarray(arrays["begins"])[games] + turns) % 2
    records[:, 3:5] = arrays["dice"][rows]
    records[:, 5] = 1
    return records


def play_texts(moves: Array) -> pa.Array:
    """Return a dictionary column of plays in the usual notation, from int8[n, 4, 3] checker moves. Each different play
    is formatted once."""
    flat = moves.reshape(len(moves), 12).astype(np.int64) + 1
    keys = flat @ (1 << np.arange(0, 60, 5))  # each number is below 32, so it takes 5 bits
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    texts = []
    for play in moves[first].tolist():
        steps = tuple(CheckerMove(start, end, bool(hits)) for start, end, hits in play if start >= 0)
        texts.append(format_play(Play(steps, START)))
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(texts, pa.string()))


def match_arrays(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return the arrays of a cubeless corpus in the form that imported matches have, so that they can be exported to
    other programs' files."""
    records = game_records(arrays)
    return {
        "games": records,
        "first_turns": arrays["first_turns"],
        "turns": turn_records(arrays, slice(0, len(arrays["dice"]))),
        "turn_moves": arrays["turn_moves"],
        **text_arrays("players", text_column(arrays, "players").to_pylist() * len(records)),
        **text_arrays("infos", ["[]"] * int(records[-1, 0] + 1)),
    }


def cubeful_settings(context: Context[CubefulParameters]) -> Settings:
    """Return the settings that a worker needs to run `play_cubeful_shard`. Raises MissingTableError if a version is
    missing."""
    wanted = ("cube", "seed", "length", "jacoby", "ply")
    return {**network_folders(context), **{name: getattr(context.parameters, name) for name in wanted}}


def match_texts(settings: Settings, games: int, matches: int) -> dict[str, Array]:
    """Return arrays of strings: the rules of each match (whether the Jacoby rule applies), and the players of each
    game. A player is named by its network, version, ply unless it is 0, and cube model."""
    label, version, _ = open_labelled_player("network", settings)
    player = f"{label} {version}" + (f" {settings['ply']}-ply" if settings["ply"] else "")
    words = [word.replace(":", " ") for word in str(settings["cube"]).split()]  # .mat files allow no colon in a name
    names = [f"{player} cube {word}" for word in (words[0], words[-1])]
    info = json.dumps([JACOBY] if settings["jacoby"] else [])
    return text_arrays("players", names * games) | text_arrays("infos", [info] * matches)


def match_places(parameters: CubefulParameters, games: Array) -> Array:
    """Return the index of the first game of each match, as int64[matches + 1]. A money game is a match of its own."""
    first = np.arange(len(games)) if not parameters.length else np.flatnonzero(games[:, 1] == 1)
    return np.append(first, len(games))


def play_cubeful_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Play the matches from `begin` to before `end`, and return the arrays of this shard. Money games are recorded from
    0-0 in sessions of SESSION_GAMES. Raises WorkerError if the kernels of the worker differ."""
    chooser, rules = open_network_and_rules(settings)
    sides, ply = sides_of(str(settings["cube"])), int(settings["ply"])
    found = cubeful_self_play(chooser, sides, rules, end - begin, int(settings["seed"]), begin, ply=ply)
    results, sizes = found.results, np.diff(found.results.offsets)
    matches = begin + np.repeat(np.arange(len(sizes)), sizes)
    numbers = np.arange(len(matches)) - np.repeat(results.offsets[:-1], sizes) + 1
    if not rules.length:
        matches, numbers = matches // SESSION_GAMES, matches % SESSION_GAMES + 1
    columns = [results.column(name) for name in ("score_0", "score_1", "is_crawford", "winner", "points")]
    turns = found.records.astype(np.int32)
    turns[:, 1] = np.array(_ACTIONS)[turns[:, 1]]
    plays, moves = np.flatnonzero(turns[:, 3]), np.full((len(turns), 4, 3), -1, np.int8)
    moves[plays] = checker_moves_of(found.boards[plays], found.records[plays, 3:5], found.after_play[plays])
    return {
        "games": np.stack([matches, numbers, np.full(len(matches), rules.length), *columns], 1).astype(np.int32),
        "n_turns": np.diff(found.first_turns),
        "turn_boards": found.boards,
        "turn_classes": position_classes(found.boards).astype(np.uint8),
        "turn_moves": moves,
        "turns": turns,
        "equities": found.equities,
    }


COMPUTATION = {"selfplay": SelfPlayComputation, "cubeful_selfplay": CubefulSelfPlayComputation}
