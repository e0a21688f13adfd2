"""Evaluates reference positions with a player, and compares with the rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite

import numpy as np
import pyarrow as pa

from bgdata.errors import BgdataError, CheckSkippedError
from bgdata.evaluation.chances import Evaluator, cubeless_equities
from bgdata.evaluation.player import as_evaluator, open_player_of_version
from bgdata.evaluation.value_errors import error_summary
from bgdata.game.board_kernels import position_classes
from bgdata.kinds import all_kinds
from bgdata.kinds.column_values import chance_columns, class_column, position_columns, select_texts
from bgdata.kinds.rechecking import check_arrays, check_chances
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS, HALVES, ReferenceScoreParameters, statistic_name
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.selfplay.kinds.shared.rollouts_compute import SAMPLE_ROWS, player_tables
from bgdata.selfplay.splits import SPLITS
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import context_of, fill_shards, opened_once, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

STEP = 4096  # positions of a shard at ply 0: programs are slow to start; a killed run resumes after its last shard
COPIED = ("boards", "themes", "splits", "games", "equity_standard_errors")  # from the reference positions


class ReferenceScoresComputation(Computation[ReferenceScoreParameters]):
    """Computes `reference_scores`: evaluates reference positions with a player, and compares the values with the
    rollouts."""

    def compute(self, build: Build[ReferenceScoreParameters]) -> None:
        open_evaluator(build)  # if this raises, it does so before all the work
        reference, job = build.inputs["reference"], build.job
        boards = np.ascontiguousarray(reference.array("boards"))
        state: dict[str, Array] = {"chances": np.zeros((len(boards), 5), np.float32)}
        step = max(1, STEP >> 3 * build.parameters.ply)
        players = player_tables(build.parameters.player, build.warehouse, has_tables=build.parameters.tables)
        fill_shards(job, "positions", state, step, work_of(build, f"{__name__}:evaluate_rows", build.inputs, players))
        for name, values in {**state, **derived_arrays(reference, state["chances"])}.items():
            job.save(name, values)

    def batches(self, computed: Computed[ReferenceScoreParameters]) -> Iterator[pa.RecordBatch]:
        texts = {"themes": pa.array(THEMES), "splits": pa.array(SPLITS)}
        for rows in slices(len(computed.arrays["games"]), self.kind.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            words = {name.removesuffix("s"): select_texts(texts[name], found[name].astype(np.int32)) for name in texts}
            yield pa.record_batch(
                {
                    "row": np.arange(rows.start, rows.stop, dtype=np.int32),
                    **words,
                    "game": found["games"],
                    "position_id": position_columns(found["boards"])["position_id"],
                    "class": class_column(position_classes(found["boards"]).astype(np.uint8)),
                    **chance_columns(found["chances"]),
                    "cubeless_equity": cubeless_equities(found["chances"]),
                    "equity_error": found["equity_errors"],
                    "standard_error": found["equity_standard_errors"],
                }
            )

    def statistics(self, computed: Computed[ReferenceScoreParameters]) -> Mapping[str, float]:
        """Return the errors of the player's equities by split and theme. A theme without positions has no figures. A
        theme whose positions are all from one game has no standard error."""
        arrays = {name: np.asarray(values) for name, values in computed.arrays.items()}
        found: dict[str, float] = {}
        for split in HALVES:
            for group in GROUPS:
                rows = arrays["splits"] == SPLITS.index(split)
                if group != EVERY_THEME:
                    rows &= arrays["themes"] == THEMES.index(group)
                if rows.any():
                    columns = (arrays[name][rows] for name in ("equity_errors", "equity_standard_errors", "games"))
                    figures = error_summary(*columns)._asdict()
                    found |= {statistic_name(split, group, name): float(figures[name]) for name in figures}
        return {name: figure for name, figure in found.items() if isfinite(figure)}

    def check_sample(self, recheck: Recheck[ReferenceScoreParameters]) -> str:
        """Compare all rows with the reference positions. If the player is unchanged, evaluate a random sample again."""
        table, reference = recheck.table, recheck.inputs["reference"]
        found = np.asarray(table.array("chances"))
        check_arrays(table, derived_arrays(reference, found))
        try:
            evaluator = open_evaluator(recheck)
        except BgdataError as error:
            raise CheckSkippedError(f"the player cannot be asked: {error}") from error
        chosen = np.sort(recheck.generator.permutation(len(found))[: min(recheck.rows, 10 * SAMPLE_ROWS)])
        expected = evaluator.evaluate_many(np.ascontiguousarray(reference.array("boards")[chosen])).chances
        check_chances(table, chosen, expected)
        return sample_text(len(chosen), len(found))


def evaluate_rows(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Evaluate the reference positions from `begin` to before `end` with the player, and return their chances."""
    evaluator, boards = opened_once(open_evaluating, settings)
    return {"chances": evaluator.evaluate_many(boards[begin:end]).chances}


def open_evaluating(settings: Settings) -> tuple[Evaluator, Array]:
    """Open what `evaluate_rows` needs, from its settings. Returns the player and the boards of the reference
    positions."""
    context = context_of(settings, ReferenceScoreParameters, all_kinds())
    return open_evaluator(context), np.ascontiguousarray(context.inputs["reference"].array("boards"))


def open_evaluator(context: Context[ReferenceScoreParameters]) -> Evaluator:
    """Open the player that the parameters name as an evaluator. Raises UsageError if it only chooses plays,
    UnknownPlayerError if there is no such player, MissingTableError if a network is missing, and InvalidParameterError
    if the player has another version."""
    wanted = context.parameters
    player = open_player_of_version(wanted.player, wanted.ply, wanted.version, context.warehouse, tables=wanted.tables)
    return as_evaluator(wanted.player, player)


def derived_arrays(reference: Table, chances: Array) -> dict[str, Array]:
    """Return the arrays that follow from the reference positions and from the player's chances, float32[n, 5]: equities
    and errors."""
    errors = equities(chances) - equities(np.asarray(reference.array("chances")))
    return {name: np.asarray(reference.array(name)) for name in COPIED} | {"equity_errors": errors}


def equities(chances: Array) -> Array:
    """Return the cubeless equities of chances, as float64[n]. They are rounded as they are stored, so that their
    differences are exact."""
    return cubeless_equities(chances).astype(np.float64)


COMPUTATION = ReferenceScoresComputation
