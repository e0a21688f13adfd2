"""Rolls out each position of a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.game.board_kernels import position_classes
from bgdata.kinds.column_values import chance_columns, class_column, constant, position_columns
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.selfplay.kinds.rollout_labels import RolloutLabelParameters
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.selfplay.kinds.shared.rollouts_compute import (
    ROLLED,
    SAMPLE_ROWS,
    empty_rollouts,
    network_text,
    open_roller,
    rolled_out,
)
from bgdata.store.arrays import Array
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Computation, sampled

STEP = 4  # positions rolled out at a time, between which a killed run goes on
COLUMNS = {
    "equities": "equity",
    "equity_standard_errors": "standard_error",
    "plain_standard_errors": "plain_standard_error",
    "trials": "trials",
}


class RolloutLabelsComputation(Computation[RolloutLabelParameters]):
    """Computation of `rollout_labels`."""

    def compute(self, build: Build[RolloutLabelParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        boards = np.ascontiguousarray(inputs["source"].array("boards"))
        chooser = open_roller(build).chooser
        state, items = empty_rollouts(ROLLED, len(boards)), np.arange(len(boards))

        def rolled(rows: slice) -> dict[str, Array]:
            return rolled_out(parameters, parameters.seed, chooser, boards[rows], items[rows], ROLLED)

        job.fill("positions", state, STEP, rolled)
        for name, values in {**source_arrays(boards), "network": network_text(parameters, inputs), **state}.items():
            job.save(name, values)

    def batches(self, computed: Computed[RolloutLabelParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        until, network = computed.parameters.limits().until, np.asarray(arrays["network"]).tobytes().decode()
        for rows in slices(len(arrays["boards"]), self.kind.row_group_rows):
            errors = chance_columns(arrays["standard_errors"][rows])
            yield pa.record_batch(
                {
                    "row": np.arange(rows.start, rows.stop, dtype=np.int32),
                    **position_columns(arrays["boards"][rows]),
                    "class": class_column(arrays["classes"][rows]),
                    **chance_columns(arrays["chances"][rows]),
                    **{f"{name}_standard_error": values for name, values in errors.items()},
                    **{column: np.asarray(arrays[name][rows]) for name, column in COLUMNS.items()},
                    "is_reached": pa.array(arrays["equity_standard_errors"][rows] <= until),
                    "network": constant(network, "VARCHAR", rows.stop - rows.start),
                }
            )

    def statistics(self, computed: Computed[RolloutLabelParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        errors, plain = np.asarray(arrays["equity_standard_errors"]), np.asarray(arrays["plain_standard_errors"])
        if not len(errors):
            return {}
        ratios = plain[errors > 0] / errors[errors > 0]
        return {
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "reached_share": float((errors <= computed.parameters.limits().until).mean()),
            "median_reduction": float(np.median(ratios)) if len(ratios) else 1.0,
            "games": float(np.asarray(arrays["trials"]).sum()),
        }

    def check_sample(self, recheck: Recheck[RolloutLabelParameters]) -> str:
        """Roll some positions out again."""
        table = recheck.table
        chooser = open_roller(recheck).chooser
        boards = np.ascontiguousarray(recheck.inputs["source"].array("boards"))
        check_arrays(table, source_arrays(boards) | {"network": network_text(recheck.parameters, recheck.inputs)})
        for row in recheck.generator.permutation(len(boards))[: min(recheck.rows, SAMPLE_ROWS)].tolist():
            rows, parameters = np.array([row]), recheck.parameters
            check_rows(table, rows, rolled_out(parameters, parameters.seed, chooser, boards[rows], rows, ROLLED))
        return sampled(min(recheck.rows, SAMPLE_ROWS, len(boards)), len(boards), "rollouts")


def source_arrays(boards: Array) -> dict[str, Array]:
    """What is said of the positions themselves."""
    return {"boards": boards, "classes": position_classes(boards).astype(np.uint8)}


COMPUTATION = RolloutLabelsComputation
