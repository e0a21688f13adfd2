"""Plays one player against another with the cube, and judges each game or match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.evaluation.player import Player
from bgdata.kinds.rechecking import check_rows
from bgdata.measures.kinds.cubeful_scores import CubefulScoreParameters
from bgdata.measures.kinds.game_scores_compute import open_again, open_judge, open_players
from bgdata.selfplay.games import pair_error
from bgdata.selfplay.kinds.cubeful_selfplay import MET
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met
from bgdata.selfplay.series import CubefulRules, play_cubeful
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text

STEP_GAMES = 100  # played at a time, between which a killed run goes on; matches are fewer
MOST_CHECKED = 20  # games or matches that a verification plays again


class CubefulScoresComputation(Computation[CubefulScoreParameters]):
    """Computation of `cubeful_scores`."""

    def compute(self, build: Build[CubefulScoreParameters]) -> None:
        parameters, job, count = build.parameters, build.job, build.parameters.games
        players = open_players(parameters, build.warehouse, tables=parameters.tables)
        state: dict[str, Array] = {
            "outcomes": np.zeros(count, np.int16),
            "games": np.zeros(count, np.int16),
            "turns": np.zeros(count, np.int32),
            "lucks": np.zeros(count),
        }
        step = max(2, STEP_GAMES // max(1, parameters.length) // 2 * 2)
        job.fill("games", state, step, lambda rows: play_series(build, players, rows.start, rows.stop - rows.start))
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
        players = open_again(parameters, recheck.warehouse, tables=parameters.tables)
        count = min(recheck.rows, MOST_CHECKED, parameters.games)
        for number in recheck.generator.permutation(parameters.games)[:count].tolist():
            check_rows(table, np.array([number]), play_series(recheck, players, number, 1))
        return sample_text(count, parameters.games, "games")


def play_series(
    context: Context[CubefulScoreParameters], players: tuple[Player, Player], first: int, count: int
) -> dict[str, Array]:
    """The arrays of games or matches first, first + 1, ...; pairs are those of even numbers. Raises
    MissingTableError."""
    parameters, inputs = context.parameters, dict(context.inputs)
    met = first_met(inputs.pop(MET).arrays()) if MET in inputs else None
    rules, estimator = CubefulRules(parameters.length, met=met), open_judge(inputs)
    found = play_cubeful(players, rules, count, parameters.seed, first, estimator)
    numbers, last = np.arange(first, first + count), found.offsets[1:] - 1
    is_won = found.column("winner")[last] == numbers % 2
    outcomes = np.where(is_won, 1, -1) * (1 if rules.length else found.column("points")[last])
    lucks = np.where(numbers % 2 == 0, found.lucks, -found.lucks)
    return {
        "outcomes": outcomes.astype(np.int16),
        "games": np.diff(found.offsets).astype(np.int16),
        "turns": np.add.reduceat(found.column("turns"), found.offsets[:-1]).astype(np.int32),
        "lucks": lucks if estimator else np.full(count, np.nan),
    }


COMPUTATION = CubefulScoresComputation
