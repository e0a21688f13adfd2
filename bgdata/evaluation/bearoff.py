"""Evaluation of bearoffs and contact endgames with the tables of a warehouse, and the accuracy of the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.tables import equity_limit, open_array
from bgdata.endgames.layouts import layout_count as endgame_layout_count
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource, fill_bearoff
from bgdata.evaluation.chances import Evaluations
from bgdata.game.codec import Boards, check_boards
from bgdata.kernel import Array, read_only
from bgdata.store.table import Table
from bgdata.store.versions import Versions

ENDGAMES = "contact_endgame"
SIZE = re.compile(r"(\d+)x(\d+)")  # variants are points x checkers; other folders are ignored
# Mean absolute, smallest and largest difference of the combined from the exact cubeless equity of the player on roll,
# if one side has all 15 checkers at home and the other 1 to 5: `tests/evaluation/test_bearoff_error.py` solves them.
GAMMON_STUDY = 0.000019, -0.0043, 0.0007
GAMMON_ERROR = (
    "with gammons, 15 checkers at home against 1 to 5, its error is {:.6f} on average, {:+.4f} to {:+.4f} "
    "(further out not measured)"
).format(*GAMMON_STUDY)


class BearoffEvaluator:
    """Looks up the chances of the player on roll, before the roll, in at most one memory-mapped table of each kind.
    `arrays` contains these tables for kernels. `error` is a `bearoff_error` table, of which only the statistics are
    used."""

    def __init__(
        self,
        two_sided: Table | None = None,
        one_sided: Table | None = None,
        gammon: Table | None = None,
        error: Table | None = None,
        endgame: Table | None = None,
    ) -> None:
        self.two_sided, self.one_sided, self.gammon, self.error = two_sided, one_sided, gammon, error
        self.endgame = endgame
        self.arrays = map_tables(two_sided, one_sided, gammon, endgame)

    def __repr__(self) -> str:
        tables = (self.two_sided, self.one_sided, self.gammon, self.endgame)
        return f"BearoffEvaluator({', '.join(table.name for table in tables if table) or 'no tables'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.two_sided, self.one_sided, self.gammon, self.error, self.endgame)

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Look up int8[n, 26] boards. Returns five cumulative chances, NaN if no table covers the board, and
        `BearoffSource` numbers. Raises InvalidPositionError for another shape or type; no table covers an illegal
        board."""
        boards = np.ascontiguousarray(check_boards(boards))
        found = Evaluations(np.full((len(boards), 5), np.nan, np.float32), np.empty(len(boards), np.int8))
        fill_bearoff(self.arrays, boards, found.chances, found.sources)
        return found

    @cached_property
    def accuracy(self) -> Mapping[BearoffSource, str]:
        """How accurate the answers from each source are, in words. Raises ManifestFormatError if a manifest is
        damaged."""
        from bgdata.bearoff.tables import measured_error

        statements = {BearoffSource.NONE: "not covered"}
        few = f"with at most {self.arrays.endgame_checkers} checkers a side " if self.two_sided else ""
        exact = []
        for table, where in ((self.two_sided, ""), (self.endgame, few)):
            if table is not None:
                bound = table.manifest.statistics["cubeless_error_bound"]
                within = f"cubeless equity within {bound:.2g}, win chance within {bound / 2:.2g}"
                exact.append(f"{where}{table.name}: {within}")
        if exact:
            statements[BearoffSource.EXACT] = f"exact, {'; '.join(exact)}"
        if self.one_sided is not None:
            statements[BearoffSource.COMBINED] = (
                f"approximate, {self.one_sided.name}: as if each side just raced; {measured_error(self.error)}; "
                f"{GAMMON_ERROR if self.gammon is not None else 'without gammon chances'}"
            )
        return statements


def open_bearoff(warehouse: Versions, *, with_endgames: bool = False) -> BearoffEvaluator:
    """Map the best bearoff tables of a warehouse. A warehouse without tables is valid. No manifest is read if each
    table has one version.

    Contact endgames are used only if `with_endgames` is true, for interactive answers. Recorded games and labels do not
    use them, because they name the tables that they depend on, and these are bearoff tables alone.

    The best tables are the two-sided table with the most positions, and the one-sided table with the most points that
    has a gammon table of the same points. If there is none, the one-sided table with the most points is used, and
    positions where a side has all 15 checkers are not covered. Raises CorruptFileError if a table is damaged, and
    MissingWarehouseError if the folder does not exist."""
    warehouse.require()
    with_gammons = available_sizes(warehouse, "bearoff_gammon") & available_sizes(warehouse, "bearoff_one_sided")
    endgames = [int(slug) for slug in warehouse.variants(ENDGAMES) if slug.isdecimal()] if with_endgames else []
    return BearoffEvaluator(
        largest_table(warehouse, "bearoff_two_sided", available_sizes(warehouse, "bearoff_two_sided")),
        largest_table(warehouse, "bearoff_one_sided", with_gammons or available_sizes(warehouse, "bearoff_one_sided")),
        largest_table(warehouse, "bearoff_gammon", with_gammons),
        largest_table(warehouse, "bearoff_error", available_sizes(warehouse, "bearoff_error")),
        warehouse.open(ENDGAMES, str(max(endgames))) if endgames else None,
    )


