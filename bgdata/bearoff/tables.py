"""Looks up positions in bearoff tables, with NumPy only, in a few microseconds. The tables are memory-mapped.

In a one-sided table a position is a layout or its index; in a two-sided table it is two of them, the player on roll
first. Methods named `probe_` raise NotCoveredError for a position outside the table.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bgdata.bearoff.index import MAX_CHECKERS, layout_at, layout_count, position_index, whole_index
from bgdata.errors import CorruptFileError, InvalidPositionError, NotCoveredError, UsageError, cite
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.game.integers import integer_array
from bgdata.store.table import Table

Layout = int | Sequence[int]  # a position index, or checkers on points 1..P, ace point first
# coefficients of `mean_excess`: fitted to all pairs of 6x9 and rounded; they halve the error on 7x8 and 8x7 too
_EXCESS, _BY_LEADER, _BY_TRAILER = 0.019, 0.0007, 0.0021
# measured by `bearoff_error`: combined minus exact cubeless equity of the player on roll, for all pairs of layouts
RACE_STUDY: tuple[str, Mapping[str, float]] = (
    "6x9",
    {"mean_absolute_difference": 0.001687, "smallest_difference": -0.027900, "largest_difference": 0.023626},
)


class Equities(NamedTuple):
    """Equities of the player on roll if it does not double now, in points per unit cube."""

    cubeless: float
    owned: float
    centered: float
    opponent_owned: float


def open_array(table: Table, name: str, shape: tuple[int, ...], *dtypes: DTypeLike) -> NDArray[Any]:
    """Map an array of a version into memory. Raises CorruptFileError for a wrong shape or dtype, because kernels would
    then read wrong items or beyond the end."""
    found = table.array(name)
    if found.shape != shape or found.dtype not in [np.dtype(each) for each in dtypes]:
        raise CorruptFileError(
            f"expected the array {name} of {table.name} to have the size and type of its table, "
            f"found {found.dtype}{list(found.shape)}; try: bgdata verify"
        )
    return found


class MappedTable(ABC):
    """Base class of tables whose arrays are memory-mapped for probing. A pickle contains only the path of the
    version."""

    table: Table
    rows_are = "pairs of layouts"

    @abstractmethod
    def __len__(self) -> int: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table.name}: {len(self):,} {self.rows_are})"

    def _repr_html_(self) -> str:
        from bgdata.store.table_html import version_html

        return version_html(self.table, self.middle_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.table,)

    def middle_rows(self, count: int) -> list[dict[str, float]]:  # noqa: ARG002
        """Return up to `count` rows from the middle of the table, as in the Parquet files of smaller tables. The list
        is empty for kinds that always have a Parquet file."""
        return []


class RaceTable(MappedTable):
    """A one-sided table: the number of rolls until a side has borne off all checkers, or, in a gammon table, the first
    one."""

    rows_are = "layouts"

    def __init__(self, table: Table) -> None:
        self.table = table
        self.points = int(table.manifest.parameters["points"])
        self.checkers = MAX_CHECKERS
        is_gammon = table.manifest.dataset == "bearoff_gammon"
        self.first_index = comb(self.points + MAX_CHECKERS - 1, self.points) if is_gammon else 0
        rows = layout_count(self.points, MAX_CHECKERS) - self.first_index
        self._offsets = open_array(table, "offsets", (rows + 1,), np.uint32)
        self._first_roll = open_array(table, "first_roll", (rows,), np.uint8)
        self._chances = open_array(table, "chances", (int(self._offsets[-1]),), np.float32)

    def __len__(self) -> int:
        return len(self._first_roll)

    def probe_chances(self, layout: Layout) -> NDArray[np.float64]:
        """Look up the distribution of a layout as float64[rolls]: item n is the chance of needing exactly n rolls.
        Raises NotCoveredError if the table does not cover the layout, and InvalidPositionError if it is invalid."""
        row = self._row(layout)
        first = int(self._first_roll[row])
        stored = self._chances[self._offsets[row] : self._offsets[row + 1]]
        chances = np.zeros(first + len(stored))
        chances[first:] = stored
        return chances

    def probe_mean_rolls(self, layout: Layout) -> float:
        """Look up the mean number of rolls that a layout needs. Raises NotCoveredError if the table does not cover the
        layout, and InvalidPositionError if it is invalid."""
        return float(self.table.array("mean_rolls")[self._row(layout)])

    def probe_sd_rolls(self, layout: Layout) -> float:
        """Look up the standard deviation of the number of rolls that a layout needs. Raises NotCoveredError if the
        table does not cover the layout, and InvalidPositionError if it is invalid."""
        return float(self.table.array("sd_rolls")[self._row(layout)])

    def probe_wastage(self, layout: Layout) -> float:
        """Look up the wastage of a layout: effective minus plain pip count. Raises NotCoveredError if the table does
        not cover the layout, and InvalidPositionError if it is invalid."""
        points = layout_at(layout_index(layout, self.points), self.points)
        return self.probe_mean_rolls(layout) * PIPS_PER_ROLL - sum(n * count for n, count in enumerate(points, start=1))

    def chances_matrix(self, rows: int) -> NDArray[np.float64]:
        """Return the chances of the first `rows` positions as float64[rows, longest]. Column n is the chance of needing
        exactly n rolls."""
        first = self._first_roll[:rows].astype(np.int64)
        starts = self._offsets[:rows].astype(np.int64)
        lengths = self._offsets[1 : rows + 1].astype(np.int64) - starts
        matrix = np.zeros((rows, int((first + lengths).max())))
        row = np.repeat(np.arange(rows), lengths)
        inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        matrix[row, first[row] + inside] = self._chances[starts[row] + inside]
        return matrix

    def _row(self, layout: Layout) -> int:
        row = layout_index(layout, self.points) - self.first_index
        if not 0 <= row < len(self._first_roll):
            raise NotCoveredError(f"expected a position in {self.table.name}, got {cite(layout)}")
        return row


class TwoSidedTable(MappedTable):
    """A two-sided table with the exact equities of every pair of layouts."""

    def __init__(self, table: Table) -> None:
        self.table = table
        parameters = table.manifest.parameters
        self.points, self.checkers = int(parameters["points"]), int(parameters["checkers"])
        count = layout_count(self.points, self.checkers)
        # float32 equities or uint16 codes
        self.stored = open_array(table, "equities", (count, count, 4), np.float32, np.uint16)
        self._set_scale(self.stored.dtype)
        probed = table.array("equities", scattered=True)
        # one item per pair: collecting records is several times faster than rows of four
        self._records = probed.reshape(-1, 4).view([("equities", probed.dtype, 4)]).reshape(-1)
        self._bytes = probed.reshape(-1).data.cast("B")

    def _set_scale(self, dtype: np.dtype[Any]) -> None:
        """Set the size and scale of stored values of this type."""
        self.limit = equity_limit(self.checkers)
        self.is_rounded = dtype == np.uint16  # 16-bit codes rather than float32 equities
        self._count = layout_count(self.points, self.checkers)
        self._unpack = struct.Struct("<4H" if self.is_rounded else "<4f").unpack_from
        self._record_bytes = 4 * dtype.itemsize
        self._step = self.limit / 32767.5 if self.is_rounded else 1.0
        self._lowest = self.limit if self.is_rounded else 0.0

    def __len__(self) -> int:
        return self._count * self._count

    def probe(self, on_roll: Layout, opponent: Layout) -> Equities:
        """Look up the four equities of a position, given by the layout or position index of each side. Raises
        NotCoveredError if the table does not cover it, and InvalidPositionError if it is invalid."""
        index, other = self._indexes(on_roll, opponent)
        return self._equities(self._bytes, (index * self._count + other) * self._record_bytes)

    def _equities(self, data: bytes | memoryview, place: int) -> Equities:
        """Decode the equities of the record at offset `place` of the data."""
        a, b, c, d = self._unpack(data, place)
        step, lowest = self._step, self._lowest
        return Equities(a * step - lowest, b * step - lowest, c * step - lowest, d * step - lowest)

    def _indexes(self, on_roll: Layout, opponent: Layout) -> tuple[int, int]:
        """The position indexes of both sides. Raises NotCoveredError if the table does not cover a layout, and
        InvalidPositionError if it is invalid."""
        index, other = layout_index(on_roll, self.points), layout_index(opponent, self.points)
        if not (0 <= index < self._count and 0 <= other < self._count):
            found = f"{cite(on_roll)} against {cite(opponent)}"
            raise NotCoveredError(f"expected a position in {self.table.name}, got {found}")
        return index, other

    def probe_stored(self, on_roll: ArrayLike, opponent: ArrayLike) -> NDArray[Any]:
        """Look up n pairs of position indexes, as [n, 4] stored values for `decode`. Raises UsageError if the shapes
        are not the same [n], and NotCoveredError for an index beyond the table."""
        indexes, others = index_pairs(on_roll, opponent, self._count, self.table)
        return self._records.take(indexes * self._count + others)["equities"]

    def probe_many(self, on_roll: ArrayLike, opponent: ArrayLike) -> NDArray[np.float32]:
        """Look up the equities of n pairs of position indexes, as float32[n, 4] with columns as in `Equities`. Raises
        UsageError if the shapes are not the same [n], and NotCoveredError for an index beyond the table."""
        return self.decode(self.probe_stored(on_roll, opponent))

    def middle_rows(self, count: int) -> list[dict[str, float]]:
        first = max(0, len(self) - count) // 2
        pairs = np.divmod(np.arange(first, min(first + count, len(self))), self._count)
        names = ("on_roll_index", "opponent_index", *Equities._fields)
        columns = [*pairs, *self.probe_many(*pairs).T]
        return [dict(zip(names, row, strict=True)) for row in zip(*(each.tolist() for each in columns), strict=True)]

    def decode(self, stored: NDArray[Any]) -> NDArray[np.float32]:
        """Convert stored values of any shape to equities, float32."""
        if not self.is_rounded:
            return stored
        return stored * np.float32(self._step) - np.float32(self._lowest)


def mean_excess(equity: float, wastage: float, opponent_wastage: float) -> float:
    """Return the mean excess: how much the equity of the player on roll exceeds the exact equity on average, if it is
    combined from two one-sided tables as independent races. It is negative if the player trails. Wastage is effective
    minus plain pip count, in pips."""
    leader, trailer = (wastage, opponent_wastage) if equity > 0.0 else (opponent_wastage, wastage)
    rate = max(0.0, _EXCESS + _BY_LEADER * leader - _BY_TRAILER * trailer)
    return rate * equity * (1.0 - equity * equity)


def layout_index(layout: Layout, points: int) -> int:
    """Return the position index of a layout. A position index is returned unchanged. Raises NotCoveredError if a
    checker is beyond `points`, and InvalidPositionError if the layout is invalid."""
    if isinstance(layout, int):
        return layout if type(layout) is int else whole_index(layout)
    if isinstance(layout, np.ndarray) and layout.ndim > 1:
        raise InvalidPositionError(f"expected one layout, got an array {list(layout.shape)}")
    is_layout = isinstance(layout, list | tuple) or np.ndim(layout) > 0
    return position_index(fit_layout(layout, points)) if is_layout else whole_index(layout)


def index_pairs(
    on_roll: ArrayLike, opponent: ArrayLike, count: int, table: Table
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Convert arrays or lists of integers to the position indexes of both sides, int64[n] each. Raises UsageError if
    their shapes are not the same [n], and NotCoveredError if an index is not below `count`, the number of layouts in
    the table."""
    sides = tuple(integer_array(side, "position indexes as integers[n]") for side in (on_roll, opponent))
    if sides[0].shape != sides[1].shape or sides[0].ndim != 1:
        shapes = " and ".join(str(side.shape) for side in sides)
        raise UsageError(f"expected position indexes of both sides in the same shape (n,), got {shapes}")
    indexes = [np.asarray(side, np.int64) for side in sides]
    for side, given in zip(indexes, sides, strict=True):
        if side.view(np.uint64).max(initial=0) >= count:  # as uint64, negative values are huge
            wrong = given[(given < 0) | (given >= count)][0]
            raise NotCoveredError(f"expected indexes below {count} for {table.name}, got {wrong}")
    return indexes[0], indexes[1]


def equity_limit(checkers: int) -> float:
    """Return the largest equity per unit cube in a two-sided table: 2 with 15 checkers, where gammons are possible,
    otherwise 1."""
    return 2.0 if checkers == MAX_CHECKERS else 1.0


def fit_layout(layout: Sequence[int], points: int) -> Sequence[int]:
    """Shorten or extend a layout to exactly `points` points. Raises NotCoveredError if it has a checker beyond them."""
    if len(layout) == points:
        return layout
    if any(layout[points:]):
        raise NotCoveredError(f"expected all checkers on points 1 to {points}, got {cite(list(layout))}")
    return [*layout[:points], *[0] * (points - len(layout))]


def measured_error(error: Table | None, what: str = "cubeless equity") -> str:
    """Say how large the error of combining two one-sided distributions is. The numbers come from a `bearoff_error`
    table or, if `error` is None, from the published study. Raises ManifestFormatError if the manifest is damaged."""
    size, found = (error.manifest.variant, error.manifest.statistics) if error else RACE_STUDY
    mean, smallest, largest = (found[name] for name in RACE_STUDY[1])
    return (
        f"over all pairs of {size} the error of the {what} is {mean:.4f} on average, {smallest:+.4f} to {largest:+.4f}"
    )
