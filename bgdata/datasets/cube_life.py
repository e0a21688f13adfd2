"""The cube-life atlas: for every pair of bearoff layouts the index that makes Janowski's model of the cube exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.bearoff.index import MAX_POINTS, layout_count
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters, error_bound
from bgdata.datasets.common.race import RaceParameters
from bgdata.equity.cube_life import CERTAINTY, CUBES, NoIndex, cube_life_indexes, decision_losses, margins
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

MOST_CHECKERS = 14  # with 15 a gammon is possible, and the model would need to know how likely
POINTS = "points per unit cube"
ACTIONS = ("double", "redouble", "take")
CHANCES = ("win_chance", "one_sided_win_chance")
INDEXES = tuple(f"{cube}_cube_life_index" for cube in CUBES)
MARGINS = tuple(f"{action}_margin" for action in ACTIONS)
LOSSES = tuple(f"{source}_{action}_loss" for source in ("janowski", "one_sided") for action in ACTIONS)
TABLE_ORDER = [2, 1, 3]  # columns of the two-sided table in the order of CUBES


@dataclass(frozen=True)
class CubeLifeParameters(Parameters):
    """Both sides have 1 to `checkers` on points 1 to `points`."""

    points: int = 6
    checkers: int = 6


class CubeLife(Dataset[CubeLifeParameters]):
    """Every ordered pair of non-empty layouts."""

    name = "cube_life"
    revision = 1
    summary = (
        "The cube life index that makes Janowski's model exact for every ordered pair of non-empty layouts, how far "
        "each cube decision is from its border, and what decisions by the model and by one-sided chances lose."
    )
    source = (
        "Computed from bearoff_two_sided and bearoff_one_sided; model: R. Janowski, Take-Points in Money Games (1993)"
    )
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column("on_roll_pip_count", "SMALLINT", "pips", "Pips of the player on roll"),
        Column("opponent_pip_count", "SMALLINT", "pips", "Pips of the opponent"),
        Column("win_chance", "FLOAT", "chance", "Exact chance that the player on roll wins without a cube"),
        Column("one_sided_win_chance", "FLOAT", "chance", "The same from the two one-sided distributions"),
        Column(
            "centered_cube_life_index",
            "FLOAT",
            "index",
            "Index of a centered cube; null where none from 0 to 1 is exact",
        ),
        Column("owned_cube_life_index", "FLOAT", "index", "Index of a cube that the player on roll owns, or null"),
        Column("opponent_owned_cube_life_index", "FLOAT", "index", "Index of a cube that the opponent owns, or null"),
        Column("double_margin", "FLOAT", POINTS, "What doubling a centered cube gains; negative where it is wrong"),
        Column("redouble_margin", "FLOAT", POINTS, "What doubling an owned cube gains; negative where it is wrong"),
        Column("take_margin", "FLOAT", POINTS, "What taking gains over passing; negative where a pass is right"),
        Column("janowski_double_loss", "FLOAT", POINTS, "Loss of a double or none by the model at index 0.7"),
        Column("janowski_redouble_loss", "FLOAT", POINTS, "Loss of a redouble or none by the model at index 0.7"),
        Column("janowski_take_loss", "FLOAT", POINTS, "Loss of a take or pass by the model at index 0.7"),
        Column("one_sided_double_loss", "FLOAT", POINTS, "As janowski_double_loss, by one-sided chances"),
        Column("one_sided_redouble_loss", "FLOAT", POINTS, "As janowski_redouble_loss, by one-sided chances"),
        Column("one_sided_take_loss", "FLOAT", POINTS, "As janowski_take_loss, by one-sided chances"),
    )
    key = ("on_roll_index", "opponent_index")
    whole_rows = 10_000_000
    arrays = (
        FlatArray("chances", "float32", "on-roll index - 1, opponent index - 1, (exact, one-sided)", "Chances to win"),
        FlatArray(
            "indexes",
            "float32",
            "on-roll index - 1, opponent index - 1, (centered, owned, opponent's cube)",
            "Cube life indexes from 0 to 1; in place of one -1 where the cube is worth less than a dead one, 2 where "
            "it is worth more than a live one, 3 where the two are worth too nearly the same",
        ),
        FlatArray(
            "margins",
            "float32",
            "on-roll index - 1, opponent index - 1, (double, redouble, take)",
            "What the action gains",
        ),
        FlatArray(
            "losses",
            "float32",
            "on-roll index - 1, opponent index - 1, (double, redouble, take; the same by one-sided chances)",
            "What decisions by the model at index 0.7 lose",
        ),
    )
    parameters = CubeLifeParameters
    defaults = (CubeLifeParameters(6, 6),)
    smallest = CubeLifeParameters(3, 3)

    def slug(self, parameters: CubeLifeParameters) -> str:
        return f"{parameters.points}x{parameters.checkers}"

    def check_parameters(self, parameters: CubeLifeParameters) -> None:
        if not (1 <= parameters.points <= MAX_POINTS and 1 <= parameters.checkers <= MOST_CHECKERS):
            raise InvalidParameterError(
                f"expected 1 to {MAX_POINTS} points and 1 to {MOST_CHECKERS} checkers, "
                f"got {parameters.points} points and {parameters.checkers} checkers"
            )

    def inputs(self, parameters: CubeLifeParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {
            "one_sided": ("bearoff_one_sided", RaceParameters(parameters.points)),
            "two_sided": ("bearoff_two_sided", TwoSidedParameters(parameters.points, parameters.checkers)),
        }

    def estimate(self, parameters: CubeLifeParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers) - 1
        return Estimate(rows=count**2, disk_bytes=count**2 * 110, memory_bytes=count**2 * 120 + 2**28)

    def compute(self, build: Build[CubeLifeParameters]) -> None:
        from bgdata.bearoff.combine import one_sided_equities

        parameters, job = build.parameters, build.job
        count = layout_count(parameters.points, parameters.checkers) - 1
        job.progress.start(f"{self.name}/{self.slug(parameters)}", count**2, "pairs")
        one_sided = (one_sided_equities(RaceTable(build.inputs["one_sided"]).chances_matrix(count + 1)[1:]) + 1.0) / 2.0
        exact, bound = TwoSidedTable(build.inputs["two_sided"]), error_bound(parameters.points, parameters.checkers)
        arrays = {
            each.name: np.empty((count, count, size), np.float32)
            for each, size in zip(self.arrays, (2, 3, 3, 6), strict=True)
        }
        for row in range(count):
            values = atlas_row(exact.decode(exact.stored[row + 1, 1:]), one_sided[row], bound)
            for name, found in values.items():
                arrays[name][row] = found
            job.progress.advance(count)
        for name, found in arrays.items():
            job.save(name, found)

    def batches(self, computed: Computed[CubeLifeParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.bearoff.layouts import all_layouts, pip_counts

        pips = pip_counts(all_layouts(computed.parameters.points, computed.parameters.checkers))[1:]
        count = len(pips)
        step = max(1, self.row_group_rows // count)
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
        from bgdata.bearoff.combine import win_chance

        table = recheck.table
        one_sided, exact = RaceTable(recheck.inputs["one_sided"]), TwoSidedTable(recheck.inputs["two_sided"])
        arrays = table.arrays()
        bound = error_bound(exact.points, exact.checkers)
        for on_roll, opponent in recheck.generator.integers(1, len(arrays["chances"]) + 1, (recheck.rows, 2)).tolist():
            chance = win_chance(one_sided.probe_chances(on_roll), one_sided.probe_chances(opponent))
            for name, expected in atlas_row(exact.probe_many([on_roll], [opponent]), np.array([chance]), bound).items():
                found = np.asarray(arrays[name][on_roll - 1, opponent - 1], np.float64)
                if np.abs(found - expected[0]).max() > 1e-5:
                    raise CheckFailedError(
                        f"expected {name} {expected[0].round(6).tolist()} at {on_roll} against {opponent} in "
                        f"{table.name}, found {found.round(6).tolist()}"
                    )
        return sampled(recheck.rows, table.manifest.rows)


def atlas_row(stored: Array, one_sided: Array, bound: float) -> dict[str, Array]:
    """Every array of the atlas, float64[n, ...], from two-sided equities [n, 4] and one-sided win chances [n]."""
    equities = np.asarray(stored, np.float64)
    win, exact = np.clip((equities[:, 0] + 1.0) / 2.0, 0.0, 1.0), equities[:, TABLE_ORDER]
    one_sided, found = np.clip(one_sided, 0.0, 1.0), margins(exact)
    return {
        "chances": np.stack([win, one_sided], axis=-1),
        "indexes": cube_life_indexes(win, exact, bound),
        "margins": found,
        "losses": np.concatenate([decision_losses(win, found), decision_losses(one_sided, found)], axis=-1),
    }


DATASET = CubeLife()
