"""Plays one player against another, with or without the cube, and measures the luck of each game or match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from bgdata.errors import BgdataError, CheckSkippedError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.choices import KernelPlayer
from bgdata.evaluation.networks.player import MappedNetwork
from bgdata.evaluation.player import Player, open_player_of_version
from bgdata.kinds import all_kinds
from bgdata.kinds.rechecking import check_rows
from bgdata.measures.kinds.cubeful_scores import CubefulScoreParameters
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.selfplay.games import pair_error, play_games, play_games_with_luck
from bgdata.selfplay.kinds.cubeful_selfplay import MET
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met, player_tables
from bgdata.selfplay.series import CubefulRules, play_cubeful
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import context_of, fill_shards, opened_once, work_of
from bgdata.store.worker_inputs import Settings

Recipe: TypeAlias = GameParameters | CubefulScoreParameters
STEP = 1000  # games of a shard
JUDGED_STEP = 250  # games of a shard with luck, which takes some seconds
CUBEFUL_STEP = 100  # games with the cube of a shard; a shard of matches has fewer
MAX_JUDGED = 50  # games with luck that verify replays
MAX_CUBEFUL = 20  # games with the cube, or matches, that verify replays


class PairingComputation(Computation[Recipe]):
    """Computes `game_scores` and `cubeful_scores`: plays games or matches between two players."""

    def compute(self, build: Build[Recipe]) -> None:
        parameters = build.parameters
        open_players(build)  # if this raises, it does so before all the work
        step = JUDGED_STEP if parameters.luck else STEP
        if isinstance(parameters, CubefulScoreParameters):
            step = max(2, CUBEFUL_STEP // max(1, parameters.length) // 2 * 2)
        state: dict[str, Array] = {each.name: np.zeros(parameters.games, each.dtype) for each in self.kind.arrays}
        has_tables = not isinstance(parameters, CubefulScoreParameters) or parameters.tables
        names = parameters.player, parameters.opponent
        players = {
            table.folder: table
            for name in names
            for table in player_tables(name, build.warehouse, has_tables=has_tables)
        }
        work = work_of(build, f"{__name__}:play_rows", build.inputs, players.values(), kind=self.kind.name)
        fill_shards(build.job, "games", state, step, work)
        for name, values in state.items():
            build.job.save(name, values)

    def batches(self, computed: Computed[Recipe]) -> Iterator[pa.RecordBatch]:
        for rows in slices(len(computed.arrays["outcomes"]), self.kind.row_group_rows):
            part = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            numbers, outcomes = np.arange(rows.start, rows.stop, dtype=np.int32), part["outcomes"]
            own = {"outcome": outcomes, "begins": numbers % 2 == 0}
            yield pa.record_batch(
                {
                    "number": numbers,
                    **({"net_points": outcomes, "games_played": part["games"]} if "games" in part else own),
                    "turns": part["turns"],
                    "net_luck": pa.array(part["lucks"], from_pandas=True),
                    "hedged_points": pa.array(outcomes - part["lucks"], from_pandas=True),
                }
            )

    def statistics(self, computed: Computed[Recipe]) -> Mapping[str, float]:
        arrays = {name: np.asarray(values) for name, values in computed.arrays.items()}
        outcomes, numbers = arrays["outcomes"], np.arange(len(arrays["outcomes"]))
        found = {
            "points_per_game": float(outcomes.mean()),
            "standard_error": pair_error(numbers, outcomes),
            "win_share": float((outcomes > 0).mean()),
        }
        if "games" in arrays:
            found |= {"mean_games": float(arrays["games"].mean()), "mean_turns": float(arrays["turns"].mean())}
        else:
            for name, side in (("win", outcomes), ("lose", -outcomes)):
                found |= {f"{name}_gammon_share": float((side >= 2).mean())}
                found |= {f"{name}_backgammon_share": float((side >= 3).mean())}
            found["turns_per_game"] = float(arrays["turns"].mean())
        if computed.parameters.luck:
            adjusted = outcomes - arrays["lucks"]
            found["hedged_points_per_game"] = float(adjusted.mean())
            found["hedged_standard_error"] = pair_error(numbers, adjusted)
        return found

    def check_sample(self, recheck: Recheck[Recipe]) -> str:
        """Play a random sample of games again and compare them, if both players are unchanged and fast."""
        parameters = recheck.parameters
        try:
            players = open_players(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"no game can be played again: {error}") from error
        if slow := [player.label for player in players if not isinstance(player, KernelPlayer)]:
            raise CheckSkippedError(f"games of {slow[0]} take too long to play again")
        is_cubeful = isinstance(parameters, CubefulScoreParameters)
        most = MAX_CUBEFUL if is_cubeful else MAX_JUDGED if parameters.luck else recheck.rows
        count = min(recheck.rows, most, parameters.games)
        for number in recheck.generator.permutation(parameters.games)[:count].tolist():
            check_rows(recheck.table, np.array([number]), play_series(recheck, players, number, number + 1))
        return sample_text(count, parameters.games, "games")


def play_rows(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Play the games or matches from `begin` to before `end`, and return their arrays."""
    context, players = opened_once(open_both_players, settings)
    return play_series(context, players, begin, end)


