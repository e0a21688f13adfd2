"""Plays one player against another with the cube, and judges each game or match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.computations.game_scores import open_judge
from bgdata.datasets.common.cube_players import MET
from bgdata.datasets.cubeful_scores import CubefulScoreParameters
from bgdata.equity.stored_met import met_names, met_of_arrays
from bgdata.errors import BgdataError, CheckFailedError, CheckSkippedError
from bgdata.evaluation.choices import Chooser, KernelPlayer
from bgdata.evaluation.player import Player, open_player_of_version
from bgdata.play.cubeful_lockstep import play_cubeful
from bgdata.play.cubeful_series import CubefulResults, CubefulRules
from bgdata.play.series import pair_error
from bgdata.store.arrays import Array
from bgdata.store.context import Build, Computed, Context, Recheck
from bgdata.store.dataset import Computation, sampled

STEP_GAMES = 100  # played at a time, between which a killed run goes on; matches are fewer
MOST_CHECKED = 20  # games or matches that a verification plays again


class CubefulScoresComputation(Computation[CubefulScoreParameters]):
    """Computation of `cubeful_scores`."""

    def compute(self, build: Build[CubefulScoreParameters]) -> None:
        parameters, job, count = build.parameters, build.job, build.parameters.games
        series = Series.of(build)
        state: dict[str, Array] = {
            "outcomes": np.zeros(count, np.int16),
            "games": np.zeros(count, np.int16),
            "turns": np.zeros(count, np.int32),
            "lucks": np.zeros(count),
        }
        step = max(2, STEP_GAMES // max(1, parameters.length) // 2 * 2)
        job.fill("games", state, step, lambda rows: series.played(rows.start, rows.stop - rows.start))
        for name, values in state.items():
            job.save(name, values)

    def batches(self, computed: Computed[CubefulScoreParameters]) -> Iterator[pa.RecordBatch]:
        outcomes, games, turns, lucks = (np.asarray(computed.arrays[array.name]) for array in self.kind.arrays)
        yield pa.record_batch(
            {
                "number": np.arange(len(outcomes), dtype=np.int32),
                "net_points": outcomes,
                "games_played": games,
                "turns": turns,
                "net_luck": pa.array(lucks, from_pandas=True),
                "hedged_points": pa.array(outcomes - lucks, from_pandas=True),
            }
        )

    def statistics(self, computed: Computed[CubefulScoreParameters]) -> Mapping[str, float]:
        outcomes, games, turns, lucks = (np.asarray(computed.arrays[array.name]) for array in self.kind.arrays)
        numbers = np.arange(len(outcomes))
        found = {
            "points_per_game": float(outcomes.mean()),
            "standard_error": pair_error(numbers, outcomes),
            "win_share": float((outcomes > 0).mean()),
            "mean_games": float(games.mean()),
            "mean_turns": float(turns.mean()),
        }
        if computed.parameters.luck:
            found["hedged_points_per_game"] = float((outcomes - lucks).mean())
            found["hedged_standard_error"] = pair_error(numbers, outcomes - lucks)
        return found

    def check_sample(self, recheck: Recheck[CubefulScoreParameters]) -> str:
        """Play some games again, where both players are as they were and quick."""
        table, parameters = recheck.table, recheck.parameters
        try:
            series = Series.of(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"no game can be played again: {error}") from error
        if slow := [player.label for player in series.players if not isinstance(player, KernelPlayer)]:
            raise CheckSkippedError(f"games of {slow[0]} take too long to play again")
        count = min(recheck.rows, MOST_CHECKED, parameters.games)
        for number in recheck.generator.permutation(parameters.games)[:count].tolist():
            for name, values in series.played(number, 1).items():
                expected, found = values[0], table.array(name)[number]
                if expected.tobytes() != found.tobytes():
                    raise CheckFailedError(
                        f"expected {expected} among the {name} of {table.name} in {number}, found {found}"
                    )
        return sampled(count, parameters.games, "games")


class Series:
    """What is played: two players, the rules, the dice, and who measures luck. Raises UnknownPlayerError,
    MissingTableError, and InvalidParameterError for another version of a player."""

    def __init__(
        self, players: tuple[Player, Player], rules: CubefulRules, seed: int, estimator: Chooser | None
    ) -> None:
        self.players, self.rules, self.seed, self.estimator = players, rules, seed, estimator

    @classmethod
    def of(cls, context: Context[CubefulScoreParameters]) -> Series:
        """The series of a version."""
        parameters, inputs = context.parameters, dict(context.inputs)
        met = None
        if MET in inputs:
            arrays = inputs.pop(MET).arrays()
            met = met_of_arrays(arrays, met_names(arrays)[0])
        rules = CubefulRules(parameters.length, met=met)
        return cls(open_players(context), rules, parameters.seed, open_judge(inputs))

    def played(self, first: int, count: int) -> dict[str, Array]:
        """The arrays of games or matches first, first + 1, ...; pairs are those of even numbers."""
        found = play_cubeful(self.players, self.rules, count, self.seed, first, self.estimator)
        numbers, last = np.arange(first, first + count), found.offsets[1:] - 1
        is_won = found.column("winner")[last] == numbers % 2
        outcomes = np.where(is_won, 1, -1) * (1 if self.rules.length else found.column("points")[last])
        lucks = np.where(numbers % 2 == 0, found.lucks, -found.lucks)
        return {
            "outcomes": outcomes.astype(np.int16),
            "games": np.diff(found.offsets).astype(np.int16),
            "turns": turns_of(found),
            "lucks": lucks if self.estimator else np.full(count, np.nan),
        }


def turns_of(found: CubefulResults) -> Array:
    """int32[matches]: rolls of all games of a match."""
    turns: Array = np.add.reduceat(found.column("turns"), found.offsets[:-1]).astype(np.int32)
    return turns


def open_players(context: Context[CubefulScoreParameters]) -> tuple[Player, Player]:
    """The two players. Raises what `open_player_of_version` raises."""
    wanted = context.parameters
    sides = (
        (wanted.player, wanted.ply, wanted.version),
        (wanted.opponent, wanted.opponent_ply, wanted.opponent_version),
    )
    first, second = (open_player_of_version(*side, context.warehouse, tables=wanted.tables) for side in sides)
    return first, second


COMPUTATION = CubefulScoresComputation
