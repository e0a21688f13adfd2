"""Scores the choices of a player on a benchmark by what each loses according to the rollouts.

The error rate is 1000 x the mean loss over all decisions, each counted once. A choice that was not rolled out counts as
the worst listed play, which favours weak players, so the share of such choices is reported. Source: published benchmark
figures use this definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgdata.evaluation.player import open_player_of_version
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange
from bgdata.kinds.column_values import class_column, position_columns
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.store.table import Table

ERROR_RATE = 1000.0  # error rate of a player whose mean loss is 1 point
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class RolledOutDecisions:
    """Decisions with their rolled-out plays, best first. `boards` int8[n, 26] are the positions before `rolls` int8[n,
    2]. The plays of decision i are rows first_plays[i]:first_plays[i + 1] (int64[n + 1]). `play_boards` int8[k, 26] are
    the positions after them, with the OPPONENT on roll; `losses` float64[k] are in points, ascending within a
    decision."""

    boards: Boards
    rolls: NDArray[np.int8]
    first_plays: NDArray[np.int64]
    play_boards: Boards
    losses: NDArray[np.float64]


class BenchmarkScoresComputation(Computation[ScoreParameters]):
    """Computes `benchmark_scores`: asks a player for its plays, and scores them by the rollouts."""

    def compute(self, build: Build[ScoreParameters]) -> None:
        parameters, job = build.parameters, build.job
        table = build.inputs["benchmark"]
        decisions = decisions_of(table)
        job.progress.start(job.title, len(decisions.boards), "decisions")
        player = open_player_of_version(parameters.player, parameters.ply, parameters.version, build.warehouse)
        chosen = player.choose_plays(decisions.boards, decisions.rolls)
        job.progress.advance(len(chosen))
        ranks = rank_choices(decisions, chosen)
        job.save("classes", np.asarray(table.array("decisions_classes")))
        job.save("chosen", chosen)
        job.save("ranks", ranks)
        job.save("losses", losses_of(decisions, ranks))

    def batches(self, computed: Computed[ScoreParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        ranks = np.asarray(arrays["ranks"])
        yield pa.record_batch(
            {
                "decision": np.arange(len(ranks), dtype=np.int32),
                "class": class_column(np.asarray(arrays["classes"])),
                "next_position_id": position_columns(arrays["chosen"])["position_id"],
                "rank": pa.array(ranks, mask=ranks < 0),
                "loss": np.asarray(arrays["losses"]),
            }
        )

    def statistics(self, computed: Computed[ScoreParameters]) -> Mapping[str, float]:
        return score_of(np.asarray(computed.arrays["losses"]), np.asarray(computed.arrays["ranks"]))

    def check_sample(self, recheck: Recheck[ScoreParameters]) -> str:
        table, benchmark = recheck.table, recheck.inputs["benchmark"]
        check_arrays(table, {"classes": np.asarray(benchmark.array("decisions_classes"))})
        decisions = decisions_of(benchmark)
        ranks = rank_choices(decisions, np.asarray(table.array("chosen")))
        rows = recheck.generator.permutation(len(ranks))[: recheck.rows]
        check_rows(table, rows, {"ranks": ranks[rows], "losses": losses_of(decisions, ranks)[rows]})
        return sample_text(min(recheck.rows, len(ranks)), len(ranks), "decisions")


def decisions_of(table: Table) -> RolledOutDecisions:
    """Return the decisions of a benchmark with their rolled-out plays."""
    plays = table.array("plays_boards")
    return RolledOutDecisions(
        boards=np.asarray(table.array("decisions_boards")),
        rolls=np.asarray(table.array("decisions_dice")),
        first_plays=np.append(table.array("decisions_first_plays"), len(plays)),
        play_boards=np.asarray(plays),
        losses=np.asarray(table.array("plays_losses")),
    )


def rank_choices(decisions: RolledOutDecisions, chosen: Boards) -> NDArray[np.int16]:
    """Return the rank of each chosen play among the rolled-out plays of its decision, as int16[n]: 0 for the best, -1
    if it was not rolled out. Plays are given as the positions after them."""
    ranks = np.empty(len(chosen), np.int16)
    fill_ranks(decisions.first_plays, decisions.play_boards, chosen, ranks)
    return ranks


@kernel(parallel=True)
def fill_ranks(first_plays: NDArray[np.int64], play_boards: Boards, chosen: Boards, ranks: NDArray[np.int16]) -> None:
    """Fill ranks[row] with the index of chosen[row] among play_boards[first_plays[row]:first_plays[row + 1]], -1 if it
    is not there."""
    for row in prange(len(chosen)):
        ranks[row] = -1
        for play in range(first_plays[row], first_plays[row + 1]):
            is_same = True
            for slot in range(26):
                is_same &= play_boards[play, slot] == chosen[row, slot]
            if is_same:
                ranks[row] = play - first_plays[row]
                break


def losses_of(decisions: RolledOutDecisions, ranks: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return the points that each choice loses, as float64[n]. A play that was not rolled out loses as much as the
    worst play that was."""
    last = decisions.first_plays[1:] - 1
    places = np.where(ranks < 0, last, decisions.first_plays[:-1] + ranks)
    return np.asarray(decisions.losses[places])


def score_of(losses: NDArray[np.float64], ranks: NDArray[np.int16]) -> dict[str, float]:
    """Return the score of a player's choices, as statistics: the error rate in thousandths of a point per decision, and
    the shares of best plays and of plays that were not rolled out; all are 0 if there are no choices. `error_rate_low`
    and `error_rate_high` are the ends of the 95 % interval by a normal approximation, cut off at 0. The approximation
    assumes that decisions are a random sample, and is unreliable for few decisions."""
    count = len(losses)
    mean = ERROR_RATE * float(losses.mean()) if count else 0.0
    error = ERROR_RATE * (float(losses.std(ddof=1)) if count > 1 else 0.0) / sqrt(max(count, 1))
    return {
        "decisions": count,
        "error_rate": mean,
        "standard_error": error,
        "unlisted_share": float((ranks < 0).mean()) if count else 0.0,
        "best_share": float((losses == 0).mean()) if count else 0.0,
        "error_rate_low": max(mean - NORMAL_95 * error, 0.0),
        "error_rate_high": mean + NORMAL_95 * error,
    }


COMPUTATION = BenchmarkScoresComputation