def available_sizes(warehouse: Versions, kind: str) -> set[tuple[int, int]]:
    """The sizes (points, checkers) of the bearoff tables of a kind that have at least one version."""
    named = [SIZE.fullmatch(slug) for slug in warehouse.variants(kind)]
    return {(int(name[1]), int(name[2])) for name in named if name}


def largest_table(warehouse: Versions, kind: str, among: set[tuple[int, int]]) -> Table | None:
    """Return the table of a kind with the most layouts, among tables of the sizes (points, checkers) in `among`."""
    if not among:
        return None
    points, checkers = max(among, key=lambda size: (layout_count(*size), size))
    return warehouse.open(kind, f"{points}x{checkers}")


def map_tables(
    two_sided: Table | None, one_sided: Table | None, gammon: Table | None, endgame: Table | None = None
) -> BearoffArrays:
    """Map the arrays of bearoff tables. Raises CorruptFileError if a table has an unexpected size, and
    InvalidParameterError if the gammon table and the one-sided table have different points."""
    points, checkers = table_size(two_sided)
    race_points, gammon_points = table_size(one_sided)[0], table_size(gammon)[0]
    if gammon and gammon_points != race_points:
        raise InvalidParameterError(f"expected a gammon table of {race_points} points, got {gammon.name}")
    first_index = layout_count(gammon_points, MAX_CHECKERS - 1) if gammon else 0
    layouts = layout_count(points, checkers) if two_sided else 0
    equities, codes = empty_array(np.float32), empty_array(np.uint16)  # a table has one of these arrays
    if two_sided:
        stored = equity_array(two_sided, layouts, np.float32, np.uint16)
        equities, codes = (stored, codes) if stored.dtype == np.float32 else (equities, stored)
    most = int(endgame.folder.parent.name) if endgame else 0
    endgame_layouts = endgame_layout_count(most) if endgame else 0
    endgames = equity_array(endgame, endgame_layouts, np.float32) if endgame else empty_array(np.float32)
    return BearoffArrays(
        points, checkers, layouts, equity_limit(checkers), equities, codes,
        race_points, *race_arrays(one_sided, 0),
        gammon_points, first_index, *race_arrays(gammon, first_index),
        most, endgame_layouts, endgames,
    )  # fmt: skip


def table_size(table: Table | None) -> tuple[int, int]:
    """The points and checkers of a bearoff table, read from its variant, such as 6x15; (0, 0) without a table."""
    if table is None:
        return 0, 0
    points, _, checkers = table.folder.parent.name.partition("x")
    return int(points), int(checkers)


def equity_array(table: Table, layouts: int, *dtypes: DTypeLike) -> Array:
    """Map the equities of a two-sided or contact endgame table with this number of layouts: float32 or uint16 codes, 4
    for each pair of layouts."""
    open_array(table, "equities", (layouts, layouts, 4), *dtypes)
    return table.array("equities", scattered=True).reshape(-1)


def race_arrays(table: Table | None, first_index: int) -> tuple[Array, Array, Array]:
    """Map the offsets, first rolls and chances of a one-sided or gammon table; empty arrays without a table.
    `first_index` is the position index of the layout in row 0."""
    if table is None:
        return empty_array(np.uint32), empty_array(np.uint8), empty_array(np.float32)
    rows = layout_count(*table_size(table)) - first_index
    offsets = open_array(table, "offsets", (rows + 1,), np.uint32)
    first_roll = open_array(table, "first_roll", (rows,), np.uint8)
    return offsets, first_roll, open_array(table, "chances", (int(offsets[-1]),), np.float32)


def empty_array(dtype: DTypeLike) -> Array:
    """Make an empty array, read-only like mapped arrays, because kernels are compiled separately for read-only and
    writable arrays."""
    return read_only(np.empty(0, dtype))
