"""Scores a player's cube actions by what each loses according to the rollouts of a judge.

Every decision is scored twice. The first score says whether the player on roll doubles, against the better of no double
and a double with the best answer. The second says how the player answers a double in the opponent's place. The error
rate is 1000 x the mean loss over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import sqrt

import numpy as np
import pyarrow as pa

from bgdata.equity.cube import CubeRules
from bgdata.errors import BgdataError, CheckSkippedError
from bgdata.evaluation.cube_answers import (
    CubeQuestion,
    bgsage_values,
    decided_values,
    gnubg_values,
)
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import as_evaluator, open_player_of_version
from bgdata.game.xgid import parse_xgid
from bgdata.kinds.column_values import constant, select_texts, text_column
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.measures.kinds.benchmark_scores_compute import ERROR_RATE, NORMAL_95
from bgdata.measures.kinds.cube_benchmark_compute import question_of, score_text
from bgdata.measures.kinds.cube_benchmark_scores import AHEAD, DEFAULT, CubeScoreParameters
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.selfplay.kinds.cubeful_selfplay import side_of
from bgdata.selfplay.kinds.shared.rollouts_compute import SAMPLE_ROWS, first_met
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.table import Table

DECIMALS = 7
CHUNK = 32  # decisions in one request to the player
PROGRAM_VALUES = {"gnubg": gnubg_values, "bgsage": bgsage_values}


class CubeBenchmarkScoresComputation(Computation[CubeScoreParameters]):
    """Computes `cube_benchmark_scores`: asks a player for its cube actions, and scores them by the rollouts."""

    def compute(self, build: Build[CubeScoreParameters]) -> None:
        benchmark, job = build.inputs["benchmark"], build.job
        questions = questions_of(benchmark)
        job.progress.start(job.title, len(questions), "decisions")
        found = [np.zeros((0, 2))]
        for begin in range(0, len(questions), CHUNK):
            found.append(player_values(build, questions[begin : begin + CHUNK]))
            job.progress.advance(len(found[-1]))
        for name, values in score_arrays(benchmark, np.concatenate(found)).items():
            job.save(name, values)

    def batches(self, computed: Computed[CubeScoreParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        xgids, values, losses = (
            text_column(arrays, "xgids"),
            *(np.asarray(arrays[name]) for name in ("values", "losses")),
        )
        doubled, taken = player_actions(values)
        (judge,) = text_column(arrays, "judge").to_pylist()
        yield pa.record_batch(
            {
                "decision": np.arange(len(values), dtype=np.int32),
                "xgid": xgids,
                "theme": select_texts(pa.array(THEMES), np.asarray(arrays["themes"]).astype(np.int32)),
                "score": pa.array(
                    [score_text(parse_xgid(text).match.stakes) for text in xgids.to_pylist()], pa.string()
                ),
                "no_double": np.ascontiguousarray(values[:, 0]),
                "double_take": np.ascontiguousarray(values[:, 1]),
                "is_doubled": pa.array(doubled),
                "is_taken": pa.array(taken),
                "double_loss": np.ascontiguousarray(losses[:, 0]),
                "answer_loss": np.ascontiguousarray(losses[:, 1]),
                "judge": constant(judge, "VARCHAR", len(values)),
            }
        )

    def statistics(self, computed: Computed[CubeScoreParameters]) -> Mapping[str, float]:
        """Return the error rates of doubles, of answers and of both together, with standard errors over positions, and
        the ends of the 95 % interval of the rate of both, cut off at 0."""
        losses, found = np.asarray(computed.arrays["losses"]), dict[str, float]()
        for name, column in (("", losses.mean(axis=1)), ("double_", losses[:, 0]), ("answer_", losses[:, 1])):
            found[f"{name}error_rate"] = ERROR_RATE * float(column.mean())
            found[f"{name}standard_error"] = ERROR_RATE * float(column.std(ddof=1)) / sqrt(len(column))
        mean, error = found["error_rate"], found["standard_error"]
        ends = {"error_rate_low": max(mean - NORMAL_95 * error, 0.0), "error_rate_high": mean + NORMAL_95 * error}
        return {"decisions": len(losses), **found, **ends, "best_share": float((losses == 0).all(axis=1).mean())}

    def check_sample(self, recheck: Recheck[CubeScoreParameters]) -> str:
        """Compare all rows with the benchmark. If the player is unchanged, ask it about a random sample of the
        decisions again."""
        table, benchmark = recheck.table, recheck.inputs["benchmark"]
        check_arrays(table, score_arrays(benchmark, np.asarray(table.array("values"))))
        questions = questions_of(benchmark)
        rows = np.sort(recheck.generator.permutation(len(questions))[: min(recheck.rows, 10 * SAMPLE_ROWS)])
        try:
            values = player_values(recheck, [questions[row] for row in rows.tolist()])
        except BgdataError as error:
            raise CheckSkippedError(f"the player cannot be asked: {error}") from error
        check_rows(table, rows, {"values": values})
        return sample_text(len(rows), len(questions), "decisions")


def questions_of(benchmark: Table) -> list[CubeQuestion]:
    """Return the position and the stakes of each decision in a cube benchmark."""
    return [question_of(text) for text in text_column(benchmark.arrays(), "xgids").to_pylist()]


def player_values(context: Context[CubeScoreParameters], questions: list[CubeQuestion]) -> Array:
    """Return the player's values of each decision, as float64[n, (no double, double and take)]. Raises
    UnknownPlayerError if there is no such player, MissingTableError if a network is missing, and InvalidParameterError
    if the player has another version."""
    chosen = context.parameters
    player = open_player_of_version(chosen.player, chosen.ply, chosen.version, context.warehouse, tables=chosen.tables)
    if chosen.player in PROGRAM_VALUES:
        return np.round(PROGRAM_VALUES[chosen.player](questions, chosen.ply)[:, :2], DECIMALS)
    ahead = player if isinstance(player, LookaheadPlayer) else LookaheadPlayer(as_evaluator(chosen.player, player))
    model, is_local = chosen.cube.removeprefix(AHEAD), False
    rules = CubeRules(met=first_met(context.inputs["met"].arrays()))
    if model != DEFAULT:
        side = side_of(model)
        rules, is_local = replace(rules, strategy=side.strategy), side.is_local
    rules = replace(rules, by_model=not chosen.cube.startswith(AHEAD))
    return np.round(decided_values(ahead, questions, rules, local=is_local)[:, :2], DECIMALS)


def player_actions(values: Array) -> tuple[Array, Array]:
    """Return whether a player doubles, and whether it takes, each as bool[n], by its values
    float64[n, (no double, double and take)]. If values are equal, it doubles, and it passes."""
    return np.minimum(values[:, 1], 1.0) >= values[:, 0], values[:, 1] < 1.0


def score_arrays(benchmark: Table, values: Array) -> dict[str, Array]:
    """Return the arrays of the scores, from the player's values float64[n, (no double, double and take)] of the
    benchmark's decisions."""
    arrays = benchmark.arrays()
    judged = np.asarray(arrays["values"])
    return {
        **{name: np.asarray(arrays[name]) for name in ("xgids", "xgids_ends", "themes", "judge", "judge_ends")},
        "values": values,
        "losses": action_losses(judged, *player_actions(values)),
    }


def action_losses(judged: Array, doubled: Array, taken: Array) -> Array:
    """Return what a player's actions lose, as float64[n, (double or not, answer)], by the judge's values
    float64[n, (no double, double and take)]."""
    no_double, take = judged.T
    answer = np.minimum(take, 1.0)
    gain = answer - no_double  # gain by doubling
    double_loss = np.where(doubled, np.maximum(-gain, 0.0), np.maximum(gain, 0.0))
    answer_loss = np.where(taken, np.maximum(take - 1.0, 0.0), np.maximum(1.0 - take, 0.0))
    return np.round(np.stack([double_loss, answer_loss], axis=1), DECIMALS)


COMPUTATION = CubeBenchmarkScoresComputation
