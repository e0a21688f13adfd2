"""What a player loses in bearoffs, judged by an exact table, decision by decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.datasets.common.columns import POSITION_COLUMNS, position_columns
from bgdata.datasets.common.players import check_player_name, player_slug
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.bearoff_kernels import BearoffArrays
    from bgdata.play.referee import Verdicts
    from bgdata.store.arrays import Array
    from bgdata.store.table import Table

FEWEST, MOST = 2, 1 << 24  # decisions: a standard error needs two
QUANTILES = {"loss_of_worst_tenth": 0.9, "loss_of_worst_hundredth": 0.99, "loss_of_worst_thousandth": 0.999}


@dataclass(frozen=True)
class RefereeParameters(Parameters):
    """Who plays, how far it looks ahead, its version as it says it; whether a network has its bearoff tables; the table
    that judges; how many decisions of which seed."""

    player: str = "pubeval"
    ply: int = 0
    version: str = "2"
    tables: bool = True
    points: int = 3
    checkers: int = 3
    decisions: int = 20
    seed: int = 1


class RefereeScores(Dataset[RefereeParameters]):
    """Rows follow `play.referee.exact_decisions`."""

    name = "referee_scores"
    revision = 1
    summary = "Choices of a player in bearoffs of an exact two-sided table, and what each loses against the best play."
    source = "Computed: the player's choices by cubeless money equity, in positions of PubEval's games against itself"
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision, in the order of the games"),
        *POSITION_COLUMNS,
        Column("die1", "TINYINT", "", "First die"),
        Column("die2", "TINYINT", "", "Second die"),
        Column("n_plays", "SMALLINT", "plays", "Different plays of the roll"),
        Column("next_position_id", "VARCHAR", "", "Position after the chosen play, the opponent on roll"),
        Column("best_position_id", "VARCHAR", "", "Position after the best play, the opponent on roll"),
        Column("rank", "SMALLINT", "", "How many plays are better, beyond the rounding of the table"),
        Column("loss", "DOUBLE", "points", "Exact cubeless equity after the best play less that after the choice"),
    )
    key = ("decision",)
    arrays = (
        FlatArray("boards", "int8", "decision, 26 integers", "Board before the roll, of the player on roll"),
        FlatArray("rolls", "int8", "decision, 2 dice", "Dice as rolled"),
        FlatArray("chosen", "int8", "decision, 26 integers", "Board after the chosen play, the opponent on roll"),
        FlatArray("losses", "float64", "decision", "Points lost against the best"),
        FlatArray("ranks", "int16", "decision", "How many plays are better, beyond the rounding of the table"),
        FlatArray("n_plays", "int16", "decision", "Different plays of the roll"),
        FlatArray("best", "int8", "decision, 26 integers", "Board after the best play, the opponent on roll"),
    )
    parameters = RefereeParameters
    defaults = ()
    smallest = RefereeParameters()

    def slug(self, parameters: RefereeParameters) -> str:
        player = player_slug(parameters.player, parameters.ply) + ("" if parameters.tables else "-without-tables")
        table = f"{parameters.points}x{parameters.checkers}"
        return f"{player}-{table}-{parameters.decisions}-seed-{parameters.seed}"

    def check_parameters(self, parameters: RefereeParameters) -> None:
        check_player_name(parameters.player)
        if not FEWEST <= parameters.decisions <= MOST:
            raise InvalidParameterError(f"expected {FEWEST} to {MOST:,} decisions, got {parameters.decisions}")
        if not 0 <= parameters.seed < 1 << 63:
            raise InvalidParameterError(f"expected a seed from 0 to 2^63 - 1, got {parameters.seed}")

    def inputs(self, parameters: RefereeParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"table": ("bearoff_two_sided", TwoSidedParameters(parameters.points, parameters.checkers))}

    def estimate(self, parameters: RefereeParameters) -> Estimate:
        return Estimate(parameters.decisions, 150 * parameters.decisions, (1 << 28) + 400 * parameters.decisions)

    def compute(self, build: Build[RefereeParameters]) -> None:
        from bgdata.evaluation.player import open_named_player
        from bgdata.play.referee import exact_decisions

        parameters, job = build.parameters, build.job
        player = open_named_player(parameters.player, parameters.ply, build.warehouse, tables=parameters.tables)
        if player.version != parameters.version:
            raise InvalidParameterError(
                f"expected version {player.version} of {parameters.player}, as it plays here, got {parameters.version}"
            )
        tables = tables_of(build.inputs["table"])
        decisions = exact_decisions(tables, parameters.decisions, parameters.seed)
        job.progress.start(f"{self.name}/{self.slug(parameters)}", len(decisions.boards), "decisions")
        chosen = player.choose_plays(*decisions)
        job.progress.advance(len(chosen))
        for name, values in {**decisions._asdict(), "chosen": chosen}.items():
            job.save(name, values)
        for name, values in judged(build.inputs["table"], *decisions, chosen)._asdict().items():
            job.save(name, values)

    def batches(self, computed: Computed[RefereeParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        count = len(computed.arrays["losses"])
        for start in range(0, count, self.row_group_rows):
            part = {
                name: np.asarray(values[start : start + self.row_group_rows])
                for name, values in computed.arrays.items()
            }
            yield pa.record_batch(
                {
                    "decision": np.arange(start, start + len(part["losses"]), dtype=np.int32),
                    **position_columns(part["boards"]),
                    "die1": np.ascontiguousarray(part["rolls"][:, 0]),
                    "die2": np.ascontiguousarray(part["rolls"][:, 1]),
                    "n_plays": part["n_plays"],
                    "next_position_id": position_columns(part["chosen"])["position_id"],
                    "best_position_id": position_columns(part["best"])["position_id"],
                    "rank": part["ranks"],
                    "loss": part["losses"],
                }
            )

    def statistics(self, computed: Computed[RefereeParameters]) -> Mapping[str, float]:
        losses = np.asarray(computed.arrays["losses"])
        return {
            "mean_loss": float(losses.mean()),
            "standard_error": float(losses.std(ddof=1) / np.sqrt(len(losses))),
            "error_share": float((np.asarray(computed.arrays["ranks"]) > 0).mean()),
            **{name: float(np.quantile(losses, at, method="higher")) for name, at in QUANTILES.items()},
            "largest_loss": float(losses.max()),
            "loss_error_bound": tolerance(computed.parameters.points, computed.parameters.checkers),
        }

    def check_sample(self, recheck: Recheck[RefereeParameters]) -> str:
        """Judge the choices again, in the decisions of the seed."""
        from bgdata.play.referee import exact_decisions

        table, parameters = recheck.table, recheck.parameters
        decisions = exact_decisions(tables_of(recheck.inputs["table"]), parameters.decisions, parameters.seed)
        verdicts = judged(recheck.inputs["table"], *decisions, np.asarray(table.array("chosen")))
        expected = {**decisions._asdict(), **verdicts._asdict()}
        for row in recheck.generator.permutation(parameters.decisions)[: recheck.rows].tolist():
            for name, values in expected.items():
                if not np.array_equal(values[row], table.array(name)[row]):
                    raise CheckFailedError(
                        f"expected {name} of {values[row].tolist()} for decision {row} of {table.name}, "
                        f"found {table.array(name)[row].tolist()}"
                    )
        return sampled(min(recheck.rows, parameters.decisions), parameters.decisions, "decisions")


def tables_of(two_sided: Table) -> BearoffArrays:
    """A two-sided table alone, mapped for kernels. Raises CorruptFileError."""
    from bgdata.evaluation.bearoff import map_tables

    return map_tables(two_sided, None, None)


def tolerance(points: int, checkers: int) -> float:
    """By how much the loss can be off: two equities are."""
    from bgdata.datasets.bearoff_two_sided import error_bound

    return 2 * error_bound(points, checkers)


def judged(two_sided: Table, boards: Array, rolls: Array, chosen: Array) -> Verdicts:
    """What choices lose by a table. Raises InvalidPositionError for one that is not legal."""
    from bgdata.evaluation.bearoff import size_of
    from bgdata.play.referee import Decisions, verdicts

    return verdicts(tables_of(two_sided), Decisions(boards, rolls), chosen, tolerance(*size_of(two_sided)))


DATASET = RefereeScores()
