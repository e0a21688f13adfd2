"""Lets a player decide on a benchmark, and compares with the rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError
from bgdata.evaluation.player import open_player_of_version
from bgdata.kinds.column_values import class_column, position_columns
from bgdata.kinds.rechecking import check_arrays
from bgdata.measures.benchmark import RolledOutDecisions, losses_of, rank_choices, score_of
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.store.table import Table


class BenchmarkScoresComputation(Computation[ScoreParameters]):
    """Computation of `benchmark_scores`."""

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
        score = score_of(np.asarray(computed.arrays["losses"]), np.asarray(computed.arrays["ranks"]))
        low, high = score.interval
        return vars(score) | {"error_rate_low": low, "error_rate_high": high}

    def check_sample(self, recheck: Recheck[ScoreParameters]) -> str:
        table, benchmark = recheck.table, recheck.inputs["benchmark"]
        check_arrays(table, {"classes": np.asarray(benchmark.array("decisions_classes"))})
        decisions: RolledOutDecisions = decisions_of(benchmark)
        ranks = rank_choices(decisions, np.asarray(table.array("chosen")))
        losses = losses_of(decisions, ranks)
        for row in recheck.generator.permutation(len(ranks))[: recheck.rows].tolist():
            if ranks[row] != table.array("ranks")[row] or losses[row] != table.array("losses")[row]:
                raise CheckFailedError(
                    f"expected a loss of {losses[row]} for decision {row} of {table.name}, "
                    f"found {table.array('losses')[row]}"
                )
        return sample_text(min(recheck.rows, len(ranks)), len(ranks), "decisions")


def decisions_of(table: Table) -> RolledOutDecisions:
    """The decisions of a benchmark."""
    plays = table.array("plays_boards")
    return RolledOutDecisions(
        boards=np.asarray(table.array("decisions_boards")),
        rolls=np.asarray(table.array("decisions_dice")),
        first_plays=np.append(table.array("decisions_first_plays"), len(plays)),
        play_boards=np.asarray(plays),
        losses=np.asarray(table.array("plays_losses")),
    )


COMPUTATION = BenchmarkScoresComputation
