"""Two-sided bearoff: exact cubeless and cubeful equities of every pair of layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS, layout_count
from bgdata.bearoff.tables import TwoSidedTable, equity_limit
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned")
UNROUNDED_PAIRS = 10_000_000  # tables up to 6x8 keep float32; larger ones round once to 16 bits, half the size


@dataclass(frozen=True)
class TwoSidedParameters(Parameters):
    """Both sides have up to `checkers` on points 1 to `points`."""

    points: int = 6
    checkers: int = 6


def is_rounded(points: int, checkers: int) -> bool:
    """Whether equities are stored as 16-bit codes rather than as they were solved."""
    return layout_count(points, checkers) ** 2 > UNROUNDED_PAIRS


def error_bound(points: int, checkers: int) -> float:
    """Largest error of any stored equity: the recursion's rounding, and half a step of a 16-bit code.

    The first part is an upper envelope of what the float32 recursion is off from the same one in float64, measured on
    every size up to 6x9 that the tests solve: it grows with the length of the game.
    """
    recursion = 1e-6 + 1e-8 * points * checkers
    return equity_limit(checkers) * (recursion + is_rounded(points, checkers) / 65535.0)


class BearoffTwoSided(Dataset[TwoSidedParameters]):
    """Every ordered pair, the pairs with an empty side included."""

    name = "bearoff_two_sided"
    revision = 1
    summary = (
        "Exact equities of every pair of bearoff layouts for the player on roll who does not double now, in points per "
        "unit cube: money game, unlimited cube, optimal play and cube from there on."
    )
    source = "Computed: backward recursion over all legal plays and cube actions of both sides"
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column("cubeless", "FLOAT", "points", "Equity without a doubling cube: 2 x chance of winning - 1"),
        Column("owned", "FLOAT", "points per unit cube", "No-double equity when the player on roll owns the cube"),
        Column("centered", "FLOAT", "points per unit cube", "No-double equity when the cube is in the middle"),
        Column("opponent_owned", "FLOAT", "points per unit cube", "Equity when the opponent owns the cube"),
    )
    key = ("on_roll_index", "opponent_index")
    arrays = (
        FlatArray(
            "equities",
            "float32",
            "on-roll index, opponent index, (cubeless, owned, centered, opponent_owned)",
            "Equities; in tables of more than 10 million pairs uint16 codes, equity = code * limit / 32767.5 - limit, "
            "where limit is 1, or 2 if all 15 checkers can be on the board",
        ),
    )
    parameters = TwoSidedParameters
    defaults = (TwoSidedParameters(6, 6), TwoSidedParameters(6, 9))
    smallest = TwoSidedParameters(3, 3)

    def slug(self, parameters: TwoSidedParameters) -> str:
        return f"{parameters.points}x{parameters.checkers}"

    def check_parameters(self, parameters: TwoSidedParameters) -> None:
        if not (1 <= parameters.points <= MAX_POINTS and 1 <= parameters.checkers <= MAX_CHECKERS):
            raise InvalidParameterError(
                f"expected 1 to {MAX_POINTS} points and 1 to {MAX_CHECKERS} checkers, "
                f"got {parameters.points} points and {parameters.checkers} checkers"
            )

    def estimate(self, parameters: TwoSidedParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers)
        return Estimate(
            rows=count * count,
            disk_bytes=count * count * (17 if is_rounded(parameters.points, parameters.checkers) else 32),
            memory_bytes=count * (count + 16) * 16 + count * 21 * 6 * parameters.points * 8 + 2**28,
        )

    def compute(self, parameters: TwoSidedParameters, inputs: Mapping[str, Table], job: Job) -> None:  # noqa: ARG002
        from bgdata.bearoff.two_sided import equity_rows, pairs_of_total, solve_total, start_pairs

        pairs = start_pairs(parameters.points, parameters.checkers)
        totals = list(pairs.totals)
        sizes = [pairs_of_total(pairs, total) for total in totals]
        title = f"{self.name}/{self.slug(parameters)}"
        for total in job.steps(title, "pairs", totals, sizes, {"cells": pairs.cells}):
            solve_total(pairs, total)
        count = len(pairs.order)
        dtype = np.uint16 if is_rounded(parameters.points, parameters.checkers) else np.float32
        job.progress.start(f"{title}: saving", count, "positions")
        with job.create("equities", dtype, (count, count, 4)) as writer:
            for index, row in equity_rows(pairs, equity_limit(parameters.checkers), dtype):
                writer.write(index, row[None])
                job.progress.advance(1)

    def batches(self, parameters: TwoSidedParameters, arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        equities = arrays["equities"]
        count = layout_count(parameters.points, parameters.checkers)
        step = max(1, self.row_group_rows // count)
        opponents = np.arange(count, dtype=np.int32)
        for start in range(0, count, step):
            rows = np.arange(start, min(count, start + step), dtype=np.int32)
            values = equities[start : start + len(rows)].reshape(-1, 4)
            names = [f"{name}_code" for name in COLUMNS] if values.dtype == np.uint16 else COLUMNS
            columns = {name: np.ascontiguousarray(values[:, n]) for n, name in enumerate(names)}
            yield pa.record_batch(
                {"on_roll_index": np.repeat(rows, count), "opponent_index": np.tile(opponents, len(rows)), **columns}
            )

    def expressions(self, parameters: TwoSidedParameters) -> Mapping[str, str]:
        if not is_rounded(parameters.points, parameters.checkers):
            return {}
        limit = equity_limit(parameters.checkers)
        return {name: f"({name}_code * {limit / 32767.5!r} - {limit})::float" for name in COLUMNS}

    def statistics(self, parameters: TwoSidedParameters, arrays: Mapping[str, Array]) -> Mapping[str, float]:  # noqa: ARG002
        bound = error_bound(parameters.points, parameters.checkers)
        return {"equity_limit": equity_limit(parameters.checkers)} | {f"{name}_error_bound": bound for name in COLUMNS}

    def check_sample(
        self,
        table: Table,
        inputs: Mapping[str, Table],  # noqa: ARG002
        rows: int,
        generator: np.random.Generator,
    ) -> None:
        from bgdata.bearoff.layouts import all_layouts

        reader = TwoSidedTable(table)
        layouts = all_layouts(reader.points, reader.checkers)
        for _ in range(rows):
            on_roll, opponent = generator.integers(1, len(layouts), 2).tolist()
            check_pair(reader, on_roll, opponent, layouts)


def check_pair(reader: TwoSidedTable, on_roll: int, opponent: int, layouts: Array) -> None:
    """Recompute one pair from the pairs that its plays lead to; raises CheckFailedError.

    What doubling is worth counts an error of the table twice, and the row itself has one more.
    """
    from bgdata.bearoff.plays import roll_results

    totals = np.zeros(4)
    for roll, results in enumerate(roll_results(on_roll, layouts)):
        theirs = reader.probe_many(opponent, results).astype(np.float64)
        is_gammon = reader.limit == 2.0 and layouts[opponent].sum() == MAX_CHECKERS
        theirs[results == 0] = -2.0 if is_gammon else -1.0
        doubled = np.minimum(2.0 * theirs[:, 3], 1.0)
        worth = np.column_stack(
            [theirs[:, 0], theirs[:, 3], np.maximum(theirs[:, 2], doubled), np.maximum(theirs[:, 1], doubled)]
        )
        totals += (2 if roll < 15 else 1) / 36 * (-worth).max(axis=0)
    off_by = np.abs(totals - reader.probe(on_roll, opponent))
    bound = 3 * error_bound(reader.points, reader.checkers)
    if off_by.max() > bound:
        worst = COLUMNS[int(off_by.argmax())]
        raise CheckFailedError(
            f"expected {worst} of position {on_roll} against {opponent} in {reader.table.name} to follow from its "
            f"plays within {bound:.2g}, found it off by {off_by.max():.3g}"
        )


DATASET = BearoffTwoSided()
