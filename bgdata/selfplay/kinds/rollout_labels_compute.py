"""Rolls out each position of a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.game.board_kernels import position_classes
from bgdata.kinds.column_values import chance_columns
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.selfplay.kinds.rollout_labels import RolloutLabelParameters
from bgdata.selfplay.kinds.shared.games_compute import RowsComputation
from bgdata.selfplay.kinds.shared.rollouts_compute import (
    ROLLED,
    SAMPLE_ROWS,
    empty_rollouts,
    network_text,
    open_roller,
    rollout_arrays,
)
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Recheck, sampled

STEP = 4  # positions rolled out at a time, between which a killed run goes on
COLUMNS = {
    "equities": "equity",
    "equity_standard_errors": "standard_error",
    "plain_standard_errors": "plain_standard_error",
    "trials": "trials",
}


class RolloutLabelsComputation(RowsComputation[RolloutLabelParameters]):
    """Computation of `rollout_labels`."""

    def compute(self, build: Build[RolloutLabelParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        boards = np.ascontiguousarray(inputs["source"].array("boards"))
        chooser = open_roller(build).chooser
        state, items = empty_rollouts(ROLLED, len(boards)), np.arange(len(boards))

        def rolled(rows: slice) -> dict[str, Array]:
            return rollout_arrays(parameters, parameters.seed, chooser, boards[rows], items[rows], ROLLED)

        job.fill("positions", state, STEP, rolled)
        for name, values in {**source_arrays(boards), "network": network_text(parameters, inputs), **state}.items():
            job.save(name, values)

    def own_columns(self, found: Mapping[str, Array], computed: Computed[RolloutLabelParameters]) -> dict[str, Any]:
        errors, until = chance_columns(found["standard_errors"]), computed.parameters.limits().until
        return {
            **{f"{name}_standard_error": values for name, values in errors.items()},
            **{column: found[name] for name, column in COLUMNS.items()},
            "is_reached": pa.array(found["equity_standard_errors"] <= until),
        }

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
            check_rows(table, rows, rollout_arrays(parameters, parameters.seed, chooser, boards[rows], rows, ROLLED))
        return sampled(min(recheck.rows, SAMPLE_ROWS, len(boards)), len(boards), "rollouts")


def source_arrays(boards: Array) -> dict[str, Array]:
    """What is said of the positions themselves."""
    return {"boards": boards, "classes": position_classes(boards).astype(np.uint8)}


COMPUTATION = RolloutLabelsComputation
