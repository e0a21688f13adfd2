"""Plays one player against another, and judges each game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.errors import BgdataError, CheckSkippedError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.choices import Chooser, KernelPlayer
from bgdata.evaluation.networks.player import MappedNetwork
from bgdata.evaluation.player import Player, open_player_of_version
from bgdata.kinds.rechecking import check_rows
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.shared.players import PairingParameters
from bgdata.selfplay.games import Games, pair_error, play_games, play_games_with_luck, result_of
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.store.table import Table
from bgdata.store.versions import Versions

STEP = 1000  # games played at a time, between which a killed run goes on
JUDGED_STEP = 250  # of games with luck: some seconds
MOST_JUDGED = 50  # games that a verification judges again


class GameScoresComputation(Computation[GameParameters]):
    """Computation of `game_scores`."""

    def compute(self, build: Build[GameParameters]) -> None:
        parameters, job = build.parameters, build.job
        players, judge = open_players(parameters, build.warehouse), open_judge(build.inputs)
        count, step = parameters.games, JUDGED_STEP if judge else STEP
        state: dict[str, Array] = {
            "outcomes": np.zeros(count, np.int8),
            "turns": np.zeros(count, np.int32),
            "lucks": np.zeros(count),
        }

        def play_rows(rows: slice) -> dict[str, Array]:
            return play_series(players, judge, rows.stop - rows.start, parameters.seed, rows.start)

        job.fill("games", state, step, play_rows)
        for name, values in state.items():
            job.save(name, values)

    def batches(self, computed: Computed[GameParameters]) -> Iterator[pa.RecordBatch]:
        games, lucks = games_of(computed.arrays), np.asarray(computed.arrays["lucks"])
        for rows in slices(len(games.numbers), self.kind.row_group_rows):
            yield pa.record_batch(
                {
                    "number": games.numbers[rows].astype(np.int32),
                    "outcome": games.outcomes[rows],
                    "turns": games.turns[rows],
                    "begins": games.begins[rows],
                    "net_luck": pa.array(lucks[rows], from_pandas=True),
                    "hedged_points": pa.array(games.outcomes[rows] - lucks[rows], from_pandas=True),
                }
            )

    def statistics(self, computed: Computed[GameParameters]) -> Mapping[str, float]:
        games = games_of(computed.arrays)
        result = result_of(games)
        points = {"win_share": 1, "win_gammon_share": 2, "win_backgammon_share": 3}
        won = {name: float((games.outcomes >= least).mean()) for name, least in points.items()}
        points = {"lose_gammon_share": 2, "lose_backgammon_share": 3}
        lost = {name: float((games.outcomes <= -least).mean()) for name, least in points.items()}
        found = {"points_per_game": result.points_per_game, "standard_error": result.standard_error, **won, **lost}
        if computed.parameters.luck:
            adjusted = games.outcomes - np.asarray(computed.arrays["lucks"])
            found["hedged_points_per_game"] = float(adjusted.mean())
            found["hedged_standard_error"] = pair_error(games.numbers, adjusted)
        return found | {"turns_per_game": result.mean_turns}

    def check_sample(self, recheck: Recheck[GameParameters]) -> str:
        """Play some games again, where both players are as they were and quick."""
        table, parameters = recheck.table, recheck.parameters
        players = open_again(parameters, recheck.warehouse)
        judge = open_judge(recheck.inputs)
        count = min(recheck.rows, MOST_JUDGED) if judge else recheck.rows
        for number in recheck.generator.permutation(parameters.games)[:count].tolist():
            check_rows(table, np.array([number]), play_series(players, judge, 1, parameters.seed, number))
        return sample_text(min(count, parameters.games), parameters.games, "games")


def play_series(
    players: tuple[Player, Player], judge: Chooser | None, count: int, seed: int, first: int
) -> dict[str, Array]:
    """The arrays of games first, first + 1, ..., in the order in which they are declared."""
    if judge:
        games, lucks = play_games_with_luck(*players, judge, count, seed, first)
    else:
        games, lucks = play_games(*players, count, seed, first), np.full(count, np.nan)
    return {"outcomes": games.outcomes, "turns": games.turns, "lucks": lucks}


def open_judge(inputs: Mapping[str, Table]) -> Chooser | None:
    """The network among the inputs, with its tables, that measures luck; None where luck is not measured."""
    tables = dict(inputs)
    return MappedNetwork(tables.pop("network"), BearoffEvaluator(**tables)).chooser if tables else None


def open_players(
    pairing: PairingParameters, warehouse: Versions | None, *, tables: bool = True
) -> tuple[Player, Player]:
    """The two players; with `tables` networks play with the bearoff tables of the warehouse. Raises what
    `open_player_of_version` raises."""
    return (
        open_player_of_version(pairing.player, pairing.ply, pairing.version, warehouse, tables=tables),
        open_player_of_version(
            pairing.opponent, pairing.opponent_ply, pairing.opponent_version, warehouse, tables=tables
        ),
    )


def open_again(pairing: PairingParameters, warehouse: Versions | None, *, tables: bool = True) -> tuple[Player, Player]:
    """The two players, to play again. Raises CheckSkippedError where one is not what it was, or is slow."""
    try:
        players = open_players(pairing, warehouse, tables=tables)
    except BgdataError as error:
        raise CheckSkippedError(f"no game can be played again: {error}") from error
    if slow := [player.label for player in players if not isinstance(player, KernelPlayer)]:
        raise CheckSkippedError(f"games of {slow[0]} take too long to play again")
    return players


def games_of(arrays: Mapping[str, Array]) -> Games:
    """The games of a version."""
    numbers = np.arange(len(arrays["outcomes"]), dtype=np.int64)
    return Games(numbers, np.asarray(arrays["outcomes"]), np.asarray(arrays["turns"]), numbers % 2 == 0)


COMPUTATION = GameScoresComputation
