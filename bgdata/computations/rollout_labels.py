"""Rolls out each position of a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.computations.common.columns import chance_columns, class_column, constant, position_columns
from bgdata.computations.common.rechecking import check_arrays
from bgdata.computations.common.rollouts import SAMPLE_ROWS, network_text, open_roller
from bgdata.datasets.common.rollouts import SeededRoller
from bgdata.datasets.rollout_labels import RolloutLabelParameters
from bgdata.errors import CheckFailedError
from bgdata.game.board_kernels import position_classes
from bgdata.play.rollout import roll_out
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
        n = len(boards)
        state: dict[str, Array] = {
            "chances": np.zeros((n, 5), np.float32),
            "standard_errors": np.zeros((n, 5), np.float32),
            "trials": np.zeros(n, np.int64),
            **{name: np.zeros(n) for name in COLUMNS if name != "trials"},
        }
        job.fill("positions", state, STEP, lambda rows: rolled_out(parameters, chooser, boards, rows.start, STEP))
        for name, values in {**source_arrays(boards), "network": network_text(parameters, inputs), **state}.items():
            job.save(name, values)

    def batches(self, computed: Computed[RolloutLabelParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        until, network = computed.parameters.limits().until, np.asarray(arrays["network"]).tobytes().decode()
        for start in range(0, len(arrays["boards"]), self.kind.row_group_rows):
            rows = slice(start, start + self.kind.row_group_rows)
            errors = chance_columns(arrays["standard_errors"][rows])
            count = len(arrays["boards"][rows])
            yield pa.record_batch(
                {
                    "row": np.arange(start, start + count, dtype=np.int32),
                    **position_columns(arrays["boards"][rows]),
                    "class": class_column(arrays["classes"][rows]),
                    **chance_columns(arrays["chances"][rows]),
                    **{f"{name}_standard_error": values for name, values in errors.items()},
                    **{column: np.asarray(arrays[name][rows]) for name, column in COLUMNS.items()},
                    "is_reached": pa.array(arrays["equity_standard_errors"][rows] <= until),
                    "network": constant(network, "VARCHAR", count),
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
            for name, values in rolled_out(recheck.parameters, chooser, boards, row, 1).items():
                found = table.array(name)[row]
                if not np.array_equal(values[0], found):
                    raise CheckFailedError(
                        f"expected {name} of {values[0].tolist()} in row {row} of {table.name}, found {found.tolist()}"
                    )
        return sampled(min(recheck.rows, SAMPLE_ROWS, len(boards)), len(boards), "rollouts")


def source_arrays(boards: Array) -> dict[str, Array]:
    """What is said of the positions themselves."""
    return {"boards": boards, "classes": position_classes(boards).astype(np.uint8)}


def rolled_out(parameters: SeededRoller, chooser: Any, boards: Array, start: int, count: int) -> dict[str, Array]:
    """The arrays of some rows, which depend on these rows alone."""
    limits, rows = parameters.limits(), slice(start, min(start + count, len(boards)))
    result = roll_out(
        boards[rows],
        chooser,
        limits.trials,
        parameters.seed,
        parameters.how(),
        until=limits.until,
        most_trials=limits.most_trials,
        items=np.arange(rows.start, rows.stop),
    )
    return {
        "chances": result.legal_chances(),
        "standard_errors": result.standard_errors.astype(np.float32),
        **{name: getattr(result, name) for name in COLUMNS},
    }


COMPUTATION = RolloutLabelsComputation
