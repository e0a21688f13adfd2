"""Rolls out reference positions again, with another player for both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.errors import BgdataError, CheckSkippedError
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.player import Player, open_player_of_version
from bgdata.game.board_kernels import position_classes
from bgdata.kinds import all_kinds
from bgdata.kinds.column_values import chance_columns, class_column, position_columns, select_texts
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.measures.kinds.reference_checks import ReferenceCheckParameters
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.selfplay.kinds.shared.rollouts_compute import (
    empty_rollouts,
    network_versions,
    open_roller,
    player_tables,
    rollout_arrays,
)
from bgdata.selfplay.rollout import rolled_by
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import context_of, fill_shards, opened_once, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

STEP = 20  # positions of a shard
MAX_REPLAYED = 5  # positions that verify rolls out again
ROLLED = ("chances", "standard_errors", "equities", "equity_standard_errors", "trials")  # arrays that rollouts fill
ROUNDING = 1e-6  # rounding of equities from float32 chances, in points; above the standard errors of exact rollouts


class ReferenceChecksComputation(Computation[ReferenceCheckParameters]):
    """Computes `reference_checks`: rolls out a sample of reference positions again by another player."""

    def compute(self, build: Build[ReferenceCheckParameters]) -> None:
        open_player(build)  # if this raises, it does so before all the work
        reference, job = build.inputs["reference"], build.job
        rows = sampled_rows(np.asarray(reference.array("themes")), build.parameters.positions)
        state = empty_rollouts(ROLLED, len(rows))
        players = player_tables(build.parameters.player, build.warehouse)
        work = work_of(build, f"{__name__}:roll_out_rows", network_versions(build), players)
        fill_shards(job, "positions", state, STEP, work)
        for name, values in {**state, **derived_arrays(reference, rows, state)}.items():
            job.save(name, values)

    def batches(self, computed: Computed[ReferenceCheckParameters]) -> Iterator[pa.RecordBatch]:
        found = {name: np.asarray(values) for name, values in computed.arrays.items()}
        errors = {f"{name}_standard_error": each for name, each in chance_columns(found["standard_errors"]).items()}
        differences, both = found["differences"], found["difference_errors"]
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = differences / both
        yield pa.record_batch(
            {
                "row": found["rows"],
                "theme": select_texts(pa.array(THEMES), found["themes"].astype(np.int32)),
                "position_id": position_columns(found["boards"])["position_id"],
                "class": class_column(position_classes(found["boards"]).astype(np.uint8)),
                **chance_columns(found["chances"]),
                **errors,
                "equity": found["equities"],
                "standard_error": found["equity_standard_errors"],
                "equity_difference": differences,
                "difference_standard_error": both,
                "z_score": pa.array(scores, mask=both == 0),
                "trials": found["trials"],
            }
        )

    def statistics(self, computed: Computed[ReferenceCheckParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        differences, errors = (np.asarray(arrays[name]) for name in ("differences", "difference_errors"))
        scores = differences[errors > 0] / errors[errors > 0]
        found = {
            "rms_difference": float(np.sqrt((differences**2).mean())),
            "mean_difference": float(differences.mean()),
            "rms_standard_error": float(np.sqrt((errors**2).mean())),
            "games": float(np.asarray(arrays["trials"]).sum()),
        }
        if len(scores):
            found |= {"rms_z_score": float(np.sqrt((scores**2).mean())), "beyond_3": float((abs(scores) > 3).mean())}
        return found

    def check_sample(self, recheck: Recheck[ReferenceCheckParameters]) -> str:
        """Compare all rows with the reference positions. If the player is unchanged, roll out a few of them again."""
        table, reference = recheck.table, recheck.inputs["reference"]
        arrays = {name: np.asarray(values) for name, values in table.arrays().items()}
        rows = sampled_rows(np.asarray(reference.array("themes")), recheck.parameters.positions)
        check_arrays(table, derived_arrays(reference, rows, arrays))
        try:
            player = open_player(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"the player cannot be asked: {error}") from error
        count = min(recheck.rows, MAX_REPLAYED, len(rows))
        chosen = np.sort(recheck.generator.permutation(len(rows))[:count])
        check_rows(table, chosen, rollouts_of(recheck, player, rows[chosen]))
        return sample_text(count, len(rows), "positions")


def roll_out_rows(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Roll out the positions from `begin` to before `end` of the sample, and return their arrays."""
    context, player, rows = opened_once(open_rollouts, settings)
    return rollouts_of(context, player, rows[begin:end])


def open_rollouts(settings: Settings) -> tuple[Context[ReferenceCheckParameters], Player, Array]:
    """Open what `roll_out_rows` needs, from its settings. Returns the context, the player, and the rows of the sampled
    reference positions."""
    context = context_of(settings, ReferenceCheckParameters, all_kinds())
    themes = np.asarray(context.inputs["reference"].array("themes"))
    return context, open_player(context), sampled_rows(themes, context.parameters.positions)


def open_player(context: Context[ReferenceCheckParameters]) -> Player:
    """Open the player that the parameters name. Raises UnknownPlayerError if there is no such player, MissingTableError
    if a network is missing, and InvalidParameterError if the player has another version."""
    wanted = context.parameters
    return open_player_of_version(wanted.player, wanted.ply, wanted.version, context.warehouse)


def sampled_rows(themes: Array, count: int) -> Array:
    """Return the numbers of `count` rows, or of all if there are fewer, as int32[m]. `themes`, uint8[n], gives the
    theme of each row. Each theme gives about equally many rows, spread evenly."""
    found: list[Array] = []
    counts = np.bincount(themes, minlength=len(THEMES))
    left = count
    for place, theme in enumerate(np.argsort(counts, kind="stable").tolist()):  # themes with few rows first
        wanted = min(-(-left // (len(THEMES) - place)), int(counts[theme]))
        rows = np.flatnonzero(themes == theme)
        found.append(rows[np.arange(wanted) * len(rows) // max(wanted, 1)])
        left -= wanted
    return np.sort(np.concatenate(found)).astype(np.int32)


def rollouts_of(context: Context[ReferenceCheckParameters], player: Player, rows: Array) -> dict[str, Array]:
    """Roll out the reference positions in `rows`, and return their arrays. Each row is independent of the others."""
    parameters, chooser = context.parameters, open_roller(context).chooser
    positions = context.inputs["reference"].array("boards")
    boards = np.ascontiguousarray(positions[rows])
    items = rows.astype(np.int64) + len(positions)  # the reference used its row numbers, so the dice differ from these
    by_player = rolled_by(player, boards, chooser, parameters.seed, parameters.how(), items)
    return rollout_arrays(parameters, parameters.seed, chooser, boards, items, ROLLED, lambda _: by_player)


def derived_arrays(reference: Table, rows: Array, rollouts: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays that follow from the reference positions, the sampled rows and the rollouts of these rows:
    differences and z-scores."""
    taken = {name: np.asarray(reference.array(name))[rows] for name in ("boards", "themes", "equity_standard_errors")}
    expected = cubeless_equities(np.asarray(reference.array("chances"))[rows]).astype(np.float64)
    errors = np.hypot(rollouts["equity_standard_errors"], taken["equity_standard_errors"])
    return {
        "rows": rows,
        "boards": taken["boards"],
        "themes": taken["themes"],
        "differences": np.asarray(rollouts["equities"]) - expected,
        "difference_errors": np.where(errors > ROUNDING, errors, 0.0),
    }


COMPUTATION = ReferenceChecksComputation
