"""Losses of a player on a benchmark, decision by decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from bgdata.errors import InvalidParameterError
from bgdata.imports.kinds.gnubg_benchmark import DATASET as IMPORTED
from bgdata.kinds.columns import CLASS_COLUMN
from bgdata.measures.kinds.shared.players import check_player_name, player_slug
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.names import is_name
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.table import Table

ROLLED_OUT, JUDGED = "rollout_decisions", "judged_decisions"
CONTACT = VersionRef(IMPORTED.name, "contact")


@dataclass(frozen=True)
class ScoreParameters(Parameters):
    """Parameters of `benchmark_scores`: a player, its ply, the version that it reports, and the benchmark on which it
    is scored."""

    player: str = "pubeval"
    ply: int = 0
    benchmark: VersionRef = CONTACT
    version: str = "2"

    @classmethod
    def on(cls, table: Table, player: str, ply: int, version: str) -> Self:
        """Return the parameters to score a player that reports `version` on the benchmark `table`."""
        return cls(player, ply, VersionRef.parse(table.name), version)


class BenchmarkScores(Dataset[ScoreParameters]):
    """Kind `benchmark_scores`: what a player loses on a benchmark. One row per decision, in the order of
    `benchmark_decisions`."""

    name = "benchmark_scores"
    made_again = BY_PLAYERS
    revision = 2
    summary = "Choices of a player on the decisions of a benchmark, and what each loses against the best play."
    source = "Computed: the player's choice by cubeless money equity, looked up among the rolled-out plays"
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision in benchmark_decisions of the same set"),
        CLASS_COLUMN,
        Column("next_position_id", "VARCHAR", "", "Position after the chosen play, the opponent on roll"),
        Column(
            "rank", "SMALLINT", "", "Place of the choice among the rolled-out plays, 0 for the best, null: unlisted"
        ),
        Column("loss", "DOUBLE", "points", "Points lost against the best; an unlisted play loses as the last listed"),
    )
    key = ("decision",)
    arrays = (
        FlatArray("classes", "uint8", "decision", "Class of the position, numbered as by gnubg"),
        FlatArray("chosen", "int8", "decision, 26 integers", "Board after the chosen play, the opponent on roll"),
        FlatArray("ranks", "int16", "decision", "Place of the choice among the rolled-out plays, -1: unlisted"),
        FlatArray("losses", "float64", "decision", "Points lost against the best"),
    )
    parameters = ScoreParameters
    defaults = ()
    smallest = ScoreParameters(
        benchmark=VersionRef(IMPORTED.name, "contact", "r3-90047df0")
    )  # score on the sample that gnubg_benchmark writes

    def slug(self, parameters: ScoreParameters) -> str:
        benchmark = parameters.benchmark
        imported = "imported-" if benchmark.kind == IMPORTED.name else ""  # files may have names of bgdata's own sets
        return f"{player_slug(parameters.player, parameters.ply)}-{imported}{benchmark.variant}"

    def check_parameters(self, parameters: ScoreParameters) -> None:
        check_benchmark(parameters.benchmark.title)
        if not is_name("version", parameters.benchmark.version):
            got = parameters.benchmark.version or "none"
            raise InvalidParameterError(f"expected the version of {parameters.benchmark.title}, got {got}")
        check_player_name(parameters.player)

    def inputs(self, parameters: ScoreParameters) -> Mapping[str, Input]:
        return {"benchmark": parameters.benchmark}

    def estimate(self, _parameters: ScoreParameters) -> Estimate:
        return Estimate(0, 0, 0)


def check_benchmark(benchmark: str) -> None:
    """Raise InvalidParameterError if `benchmark` cannot be the name of a benchmark."""
    kind, _, variant = benchmark.partition("/")
    if kind not in (IMPORTED.name, ROLLED_OUT, JUDGED) or not is_name("variant", variant):
        raise InvalidParameterError(
            f"expected a benchmark such as {IMPORTED.name}/contact or {ROLLED_OUT}/NAME, got {benchmark}"
        )


DATASET = BenchmarkScores()