def open_both_players(settings: Settings) -> tuple[Context[Recipe], tuple[Player, Player]]:
    """Open what `play_rows` needs, from its settings. Returns the context and the two players."""
    recipe = CubefulScoreParameters if settings["kind"] == "cubeful_scores" else GameParameters
    context: Context[Recipe] = context_of(settings, recipe, all_kinds())
    return context, open_players(context)


def open_players(context: Context[Recipe]) -> tuple[Player, Player]:
    """Open the two players that the parameters name. Raises UnknownPlayerError if there is no such player,
    MissingTableError if a network is missing, and InvalidParameterError if a player has another version."""
    pairing, warehouse = context.parameters, context.warehouse
    tables = pairing.tables if isinstance(pairing, CubefulScoreParameters) else True
    opponent = pairing.opponent, pairing.opponent_ply, pairing.opponent_version
    return (
        open_player_of_version(pairing.player, pairing.ply, pairing.version, warehouse, tables=tables),
        open_player_of_version(*opponent, warehouse, tables=tables),
    )


def play_series(context: Context[Recipe], players: tuple[Player, Player], first: int, end: int) -> dict[str, Array]:
    """Play the games or matches from `first` to before `end`, and return their arrays. Games 2k and 2k + 1 are a pair
    with the same dice. Raises MissingTableError if a version is missing."""
    parameters, tables, numbers = context.parameters, dict(context.inputs), np.arange(first, end)
    met = first_met(tables.pop(MET).arrays()) if MET in tables else None
    judge = MappedNetwork(tables.pop("network"), BearoffEvaluator(**tables)).chooser if parameters.luck else None
    unknown, seed = np.full(len(numbers), np.nan), parameters.seed
    if isinstance(parameters, CubefulScoreParameters):
        found = play_cubeful(players, CubefulRules(parameters.length, met=met), len(numbers), seed, first, judge)
        last = found.offsets[1:] - 1
        is_won = found.column("winner")[last] == numbers % 2
        outcomes = np.where(is_won, 1, -1) * (1 if parameters.length else found.column("points")[last])
        return {
            "outcomes": outcomes.astype(np.int16),
            "games": np.diff(found.offsets).astype(np.int16),
            "turns": np.add.reduceat(found.column("turns"), found.offsets[:-1]).astype(np.int32),
            "lucks": np.where(numbers % 2 == 0, found.lucks, -found.lucks) if judge else unknown,
        }
    if judge:
        games, lucks = play_games_with_luck(*players, judge, len(numbers), seed, first)
    else:
        games, lucks = play_games(*players, len(numbers), seed, first), unknown
    return {"outcomes": games.outcomes, "turns": games.turns, "lucks": lucks}


COMPUTATION = PairingComputation
