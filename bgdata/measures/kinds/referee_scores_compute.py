"""Lets a player play bearoffs, and judges each decision by an exact table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.endgames.kinds.contact_endgame import POINTS as ANYWHERE
from bgdata.endgames.kinds.contact_endgame_compute import ERROR_BOUND
from bgdata.endgames.layouts import all_layouts
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.player import open_player_of_version
from bgdata.evaluation.value_errors import clustered_standard_error
from bgdata.kinds.column_values import position_columns
from bgdata.kinds.rechecking import check_rows
from bgdata.measures.kinds.referee_scores import RefereeParameters
from bgdata.measures.referee import Decisions, Verdicts, contact_decisions, contact_verdicts, exact_decisions, verdicts
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.store.table import Table

QUANTILES = {"loss_of_worst_tenth": 0.9, "loss_of_worst_hundredth": 0.99, "loss_of_worst_thousandth": 0.999}


class RefereeScoresComputation(Computation[RefereeParameters]):
    """Computation of `referee_scores`."""

    def compute(self, build: Build[RefereeParameters]) -> None:
        parameters, job = build.parameters, build.job
        player = open_player_of_version(
            parameters.player, parameters.ply, parameters.version, build.warehouse, tables=parameters.tables
        )
        decisions = decisions_of(build.inputs["table"], parameters)
        job.progress.start(job.title, len(decisions.boards), "decisions")
        chosen = player.choose_plays(decisions.boards, decisions.rolls)
        job.progress.advance(len(chosen))
        for name, values in {**decisions._asdict(), "chosen": chosen}.items():
            job.save(name, values)
        for name, values in judge(build.inputs["table"], parameters, decisions, chosen)._asdict().items():
            job.save(name, values)

    def batches(self, computed: Computed[RefereeParameters]) -> Iterator[pa.RecordBatch]:
        for rows in slices(len(computed.arrays["losses"]), self.kind.row_group_rows):
            part = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            yield pa.record_batch(
                {
                    "decision": np.arange(rows.start, rows.stop, dtype=np.int32),
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
            "standard_error": clustered_standard_error(losses, np.asarray(computed.arrays["games"])),
            "error_share": float((np.asarray(computed.arrays["ranks"]) > 0).mean()),
            **{name: float(np.quantile(losses, at, method="higher")) for name, at in QUANTILES.items()},
            "largest_loss": float(losses.max()),
            "loss_error_bound": tolerance(computed.parameters),
        }

    def check_sample(self, recheck: Recheck[RefereeParameters]) -> str:
        """Judge the choices again, in the decisions of the seed."""
        table, parameters = recheck.table, recheck.parameters
        decisions = decisions_of(recheck.inputs["table"], parameters)
        verdicts = judge(recheck.inputs["table"], parameters, decisions, np.asarray(table.array("chosen")))
        expected = {**decisions._asdict(), **verdicts._asdict()}
        rows = recheck.generator.permutation(parameters.decisions)[: recheck.rows]
        check_rows(table, rows, {name: values[rows] for name, values in expected.items()})
        return sample_text(min(recheck.rows, parameters.decisions), parameters.decisions, "decisions")


def tolerance(parameters: RefereeParameters) -> float:
    """The error bound of a loss: that of two equities."""
    is_contact = parameters.points == ANYWHERE
    return 2 * (ERROR_BOUND if is_contact else error_bound(parameters.points, parameters.checkers))


def decisions_of(table: Table, parameters: RefereeParameters) -> Decisions:
    """The decisions of a recipe. Raises UsageError as `exact_decisions` does."""
    if parameters.points == ANYWHERE:
        return contact_decisions(all_layouts(parameters.checkers), parameters.decisions, parameters.seed)
    return exact_decisions(map_tables(table, None, None), parameters.decisions, parameters.seed)


def judge(table: Table, parameters: RefereeParameters, decisions: Decisions, chosen: Array) -> Verdicts:
    """What choices lose by a table. Raises InvalidPositionError for one that is not legal."""
    if parameters.points == ANYWHERE:
        return contact_verdicts(table.array("equities"), decisions, chosen, tolerance(parameters))
    return verdicts(map_tables(table, None, None), decisions, chosen, tolerance(parameters))


COMPUTATION = RefereeScoresComputation
