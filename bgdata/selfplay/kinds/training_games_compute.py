"""Plays games that begin anywhere, and labels every turn."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.board_kernels import position_classes
from bgdata.kinds.column_values import (
    select_texts,
)
from bgdata.kinds.rechecking import check_arrays, check_replayed
from bgdata.selfplay.kinds.shared.games_compute import RowsComputation, counts_of
from bgdata.selfplay.kinds.shared.rollouts_compute import (
    network_folders,
    network_text,
    network_versions,
    open_network,
    open_roller,
)
from bgdata.selfplay.kinds.training_games import STARTS, TrainingGameParameters
from bgdata.selfplay.splits import SPLITS, game_hashes, splits_of_games
from bgdata.selfplay.training_games import NO_POSITIONS, training_games
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Recheck, sample_text
from bgdata.store.shards import Work, compute_shards, ranges
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings, worker_inputs

SHARD_GAMES = 400  # some seconds of work on one core
DOUBTED = 50  # one in 50 positions of a version is doubtful
MAX_REPLAYED = 50  # games that a verification plays again
ROW_ARRAYS = (
    *("boards", "classes", "chances", "games", "turns", "starts"),
    *("lookahead_equities", "static_equities", "splits"),
)


class TrainingGamesComputation(RowsComputation[TrainingGameParameters]):
    """Computes `training_games`: plays games that begin anywhere, and labels every turn."""

    def compute(self, build: Build[TrainingGameParameters]) -> None:
        parameters, job = build.parameters, build.job
        settings = {**network_folders(build), "parameters": json.dumps(parameters.to_json())}
        work = Work(f"{__name__}:play_shard", settings, inputs=worker_inputs(network_versions(build)))
        shards = list(compute_shards(job, "games", work, ranges(build.items(parameters.games), SHARD_GAMES)))
        for name in ROW_ARRAYS:
            job.save(name, np.concatenate([shard[name] for shard in shards]))
        job.save("network", network_text(parameters, build.inputs))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[TrainingGameParameters]) -> dict[str, Any]:
        return {
            "start": select_texts(pa.array(STARTS), found["starts"].astype(np.int32)),
            "lookahead_equity": found["lookahead_equities"],
            "static_equity": found["static_equities"],
        }

    def statistics(self, computed: Computed[TrainingGameParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        labels = cubeless_equities(np.asarray(arrays["chances"])).astype(np.float64)
        found = counts_of(arrays["starts"], [f"positions_from_{name}" for name in STARTS])
        for name in ("static", "lookahead"):
            changes = labels - np.asarray(arrays[f"{name}_equities"])
            found[f"rms_change_from_{name}"] = float(np.sqrt((changes**2).mean()))
        games = np.asarray(arrays["games"])
        return found | {"turns_per_game": len(labels) / (1 + int(games[-1] - games[0]))}

    def check_sample(self, recheck: Recheck[TrainingGameParameters]) -> str:
        """Play a random sample of games again, and compare them with the stored ones."""
        table, parameters = recheck.table, recheck.parameters
        check_arrays(table, {"network": network_text(parameters, recheck.inputs)})
        player, games = open_roller(recheck), np.asarray(table.array("games"))
        doubts = doubtful_positions(recheck.inputs["doubts"].folder) if parameters.doubts else None
        items = recheck.items(parameters.games)
        count = min(recheck.rows, MAX_REPLAYED, len(items))
        for game in (items.start + recheck.generator.permutation(len(items))[:count]).tolist():
            rows = slice(*np.searchsorted(games, [game, game + 1]).tolist())
            found = play_and_label(player, parameters, range(game, game + 1), doubts)
            check_replayed(table, f"game {game}", rows, found)
        return sample_text(count, len(items), "games")


def play_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Play the games from `begin` to before `end`, and return their arrays."""
    parameters = TrainingGameParameters.from_manifest(json.loads(str(settings["parameters"])))
    doubts = doubtful_positions(Path(str(settings["doubts"]))) if parameters.doubts else None
    return play_and_label(open_network(settings), parameters, range(begin, end), doubts)


@functools.lru_cache(1)  # once for all shards of a worker
def doubtful_positions(folder: Path) -> Array:
    """Return the doubtful positions of the version in `folder`, as int8[n, 26]. They are those in the training split
    for which 0-ply and 1-ply chances of its network differ most: one of every DOUBTED positions, at least one."""
    table = Table(folder)
    rows = np.flatnonzero(np.asarray(table.array("splits")) == SPLITS.index("train"))
    values = (np.asarray(table.array(f"{name}_equities")[rows]) for name in ("lookahead", "static"))
    order = np.argsort(-np.abs(np.subtract(*values)), kind="stable")
    return np.asarray(table.array("boards")[np.sort(rows[order[: max(1, len(rows) // DOUBTED)]])])


def play_and_label(
    player: NetworkPlayer, parameters: TrainingGameParameters, games: range, doubts: Array | None = None
) -> dict[str, Array]:
    """Play the games whose numbers are in `games`, and return their arrays. Doubtful games begin at positions of
    `doubts`."""
    starts, positions = starts_of(parameters, games), NO_POSITIONS
    if doubts is not None:
        hashes = game_hashes(parameters.seed, np.arange(games.start, games.stop))
        positions = doubts[(hashes % np.uint64(len(doubts))).astype(np.int64)]
    given = player.networks, player.tables, starts, parameters.seed, games.start
    how = {name: getattr(parameters, name) for name in ("likely", "overlooked", "td_lambda")}
    found = training_games(*given, positions=positions, **how)
    counts = np.diff(found.offsets)
    numbers = np.repeat(np.arange(games.start, games.stop, dtype=np.int32), counts)
    return {
        "boards": found.boards,
        "classes": position_classes(found.boards).astype(np.uint8),
        "chances": found.returns,
        "games": numbers,
        "turns": (np.arange(len(numbers)) - np.repeat(found.offsets[:-1], counts)).astype(np.int32),
        "starts": np.repeat(starts, counts).astype(np.uint8),
        "lookahead_equities": cubeless_equities(found.lookahead),
        "static_equities": cubeless_equities(found.static),
        "splits": splits_of_games(parameters.seed, numbers),
    }


def starts_of(parameters: TrainingGameParameters, games: range) -> Array:
    """Return the kind of start of each game, a number of `Start`, as int8[games]. Game g takes the kind at g x golden
    ratio modulo 1 on the line of shares, so any range of games contains each kind in proportion to its share."""
    places = (np.arange(games.start, games.stop) * 0.6180339887498949) % 1.0
    shares = np.cumsum([each.share for each in parameters.starts])
    numbers = np.array([STARTS.index(each.start) for each in parameters.starts], np.int8)
    return numbers[np.minimum(np.searchsorted(shares / shares[-1], places, side="right"), len(numbers) - 1)]


COMPUTATION = TrainingGamesComputation
