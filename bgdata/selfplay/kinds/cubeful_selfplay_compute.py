"""Plays money games or matches with the cube, and records every turn and cube action."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bgdata.errors import BgdataError, CheckFailedError, CheckSkippedError
from bgdata.formats.matches import JACOBY
from bgdata.game.board_kernels import position_classes
from bgdata.game.move_kernels import checker_moves_of
from bgdata.kinds.column_values import constant, text_arrays, text_column
from bgdata.kinds.rechecking import check_arrays, check_replayed
from bgdata.selfplay.kinds.cubeful_selfplay import CubefulParameters, sides_of
from bgdata.selfplay.kinds.selfplay import SESSION_GAMES
from bgdata.selfplay.kinds.selfplay_compute import open_seat, play_texts
from bgdata.selfplay.kinds.shared.games import ACTIONS
from bgdata.selfplay.kinds.shared.games_compute import GameRows, TurnRows, save_games, slices, turn_places
from bgdata.selfplay.kinds.shared.rollouts_compute import folders_of, open_played
from bgdata.selfplay.series import CubefulResults, cubeful_self_play
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sampled
from bgdata.store.job import Settings, Work, compute_shards, ranges

SHARD_GAMES = 2000  # money games of a shard; matches are fewer: some seconds of work on one core
MOST_REPLAYED = 20  # matches that a verification plays again
PARTS = ("games", "turn_boards", "turn_classes", "turn_moves", "turns", "equities")  # arrays that shards hold
_ACTIONS = tuple(ACTIONS.index(name) for name in ("play", "double", "take", "pass"))  # in the order of kernels


class CubefulSelfPlayComputation(Computation[CubefulParameters]):
    """Computation of `cubeful_selfplay`."""

    def compute(self, build: Build[CubefulParameters]) -> None:
        parameters, job = build.parameters, build.job
        settings = settings_of(parameters, folders_of(build))
        parts = ranges(parameters.games, max(1, SHARD_GAMES // max(1, parameters.length)))
        shards = list(compute_shards(job, "games", Work(f"{__name__}:play_shard", settings), parts))
        first_turns = save_games(job, shards, PARTS)
        matches = 1 + int(shards[-1]["games"][-1, 0])
        for name, values in texts_of(settings, len(first_turns) - 1, matches).items():
            job.save(name, values)

    def batches(self, computed: Computed[CubefulParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        names = text_column(arrays, "players").slice(0, 2).to_pylist()
        for rows in slices(len(arrays["games"]), self.kind.row_group_rows):
            records = np.asarray(arrays["games"][rows])
            n_turns = np.diff(arrays["first_turns"][rows.start : rows.stop + 1])
            players = [constant(name, "VARCHAR", len(records)) for name in names]
            found = GameRows(rows.start, records, n_turns, (players[0], players[1])).columns()
            yield pa.record_batch(found | {"seed": np.full(len(records), computed.parameters.seed, np.int64)})

    def side_batches(self, _name: str, computed: Computed[CubefulParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        for rows in slices(len(arrays["turns"]), self.kind.row_group_rows):
            games, turns = turn_places(arrays["first_turns"], rows)
            boards, classes, moves, records, equities = (np.asarray(arrays[part][rows]) for part in PARTS[1:])
            plays = play_texts(moves).cast(pa.string())
            is_play = pa.array(records[:, 1] == ACTIONS.index("play"))
            found = TurnRows(games, turns, records, boards, classes, pc.if_else(is_play, plays, "")).columns()
            yield pa.record_batch(found | {"cubeless_equity": pa.array(equities)})

    def statistics(self, computed: Computed[CubefulParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        games, turns, last = np.asarray(arrays["games"]), np.asarray(arrays["turns"]), arrays["first_turns"][1:] - 1
        cubes = turns[last, 5]  # a take is never the last turn
        won, name = np.where(games[:, 6] == 0, games[:, 7], -games[:, 7]), "points_per_game"
        if computed.parameters.length:  # who wins the last game has won the match
            won, name = (
                (games[match_places(computed.parameters, games)[1:] - 1, 6] == 0).astype(np.float64),
                "matches_won_share",
            )
        return {
            "passed_share": float((turns[last, 1] == ACTIONS.index("pass")).mean()),
            "mean_cube_value": float(cubes.mean()),
            "turns_per_game": len(turns) / len(games),
            name: float(won.mean()),
            "standard_error": float(won.std(ddof=1) / len(won) ** 0.5) if len(won) > 1 else 0.0,
        }

    def check_sample(self, recheck: Recheck[CubefulParameters]) -> str:
        """Play some matches again, where the network is still there."""
        table, parameters = recheck.table, recheck.parameters
        try:
            folders = folders_of(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"no match can be played again: {error}") from error
        settings, first_turns = settings_of(parameters, folders), np.asarray(table.array("first_turns"))
        games_found = np.asarray(table.array("games"))
        places = match_places(parameters, games_found)
        check_arrays(table, texts_of(settings, len(games_found), 1 + int(games_found[-1, 0])))
        for match in recheck.generator.permutation(parameters.games)[: min(recheck.rows, MOST_REPLAYED)].tolist():
            expected = play_shard(settings, match, match + 1)
            games = slice(*places[match : match + 2].tolist())
            turns = slice(int(first_turns[games.start]), int(first_turns[games.stop]))
            if not np.array_equal(np.diff(first_turns[games.start : games.stop + 1]), expected["n_turns"]):
                raise CheckFailedError(
                    f"expected games of {expected['n_turns'].tolist()} turns in match {match} of {table.name} as it is "
                    "played again, found others"
                )
            check_replayed(table, f"match {match}", games, {"games": expected["games"]})
            check_replayed(table, f"match {match}", turns, {name: expected[name] for name in PARTS[1:]})
        return sampled(min(recheck.rows, MOST_REPLAYED, parameters.games), parameters.games, "matches")


def settings_of(parameters: CubefulParameters, folders: Mapping[str, str]) -> Settings:
    """What `play_shard` needs in a worker."""
    wanted = ("cube", "seed", "length", "jacoby", "ply")
    return {**folders, **{name: getattr(parameters, name) for name in wanted}}


def texts_of(settings: Settings, games: int, matches: int) -> dict[str, Array]:
    """The arrays of texts: who played each game, and whether the Jacoby rule held in the matches."""
    info = json.dumps([JACOBY] if settings["jacoby"] else [])
    return text_arrays("players", titles(settings) * games) | text_arrays("infos", [info] * matches)


def titles(settings: Settings) -> list[str]:
    """Names of player 0 and player 1 for people: the network, its version, its ply unless it is 0, and how each handles
    the cube."""
    label, version, _ = open_seat("network", {role: str(value) for role, value in settings.items()})
    words = [word.replace(":", " ") for word in str(settings["cube"]).split()]  # .mat files allow no colon in a name
    player = f"{label} {version}" + (f" {settings['ply']}-ply" if settings["ply"] else "")
    return [f"{player} cube {word}" for word in (words[0], words[-1])]


def match_places(parameters: CubefulParameters, games: Array) -> Array:
    """int64[matches + 1]: where the games of each match begin; a money game is a match of its own."""
    first = np.arange(len(games)) if not parameters.length else np.flatnonzero(games[:, 1] == 1)
    return np.append(first, len(games))


def play_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Matches begin to end - 1, as a shard holds them. Raises WorkerError if the kernels of the worker differ."""
    chooser, rules = open_played(settings)
    sides, ply = sides_of(str(settings["cube"])), int(settings["ply"])
    found = cubeful_self_play(chooser, sides, rules, end - begin, int(settings["seed"]), begin, ply=ply)
    turns = found.records.astype(np.int32)
    turns[:, 1] = np.array(_ACTIONS)[turns[:, 1]]
    plays = np.flatnonzero(turns[:, 3])
    moves = np.full((len(turns), 4, 3), -1, np.int8)
    moves[plays] = checker_moves_of(found.boards[plays], found.records[plays, 3:5], found.after_play[plays])
    return {
        "games": game_records(found.results, rules.length, begin),
        "n_turns": np.diff(found.first_turns),
        "turn_boards": found.boards,
        "turn_classes": position_classes(found.boards).astype(np.uint8),
        "turn_moves": moves,
        "turns": turns,
        "equities": found.equities,
    }


def game_records(results: CubefulResults, length: int, first: int) -> Array:
    """int32[games, 8] as `GAME_ARRAYS` describes them, of matches first, first + 1, ...; money games from 0-0 in
    sessions of SESSION_GAMES."""
    sizes = np.diff(results.offsets)
    matches = first + np.repeat(np.arange(len(sizes)), sizes)
    numbers = np.arange(len(matches)) - np.repeat(results.offsets[:-1], sizes) + 1
    if not length:
        matches, numbers = matches // SESSION_GAMES, matches % SESSION_GAMES + 1
    columns = [results.column(name) for name in ("score_0", "score_1", "is_crawford", "winner", "points")]
    return np.stack([matches, numbers, np.full(len(matches), length), *columns], axis=1).astype(np.int32)


COMPUTATION = CubefulSelfPlayComputation
