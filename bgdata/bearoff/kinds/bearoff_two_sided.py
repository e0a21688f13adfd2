"""Two-sided bearoff: exact cubeless and cubeful equities of every pair of layouts."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS, layout_count
from bgdata.bearoff.tables import Equities
from bgdata.errors import InvalidParameterError
from bgdata.store import job
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, TableShape
from bgdata.store.parameters import Parameters

COLUMNS = Equities._fields
IN_TURN = ((0,), (1, 2, 3))  # groups of columns that do not depend on a later group
UNROUNDED_PAIRS = 10_000_000  # larger tables are rounded to 16 bits; tables up to 6x8 keep float32
PARQUET_PAIRS = 100_000_000  # larger tables have no Parquet file; tables up to 6x10 have one
PAIRS_A_SECOND = 5_000_000  # pairs solved in a second, roughly
WINDOW_TOTALS = 27  # a roll of 24 pips, and the three totals solved together
MAX_WINDOW_BYTES = 18 << 30
KEPT_BYTES = 1 << 30  # a window up to this size stays in memory as a whole
ROLLS = 21
OTHER_BYTES = 3 << 28  # memory for libraries, and for values to be written
ROW_HASHES = "equities_row_sha256"


def check_size(points: int, checkers: int, most_checkers: int = MAX_CHECKERS) -> None:
    """Raise InvalidParameterError if no two-sided table of this size can exist."""
    if not (1 <= points <= MAX_POINTS and 1 <= checkers <= most_checkers):
        raise InvalidParameterError(
            f"expected 1 to {MAX_POINTS} points and 1 to {most_checkers} checkers, "
            f"got {points} points and {checkers} checkers"
        )


@dataclass(frozen=True)
class TwoSidedParameters(Parameters):
    """Parameters of `bearoff_two_sided`: both sides have up to `checkers` checkers on points 1 to `points`."""

    size_names = ("points", "checkers")
    points: int = 6
    checkers: int = 6

    @property
    def pairs(self) -> int:
        """The number of ordered pairs of layouts."""
        return layout_count(self.points, self.checkers) ** 2

    @property
    def stored_type(self) -> type[np.generic]:
        """The NumPy type in which equities are stored."""
        return np.uint16 if is_rounded(self.points, self.checkers) else np.float32

    @property
    def is_large(self) -> bool:
        """Whether a table of this size is stored as flat arrays with a hash for each row, and not as Parquet."""
        return self.pairs > PARQUET_PAIRS

    @property
    def keeps_parts(self) -> bool:
        """Whether a build stores finished parts, so that it can resume after it was killed. It does so only if solving
        takes longer than the interval between checkpoints."""
        return self.pairs > job.CHECKPOINT_SECONDS * PAIRS_A_SECOND

    @property
    def column_groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups of columns that are solved together: one group of all columns, unless that takes too much
        memory."""
        needed = window_share(self.points, self.checkers) * self.pairs * 4 * len(COLUMNS)
        return (tuple(range(len(COLUMNS))),) if needed <= MAX_WINDOW_BYTES else IN_TURN


@functools.cache
def window_share(points: int, checkers: int) -> float:
    """Return the largest share of all pairs that is in memory at the same time while a table is solved."""
    counts = np.zeros((checkers + 1, points * checkers + 1))  # layouts by checkers and pips
    counts[0, 0] = 1
    for point in range(1, points + 1):
        for checker in range(1, checkers + 1):
            counts[checker, point:] += counts[checker - 1, :-point]
    layers = counts.sum(axis=0)
    until = np.concatenate([[0], np.cumsum(np.convolve(layers, layers))])
    width = min(WINDOW_TOTALS, len(until) - 1)
    return float((until[width:] - until[:-width]).max() / until[-1])


def is_rounded(points: int, checkers: int) -> bool:
    """Whether equities are stored as 16-bit codes instead of float32."""
    return layout_count(points, checkers) ** 2 > UNROUNDED_PAIRS


class BearoffTwoSided(Dataset[TwoSidedParameters]):
    """Kind `bearoff_two_sided`: exact equities when both sides bear off, with one row for each ordered pair of layouts,
    also pairs with an empty side."""

    name = "bearoff_two_sided"
    revision = 2  # 2: Parquet contains equities also for rounded tables, not codes
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
    whole_rows = 30_000_000
    # computing a single row costs more than solving rows in order, so only rows of larger tables are sampled
    sample_rows = 1_540_000  # detects 300 wrong rows in 100 million with 99 %
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
        check_size(parameters.points, parameters.checkers)

    def tables_of(self, parameters: TwoSidedParameters) -> tuple[TableShape, ...]:
        return () if parameters.is_large else self.tables

    def arrays_of(self, parameters: TwoSidedParameters) -> tuple[FlatArray, ...]:
        hashes = FlatArray(
            ROW_HASHES, "uint8", "on-roll index, byte", "SHA-256 of each row of equities, of large tables alone"
        )
        return (*self.arrays, hashes) if parameters.is_large else self.arrays

    def estimate(self, parameters: TwoSidedParameters) -> Estimate:
        points, pairs = parameters.points, parameters.pairs
        count = layout_count(points, parameters.checkers)
        groups = parameters.column_groups
        most, item = max(map(len, groups)), np.dtype(parameters.stored_type).itemsize
        window = pairs * 4 * (window_share(points, parameters.checkers) if pairs * 4 * most > KEPT_BYTES else 1)
        stored = pairs * len(COLUMNS) * item
        plays = count * ROLLS * points * 2 * 4 * 3
        if parameters.keeps_parts:
            # parts are deleted as rows are written, so only the rows of one step are on the disk twice; half is ample
            memory, kept = window * most, stored / 2
        else:
            memory, kept = window * most + stored, 0
        return Estimate(
            rows=pairs,
            disk_bytes=stored + (count * 32 if parameters.is_large else pairs * (16 if item == 4 else 10)),
            memory_bytes=int(memory) + plays + OTHER_BYTES,
            checkpoint_bytes=int(kept),
        )


DATASET = BearoffTwoSided()
