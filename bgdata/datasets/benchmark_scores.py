"""What a player loses on a benchmark, decision by decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets._columns import position_columns
from bgdata.datasets._imports import ClassParameters
from bgdata.datasets._players import check_player_name, player_slug
from bgdata.datasets._rollouts import warehouse_of
from bgdata.datasets.gnubg_benchmark import DATASET as IMPORTED
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Parameters, sampled
from bgdata.store.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table
    from bgdata.training.benchmark import Decisions

ROLLED_OUT = "rollout_decisions"


@dataclass(frozen=True)
class ScoreParameters(Parameters):
    """Who plays, how far he looks ahead, and on which benchmark.

    `version` of the player as he says it; `benchmark` is KIND/VARIANT, and `benchmark_version` names the version
    of a set of rollout_decisions; of an imported benchmark the newest counts.
    """

    player: str = "pubeval"
    ply: int = 0
    benchmark: str = f"{IMPORTED.name}/contact"
    version: str = "2"
    benchmark_version: str = ""


class BenchmarkScores(Dataset[ScoreParameters]):
    """Rows follow benchmark_decisions."""

    name = "benchmark_scores"
    revision = 1
    summary = "Choices of a player on the decisions of a benchmark, and what each loses against the best play."
    source = "Computed: the player's choice by cubeless money equity, looked up among the rolled-out plays"
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision in benchmark_decisions of the same set"),
        Column("next_position_id", "VARCHAR", "", "Position after the chosen play, the opponent on roll"),
        Column(
            "rank", "SMALLINT", "", "Place of the choice among the rolled-out plays, 0 for the best, null: unlisted"
        ),
        Column("loss", "DOUBLE", "points", "Points lost against the best; an unlisted play loses as the last listed"),
    )
    key = ("decision",)
    arrays = (
        FlatArray("chosen", "int8", "decision, 26 integers", "Board after the chosen play, the opponent on roll"),
        FlatArray("ranks", "int16", "decision", "Place of the choice among the rolled-out plays, -1: unlisted"),
        FlatArray("losses", "float64", "decision", "Points lost against the best"),
    )
    parameters = ScoreParameters
    defaults = ()
    smallest = ScoreParameters()

    def slug(self, parameters: ScoreParameters) -> str:
        return f"{player_slug(parameters.player, parameters.ply)}-{parameters.benchmark.partition('/')[2]}"

    def check_parameters(self, parameters: ScoreParameters) -> None:
        check_benchmark(parameters.benchmark, parameters.benchmark_version)
        check_player_name(parameters.player)

    def inputs(self, parameters: ScoreParameters) -> Mapping[str, tuple[str, Parameters]]:
        if parameters.benchmark_version:
            return {}
        return {"benchmark": (IMPORTED.name, ClassParameters(parameters.benchmark.partition("/")[2]))}

    def estimate(self, parameters: ScoreParameters) -> Estimate:  # noqa: ARG002
        return Estimate(0, 0, 0)

    def compute(self, parameters: ScoreParameters, inputs: Mapping[str, Table], job: Job) -> None:
        from bgdata.evaluation.player import open_player
        from bgdata.training.benchmark import losses_of, rank_choices

        decisions = decisions_of(open_benchmark(parameters, inputs, warehouse_of(job)))
        job.progress.start(f"{self.name}/{self.slug(parameters)}", len(decisions.boards), "decisions")
        player = open_player(parameters.player, parameters.ply, job.warehouse)
        chosen = player.choose_plays(decisions.boards, decisions.rolls)
        job.progress.advance(len(chosen))
        ranks = rank_choices(decisions, chosen)
        job.save("chosen", chosen)
        job.save("ranks", ranks)
        job.save("losses", losses_of(decisions, ranks))

    def batches(self, parameters: ScoreParameters, arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        import pyarrow as pa

        ranks = np.asarray(arrays["ranks"])
        yield pa.record_batch(
            {
                "decision": np.arange(len(ranks), dtype=np.int32),
                "next_position_id": position_columns(arrays["chosen"])["position_id"],
                "rank": pa.array(ranks, mask=ranks < 0),
                "loss": np.asarray(arrays["losses"]),
            }
        )

    def statistics(self, parameters: ScoreParameters, arrays: Mapping[str, Array]) -> Mapping[str, float]:  # noqa: ARG002
        from bgdata.training.benchmark import score_of

        score = score_of(np.asarray(arrays["losses"]), np.asarray(arrays["ranks"]))
        low, high = score.interval
        return vars(score) | {"error_rate_low": low, "error_rate_high": high}

    def check_sample(self, table: Table, inputs: Mapping[str, Table], rows: int, generator: np.random.Generator) -> str:
        from bgdata.datasets import all_kinds
        from bgdata.training.benchmark import losses_of, rank_choices

        parameters = self.parameters.from_manifest(table.manifest.parameters)
        warehouse = Warehouse(table.folder.parents[2], all_kinds())
        decisions: Decisions = decisions_of(open_benchmark(parameters, inputs, warehouse))
        ranks = rank_choices(decisions, np.asarray(table.array("chosen")))
        losses = losses_of(decisions, ranks)
        for row in generator.permutation(len(ranks))[:rows].tolist():
            if ranks[row] != table.array("ranks")[row] or losses[row] != table.array("losses")[row]:
                raise CheckFailedError(
                    f"expected a loss of {losses[row]} for decision {row} of {table.name}, "
                    f"found {table.array('losses')[row]}"
                )
        return sampled(min(rows, len(ranks)), len(ranks), "decisions")


def check_benchmark(benchmark: str, version: str) -> None:
    """Raise InvalidParameterError unless this can be a benchmark: of a set made here there may be several versions."""
    kind, _, variant = benchmark.partition("/")
    if kind == IMPORTED.name:
        ClassParameters(variant).check()
    elif kind != ROLLED_OUT or not variant:
        raise InvalidParameterError(
            f"expected a benchmark such as {IMPORTED.name}/contact or {ROLLED_OUT}/NAME, got {benchmark}"
        )
    if bool(version) != (kind == ROLLED_OUT):
        raise InvalidParameterError(
            f"expected {'no' if version else 'the'} version of {benchmark}, got {version or 'none'}"
        )


def open_benchmark(parameters: ScoreParameters, inputs: Mapping[str, Table], warehouse: Warehouse) -> Table:
    """The decisions that are scored on. Raises MissingTableError for a version that is not there."""
    if "benchmark" in inputs:
        return inputs["benchmark"]
    kind, _, variant = parameters.benchmark.partition("/")
    return warehouse.open(kind, variant, parameters.benchmark_version)


def decisions_of(table: Table) -> Decisions:
    """The decisions of a benchmark."""
    from bgdata.training.benchmark import Decisions

    plays = table.array("plays_boards")
    return Decisions(
        boards=np.asarray(table.array("decisions_boards")),
        rolls=np.asarray(table.array("decisions_dice")),
        first_plays=np.append(table.array("decisions_first_plays"), len(plays)),
        play_boards=np.asarray(plays),
        losses=np.asarray(table.array("plays_losses")),
    )


DATASET = BenchmarkScores()
