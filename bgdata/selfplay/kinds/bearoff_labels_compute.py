"""Draws pairs of layouts, and labels them with chances from bearoff tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import win_chance
from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.pairs import paired_boards, random_pairs
from bgdata.bearoff.tables import RaceTable
from bgdata.errors import CheckFailedError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.game.board_kernels import position_classes
from bgdata.game.position_hash import position_hashes
from bgdata.kinds.column_values import chosen_texts
from bgdata.kinds.rechecking import check_rows
from bgdata.selfplay.kinds.bearoff_labels import BearoffParameters
from bgdata.selfplay.kinds.shared.games_compute import RowsComputation, counts_of
from bgdata.selfplay.splits import splits_of_hashes
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Recheck, sampled
from bgdata.store.table import Table

SOURCES = ("exact", "combined")
WIN_ERROR = 2e-6  # of chances stored as float32, against sums in double precision


class BearoffLabelsComputation(RowsComputation[BearoffParameters]):
    """Computation of `bearoff_labels`."""

    def compute(self, build: Build[BearoffParameters]) -> None:
        job = build.job
        boards = boards_of(build.parameters)
        job.progress.start(job.title, len(boards), "positions")
        for name, values in label_arrays(build.inputs, boards).items():
            job.save(name, values)
        job.progress.advance(len(boards))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[BearoffParameters]) -> dict[str, Any]:
        return {"label_source": chosen_texts(pa.array(SOURCES), found["sources"].astype(np.int32))}

    def statistics(self, computed: Computed[BearoffParameters]) -> Mapping[str, float]:
        with_gammons = np.asarray(computed.arrays["chances"])[:, [1, 3]].any(axis=1)
        two_sided = computed.parameters.two_sided_parameters()
        bound = {"exact_equity_error_bound": error_bound(two_sided.points, two_sided.checkers)} if two_sided else {}
        return {**counts_of(computed.arrays["sources"], SOURCES), "with_gammons": float(with_gammons.sum()), **bound}

    def check_sample(self, recheck: Recheck[BearoffParameters]) -> str:
        """Draw the pairs again, answer some again, and those that are combined by another way as well."""
        table = recheck.table
        boards = boards_of(BearoffParameters.from_manifest(table.manifest.parameters))
        if len(boards) != len(table.array("boards")):
            raise CheckFailedError(f"expected {len(boards)} pairs in {table.name}, found {len(table.array('boards'))}")
        chosen = np.sort(recheck.generator.permutation(len(boards))[: recheck.rows])
        check_rows(table, chosen, label_arrays(recheck.inputs, boards[chosen]))
        for row in chosen[table.array("sources")[chosen] == SOURCES.index("combined")].tolist():
            check_win(table, recheck.inputs["one_sided"], row)
        return sampled(len(chosen), len(boards))


def boards_of(parameters: BearoffParameters) -> Array:
    """int8[n, 26]: the pairs, on the board."""
    layouts, two_sided = all_layouts(parameters.points, MAX_CHECKERS), parameters.two_sided_parameters()
    boards = paired_boards(layouts, random_pairs(layouts, parameters.pairs or len(layouts) - 1, parameters.seed))
    if two_sided is None:
        return boards
    layouts = all_layouts(two_sided.points, two_sided.checkers)
    more = paired_boards(layouts, random_pairs(layouts, parameters.exact_pairs, parameters.seed))
    return np.concatenate([boards, more])


def label_arrays(inputs: Mapping[str, Table], boards: Array) -> dict[str, Array]:
    """Every declared array of some pairs."""
    found = BearoffEvaluator(**inputs).evaluate_many(boards)
    return {
        "boards": boards,
        "classes": position_classes(boards).astype(np.uint8),
        "chances": found.chances,
        "sources": (found.sources != BearoffSource.EXACT).astype(np.uint8),
        "splits": splits_of_hashes(position_hashes(boards)),
    }


def check_win(table: Table, one_sided: Table, row: int) -> None:
    """Recompute the win chance of a combined row; raises CheckFailedError."""
    reader, board = RaceTable(one_sided), table.array("boards")[row].astype(int)
    points = reader.points
    on_roll, opponent = board[1 : points + 1].tolist(), (-board[24 : 24 - points : -1]).tolist()
    expected = win_chance(reader.probe_chances(on_roll), reader.probe_chances(opponent))
    found = float(table.array("chances")[row, 0])
    if not abs(found - expected) <= WIN_ERROR:  # NaN neither
        raise CheckFailedError(
            f"expected a win chance of {expected:.6f} in row {row} of {table.name}, found {found:.6f}"
        )


COMPUTATION = BearoffLabelsComputation
