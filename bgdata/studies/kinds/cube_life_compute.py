"""Inverts Janowski's model for every pair of bearoff layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import one_sided_equities, win_chance
from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.equity.cube_life import CERTAINTY, CUBES, NoIndex, cube_life_indexes, decision_losses, margins
from bgdata.errors import CheckFailedError
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, drawn_sample_text
from bgdata.studies.kinds.cube_life import ACTIONS, LOSSES, CubeLifeParameters

CHANCES = ("win_chance", "one_sided_win_chance")
INDEXES = tuple(f"{cube}_cube_life_index" for cube in CUBES)
MARGINS = tuple(f"{action}_margin" for action in ACTIONS)
TABLE_ORDER = [2, 1, 3]  # indexes of the two-sided table's columns, in the order of CUBES


class CubeLifeComputation(Computation[CubeLifeParameters]):
    """Computes `cube_life`: finds the index that makes Janowski's model exact for every pair of bearoff layouts."""

    def compute(self, build: Build[CubeLifeParameters]) -> None:
        parameters, job = build.parameters, build.job
        count = layout_count(parameters.points, parameters.checkers) - 1
        job.progress.start(job.title, count**2, "pairs")
        one_sided = (one_sided_equities(RaceTable(build.inputs["one_sided"]).chances_matrix(count + 1)[1:]) + 1.0) / 2.0
        exact, bound = TwoSidedTable(build.inputs["two_sided"]), error_bound(parameters.points, parameters.checkers)
        arrays = {
            each.name: np.empty((count, count, size), np.float32)
            for each, size in zip(self.kind.arrays, (2, 3, 3, 6), strict=True)
        }
        for row in range(count):
            values = atlas_row(exact.decode(exact.stored[row + 1, 1:]), one_sided[row], bound)
            for name, found in values.items():
                arrays[name][row] = found
            job.progress.advance(count)
        for name, found in arrays.items():
            job.save(name, found)

    def batches(self, computed: Computed[CubeLifeParameters]) -> Iterator[pa.RecordBatch]:
        pips = pip_counts(all_layouts(computed.parameters.points, computed.parameters.checkers))[1:]
        count = len(pips)
        step = max(1, self.kind.row_group_rows // count)
        for start in range(0, count, step):
            rows = np.arange(start, min(count, start + step))
            columns: dict[str, Any] = {
                "on_roll_index": np.repeat(rows.astype(np.int32) + 1, count),
                "opponent_index": np.tile(np.arange(1, count + 1, dtype=np.int32), len(rows)),
                "on_roll_pip_count": np.repeat(pips[rows], count),
                "opponent_pip_count": np.tile(pips, len(rows)),
            }
            for names, array in ((CHANCES, "chances"), (INDEXES, "indexes"), (MARGINS, "margins"), (LOSSES, "losses")):
                values = np.asarray(computed.arrays[array][start : start + len(rows)]).reshape(-1, len(names))
                for place, name in enumerate(names):
                    column = np.ascontiguousarray(values[:, place])
                    no_index = (column < 0.0) | (column > 1.0) if array == "indexes" else None
                    columns[name] = pa.array(column, mask=no_index)
            yield pa.record_batch(columns)

    def statistics(self, computed: Computed[CubeLifeParameters]) -> Mapping[str, float]:
        bound = error_bound(computed.parameters.points, computed.parameters.checkers)
        figures = {"index_error_bound": CERTAINTY, "margin_error_bound": 3 * bound}
        for place, cube in enumerate(CUBES):
            values = np.asarray(computed.arrays["indexes"][:, :, place])
            found = values[(values >= 0.0) & (values <= 1.0)].astype(np.float64)
            figures[f"{cube}_index_share"] = len(found) / values.size
            for reason in NoIndex:
                figures[f"{cube}_{reason.name.lower()}_share"] = float((values == reason).mean())
            figures[f"{cube}_mean_index"] = float(found.mean()) if len(found) else 0.0
            figures[f"{cube}_sd_index"] = float(found.std()) if len(found) else 0.0
        return figures | {
            f"largest_{name}": float(computed.arrays["losses"][:, :, n].max()) for n, name in enumerate(LOSSES)
        }

    def check_sample(self, recheck: Recheck[CubeLifeParameters]) -> str:
        table = recheck.table
        one_sided, exact = RaceTable(recheck.inputs["one_sided"]), TwoSidedTable(recheck.inputs["two_sided"])
        arrays = table.arrays()
        bound = error_bound(exact.points, exact.checkers)
        for on_roll, opponent in recheck.generator.integers(1, len(arrays["chances"]) + 1, (recheck.rows, 2)).tolist():
            chance = win_chance(one_sided.probe_chances(on_roll), one_sided.probe_chances(opponent))
            for name, expected in atlas_row(exact.probe_many([on_roll], [opponent]), np.array([chance]), bound).items():
                found = np.asarray(arrays[name][on_roll - 1, opponent - 1], np.float64)
                if not np.abs(found - expected[0]).max() <= 1e-5:  # also fails for NaN
                    raise CheckFailedError(
                        f"expected {name} {expected[0].round(6).tolist()} at {on_roll} against {opponent} in "
                        f"{table.name}, found {found.round(6).tolist()}"
                    )
        return drawn_sample_text(recheck.rows, table.manifest.rows)


def atlas_row(stored: Array, one_sided: Array, bound: float) -> dict[str, Array]:
    """Return the arrays of the atlas for one layout on roll, as float64[n, ...], from two-sided equities [n, 4] and
    one-sided win chances [n]. `bound` is the error bound of the equities."""
    equities = np.asarray(stored, np.float64)
    win, exact = np.clip((equities[:, 0] + 1.0) / 2.0, 0.0, 1.0), equities[:, TABLE_ORDER]
    one_sided, found = np.clip(one_sided, 0.0, 1.0), margins(exact)
    return {
        "chances": np.stack([win, one_sided], axis=-1),
        "indexes": cube_life_indexes(win, exact, bound),
        "margins": found,
        "losses": np.concatenate([decision_losses(win, found), decision_losses(one_sided, found)], axis=-1),
    }


COMPUTATION = CubeLifeComputation
